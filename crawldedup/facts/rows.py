"""Recognise rows of a specification, short entries of lists and choices among the elements of a page."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from crawldedup.facts import limits
from crawldedup.text.tags import HEADINGS
from crawldedup.text.visible import first_texts

if TYPE_CHECKING:
    from lxml.html import HtmlElement

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


def row_end(element: HtmlElement) -> HtmlElement | None:
    """Return the element that ends the row which this one begins; None if it begins none."""
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


def is_entry(element: HtmlElement) -> bool:
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


def selected_text(element: HtmlElement) -> str:
    """Return the text of the chosen option of a select."""
    for option in islice(element.iter("option"), limits.OPTIONS):
        if option.get("selected") is not None:
            return short_text(option)
    return ""


def label_of(element: HtmlElement) -> HtmlElement | None:
    """Return the label of a radio button: around it, behind it, or in front of it."""
    around = next(element.iterancestors("label"), None)
    beside = (around, element.getnext(), element.getprevious())
    return next((label for label in beside if label is not None and label.tag == "label"), None)


def short_text(element: HtmlElement) -> str:
    """Return the beginning of the text of a choice."""
    return " ".join("".join(first_texts(element, 2 * _MAX_ITEM_ELEMENTS))[:_MAX_ITEM_TEXT].split())
