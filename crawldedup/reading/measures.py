"""Measure how much text and prose is in each block of a page, and how much that weighs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

from crawldedup.reading.blocks import Blocks, kind_of, kinds_of, totals
from crawldedup.reading.page_lines import PageLines

SINGLE: Final = kinds_of(["li", "p"])
"""Tags of elements that are among others of their kind and belong together with them."""
PRE: Final = kind_of("pre")

_BESIDE_HEADLINE: Final = 3  # times the weight of prose next to a headline
_TOGETHER: Final = 1000  # bytes of prose in one place that have half of the full weight
_PARTS: Final = 64  # weights are counted in this fraction of a byte, so all sums are exact


@dataclass(frozen=True, slots=True, eq=False)
class Measures:
    """How much text each block of a page has, in bytes, without the lines that are noise.

    The first two only have a block's own lines. The others include all blocks inside of it.
    """

    own: list[int]  #: Lines that aren't in lists of links.
    own_prose: list[int]
    sizes: list[int]  #: Lines that aren't in lists of links.
    every: list[int]
    prose: list[int]
    #: Prose that counts more if there is more of it side by side.
    together: list[int]
    #: The same, multiplied by what names and headlines say about the block.
    weights: list[int]
    code: list[int]

    @classmethod
    def of(cls, read: PageLines, kept: Sequence[int], near_headline: range) -> Self:
        """Measure the blocks of a page, counting only lines that are kept.

        Prose in the blocks `near_headline` weighs more.
        """
        blocks = read.blocks
        count = len(blocks.ends)
        own = [0] * count
        own_prose = [0] * count
        every = [0] * count
        paragraphs: list[int] = []
        # Paragraphs and the like are side by side in the block around them.
        side_by_side = [0] * count
        for line in kept:
            block = blocks.lines[line][2]
            size = read.sizes[line]
            every[block] += size
            if not read.is_listed[line]:
                own[block] += size
            if read.is_prose[line]:
                own_prose[block] += size
                side_by_side[_holder_of(blocks, block)] += size
                paragraphs.append(line)
        together = [0] * count
        weights = [0] * count
        for line in paragraphs:
            block = blocks.lines[line][2]
            beside = side_by_side[_holder_of(blocks, block)]
            weight = read.sizes[line] * _PARTS * beside // (beside + _TOGETHER)
            together[block] += weight
            factor = _BESIDE_HEADLINE if block in near_headline else 1
            weights[block] += weight * read.factors[block] * factor
        code = [size if kind == PRE else 0 for size, kind in zip(every, blocks.kinds, strict=True)]
        return cls(
            own=own,
            own_prose=own_prose,
            sizes=totals(own, blocks.ends),
            every=totals(every, blocks.ends),
            prose=totals(own_prose, blocks.ends),
            together=totals(together, blocks.ends),
            weights=totals(weights, blocks.ends),
            code=totals(code, blocks.ends) if any(code) else code,
        )


def _holder_of(blocks: Blocks, block: int) -> int:
    """Return the block that contains a paragraph and others next to it."""
    return blocks.parents[block] if blocks.kinds[block] in SINGLE else block
