"""The exact search of the literature: block-permuted tables (Manku, Jain and Das Sarma 2007)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from crawldedup.errors import ConfigurationError
from crawldedup.search.plan import ProbePlan
from crawldedup.search.plan import Table, split_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray


@dataclass(frozen=True)
class BlockSearch:
    """Finds every pair within `distance` bits, guaranteed.

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
        """Return a table for every choice of leading blocks; the other blocks follow in their own order."""
        blocks = split_blocks(self.bits, self.blocks)
        return tuple(
            Table(lead + tuple(block for block in blocks if block not in lead))
            for lead in combinations(blocks, self.blocks - self.distance)
        )

    @cached_property
    def prefixes(self) -> tuple[int, ...]:
        """Return, for each table, the number of leading bits that two near fingerprints share."""
        return tuple(sum(width for _, width in table.blocks[: self.blocks - self.distance]) for table in self.tables)

    def plan(self, fingerprint: int) -> ProbePlan:
        """Return one range in each table; together they hold every fingerprint within `distance` bits."""
        lows, highs = [], []
        for table, prefix in zip(self.tables, self.prefixes, strict=True):
            rest = (1 << self.bits - prefix) - 1
            key = table.key(fingerprint)
            lows.append(key & ~rest)
            highs.append(key | rest)
        return ProbePlan(np.arange(len(lows)), np.array(lows, np.uint64), np.array(highs, np.uint64), recall=1.0)


def keys_of(fingerprints: NDArray[np.uint64], table: Table) -> NDArray[np.uint64]:
    """Return the keys of many fingerprints in a table, same shape."""
    keys = np.zeros_like(fingerprints)
    for first, width, place in _moves(table):
        keys |= _block(fingerprints, first, width) << np.uint64(place)
    return keys


def fingerprints_of(keys: NDArray[np.uint64], table: Table) -> NDArray[np.uint64]:
    """Return the fingerprints with these keys in a table, same shape."""
    fingerprints = np.zeros_like(keys)
    for first, width, place in _moves(table):
        fingerprints |= _block(keys, place, width) << np.uint64(first)
    return fingerprints


def _moves(table: Table) -> Iterator[tuple[int, int, int]]:
    """Yield each block's lowest bit in the fingerprint, its width, its lowest bit in the key; from the right."""
    place = table.bits
    for first, width in table.blocks:
        place -= width
        yield table.bits - first - width, width, place


def _block(values: NDArray[np.uint64], lowest: int, width: int) -> NDArray[np.uint64]:
    return values >> np.uint64(lowest) & np.uint64((1 << width) - 1)
