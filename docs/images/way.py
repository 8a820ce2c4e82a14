"""Draw way.svg: the way of a page through a crawl and through the engine, with the figures that the
code holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from drawing import add_text, new_svg, save_svg

from crawldedup.fingerprinting.bits import SEARCH_BITS, VERIFY_BITS
from crawldedup.index.queries import TABLES
from crawldedup.search.decision import MAX_CANDIDATES
from crawldedup.search.plan import HOT_EFFORT, PROBE_BUDGET

if TYPE_CHECKING:
    from pathlib import Path

WIDTH, HEIGHT = 860, 604
NUMERALS = {2: "two"}
TITLE = "From a response to a verdict"
STYLE = """
text { fill: #1b1b1b; font: 14px sans-serif; text-anchor: middle }
.note { fill: #4a4a4a; font-size: 12.5px }
.step { text-anchor: start; font-weight: bold }
.side { text-anchor: start }
.band { fill: #f3f4f6 }
.box { fill: #ffffff; stroke: #4a6fa5; stroke-width: 1.3 }
.find { fill: #e6f4e6; stroke: #3d8b40 }
.judge { fill: #fdefdd; stroke: #c77b1d }
.arrow { fill: none; stroke: #555555; stroke-width: 1.4; marker-end: url(#tip) }
"""


@dataclass(frozen=True)
class Box:
    """A box with a title and lines below it."""

    left: int
    top: int
    width: int
    height: int
    words: tuple[str, ...]
    look: str = ""

    @property
    def middle(self) -> int:
        """Return its middle, from the left."""
        return self.left + self.width // 2

    @property
    def right(self) -> int:
        """Return its right edge."""
        return self.left + self.width

    @property
    def bottom(self) -> int:
        """Return its lower edge."""
        return self.top + self.height

    @property
    def center(self) -> int:
        """Return its middle, from the top."""
        return self.top + self.height // 2


BANDS = (
    (12, 100, ("1  Read", "in a worker process")),
    (126, 104, ("2  Fingerprint", "in the worker")),
    (
        244,
        148,
        ("3  Search, remember", "one atomic step of the", "store: new pages are", "remembered"),
    ),
    (406, 186, ("4  Act", "in Scrapy")),
)
READ = (
    Box(200, 32, 130, 60, ("response", "bytes from Scrapy")),
    Box(370, 32, 130, 60, ("characters", "charset found")),
    Box(540, 32, 130, 60, ("main text", "no menus, no footer")),
    Box(710, 32, 130, 60, ("words", "in lower case")),
)
SEARCH = Box(
    200,
    146,
    305,
    68,
    (f"{SEARCH_BITS} search bits, with weights", "of words and word pairs: a copy flips few bits"),
    "find",
)
VERIFY = Box(
    535,
    146,
    305,
    68,
    (f"{VERIFY_BITS} verify bits, with weights", "of runs of three words: they show similarity"),
    "judge",
)
PROBES = Box(
    200,
    270,
    305,
    96,
    (
        f"at most {PROBE_BUDGET} probes in {NUMERALS[len(TABLES)]} tables",
        "a table sorts all pages by their search bits,",
        "a probe reads the pages with the same first bits",
        "except for some flips, most likely ones first",
    ),
    "find",
)
COMPARE = Box(
    535,
    270,
    305,
    96,
    (
        f"at most {MAX_CANDIDATES} pages compared",
        f"{HOT_EFFORT * MAX_CANDIDATES} if many texts share a template",
        "near duplicate: most likely, the similarity",
        "reaches the threshold; exact: the same text",
    ),
    "judge",
)
VERDICT = Box(200, 468, 120, 60, ("verdict", "with the original"))
OUTCOMES = (
    Box(590, 420, 250, 34, ("delivered",)),
    Box(590, 464, 250, 34, ("items dropped, links followed",)),
    Box(590, 508, 250, 34, ("dropped",)),
    Box(590, 552, 250, 34, ("marked and delivered",)),
)
REASONS = (
    "new, or the same URL again",
    "duplicate, action drop-items (default)",
    "duplicate, action drop",
    "duplicate, action mark",
)


def draw(path: Path) -> None:
    """Draw the picture."""
    svg = new_svg(TITLE, STYLE, WIDTH, HEIGHT)
    definitions = ElementTree.SubElement(svg, "defs")
    tip = ElementTree.SubElement(
        definitions,
        "marker",
        id="tip",
        viewBox="0 0 8 8",
        refX="7",
        refY="4",
        markerWidth="7",
        markerHeight="7",
    )
    tip.set("orient", "auto")
    ElementTree.SubElement(tip, "path", d="M0 0 8 4 0 8z", fill="#555555")
    # Pages with a dark theme also show the picture on white.
    add_rectangle(svg, 0, 0, WIDTH, HEIGHT, fill="#ffffff")
    for top, height, words in BANDS:
        add_rectangle(svg, 8, top, WIDTH - 16, height, **{"class": "band"})
        for line, word in enumerate(words):
            add_text(svg, 22, top + 30 + 20 * line, word, "step" if line == 0 else "note side")
    for box in (*READ, SEARCH, VERIFY, PROBES, COMPARE, VERDICT, *OUTCOMES):
        add_box(svg, box)
    for way in ways():
        ElementTree.SubElement(svg, "path", {"class": "arrow", "d": way})
    for reason, outcome in zip(REASONS, OUTCOMES, strict=True):
        add_text(svg, 350, outcome.center - 6, reason, "note side")
    ElementTree.indent(svg)
    save_svg(svg, path)


def ways() -> list[str]:
    """Return the arrows between the boxes."""
    words = READ[-1]
    fork = (words.bottom + SEARCH.top) // 2
    turn = (COMPARE.bottom + VERDICT.top) // 2 - 4
    return [
        *(f"M{one.right} {one.center}H{other.left - 2}" for one, other in pairwise(READ)),
        f"M{words.middle} {words.bottom}V{fork}H{SEARCH.middle}V{SEARCH.top - 2}",
        f"M{words.middle} {words.bottom}V{fork}H{VERIFY.middle}V{VERIFY.top - 2}",
        *(
            f"M{one.middle} {one.bottom}V{other.top - 2}"
            for one, other in ((SEARCH, PROBES), (VERIFY, COMPARE))
        ),
        f"M{PROBES.right} {PROBES.center}H{COMPARE.left - 2}",
        f"M{COMPARE.middle} {COMPARE.bottom}V{turn}H{VERDICT.middle}V{VERDICT.top - 2}",
        *(
            f"M{VERDICT.right} "
            f"{VERDICT.center}H{VERDICT.right + 15}V{outcome.center}H{outcome.left - 2}"
            for outcome in OUTCOMES
        ),
    ]


def add_rectangle(
    svg: ElementTree.Element, left: int, top: int, width: int, height: int, **look: str
) -> None:
    """Add a rectangle."""
    place = {"x": f"{left}", "y": f"{top}", "width": f"{width}", "height": f"{height}"}
    ElementTree.SubElement(svg, "rect", place, **look)


def add_box(svg: ElementTree.Element, box: Box) -> None:
    """Add a box with its words in the middle."""
    add_rectangle(
        svg,
        box.left,
        box.top,
        box.width,
        box.height,
        rx="6",
        **{"class": f"box {box.look}".strip()},
    )
    first = box.center + 5 - 9 * (len(box.words) - 1)
    for line, word in enumerate(box.words):
        add_text(svg, box.middle, first + 19 * line, word, "note" if line else "")
