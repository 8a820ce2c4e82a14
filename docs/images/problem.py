"""Draw problem.svg: seven URLs of the demo site, and what crawldedup says of the page at each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from drawing import add_text, new_svg, save_svg

from crawldedup import Deduplicator, Kind, Verdict
from crawldedup.demo.site import DemoSite

if TYPE_CHECKING:
    from pathlib import Path

TITLE = "Seven URLs of one site: five show one story, and two show months of a calendar"
STORY, MONTH = "one story, five URLs", "two months that read alike"
SITE = "https://almanac.example"
PAGES = (
    ("/en/reading-the-tide/", "the article"),
    ("/en/reading-the-tide/?sid=cd6a79751e7f6bd3", "with a session ID"),
    ("/print/en/reading-the-tide.html", "as a print view"),
    ("/partners/1/story-4042/", "at a partner, in another template"),
    ("/en/reading-the-tide/second-edition/", "with a few words edited"),
    ("/calendar/2023-11/", "November"),
    ("/calendar/2023-12/", "December"),
)
STORIES = 5
WIDTH, HEIGHT = 860, 362
TOP, ROW, GAP = 66, 38, 26
STYLE = """
text { fill: #1b1b1b; font: 14px sans-serif }
.head { font-weight: bold }
.url { font: 13px monospace }
.note { fill: #4a4a4a; font-size: 12.5px }
.row { fill: #f3f4f6 }
.kept { fill: #e6f4e6; stroke: #3d8b40; stroke-width: 1.3 }
.dropped { fill: #fdefdd; stroke: #c77b1d; stroke-width: 1.3 }
"""


@dataclass(frozen=True)
class Row:
    """A URL, what is found there, and the verdict on it."""

    path: str
    note: str
    verdict: Verdict

    @property
    def is_kept(self) -> bool:
        """Whether its items are delivered."""
        return self.verdict.kind is Kind.NEW

    @property
    def words(self) -> str:
        """The verdict in words."""
        verdict = self.verdict
        if verdict.kind is Kind.EXACT_DUPLICATE:
            return "exact duplicate: items dropped"
        if not self.is_kept:
            return f"near duplicate ({verdict.similarity:.2f}): items dropped"
        if verdict.rejected:
            return (
                f"similar ({verdict.rejected_similarity:.2f}), another {verdict.rejected_by}: kept"
            )
        return "new: kept"


def draw(path: Path) -> None:
    """Draw the picture."""
    svg = new_svg(TITLE, STYLE, WIDTH, HEIGHT)
    # Pages with a dark theme show the picture on white as well.
    ElementTree.SubElement(svg, "rect", width=f"{WIDTH}", height=f"{HEIGHT}", fill="#ffffff")
    add_text(svg, 16, 28, "What the crawl fetches", "head")
    add_text(svg, 556, 28, "What crawldedup does", "head")
    for number, row in enumerate(rows()):
        is_month = number >= STORIES
        top = TOP + ROW * number + GAP * is_month
        if number in (0, STORIES):
            add_text(svg, 16, top - 10, MONTH if is_month else STORY, "note")
        add_row(svg, row, top)
    ElementTree.indent(svg)
    save_svg(svg, path)


def rows() -> list[Row]:
    """Return the pages in the order of the picture, with the verdicts of one index."""
    site = DemoSite()
    # A fixed key, so that every run estimates the same similarities.
    with Deduplicator(key=0) as dedup:
        return [
            Row(path, note, dedup.check(f"{SITE}{path}", html=site.reply(path).body))
            for path, note in PAGES
        ]


def add_row(svg: ElementTree.Element, row: Row, top: int) -> None:
    """Add one URL, what is found there, and its verdict."""
    place = {"x": "8", "y": f"{top}", "width": "520", "height": "32", "rx": "6"}
    ElementTree.SubElement(svg, "rect", place, **{"class": "row"})
    add_text(svg, 16, top + 21, row.path, "url")
    note = add_text(svg, 520, top + 21, row.note, "note")
    note.set("text-anchor", "end")
    look = "kept" if row.is_kept else "dropped"
    place = {"x": "548", "y": f"{top}", "width": "304", "height": "32", "rx": "6"}
    ElementTree.SubElement(svg, "rect", place, **{"class": look})
    add_text(svg, 560, top + 21, row.words, "")
