"""Read the lines of a page as its layout shows them: headings, prices, rows of a specification, links, buttons."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Final

from lxml import etree

from crawldedup.facts import limits
from crawldedup.facts.lines import Line
from crawldedup.markup.tags import BLOCKS, BOILERPLATE_ROLES, BOILERPLATE_TAGS, HEADINGS, INVISIBLE
from crawldedup.text.lxml_tree import first_texts

if TYPE_CHECKING:
    from collections.abc import Set

    from lxml.html import HtmlElement

# The first headings are the page's own.
_OWN_HEADINGS: Final = 3
# More buy controls in an aside are those of other products.
_BUTTONS_IN_A_BOX: Final = 3
# A choice belongs to a label of so few words in front of it.
_LABEL_WORDS: Final = 4
# Characters and elements of the largest row; elements of the parts of a pair.
_MAX_ROW_TEXT: Final = 400
_MAX_ROW_ELEMENTS: Final = 40
_MAX_PAIR_ELEMENTS: Final = 6
_NOT_IN_A_ROW: Final = HEADINGS | {"table", "tr", "form", "dl", "article", "section"}
_PAIRS: Final = frozenset(["div", "li", "p"])
_MARKS: Final = frozenset(["b", "strong", "span", "em", "i"])
# Characters and elements of the largest entry or choice.
_MAX_ITEM_ELEMENTS: Final = 12
_MAX_ITEM_TEXT: Final = 80
_NOT_IN_AN_ITEM: Final = _NOT_IN_A_ROW | {"a", "img", "button", "ul", "ol"}
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
        held = Counter(box for control in controls for box in control.iterancestors("aside"))
        self._boxes = {box for box, count in held.items() if count <= _BUTTONS_IN_A_BOX}
        # The first headings and what is around them: it holds the page's own content, whatever its name.
        headings = list(islice(tree.iter("h1"), _OWN_HEADINGS)) or list(islice(tree.iter("h2"), _OWN_HEADINGS))
        self._own = {holder for heading in headings for holder in (heading, *heading.iterancestors())}
        self._line = _OpenLine()
        # Such elements around the present place.
        self._links = self._headings = self._prices = 0
        self._row_ends: HtmlElement | None = None
        self._item: HtmlElement | None = None
        # A page may have thousands of radio buttons in one label.
        self._text_of_label = cache(_short_text)
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
        return (tag == "header" and element.getparent().tag == "body") or _is_about_others(element)

    def _skip(self, element: HtmlElement) -> None:
        if element.tag == "select" and not _is_about_others(element):
            options = islice(element.iter("option"), limits.OPTIONS)
            chosen = next((option for option in options if option.get("selected") is not None), None)
            self._choose(element, "" if chosen is None else _short_text(chosen))
        if element.tag in BLOCKS:
            self._break()

    def _start(self, element: HtmlElement) -> None:
        if self._row_ends is None and (end := _row_end(element)) is not None:
            self._break()
            self._row_ends = end
        elif element.tag in BLOCKS or (self._row_ends is not None and element.getparent() is self._row_ends):
            self._break()
        if self._item is None and self._row_ends is None and _is_entry(element):
            self._item = element
        if element.tag == "input" and element.get("type") == "radio" and element.get("checked") is not None:
            around = next(element.iterancestors("label"), None)
            beside = (around, element.getnext(), element.getprevious())
            label = next((label for label in beside if label is not None and label.tag == "label"), None)
            self._choose(element, "" if label is None else self._text_of_label(label))
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


def _is_about_others(element: HtmlElement) -> bool:
    name = f"{element.get('class') or ''} {element.get('id') or ''}"
    return len(name) > 1 and _ABOUT_OTHERS.search(name[: limits.CLASS]) is not None


def _names_a_price(element: HtmlElement) -> bool:
    name = element.get("itemprop") or element.get("class") or element.get("id")
    return name is not None and _PRICE.search(name[: limits.CLASS]) is not None


def _row_end(element: HtmlElement) -> HtmlElement | None:
    """Return the element that ends the row which this one begins; None if it begins none."""
    tag = element.tag
    if tag == "tr":
        cells = sum(1 for cell in islice(element, _MAX_ROW_ELEMENTS) if cell.tag in ("td", "th"))
        return element if cells > 1 and _is_small(element, _MAX_ROW_ELEMENTS) else None
    if tag == "dt":
        value = element.getnext()
        if value is None or value.tag != "dd":
            return None
        return value if all(_is_small(part, _MAX_ROW_ELEMENTS) for part in (element, value)) else None
    if tag in _PAIRS and _is_pair(element):
        beside = (element.getnext(), element.getprevious())
        return element if any(other is not None and other.tag == tag and _is_pair(other) for other in beside) else None
    return None


def _is_pair(element: HtmlElement) -> bool:
    """Return whether it holds two short texts alone, as in <div><span>Colour</span><span>red</span></div>."""
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
    """Return whether it is small enough for a row, and holds no other parts of a page."""
    size = 0
    for number, part in enumerate(element.iter()):
        if number > most or (number and part.tag in _NOT_IN_A_ROW):
            return False
        size += len(part.text or "") + len(part.tail or "")
        if size > _MAX_ROW_TEXT:
            return False
    return True


def _is_entry(element: HtmlElement) -> bool:
    """Return whether it is a short entry of a list, two short texts, or a word and a marked one: Colour <b>red</b>."""
    if element.tag != "li" and not (element.tag in _PAIRS and (_is_pair(element) or _is_marked(element))):
        return False
    size = 0
    for number, part in enumerate(element.iter()):
        if number > _MAX_ITEM_ELEMENTS or part.tag in _NOT_IN_AN_ITEM:
            return False
        size += len((part.text or "").strip()) + (len((part.tail or "").strip()) if number else 0)
    return size <= _MAX_ITEM_TEXT


def _is_marked(element: HtmlElement) -> bool:
    if len(element) != 1 or not (element.text or "").strip():
        return False
    return element[0].tag in _MARKS and bool((element[0].text or "").strip()) and not (element[0].tail or "").strip()


def _short_text(element: HtmlElement) -> str:
    return " ".join("".join(first_texts(element, 2 * _MAX_ITEM_ELEMENTS))[:_MAX_ITEM_TEXT].split())
