"""The lines of a page as its layout shows them: headings, prices, rows of a specification, links."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

from lxml import etree

from crawldedup.facts.rows import is_item, label_of, row_end, selected_text, short_text
from crawldedup.text.tags import BLOCKS, BOILERPLATE_ROLES, BOILERPLATE_TAGS, HEADINGS, INVISIBLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Set

    from lxml.html import HtmlElement

_MAX_LINES: Final = 4_000
_MAX_LINE: Final = 20_000
_MAX_HEADINGS: Final = 3
_MAX_IN_A_BOX: Final = 3
_MAX_NAME: Final = 300
_LABEL_WORDS: Final = 4

# What changes from visit to visit, or is about other things than this page's.
_ABOUT_OTHERS: Final = re.compile(
    r"(?<![A-Za-z])(?i:related|recommend(?:ed|ations?|er)?|similar|up-?sells?|cross-?sells?|also|recent(?:ly)?|"
    r"reviews?|ratings?|stars|comments?|breadcrumbs?|newsletter|share|social|cookies?|consent|footer|mini-?cart|"
    r"countdown|stock|inventory|availability|delivery|shipping|questions)(?![a-z])"
)
_PRICE: Final = re.compile(r"(?i:price|preis|precio|prezzo|preço|\bprix)")
# Choices that make no other product of it.
_OTHER_CHOICES: Final = re.compile(
    r"(?i:qty|quantit|anzahl|menge|sort|order|country|currency|lang|page|limit|ship|deliver|pay|amount|rating|review)"
)


@dataclass(frozen=True, slots=True)
class Line:
    """One block of text.

    `row`: a key and its value, among others. `item`: a short entry of a list, a single key and value, or a choice
    that is made. `linked`: mostly a link. `priced`: marked as a price.
    """

    text: str
    heading: bool = False
    row: bool = False
    item: bool = False
    linked: bool = False
    priced: bool = False


@dataclass(frozen=True, slots=True)
class PageLines:
    """The lines of a page, and its buttons to buy, each by the number of the line that it stands in front of."""

    lines: list[Line]
    buttons: list[int]


def page_lines(tree: HtmlElement, controls: Set[HtmlElement]) -> PageLines:
    """The lines of a page without what surrounds the content, and without what is about other pages.

    `controls` are its `buy_controls`.
    """
    walk = _Walk(tree, controls)
    return PageLines(walk.lines, walk.buttons)


class _Walk:
    def __init__(self, tree: HtmlElement, controls: Set[HtmlElement]) -> None:
        self.lines: list[Line] = []
        self.buttons: list[int] = []
        self._controls = controls
        self._boxes = _boxes_of(controls)
        self._pieces: list[str] = []
        self._size = self._linked = 0
        self._links = self._headings = self._prices = 0
        self._priced = self._headed = self._chosen = False
        self._row_ends: HtmlElement | None = None
        self._item: HtmlElement | None = None
        # A page may have thousands of buttons in one label.
        self._labels: dict[HtmlElement, str] = {}
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
                if element.tag == "select" and not _is_about_others(element):
                    self._choose(element, selected_text(element))
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
        if element in self._controls:
            self._break()
            self.buttons.append(len(self.lines))
            if tag != "form":
                return True
        if tag in INVISIBLE or tag in ("head", "noscript"):
            return True
        if element in self._around_the_name or tag in ("html", "body", "main", "article"):
            return False
        if _is_header_of_the_site(element):
            return True
        is_around = tag in BOILERPLATE_TAGS or element.get("role") in BOILERPLATE_ROLES
        if is_around and element not in self._boxes:
            return True
        return _is_about_others(element)

    def _start(self, element: HtmlElement) -> None:
        if self._row_ends is None and (end := row_end(element)) is not None:
            self._break()
            self._row_ends = end
        elif element.tag in BLOCKS or (self._row_ends is not None and element.getparent() is self._row_ends):
            self._break()
        if self._item is None and self._row_ends is None and is_item(element):
            self._item = element
        if element.tag == "input" and element.get("type") == "radio" and element.get("checked") is not None:
            self._choose(element, self._label_text(element))
        self._count(element, 1)

    def _end(self, element: HtmlElement) -> None:
        if element is self._row_ends:
            self._flush(row=True)
            self._row_ends = None
        elif element.tag in BLOCKS:
            self._break()
        if element is self._item:
            self._break()
            self._item = None
        self._count(element, -1)

    def _choose(self, element: HtmlElement, choice: str) -> None:
        """Write a choice that is made behind the label in front of it."""
        if not choice or _OTHER_CHOICES.search(f"{element.get('name')} {element.get('id')}"[:_MAX_NAME]):
            return
        before = "".join(self._pieces)
        if len(before.split()) > _LABEL_WORDS or any(map(str.isdigit, before)):
            self._break()
        self._add(f" {choice} ")
        self._chosen = True
        self._break()

    def _label_text(self, element: HtmlElement) -> str:
        label = label_of(element)
        if label is None:
            return ""
        if label not in self._labels:
            self._labels[label] = short_text(label)
        return self._labels[label]

    def _count(self, element: HtmlElement, step: int) -> None:
        if element.tag == "a" and not (element.get("href") or "#").startswith("#"):
            self._links += step
        elif element.tag in HEADINGS:
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
            item = self._item is not None or self._chosen
            self.lines.append(Line(text[:_MAX_LINE], self._headed, row, item, linked, self._priced))
        self._pieces.clear()
        self._size = self._linked = 0
        self._priced = self._headed = self._chosen = False


def _holders_of_headings(tree: HtmlElement) -> set[HtmlElement]:
    """The ancestors of the first headings: whatever they are called, the page's own content is in them."""
    headings = list(islice(tree.iter("h1"), _MAX_HEADINGS)) or list(islice(tree.iter("h2"), _MAX_HEADINGS))
    return {holder for heading in headings for holder in (heading, *heading.iterancestors())}


def _is_header_of_the_site(element: HtmlElement) -> bool:
    parent = element.getparent()
    return element.tag == "header" and parent is not None and parent.tag == "body"


def _is_about_others(element: HtmlElement) -> bool:
    name = f"{element.get('class') or ''} {element.get('id') or ''}"
    return len(name) > 1 and _ABOUT_OTHERS.search(name[:500]) is not None


def _names_a_price(element: HtmlElement) -> bool:
    name = element.get("itemprop") or element.get("class") or element.get("id")
    return name is not None and _PRICE.search(name[:500]) is not None


def _boxes_of(controls: Iterable[HtmlElement]) -> set[HtmlElement]:
    """The asides with a button to buy; with more of them, they are about other products."""
    held = Counter(holder for control in controls for holder in control.iterancestors("aside"))
    return {box for box, count in held.items() if count <= _MAX_IN_A_BOX}
