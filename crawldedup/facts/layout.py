"""Read the lines of a page as its layout shows them: headings, prices, rows of a specification, links, buttons."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Final

from lxml import etree

from crawldedup.facts import limits
from crawldedup.facts.lines import Line
from crawldedup.facts.rows import is_entry, label_of, row_end, selected_text, short_text
from crawldedup.text.tags import BLOCKS, BOILERPLATE_ROLES, BOILERPLATE_TAGS, HEADINGS, INVISIBLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Set

    from lxml.html import HtmlElement

# The first headings are the page's own.
_OWN_HEADINGS: Final = 3
# More buy controls in an aside are those of other products.
_BUTTONS_IN_A_BOX: Final = 3
# A choice belongs to a label of so few words in front of it.
_LABEL_WORDS: Final = 4

# Classes of what changes from visit to visit, or is about other things than this page.
_ABOUT_OTHERS: Final = re.compile(
    r"(?<![A-Za-z])(?i:related|recommend(?:ed|ations?|er)?|similar|up-?sells?|cross-?sells?|also|recent(?:ly)?|"
    r"reviews?|ratings?|stars|comments?|breadcrumbs?|newsletter|share|social|cookies?|consent|footer|mini-?cart|"
    r"countdown|stock|inventory|availability|delivery|shipping|questions)(?![a-z])"
)
_PRICE: Final = re.compile(r"(?i:price|preis|precio|prezzo|preço|\bprix)")
# Names of choices that make no other product of it.
_OTHER_CHOICES: Final = re.compile(
    r"(?i:qty|quantit|anzahl|menge|sort|order|country|currency|lang|page|limit|ship|deliver|pay|amount|rating|review)"
)


@dataclass(slots=True)
class _OpenLine:
    """The line that is being read. `size` and `linked` count its characters, and those in links."""

    pieces: list[str] = field(default_factory=list)
    size: int = 0
    linked: int = 0
    is_priced: bool = False
    is_heading: bool = False
    is_choice: bool = False


class Layout:
    """The lines of a page, and its buy controls, each by the number of the line that it stands in front of.

    Boilerplate is left out, and so is what is about other pages.
    """

    def __init__(self, tree: HtmlElement, controls: Set[HtmlElement]) -> None:
        self.lines: list[Line] = []
        self.buttons: list[int] = []
        self._controls = controls
        self._boxes = _boxes_of(controls)
        self._own = _holders_of_headings(tree)
        self._line = _OpenLine()
        # Such elements around the present place.
        self._links = self._headings = self._prices = 0
        self._row_ends: HtmlElement | None = None
        self._item: HtmlElement | None = None
        # A page may have thousands of radio buttons in one label.
        self._labels: dict[HtmlElement, str] = {}
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
            elif self._is_button(element) or self._is_skipped(element):
                self._skip(element)
                skipped = element
                walk.skip_subtree()
            else:
                self._start(element)
                self._add(element.text)
            if len(self.lines) >= limits.LINES:
                return
        self._break()

    def _is_button(self, element: HtmlElement) -> bool:
        """Note a buy control, and return whether it is read; a form holds other elements."""
        if element not in self._controls:
            return False
        self._break()
        self.buttons.append(len(self.lines))
        return bool(element.tag != "form")

    def _is_skipped(self, element: HtmlElement) -> bool:
        tag = element.tag
        if tag in INVISIBLE or tag in ("head", "noscript"):
            return True
        if element in self._own or tag in ("html", "body", "main", "article"):
            return False
        is_boilerplate = tag in BOILERPLATE_TAGS or element.get("role") in BOILERPLATE_ROLES
        if is_boilerplate and element not in self._boxes:
            return True
        return _is_header_of_the_site(element) or _is_about_others(element)

    def _skip(self, element: HtmlElement) -> None:
        if element.tag == "select" and not _is_about_others(element):
            self._choose(element, selected_text(element))
        if element.tag in BLOCKS:
            self._break()

    def _start(self, element: HtmlElement) -> None:
        if self._row_ends is None and (end := row_end(element)) is not None:
            self._break()
            self._row_ends = end
        elif element.tag in BLOCKS or (self._row_ends is not None and element.getparent() is self._row_ends):
            self._break()
        if self._item is None and self._row_ends is None and is_entry(element):
            self._item = element
        if element.tag == "input" and element.get("type") == "radio" and element.get("checked") is not None:
            self._choose(element, self._label_text(element))
        self._count(element, 1)

    def _end(self, element: HtmlElement) -> None:
        if element is self._row_ends:
            self._flush(is_row=True)
            self._row_ends = None
        elif element.tag in BLOCKS:
            self._break()
        if element is self._item:
            self._break()
            self._item = None
        self._count(element, -1)

    def _choose(self, element: HtmlElement, choice: str) -> None:
        """Write a choice that is made behind the label in front of it."""
        if not choice or _OTHER_CHOICES.search(f"{element.get('name')} {element.get('id')}"[: limits.VALUE]):
            return
        before = "".join(self._line.pieces)
        if len(before.split()) > _LABEL_WORDS or any(map(str.isdigit, before)):
            self._break()
        self._add(f" {choice} ")
        self._line.is_choice = True
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
        line = self._line
        if not text or line.size >= limits.LINE:
            return
        line.pieces.append(text)
        if size := len(text.strip()):
            line.size += size
            line.linked += size if self._links else 0
            line.is_priced |= self._prices > 0
            line.is_heading |= self._headings > 0

    def _break(self) -> None:
        if self._row_ends is None:
            self._flush(is_row=False)
        else:
            self._line.pieces.append(" ")

    def _flush(self, *, is_row: bool) -> None:
        line = self._line
        if text := " ".join("".join(line.pieces).split()):
            is_item = self._item is not None or line.is_choice
            is_linked = 2 * line.linked > line.size
            self.lines.append(Line(text[: limits.LINE], line.is_heading, is_row, is_item, is_linked, line.is_priced))
        self._line = _OpenLine()


def _holders_of_headings(tree: HtmlElement) -> set[HtmlElement]:
    """Return the first headings with their ancestors: they hold the page's own content, whatever their names."""
    headings = list(islice(tree.iter("h1"), _OWN_HEADINGS)) or list(islice(tree.iter("h2"), _OWN_HEADINGS))
    return {holder for heading in headings for holder in (heading, *heading.iterancestors())}


def _boxes_of(controls: Iterable[HtmlElement]) -> set[HtmlElement]:
    """Return the asides with buy controls of this product."""
    held = Counter(holder for control in controls for holder in control.iterancestors("aside"))
    return {box for box, count in held.items() if count <= _BUTTONS_IN_A_BOX}


def _is_header_of_the_site(element: HtmlElement) -> bool:
    parent = element.getparent()
    return element.tag == "header" and parent is not None and parent.tag == "body"


def _is_about_others(element: HtmlElement) -> bool:
    name = f"{element.get('class') or ''} {element.get('id') or ''}"
    return len(name) > 1 and _ABOUT_OTHERS.search(name[: limits.CLASS]) is not None


def _names_a_price(element: HtmlElement) -> bool:
    name = element.get("itemprop") or element.get("class") or element.get("id")
    return name is not None and _PRICE.search(name[: limits.CLASS]) is not None
