"""Parse a page once, and walk its tree once: its block elements, and the lines of text in them.

Lexbor parses as the HTML standard says and as browsers do. Its elements are dear to look at from Python, so whoever
reads a page goes by the numbers of the blocks and by the lines, and looks at the few elements that matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser

from crawldedup.reading import tags
from crawldedup.reading.names import Says, says

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
_TEXT, _INLINE, _LINK, _SKIPPED, _BREAK, _BLOCK, _BOILERPLATE = range(7)
_HIDDEN: Final = tags.INVISIBLE | {"head", "input", "noscript", "title"}
# A button is a block, for one that was never closed holds the page.
_CONTROLS: Final = frozenset(["datalist", "option", "select", "textarea"])
_KNOWN: Final = max(NUMBER.values()) + 1


def _kinds(hidden: Iterable[str], pruned: Iterable[str] = ()) -> list[int]:
    """Return what the walk does at each kind of element; an unknown one is a part of its line."""
    kinds = dict.fromkeys(numbers(tags.BLOCKS), _BLOCK) | dict.fromkeys(numbers(pruned), _BOILERPLATE)
    kinds |= {NUMBER["br"]: _BREAK, NUMBER["hr"]: _BREAK, NUMBER["a"]: _LINK, COMMENT: _SKIPPED, TEXT: _TEXT}
    kinds |= dict.fromkeys(numbers(hidden), _SKIPPED)
    return [kinds.get(number, _INLINE) for number in range(_KNOWN)]


_WITH_CONTROLS: Final = _kinds(_HIDDEN)
_WITHOUT_CONTROLS: Final = _kinds(_HIDDEN | _CONTROLS)
_WITHOUT_BOILERPLATE: Final = _kinds(_HIDDEN | _CONTROLS, tags.BOILERPLATE_TAGS)

_HOLDS: Final = "h1, article, main"
# Blocks whose names are read; a page may have 100,000, each with a name of its own.
_NAMED: Final = 5_000
# Letters up to which what is named as noise is looked at all the same: a price may be named "promo".
_SHORT_NOISE: Final = 100
# How much longer noise may be than the rest, for its name to be believed before it is read.
_BELIEVED: Final = 4


Line = tuple[str, int, int]
"""A text between two edges of blocks, how many of its characters are links, and the number of its block."""


@dataclass(frozen=True, slots=True)
class Blocks:
    """The block elements of a body, in document order, each with the number of the one around it; -1 for the body.

    What a block holds are the numbers from its own to before its end. `names` are what its attributes say of it.
    """

    nodes: list[LexborNode]
    parents: list[int]
    ends: list[int]
    kinds: list[int]
    names: list[int]
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


def holders_of_content(tree: LexborHTMLParser) -> set[int]:
    """Return the `mem_id` of each element around a first heading, an article or <main>.

    A navigation that holds the article was never closed, so it is none.
    """
    marked: set[int] = set()
    for node in tree.css(_HOLDS):
        outer = node.parent
        while outer is not None and outer.mem_id not in marked:
            marked.add(outer.mem_id)
            outer = outer.parent
    return marked


def blocks_of(tree: LexborHTMLParser, *, with_controls: bool = False) -> Blocks:
    """Walk a tree. Controls, such as buttons and choices, are left out unless asked for."""
    return _walk(tree, _WITH_CONTROLS if with_controls else _WITHOUT_CONTROLS)[0]


def blocks_without_noise(tree: LexborHTMLParser, holders: set[int]) -> Blocks:
    """Walk a tree, but not into navigation, footers and what is named as noise or hidden, unless that is the page."""
    blocks, noise = _walk(tree, _WITHOUT_BOILERPLATE, holders)
    if noise and noise > _BELIEVED * sum([len(text) for text, _, _ in blocks.lines]):
        blocks, _ = _walk(tree, _WITHOUT_BOILERPLATE, holders, believes_names=False)
    return blocks


# One loop over plain lists, with few looks at each node: a call for each would take as long again.
def _walk(  # noqa: C901
    tree: LexborHTMLParser, does: list[int], holders: set[int] | None = None, *, believes_names: bool = True
) -> tuple[Blocks, int]:
    """Return the blocks of a tree, and the letters of the longest noise that was left out by its name.

    With `holders`, the names of blocks are read, and what is noise is left out.
    """
    body = tree.body
    if body is None:
        return Blocks([], [], [], [], [], []), 0
    nodes, parents, ends, kinds, names = [body], [-1], [0], [body.tag_id], [Says.NOTHING]
    lines: list[Line] = []
    pieces: list[str] = []
    # The open elements that hold something, and what each of them is.
    opened: list[LexborNode] = []
    roles: list[int] = []
    linked = links = block = longest_noise = 0
    short_noise = -1
    node = body.first_child
    while node is not None or opened:
        if node is None:
            node = opened.pop()
            role = roles.pop()
            if role >= _BLOCK:
                if pieces:
                    _end_line(lines, pieces, linked, block)
                    linked = 0
                ends[block] = len(nodes)
                if block == short_noise:
                    short_noise = -1
                block = parents[block]
            elif role == _LINK:
                links -= 1
            node = node.next
            continue
        kind = node.tag_id
        role = does[kind] if kind < _KNOWN else _INLINE
        if role == _SKIPPED:
            node = node.next
            continue
        child = node if role == _TEXT else node.first_child
        # Most inline elements hold a text and no more.
        if role == _TEXT or (role <= _LINK and child is not None and child.tag_id == TEXT and child.next is None):
            text = (child and child.text_content) or ""
            if pieces or not text.isspace():
                pieces.append(text)
                if links or role == _LINK:
                    linked += len(text)
            node = node.next
            continue
        if role >= _BREAK and pieces:
            _end_line(lines, pieces, linked, block)
            linked = 0
        if child is None:
            node = node.next
            continue
        if role >= _BLOCK:
            name = Says.NOTHING
            if holders is not None:
                if role == _BOILERPLATE and node.mem_id not in holders:
                    node = node.next
                    continue
                if len(nodes) < _NAMED:
                    name = says(node)
                is_noise = name == Says.HIDDEN or (name == Says.NOISE and node.mem_id not in holders)
                # What is in short noise is no longer, and is not measured again.
                if is_noise and believes_names and short_noise < 0:
                    if (letters := len(node.text())) > _SHORT_NOISE:
                        longest_noise = max(longest_noise, letters)
                        node = node.next
                        continue
                    short_noise = len(nodes)
            parents.append(block)
            block = len(nodes)
            nodes.append(node)
            kinds.append(kind)
            names.append(name)
            ends.append(0)
        elif role == _LINK:
            links += 1
        opened.append(node)
        roles.append(role)
        node = child
    if pieces:
        _end_line(lines, pieces, linked, block)
    ends[0] = len(nodes)
    return Blocks(nodes, parents, ends, kinds, names, lines), longest_noise


def _end_line(lines: list[Line], pieces: list[str], linked: int, block: int) -> None:
    if text := " ".join("".join(pieces).split()):
        lines.append((text, linked, block))
    pieces.clear()
