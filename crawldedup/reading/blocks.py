"""Parse a page once, and walk its tree once: its block elements, and the lines of text in them.

Lexbor parses as the HTML standard says and as browsers do. Its elements are dear to look at from Python, so whoever
reads a page goes by the numbers of the blocks and by the lines, and looks at the few elements that matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser

from crawldedup.reading import tags

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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


_KNOWN: Final = max(NUMBER.values()) + 1


def _kinds(hidden: Iterable[str]) -> list[int]:
    """Return what the walk does at each kind of element; an unknown one is a part of its line."""
    kinds = dict.fromkeys(numbers(tags.BLOCKS), _BLOCK) | dict.fromkeys(numbers(hidden), _SKIPPED)
    kinds |= {NUMBER["br"]: _BREAK, NUMBER["hr"]: _BREAK, NUMBER["a"]: _LINK, COMMENT: _SKIPPED}
    return [kinds.get(number, _INLINE) for number in range(_KNOWN)]


_WITHOUT_CONTROLS: Final = _kinds(_HIDDEN | _CONTROLS)
_WITH_CONTROLS: Final = _kinds(_HIDDEN)


Line = tuple[str, int, int]
"""A text between two edges of blocks, how many of its characters are links, and the number of its block."""


@dataclass(frozen=True, slots=True)
class Blocks:
    """The block elements of a body, in document order, each with the number of the one around it; -1 for the body.

    What a block holds are the numbers from its own to before its end.
    """

    nodes: list[LexborNode]
    parents: list[int]
    ends: list[int]
    kinds: list[int]
    lines: list[Line]

    def children(self, block: int) -> Iterator[int]:
        """Yield the blocks right in a block."""
        inner = block + 1
        while inner < self.ends[block]:
            yield inner
            inner = self.ends[inner]

    def way_to(self, block: int | None) -> Iterator[int]:
        """Yield a block and those around it, inner ones first; nothing for None."""
        while block is not None and block >= 0:
            yield block
            block = self.parents[block]

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


# One loop over plain lists, since a call for each node would take as long again.
def blocks_of(tree: LexborHTMLParser, *, with_controls: bool = False) -> Blocks:  # noqa: C901
    """Walk a tree. Controls, such as buttons and choices, are left out unless asked for."""
    body = tree.body
    if body is None:
        return Blocks([], [], [], [], [])
    does = _WITH_CONTROLS if with_controls else _WITHOUT_CONTROLS
    nodes, parents, ends, kinds = [body], [-1], [0], [body.tag_id]
    lines: list[Line] = []
    pieces: list[str] = []
    # The open elements that hold something, and what each of them is.
    opened: list[LexborNode] = []
    whats: list[int] = []
    linked = links = block = 0
    node = body.first_child
    while node is not None or opened:
        if node is None:
            node = opened.pop()
            what = whats.pop()
            if what == _BLOCK:
                if pieces:
                    _end_line(lines, pieces, linked, block)
                    linked = 0
                ends[block] = len(nodes)
                block = parents[block]
            elif what == _LINK:
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
        what = does[kind] if kind < _KNOWN else _INLINE
        if what == _SKIPPED:
            node = node.next
            continue
        if what >= _BREAK and pieces:
            _end_line(lines, pieces, linked, block)
            linked = 0
        child = node.first_child
        if child is None:
            node = node.next
            continue
        if what == _BLOCK:
            parents.append(block)
            block = len(nodes)
            nodes.append(node)
            kinds.append(kind)
            ends.append(0)
        elif what == _LINK:
            links += 1
        opened.append(node)
        whats.append(what)
        node = child
    if pieces:
        _end_line(lines, pieces, linked, block)
    ends[0] = len(nodes)
    return Blocks(nodes, parents, ends, kinds, lines)


def _end_line(lines: list[Line], pieces: list[str], linked: int, block: int) -> None:
    if text := " ".join("".join(pieces).split()):
        lines.append((text, linked, block))
    pieces.clear()
