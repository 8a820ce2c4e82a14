"""Find the links and headings that name something, and the first heading in each block, with
which a section or a teaser begins.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from crawldedup.reading.blocks import Blocks, kinds_of

_TITLES: Final = kinds_of(["h1", "h2", "h3", "h4"])
_LINK: Final = 0.5  # share of links at which a line counts as a link

# The block of a line with a link or a heading, whether the line is a link, and whether it is a
# heading.
NameLine = tuple[int, bool, bool]


class Names(NamedTuple):
    """The lines that name a page or a thing, because they have a link or are a heading."""

    lines: Sequence[NameLine]
    parts: Mapping[int, Sequence[int]]  #: The children of each block with such lines.


class Opening(NamedTuple):
    """The first heading in a block: its tag, and whether it is a link."""

    kind: int
    is_linked: bool


def names_of(blocks: Blocks, kept: Sequence[int]) -> Names:
    """Return the lines among the kept ones that name a page or a thing."""
    kinds, parents = blocks.kinds, blocks.parents
    lines: list[NameLine] = []
    parts: defaultdict[int, list[int]] = defaultdict(list)
    seen = {-1}
    for line in kept:
        text, linked, block = blocks.lines[line]
        is_heading = kinds[block] in _TITLES or kinds[max(parents[block], 0)] in _TITLES
        if not linked and not is_heading:
            continue
        lines.append((block, linked > _LINK * len(text), is_heading))
        while block not in seen:
            seen.add(block)
            parts[parents[block]].append(block)
            block = parents[block]
    return Names(lines, parts)


def openings_of(blocks: Blocks, names: Names) -> dict[int, Opening]:
    """Return the first heading of each block. Blocks without one are missing."""
    kinds, parents = blocks.kinds, blocks.parents
    found: dict[int, Opening] = {}
    for block, is_linked, is_heading in names.lines:
        if not is_heading or block in found:
            continue
        kind = kinds[block] if kinds[block] in _TITLES else kinds[max(parents[block], 0)]
        opening = Opening(kind, is_linked)
        while block >= 0 and block not in found:
            found[block] = opening
            block = parents[block]
    return found
