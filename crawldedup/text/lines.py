"""The lines of a page as its layout shows them: headings, prices, rows of a specification, links."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

from lxml import etree

from crawldedup.text.tags import AROUND_THE_CONTENT, BLOCKS, INVISIBLE, ROLES_AROUND_THE_CONTENT

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_MAX_LINES: Final = 4_000
_MAX_LINE: Final = 20_000
_MAX_HEADINGS: Final = 3
_HEADINGS: Final = frozenset(["h1", "h2", "h3", "h4", "h5", "h6"])
_MAX_ROW_TEXT: Final = 400
_MAX_ROW_ELEMENTS: Final = 40
_MAX_PAIR_ELEMENTS: Final = 6
_NOT_IN_A_ROW: Final = _HEADINGS | {"table", "tr", "form", "dl", "article", "section"}
_PAIRS: Final = frozenset(["div", "li", "p"])

# What changes from visit to visit, or is about other things than this page's.
_ABOUT_OTHERS: Final = re.compile(
    r"(?<![A-Za-z])(?i:related|recommend(?:ed|ations?|er)?|similar|up-?sells?|cross-?sells?|also|recent(?:ly)?|"
    r"reviews?|ratings?|stars|comments?|breadcrumbs?|newsletter|share|social|cookies?|consent|footer|mini-?cart|"
    r"countdown|stock|inventory|availability|delivery|shipping|questions)(?![a-z])"
)
_PRICE: Final = re.compile(r"(?i:price|preis|precio|prezzo|preço|\bprix)")


@dataclass(frozen=True, slots=True)
class Line:
    """One block of text. `row`: a key and its value. `linked`: mostly a link. `priced`: marked as a price."""

    text: str
    heading: bool = False
    row: bool = False
    linked: bool = False
    priced: bool = False


def page_lines(tree: HtmlElement) -> list[Line]:
    """The lines of a page without what surrounds the content, and without what is about other pages."""
    return _Walk(tree).lines


class _Walk:
    def __init__(self, tree: HtmlElement) -> None:
        self.lines: list[Line] = []
        self._pieces: list[str] = []
        self._size = self._linked = 0
        self._links = self._headings = self._prices = 0
        self._priced = self._headed = False
        self._row_ends: HtmlElement | None = None
        self._around_the_name = _holders_of_headings(tree)
        self._walk(tree)

    def _walk(self, tree: HtmlElement) -> None:
        skipped = None
        walk = etree.iterwalk(tree, events=("start", "end"))
        for event, element in walk:
            if event == "end":
                if element is skipped:
                    skipped = None
                else:
                    self._end(element)
                self._add(element.tail)
            elif self._is_skipped(element):
                skipped = element
                walk.skip_subtree()
                if element.tag in BLOCKS:
                    self._break()
            else:
                self._start(element)
                self._add(element.text)
            if len(self.lines) >= _MAX_LINES:
                return
        self._break()

    def _is_skipped(self, element: HtmlElement) -> bool:
        tag = element.tag
        if tag in INVISIBLE or tag in ("head", "noscript"):
            return True
        if element in self._around_the_name or tag in ("html", "body", "main", "article"):
            return False
        if tag in AROUND_THE_CONTENT or element.get("role") in ROLES_AROUND_THE_CONTENT:
            return True
        name = f"{element.get('class') or ''} {element.get('id') or ''}"
        return len(name) > 1 and _ABOUT_OTHERS.search(name[:500]) is not None

    def _start(self, element: HtmlElement) -> None:
        if self._row_ends is None and (end := _row(element)) is not None:
            self._break()
            self._row_ends = end
        elif element.tag in BLOCKS or (self._row_ends is not None and element.getparent() is self._row_ends):
            self._break()
        self._count(element, 1)

    def _end(self, element: HtmlElement) -> None:
        if element is self._row_ends:
            self._flush(row=True)
            self._row_ends = None
        elif element.tag in BLOCKS:
            self._break()
        self._count(element, -1)

    def _count(self, element: HtmlElement, step: int) -> None:
        if element.tag == "a" and not (element.get("href") or "#").startswith("#"):
            self._links += step
        elif element.tag in _HEADINGS:
            self._headings += step
        if _names_a_price(element):
            self._prices += step

    def _add(self, text: str | None) -> None:
        if not text or self._size >= _MAX_LINE:
            return
        self._pieces.append(text)
        size = len(text.strip())
        if size:
            self._size += size
            self._linked += size if self._links else 0
            self._priced |= self._prices > 0
            self._headed |= self._headings > 0

    def _break(self) -> None:
        if self._row_ends is None:
            self._flush(row=False)
        else:
            self._pieces.append(" ")

    def _flush(self, *, row: bool) -> None:
        if text := " ".join("".join(self._pieces).split()):
            linked = 2 * self._linked > self._size
            self.lines.append(Line(text[:_MAX_LINE], self._headed, row, linked, self._priced))
        self._pieces.clear()
        self._size = self._linked = 0
        self._priced = self._headed = False


def _holders_of_headings(tree: HtmlElement) -> set[HtmlElement]:
    """The ancestors of the first headings: whatever they are called, the page's own content is in them."""
    headings = list(islice(tree.iter("h1"), _MAX_HEADINGS)) or list(islice(tree.iter("h2"), _MAX_HEADINGS))
    return {holder for heading in headings for holder in (heading, *heading.iterancestors())}


def _names_a_price(element: HtmlElement) -> bool:
    name = element.get("itemprop") or element.get("class") or element.get("id")
    return name is not None and _PRICE.search(name[:500]) is not None


def _row(element: HtmlElement) -> HtmlElement | None:
    """The element that ends the row which this one begins, or None if it begins none."""
    tag = element.tag
    if tag == "tr":
        cells = sum(1 for cell in islice(element, _MAX_ROW_ELEMENTS) if cell.tag in ("td", "th"))
        return element if cells > 1 and _is_small(element, _MAX_ROW_ELEMENTS) else None
    if tag == "dt":
        value = element.getnext()
        both = (element, value)
        if value is None or value.tag != "dd" or not all(_is_small(part, _MAX_ROW_ELEMENTS) for part in both):
            return None
        return value
    if tag in _PAIRS and _is_pair(element):
        for other in (element.getnext(), element.getprevious()):
            if other is not None and other.tag == tag and _is_pair(other):
                return element
    return None


def _is_pair(element: HtmlElement) -> bool:
    """Whether it holds two short texts and nothing else, as in <div><span>Colour</span><span>red</span></div>."""
    if len(element) != 2 or (element.text or "").strip():
        return False
    return all(
        isinstance(part.tag, str)
        and part.tag not in ("a", "img")
        and not (part.tail or "").strip(" \n\r\t:")
        and _is_small(part, _MAX_PAIR_ELEMENTS)
        and any(text.strip() for text in part.itertext())
        for part in element
    )


def _is_small(element: HtmlElement, most: int) -> bool:
    size = 0
    for number, part in enumerate(element.iter()):
        if number > most or (number and part.tag in _NOT_IN_A_ROW):
            return False
        size += len(part.text or "") + len(part.tail or "")
        if size > _MAX_ROW_TEXT:
            return False
    return True
