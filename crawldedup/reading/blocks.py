"""Parse a page once, and walk its tree once: its block elements, and the lines of text in them.

Lexbor parses as the HTML standard says and as browsers do. Its elements are dear to look at from Python, so whoever
reads a page goes by the numbers of the blocks and by the lines, and looks at the few elements that matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser

from crawldedup.reading import tags

if TYPE_CHECKING:
    from collections.abc import Iterable

    from selectolax.lexbor import LexborNode

# By default Lexbor copies the chosen option into <selectedcontent>, for each such element.
_OPTIONS: Final = LexborDocumentOptions.WO_EVENTS.value


def parse(html: str) -> LexborHTMLParser:
    """Return the tree of a page, in which the content of <noscript> is a text.

    Elements that are left open take quadratic time: see `limits`.
    """
    return LexborHTMLParser(html, options=_OPTIONS, scripting=True)


def _numbers_of(names: Iterable[str]) -> dict[str, int]:
    """Return Lexbor's number of each kind of element; an unknown kind gets one in each document."""
    document = parse("")
    return {name: document.create_node(name).tag_id for name in names}


NUMBER: Final = _numbers_of(sorted(tags.ALL))
"""The numbers of the known kinds of elements, by their names."""


def numbers(names: Iterable[str]) -> frozenset[int]:
    """Return the numbers of kinds of elements."""
    return frozenset(NUMBER[name] for name in names)


TEXT: Final = parse("x").body.first_child.tag_id  # type: ignore[union-attr]
COMMENT: Final = parse("<body><!-- -->").body.first_child.tag_id  # type: ignore[union-attr]
_INLINE, _LINK, _SKIPPED, _BREAK, _BLOCK = range(5)
_HIDDEN: Final = tags.INVISIBLE | {"head", "input", "noscript", "title"}
# A button is a block, for one that was never closed holds the page.
_CONTROLS: Final = frozenset(["datalist", "option", "select", "textarea"])


def _kinds(hidden: Iterable[str]) -> dict[int, int]:
    """Return what the walk does at each kind of element; an unknown one is a part of its line."""
    kinds = dict.fromkeys(numbers(tags.BLOCKS), _BLOCK) | dict.fromkeys(numbers(hidden), _SKIPPED)
    return kinds | {NUMBER["br"]: _BREAK, NUMBER["hr"]: _BREAK, NUMBER["a"]: _LINK, COMMENT: _SKIPPED}


_WITHOUT_CONTROLS: Final = _kinds(_HIDDEN | _CONTROLS)
_WITH_CONTROLS: Final = _kinds(_HIDDEN)


class Line(NamedTuple):
    """A text between two edges of blocks, how many of its characters are links, and the number of its block."""

    text: str
    linked: int
    block: int


@dataclass(frozen=True)
class Blocks:
    """The block elements of a body, in document order, each with the number of the one around it; -1 for the body.

    An inner block has a higher number than an outer one, so a loop backwards makes sums over all that a block holds.
    """

    nodes: list[LexborNode]
    parents: list[int]
    kinds: list[int]
    lines: list[Line]

    @cached_property
    def inside_out(self) -> range:
        """The numbers of all blocks but the body, inner ones first."""
        return range(len(self.nodes) - 1, 0, -1)

    def inside(self, block: int) -> list[bool]:
        """Return for each block whether it is in this one, or is it."""
        marks = [False] * len(self.parents)
        marks[block] = True
        for number in range(block + 1, len(marks)):
            marks[number] = marks[self.parents[number]]
        return marks

    def from_body_to(self, block: int | None) -> set[int]:
        """Return a block and those around it; nothing for None."""
        way = set()
        while block is not None and block >= 0:
            way.add(block)
            block = self.parents[block]
        return way

    def around(self, wanted: frozenset[int]) -> list[bool]:
        """Return for each block whether it is around one of the `wanted` kinds."""
        marks = [False] * len(self.kinds)
        for number, kind in enumerate(self.kinds):
            if kind in wanted:
                holder = self.parents[number]
                while holder >= 0 and not marks[holder]:
                    marks[holder] = True
                    holder = self.parents[holder]
        return marks


# One loop, since a call for each node would take as long again.
def blocks_of(tree: LexborHTMLParser, *, with_controls: bool = False) -> Blocks:  # noqa: C901
    """Walk a tree. Controls, such as buttons and choices, are left out unless asked for."""
    body = tree.body
    if body is None:
        return Blocks([], [], [], [])
    does = (_WITH_CONTROLS if with_controls else _WITHOUT_CONTROLS).get
    nodes, parents, kinds = [body], [-1], [body.tag_id]
    lines: list[Line] = []
    pieces: list[str] = []
    # The open elements, and for each what ends with it: a block (the one around it), a link or nothing.
    opened: list[LexborNode] = []
    ends: list[int] = []
    link, nothing = -2, -3
    linked = links = block = 0

    def end_line() -> None:
        nonlocal pieces, linked
        if text := " ".join("".join(pieces).split()):
            lines.append(Line(text, linked, block))
        pieces = []
        linked = 0

    node = body.first_child
    while node is not None or opened:
        if node is None:
            node = opened.pop()
            end = ends.pop()
            if end >= 0:
                if pieces:
                    end_line()
                block = end
            elif end == link:
                links -= 1
            node = node.next
            continue
        kind = node.tag_id
        if kind == TEXT:
            text = node.text_content
            if text and (pieces or not text.isspace()):
                pieces.append(text)
                if links:
                    linked += len(text)
            node = node.next
            continue
        what = does(kind, _INLINE)
        if what == _SKIPPED:
            node = node.next
            continue
        if what >= _BREAK and pieces:
            end_line()
        child = node.first_child
        if child is None:
            node = node.next
            continue
        opened.append(node)
        if what == _LINK:
            links += 1
            ends.append(link)
        elif what == _BLOCK:
            ends.append(block)
            parents.append(block)
            block = len(nodes)
            nodes.append(node)
            kinds.append(kind)
        else:
            ends.append(nothing)
        node = child
    if pieces:
        end_line()
    return Blocks(nodes, parents, kinds, lines)
