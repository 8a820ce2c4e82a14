"""Helpers for single elements of a parsed page."""

from collections.abc import Iterator
from itertools import islice
from typing import Final

from selectolax.lexbor import LexborNode

from crawldedup.reading.blocks import TEXT

_LEVELS: Final = 200  # the most elements around one that are looked at; real pages have up to 60
_PARTS: Final = 100  # the most nodes of an element that are looked at, as a picture may come first


def own_text(node: LexborNode) -> str:
    """Return the text directly in an element, without that of the elements inside.

    In SVG and MathML, scripts, styles and links can be nested, so their complete texts might take a
    thousand times the memory of the page.
    """
    return node.text(deep=False) or ""


def within(node: LexborNode) -> Iterator[LexborNode]:
    """Yield the first nodes inside of a node, including texts and comments, in document order."""
    return islice(node.traverse(include_text=True), 1, _PARTS)


def text_within(node: LexborNode, most: int) -> str:
    """Return the text inside of a node on one line, up to `most` letters."""
    parts = islice(node.traverse(include_text=True), _PARTS)
    return " ".join(
        "".join([part.text_content or "" for part in parts if part.tag_id == TEXT])[:most].split()
    )


def elements_around(node: LexborNode) -> Iterator[LexborNode]:
    """Yield the elements around a node, from the inside out, up to `_LEVELS` of them."""
    outer = node.parent
    for _ in range(_LEVELS):
        if outer is None or not outer.is_element_node:
            return
        yield outer
        outer = outer.parent


def sibling(node: LexborNode, *, forward: bool) -> LexborNode | None:
    """Return the element right after a node (`forward`), or right before it, or None."""
    beside = node.next if forward else node.prev
    while beside is not None and not beside.is_element_node:
        beside = beside.next if forward else beside.prev
    return beside
