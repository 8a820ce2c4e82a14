"""All near pairs of a collection of fingerprints, by the block-permuted search (see `tables.BlockSearch`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crawldedup.search.tables import BlockSearch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Fingerprints = NDArray[np.uint64]


def find_all(
    fingerprints: Sequence[int] | Fingerprints, blocks: int, distance: int, *, bits: int = 64
) -> list[tuple[int, int]]:
    """Every pair of different fingerprints that differ in at most `distance` bits, smaller one first, sorted.

    Guaranteed complete. More blocks mean more tables, C(blocks, distance), each of which is quicker to go
    through. Memory is proportional to fingerprints and pairs. Raises ConfigurationError unless
    0 <= distance < blocks <= bits.
    """
    search = BlockSearch(blocks, distance, bits)
    distinct = np.unique(np.asarray(fingerprints, np.uint64))
    found = [
        pairs
        for table, prefix in zip(search.tables, search.prefixes, strict=True)
        for pairs in _near_neighbours(distinct, table.keys(distinct), bits - prefix, distance)
    ]
    if not found:
        return []
    low, high = np.concatenate(found, axis=1)
    pairs = np.unique(np.stack((np.minimum(low, high), np.maximum(low, high)), axis=1), axis=0)
    return [(first, second) for first, second in pairs.tolist()]


def _near_neighbours(
    fingerprints: Fingerprints, keys: Fingerprints, rest: int, distance: int
) -> Iterator[Fingerprints]:
    """Near pairs among fingerprints whose keys agree above the lowest `rest` bits; arrays of shape (2, pairs)."""
    order = keys.argsort(kind="stable")
    ordered = fingerprints[order]
    # A table led by all bits has single keys only, and numpy cannot shift by 64.
    prefixes = keys[order] >> np.uint64(rest) if rest < 64 else np.zeros(len(keys), np.uint64)
    firsts = np.arange(len(ordered))
    step = 1
    while True:
        firsts = firsts[firsts + step < len(ordered)]
        firsts = firsts[prefixes[firsts] == prefixes[firsts + step]]
        if not len(firsts):
            return
        near = np.bitwise_count(ordered[firsts] ^ ordered[firsts + step]) <= distance
        if near.any():
            yield np.stack((ordered[firsts[near]], ordered[firsts[near] + step]))
        step += 1
