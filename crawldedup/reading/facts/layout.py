"""Read the lines of a page as its layout shows them: headings, prices, rows of a specification, links, buttons."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Final

from crawldedup.reading import tags
from crawldedup.reading.blocks import COMMENT, NUMBER, TEXT, numbers
from crawldedup.reading.facts import limits
from crawldedup.reading.facts.lines import Line
from crawldedup.reading.facts.rows import is_entry, row_end, short_text
from crawldedup.reading.nodes import elements_around, sibling, within

if TYPE_CHECKING:
    from collections.abc import Mapping, Set

    from selectolax.lexbor import LexborHTMLParser, LexborNode

    _Attributes = Mapping[str, str | None]

# The first headings are the page's own.
_OWN_HEADINGS: Final = 3
# More buy controls in an aside are those of other products.
_BUTTONS_IN_A_BOX: Final = 3
# A choice belongs to a label of so few words in front of it.
_LABEL_WORDS: Final = 4
_A, _BODY, _FORM, _HEADER, _INPUT, _LABEL, _SELECT = (
    NUMBER[name] for name in ("a", "body", "form", "header", "input", "label", "select")
)
_BLOCKS: Final = numbers(tags.BLOCKS)
_HEADINGS: Final = numbers(tags.HEADINGS)
_INVISIBLE: Final = numbers(tags.INVISIBLE | {"head", "noscript"})
_NEVER_SKIPPED: Final = numbers(["body", "main", "article"])
_BOILERPLATE: Final = numbers(tags.BOILERPLATE_TAGS)
_IN_LINK, _IN_HEADING, _IN_PRICE = 1, 2, 4

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

    def __init__(self, tree: LexborHTMLParser, controls: Set[int]) -> None:
        self.lines: list[Line] = []
        self.buttons: list[int] = []
        self._controls = controls
        self._boxes = _boxes_around(tree, controls)
        # The first headings and what is around them: it holds the page's own content, whatever its name.
        headings = tree.css("h1")[:_OWN_HEADINGS] or tree.css("h2")[:_OWN_HEADINGS]
        self._own = {holder.mem_id for heading in headings for holder in (heading, *elements_around(heading))}
        self._line = _OpenLine()
        # What is around the present place: `_IN_LINK` and the like.
        self._around = 0
        # The elements that end the present row, and the present entry.
        self._row_ends: int | None = None
        self._item: int | None = None
        if tree.body is not None:
            self._walk(tree.body)

    def _walk(self, body: LexborNode) -> None:
        # The open elements, each with what is around it.
        opened: list[tuple[LexborNode, int]] = []
        node = body.first_child
        while (node is not None or opened) and len(self.lines) < limits.LINES:
            if node is None:
                node, self._around = opened.pop()
                self._end(node)
            elif (kind := node.tag_id) == TEXT:
                self._add(node.text_content or "")
            elif kind != COMMENT:
                attributes = node.attributes
                if self._is_button(node) or self._is_skipped(node, kind, attributes):
                    self._skip(node, attributes)
                else:
                    opened.append((node, self._around))
                    self._start(node, kind, attributes)
                    node = node.first_child
                    continue
            node = node.next
        self._break()

    def _is_button(self, node: LexborNode) -> bool:
        """Note a buy control, and return whether it is read; a form holds other elements."""
        if not self._controls or node.mem_id not in self._controls:
            return False
        self._break()
        self.buttons.append(len(self.lines))
        return node.tag_id != _FORM

    def _is_skipped(self, node: LexborNode, kind: int, attributes: _Attributes) -> bool:
        if kind in _INVISIBLE:
            return True
        if kind in _BOILERPLATE or (attributes and attributes.get("role") in tags.BOILERPLATE_ROLES):
            is_skipped = node.mem_id not in self._boxes
        elif kind == _HEADER and (around := node.parent) is not None and around.tag_id == _BODY:
            is_skipped = True
        else:
            is_skipped = bool(attributes) and _is_about_others(attributes)
        return is_skipped and node.mem_id not in self._own and kind not in _NEVER_SKIPPED

    def _skip(self, node: LexborNode, attributes: _Attributes) -> None:
        if node.tag_id == _SELECT and not _is_about_others(attributes):
            chosen = node.css_first("option[selected]")
            self._choose(attributes, "" if chosen is None else short_text(chosen))
        if node.tag_id in _BLOCKS:
            self._break()

    def _start(self, node: LexborNode, kind: int, attributes: _Attributes) -> None:
        if self._row_ends is None and (end := row_end(node, kind)) is not None:
            self._break()
            self._row_ends = end.mem_id
        elif kind in _BLOCKS or (self._row_ends is not None and _parent_id(node) == self._row_ends):
            self._break()
        if self._item is None and self._row_ends is None and is_entry(node, kind):
            self._item = node.mem_id
        if not attributes and kind not in _HEADINGS:
            return
        if kind == _INPUT and attributes.get("type") == "radio" and "checked" in attributes:
            label = _label_of(node)
            self._choose(attributes, "" if label is None else short_text(label))
        if kind == _A and not (attributes.get("href") or "#").startswith("#"):
            self._around |= _IN_LINK
        elif kind in _HEADINGS:
            self._around |= _IN_HEADING
        if _names_a_price(attributes):
            self._around |= _IN_PRICE

    def _end(self, node: LexborNode) -> None:
        identity = node.mem_id
        if identity == self._row_ends:
            self._flush(is_row=True)
            self._row_ends = None
        elif node.tag_id in _BLOCKS:
            self._break()
        if identity == self._item:
            self._break()
            self._item = None

    def _choose(self, attributes: _Attributes, choice: str) -> None:
        """Write a choice that is made behind the label in front of it."""
        names = f"{attributes.get('name')} {attributes.get('id')}"[: limits.VALUE]
        if not choice or _OTHER_CHOICES.search(names):
            return
        before = "".join(self._line.pieces)
        if len(before.split()) > _LABEL_WORDS or any(map(str.isdigit, before)):
            self._break()
        self._add(f" {choice} ")
        self._line.is_choice = True
        self._break()

    def _add(self, text: str) -> None:
        line = self._line
        if not text or line.size >= limits.LINE:
            return
        line.pieces.append(text)
        if size := len(text.strip()):
            around = self._around
            line.size += size
            line.linked += size if around & _IN_LINK else 0
            line.is_priced |= around & _IN_PRICE > 0
            line.is_heading |= around & _IN_HEADING > 0

    def _break(self) -> None:
        if self._row_ends is None:
            self._flush(is_row=False)
        else:
            self._line.pieces.append(" ")

    def _flush(self, *, is_row: bool) -> None:
        line = self._line
        if not line.pieces:
            return
        if text := " ".join("".join(line.pieces).split()):
            is_item = self._item is not None or line.is_choice
            is_linked = 2 * line.linked > line.size
            self.lines.append(Line(text[: limits.LINE], line.is_heading, is_row, is_item, is_linked, line.is_priced))
        self._line = _OpenLine()


def _boxes_around(tree: LexborHTMLParser, controls: Set[int]) -> set[int]:
    """Return the asides with a few buy controls: those of this product."""
    if not controls:
        return set()
    held = {
        aside.mem_id: sum(part.mem_id in controls for part in islice(within(aside), limits.CONTROLS))
        for aside in tree.css("aside")[: limits.CONTROLS]
    }
    return {box for box, count in held.items() if 0 < count <= _BUTTONS_IN_A_BOX}


def _is_about_others(attributes: _Attributes) -> bool:
    name = f"{attributes.get('class') or ''} {attributes.get('id') or ''}"
    return len(name) > 1 and _says_others(name[: limits.CLASS])


def _names_a_price(attributes: _Attributes) -> bool:
    name = attributes.get("itemprop") or attributes.get("class") or attributes.get("id")
    return bool(name) and _says_price(name[: limits.CLASS])  # type: ignore[index]


# The pages of a site share their classes.
@lru_cache(10_000)
def _says_others(name: str) -> bool:
    return _ABOUT_OTHERS.search(name) is not None


@lru_cache(10_000)
def _says_price(name: str) -> bool:
    return _PRICE.search(name) is not None


def _parent_id(node: LexborNode) -> int | None:
    return None if node.parent is None else node.parent.mem_id


def _label_of(node: LexborNode) -> LexborNode | None:
    around = next((outer for outer in elements_around(node) if outer.tag_id == _LABEL), None)
    beside = (around, sibling(node, forward=True), sibling(node, forward=False))
    return next((label for label in beside if label is not None and label.tag_id == _LABEL), None)
