"""Find the headings and links that name something, and those with which blocks begin.

A section or a teaser begins with such a heading.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from crawldedup.reading.blocks import Blocks, kinds_of
from crawldedup.reading.headline import is_title
from crawldedup.reading.page_lines import LINK

_TITLES: Final = kinds_of(["h1", "h2", "h3", "h4"])

# The block of a line with a link or a heading, whether the line is a link, and whether it is a
# heading.
NameLine = tuple[int, bool, bool]


class Names(NamedTuple):
    """The headings and the lines with links on a page, which name what they belong to."""

    lines: Sequence[NameLine]
    parts: Mapping[int, Sequence[int]]  #: The children of each block with such lines.


class Opening(NamedTuple):
    """How a block begins: the tag of its first heading, or 0 for a link, and if it's linked."""

    kind: int
    is_linked: bool


def names_of(blocks: Blocks, kept: Sequence[int]) -> Names:
    """Find the headings and the lines with links among the kept lines."""
    parents = blocks.parents
    lines: list[NameLine] = []
    parts: defaultdict[int, list[int]] = defaultdict(list)
    seen = {-1}
    for line in kept:
        text, linked, block = blocks.lines[line]
        is_heading = is_title(blocks, block)
        if not linked and not is_heading:
            continue
        lines.append((block, linked > LINK * len(text), is_heading))
        while block not in seen:
            seen.add(block)
            parts[parents[block]].append(block)
            block = parents[block]
    return Names(lines, parts)


def openings_of(blocks: Blocks, names: Names) -> dict[int, Opening]:
    """Find the first heading in each block. Blocks without one are missing."""
    kinds = blocks.kinds
    parents = blocks.parents
    headings = []
    for block, is_linked, is_heading in names.lines:
        if is_heading:
            kind = kinds[block] if kinds[block] in _TITLES else kinds[max(parents[block], 0)]
            headings.append((block, Opening(kind, is_linked)))
    return first_in_blocks(blocks, headings)


def first_in_blocks(blocks: Blocks, openings: Iterable[tuple[int, Opening]]) -> dict[int, Opening]:
    """Find the first opening in each block, including those of inner blocks.

    Args:
        blocks: The blocks of the page.
        openings: Blocks with their openings, in the order of the page.
    """
    found: dict[int, Opening] = {}
    for start, opening in openings:
        block = start
        while block >= 0 and block not in found:
            found[block] = opening
            block = blocks.parents[block]
    return found
