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
from itertools import combinations
from typing import TYPE_CHECKING, Protocol

import numpy as np

from crawldedup.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

KEY_BITS = 64

Block = tuple[int, int]
"""First bit and number of bits."""
Move = tuple[int, int, int]
"""Of a block: its lowest bit in the fingerprint, number of bits, lowest bit in the key, counted from the right."""


class Order(Protocol):
    """Which bits of a page make its key in a table: bits of `search`, then those of `signature`."""

    @property
    def order(self) -> NDArray[np.intp]:
        """For each bit of the key, from the left, which bit of the page it is, shape (at most KEY_BITS,).

        The first 64 are those of the search bits, 64 is the first of the signature. Bits that the order lacks are 0.
        """

    def key_of(self, search: int, signature: bytes) -> int:
        """The key of a page: 64 bits."""


@dataclass(frozen=True)
class Table:
    """One order of the blocks of a fingerprint; together the blocks cover every bit once."""

    blocks: tuple[Block, ...]

    @cached_property
    def bits(self) -> int:
        """Number of bits of a fingerprint."""
        return sum(width for _, width in self.blocks)

    @cached_property
    def order(self) -> NDArray[np.intp]:
        """For each bit of the key, from the left, which bit of the fingerprint it is; shape (bits,)."""
        return np.concatenate([np.arange(first, first + width) for first, width in self.blocks])

    def key(self, fingerprint: int) -> int:
        """The fingerprint with its blocks in this table's order."""
        key = 0
        for first, width in self.blocks:
            key = key << width | fingerprint >> self.bits - first - width & (1 << width) - 1
        return key

    def key_of(self, search: int, signature: bytes) -> int:
        """See `Order`."""
        del signature
        return self.key(search)

    def keys(self, fingerprints: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """The keys of many fingerprints, same shape."""
        keys = np.zeros_like(fingerprints)
        for first, width, place in self._moves():
            keys |= _block(fingerprints, first, width) << np.uint64(place)
        return keys

    def fingerprints(self, keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """The fingerprints that have these keys, same shape."""
        fingerprints = np.zeros_like(keys)
        for first, width, place in self._moves():
            fingerprints |= _block(keys, place, width) << np.uint64(first)
        return fingerprints

    def _moves(self) -> Iterator[Move]:
        place = self.bits
        for first, width in self.blocks:
            place -= width
            yield self.bits - first - width, width, place


def _block(values: NDArray[np.uint64], lowest: int, width: int) -> NDArray[np.uint64]:
    return values >> np.uint64(lowest) & np.uint64((1 << width) - 1)


def split_blocks(bits: int, count: int) -> tuple[Block, ...]:
    """Cut `bits` bits into `count` blocks whose widths differ by one at most, wider ones first."""
    width, wider = divmod(bits, count)
    widths = [width + 1] * wider + [width] * (count - wider)
    firsts = np.cumsum([0, *widths[:-1]]).tolist()
    return tuple(zip(firsts, widths, strict=True))


def rotated_tables(count: int, bits: int = 64) -> tuple[Table, ...]:
    """`count` tables, each led by another block; their first bits // count bits have nothing in common."""
    if not 1 <= count <= bits:
        raise ConfigurationError(f"the number of tables is {count}; it must lie between 1 and {bits}")
    blocks = split_blocks(bits, count)
    return tuple(Table(blocks[lead:] + blocks[:lead]) for lead in range(count))


@dataclass(frozen=True)
class Band:
    """An order that takes some bits of a signature: those of one band of a MinHash signature (see `band_tables`)."""

    bits: tuple[int, ...]

    @cached_property
    def order(self) -> NDArray[np.intp]:
        """See `Order`."""
        return np.array(self.bits, np.intp) + KEY_BITS

    def key_of(self, search: int, signature: bytes) -> int:
        """See `Order`."""
        del search
        chosen = np.unpackbits(np.frombuffer(signature, np.uint8)).take(self.bits)
        return int.from_bytes(np.packbits(chosen).tobytes().ljust(KEY_BITS // 8, b"\0"), "big")


def band_tables(bands: int, rows: int, *, width: int) -> tuple[Band, ...]:
    """One table for each band of a signature whose rows are `width` bits wide.

    A key holds the first bit of every row of its band, then the second of every row, and so on: stores look at
    the leading bits of a key, so that these come from all rows alike (b-bit minwise hashing, Li and König 2010).
    """
    return tuple(
        Band(tuple(((band * rows + row) * width + bit) for bit in range(width) for row in range(rows))[:KEY_BITS])
        for band in range(bands)
    )


@dataclass(frozen=True)
class BlockSearch:
    """The exact search of the literature: every pair within `distance` bits, guaranteed.

    The fingerprint is cut into `blocks` blocks. Two fingerprints within `distance` bits agree on at least
    blocks - distance whole blocks, so with one table for every choice of blocks - distance leading blocks, one
    of the tables has both next to each other. That is C(blocks, distance) tables and as many ranges to read.
    """

    blocks: int
    distance: int
    bits: int = 64

    def __post_init__(self) -> None:
        if not 0 <= self.distance < self.blocks <= self.bits:
            raise ConfigurationError(
                f"{self.blocks} blocks for distance {self.distance} in {self.bits} bits: there must be more "
                f"blocks than bits that may differ, and no more blocks than bits"
            )

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """One table for every choice of leading blocks; the other blocks follow in their own order."""
        blocks = split_blocks(self.bits, self.blocks)
        return tuple(
            Table(lead + tuple(block for block in blocks if block not in lead))
            for lead in combinations(blocks, self.blocks - self.distance)
        )

    @cached_property
    def prefixes(self) -> tuple[int, ...]:
        """For each table, how many leading bits two near fingerprints share."""
        return tuple(sum(width for _, width in table.blocks[: self.blocks - self.distance]) for table in self.tables)
