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
    ("/en/reading-the-tide/?sid=cd6a79", "with a session ID"),
    ("/print/en/reading-the-tide.html", "as a print view"),
    ("/partners/1/story-4042/", "in a partner's template"),
    ("/en/reading-the-tide/second-edition/", "with a few words edited"),
    ("/calendar/2023-11/", "November"),
    ("/calendar/2023-12/", "December"),
)
STORIES = 5
# As narrow as the longest URL permits, so that a phone shows the text in a readable size.
WIDTH, HEIGHT = 420, 462
LEFT, RIGHT = 8, 412
TOP, ROW, HEIGHT_OF_ROW, GAP = 66, 52, 46, 26
FIRST_LINE, SECOND_LINE, INDENT = 19, 37, 10
STYLE = """
text { fill: #1b1b1b; font: 14px sans-serif }
.ground { fill: #ffffff }
.head { font-weight: bold }
.url { font: 14px monospace }
.note { fill: #4a4a4a; font-size: 13px }
.end { text-anchor: end }
.kept { fill: #e6f4e6; stroke: #3d8b40; stroke-width: 1.3 }
.dropped { fill: #fdefdd; stroke: #c77b1d; stroke-width: 1.3 }
@media (prefers-color-scheme: dark) {
text { fill: #e7eaee }
.ground { fill: #0d1117 }
.note { fill: #bac2cc }
.kept { fill: #16301b; stroke: #57a85b }
.dropped { fill: #38270f; stroke: #d6923c }
}
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
            return "exact duplicate"
        if not self.is_kept:
            return f"near duplicate ({verdict.similarity:.2f})"
        if verdict.rejected:
            return f"similar ({verdict.rejected_similarity:.2f}), another {verdict.rejected_by}"
        return "new"

    @property
    def result(self) -> str:
        """What happens to its items."""
        return "kept" if self.is_kept else "dropped"


def draw(path: Path) -> None:
    """Draw the picture."""
    svg = new_svg(TITLE, STYLE, WIDTH, HEIGHT)
    # Opaque, because a browser may draw it in dark colors on a light page, and the other way round.
    add_box(svg, 0, 0, WIDTH, HEIGHT, "ground")
    add_text(svg, LEFT + INDENT, 28, "What the crawl fetches", "head")
    add_text(svg, RIGHT - INDENT, 28, "Its items are", "head end")
    for number, row in enumerate(rows()):
        is_month = number >= STORIES
        top = TOP + ROW * number + GAP * is_month
        if number in (0, STORIES):
            add_text(svg, LEFT + INDENT, top - 10, MONTH if is_month else STORY, "note")
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
    box = add_box(svg, LEFT, top, RIGHT - LEFT, HEIGHT_OF_ROW, "kept" if row.is_kept else "dropped")
    box.set("rx", "6")
    add_text(svg, LEFT + INDENT, top + FIRST_LINE, row.path, "url")
    add_text(svg, RIGHT - INDENT, top + FIRST_LINE, row.result, "head end")
    add_text(svg, LEFT + INDENT, top + SECOND_LINE, row.note, "note")
    add_text(svg, RIGHT - INDENT, top + SECOND_LINE, row.words, "note end")


def add_box(
    svg: ElementTree.Element, left: int, top: int, width: int, height: int, look: str
) -> ElementTree.Element:
    """Add a rectangle, and return it."""
    place = {"x": f"{left}", "y": f"{top}", "width": f"{width}", "height": f"{height}"}
    return ElementTree.SubElement(svg, "rect", place, **{"class": look})
