"""Look around a node of a tree: what it holds, and what is around it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from crawldedup.reading.blocks import TEXT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from selectolax.lexbor import LexborNode


# Real pages have up to 60.
_LEVELS: Final = 200


def within(node: LexborNode) -> Iterator[LexborNode]:
    """Yield what a node holds, texts and comments included, in document order."""
    around: list[LexborNode] = []
    inner = node.first_child
    while inner is not None:
        yield inner
        if (child := inner.first_child) is not None:
            around.append(inner)
            inner = child
            continue
        while (following := inner.next) is None and around:
            inner = around.pop()
        inner = following


def texts_within(node: LexborNode) -> Iterator[str]:
    """Yield the texts in a node, "" for whatever is none, so that the caller can bound what it looks at."""
    return ((part.text_content or "") if part.tag_id == TEXT else "" for part in within(node))


def elements_around(node: LexborNode) -> Iterator[LexborNode]:
    """Yield the elements around a node, inner ones first; those of the first `_LEVELS`."""
    outer = node.parent
    for _ in range(_LEVELS):
        if outer is None or not outer.is_element_node:
            return
        yield outer
        outer = outer.parent


def sibling(node: LexborNode, *, forward: bool) -> LexborNode | None:
    """Return the next element beside one, or the one before."""
    beside = node.next if forward else node.prev
    while beside is not None and not beside.is_element_node:
        beside = beside.next if forward else beside.prev
    return beside
