"""Find the first heading in each block, with which a section or a teaser begins."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from crawldedup.reading.blocks import Blocks, kinds_of

_TITLES: Final = kinds_of(["h1", "h2", "h3", "h4"])
_LINK: Final = 0.5  # share of links at which a line counts as a link


class Opening(NamedTuple):
    """The first heading in a block: its tag, and whether it is a link."""

    kind: int
    is_linked: bool


def openings_of(blocks: Blocks, kept: Sequence[int]) -> dict[int, Opening]:
    """Return the first heading of each block. Blocks without one are missing."""
    kinds, parents = blocks.kinds, blocks.parents
    found: dict[int, Opening] = {}
    for line in kept:
        text, linked, block = blocks.lines[line]
        kind = kinds[block]
        if kind not in _TITLES and (kind := kinds[max(parents[block], 0)]) not in _TITLES:
            continue
        opening = Opening(kind, linked > _LINK * len(text))
        while block >= 0 and block not in found:
            found[block] = opening
            block = parents[block]
    return found
