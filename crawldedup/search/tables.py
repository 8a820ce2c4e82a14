"""Permuted block tables: orderings of a fingerprint's bits in which near pairs share their leading bits.

Bits are counted from the left: bit 0 is the most significant. A table is an order of blocks of bits; a
fingerprint's key in a table is the fingerprint with its blocks in that order (Manku, Jain and Das Sarma 2007).

       0 ------- 12 -------- 25 -------- 38 -------- 51 ------- 63
       |    A     |     B     |     C     |     D     |    E     |    the fingerprint
       |     C     |    A     |     B     |     D     |    E     |    its key in the table that leads with C
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

from crawldedup.errors import ConfigurationError

if TYPE_CHECKING:
    from numpy.typing import NDArray

KEY_BITS = 64

Block = tuple[int, int]
"""First bit and number of bits."""


class Order(Protocol):
    """Says which bits of a page make its key in a table: bits of `search`, then those of `signature`."""

    @property
    def order(self) -> NDArray[np.intp]:
        """Return the bit of the page behind each bit of the key, from the left; shape (at most KEY_BITS,).

        Bits 0 to 63 are those of `search`, 64 is the first of `signature`. Key bits beyond the order are 0.
        """

    def key_of(self, search: int, signature: bytes, /) -> int:
        """Return the key of a page: 64 bits."""


@dataclass(frozen=True)
class Table:
    """One order of the blocks of a fingerprint; together the blocks cover every bit once."""

    blocks: tuple[Block, ...]

    @cached_property
    def bits(self) -> int:
        """Return the number of bits of a fingerprint."""
        return sum(width for _, width in self.blocks)

    @cached_property
    def order(self) -> NDArray[np.intp]:
        """See `Order`; shape (bits,)."""
        return np.concatenate([np.arange(first, first + width) for first, width in self.blocks])

    def key(self, fingerprint: int) -> int:
        """Return the fingerprint with its blocks in this table's order."""
        key = 0
        for first, width in self.blocks:
            key = key << width | fingerprint >> self.bits - first - width & (1 << width) - 1
        return key

    def keys(self, fingerprints: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return the keys of many fingerprints, same shape."""
        keys = np.zeros_like(fingerprints)
        for first, width in self.blocks:
            block = fingerprints >> np.uint64(self.bits - first - width) & np.uint64((1 << width) - 1)
            keys = keys << np.uint64(width & 63) | block
        return keys

    def key_of(self, search: int, _signature: bytes, /) -> int:
        """See `Order`."""
        return self.key(search)


def split_blocks(bits: int, count: int) -> tuple[Block, ...]:
    """Cut `bits` bits into `count` blocks whose widths differ by one at most, wider ones first."""
    width, wider = divmod(bits, count)
    widths = [width + 1] * wider + [width] * (count - wider)
    firsts = np.cumsum([0, *widths[:-1]]).tolist()
    return tuple(zip(firsts, widths, strict=True))


def rotated_tables(count: int, bits: int = 64) -> tuple[Table, ...]:
    """Return `count` tables, each led by another block; their first bits // count bits have nothing in common."""
    if not 1 <= count <= bits:
        raise ConfigurationError(f"the number of tables is {count}; it must lie between 1 and {bits}")
    blocks = split_blocks(bits, count)
    return tuple(Table(blocks[lead:] + blocks[:lead]) for lead in range(count))
