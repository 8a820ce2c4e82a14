"""Tell the rows of a specification, and short entries, by the elements that hold them."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from crawldedup.reading import tags
from crawldedup.reading.blocks import COMMENT, NUMBER, TEXT, numbers
from crawldedup.reading.nodes import sibling, texts_within, within

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

# Characters and elements of the largest row; elements of the parts of a pair.
_MAX_ROW_TEXT: Final = 400
_MAX_ROW_PARTS: Final = 100
_MAX_PAIR_PARTS: Final = 15
# Characters and parts of the largest entry or choice.
_MAX_ITEM_PARTS: Final = 30
_MAX_ITEM_TEXT: Final = 80

_A, _DD, _DT, _IMG, _LI, _TR = (NUMBER[name] for name in ("a", "dd", "dt", "img", "li", "tr"))
_CELLS: Final = numbers(["td", "th"])
_PAIRS: Final = numbers(["div", "li", "p"])
_MARKS: Final = numbers(["b", "strong", "span", "em", "i"])
_NOT_IN_A_ROW: Final = numbers(tags.HEADINGS) | numbers(["table", "tr", "form", "dl", "article", "section"])
_NOT_IN_AN_ITEM: Final = _NOT_IN_A_ROW | numbers(["a", "img", "button", "ul", "ol"])


def row_end(node: LexborNode, kind: int) -> LexborNode | None:
    """Return the element that ends the row which this one begins; None if it begins none."""
    if kind == _TR:
        is_row = len(_elements(node, _CELLS)) > 1 and _is_small(node, _MAX_ROW_PARTS)
        return node if is_row else None
    if kind == _DT:
        value = sibling(node, forward=True)
        if value is None or value.tag_id != _DD:
            return None
        return value if all(_is_small(part, _MAX_ROW_PARTS) for part in (node, value)) else None
    if kind in _PAIRS and _is_pair(node):
        beside = (sibling(node, forward=True), sibling(node, forward=False))
        return node if any(other is not None and other.tag_id == kind and _is_pair(other) for other in beside) else None
    return None


def _elements(node: LexborNode, wanted: frozenset[int]) -> list[LexborNode]:
    """Return the first elements of these kinds that stand right in a node."""
    found = []
    child = node.first_child
    for _ in range(_MAX_ROW_PARTS):
        if child is None:
            break
        if child.tag_id in wanted:
            found.append(child)
        child = child.next
    return found


def _is_pair(node: LexborNode) -> bool:
    """Return whether it holds two short texts alone, as in <div><span>Colour</span><span>red</span></div>."""
    parts: list[LexborNode] = []
    child = node.first_child
    while child is not None:
        kind = child.tag_id
        if kind == TEXT:
            if (child.text_content or "").strip(" \n\r\t:" if parts else None):
                return False
        elif kind != COMMENT:
            if len(parts) == 2 or kind in (_A, _IMG):
                return False
            parts.append(child)
        child = child.next
    return len(parts) == 2 and all(_is_small(part, _MAX_PAIR_PARTS) and _has_text(part) for part in parts)


def _has_text(node: LexborNode) -> bool:
    return any(text.strip() for text in texts_within(node))


def _is_small(node: LexborNode, most: int) -> bool:
    """Return whether it is small enough for a row, and holds no other parts of a page."""
    size = 0
    for number, part in enumerate(within(node)):
        if number >= most or part.tag_id in _NOT_IN_A_ROW:
            return False
        if part.tag_id == TEXT:
            size += len(part.text_content or "")
            if size > _MAX_ROW_TEXT:
                return False
    return True


def is_entry(node: LexborNode, kind: int) -> bool:
    """Return whether it is a short entry of a list, two short texts, or a word and a marked one: Colour <b>red</b>."""
    if kind != _LI and not (kind in _PAIRS and (_is_pair(node) or _is_marked(node))):
        return False
    size = 0
    for number, part in enumerate(within(node)):
        if number >= _MAX_ITEM_PARTS or part.tag_id in _NOT_IN_AN_ITEM:
            return False
        if part.tag_id == TEXT:
            size += len((part.text_content or "").strip())
    return size <= _MAX_ITEM_TEXT


def _is_marked(node: LexborNode) -> bool:
    first = node.first_child
    if first is None or first.tag_id != TEXT or not (first.text_content or "").strip():
        return False
    marked = first.next
    if marked is None or marked.tag_id not in _MARKS or not _has_text(marked):
        return False
    rest = marked.next
    return rest is None or (rest.tag_id == TEXT and rest.next is None and not (rest.text_content or "").strip())


def short_text(node: LexborNode) -> str:
    """Return the first texts in a node, in one line."""
    return " ".join("".join(islice(texts_within(node), _MAX_ITEM_PARTS))[:_MAX_ITEM_TEXT].split())
