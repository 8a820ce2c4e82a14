"""All near pairs of a collection of fingerprints, by the block-permuted search (see `blocks.BlockSearch`)."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Final

import numpy as np

from crawldedup.errors import ConfigurationError
from crawldedup.fingerprinting.features import is_first_of_run
from crawldedup.search.plan import split_blocks
from crawldedup.simhash.blocks import BlockSearch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    Fingerprints = NDArray[np.uint64]

_KEYS_AT_ONCE: Final = 1 << 14
_RADIX_BITS: Final = 16


def find_all(
    fingerprints: Iterable[int] | Fingerprints, blocks: int, distance: int, *, bits: int = 64
) -> list[tuple[int, int]]:
    """Return every pair of different fingerprints that differ in at most `distance` bits.

    No pair is missed. Memory is proportional to fingerprints and pairs.

    Args:
        fingerprints: The fingerprints; those that occur twice count once.
        blocks: The number of blocks that fingerprints are cut into, above `distance` and at most `bits`. More blocks
            mean more tables, C(blocks, distance), each of which is quicker to go through.
        distance: The most bits that may differ, from 0.
        bits: The number of bits of a fingerprint, up to 64.

    Returns:
        The pairs, sorted. The smaller fingerprint of a pair comes first.

    Raises:
        ConfigurationError: Not 0 <= distance < blocks <= bits, or a fingerprint has more than `bits` bits.

    Example:
        >>> from crawldedup.simhash import find_all
        >>> for pair in find_all([0xCAFE, 0xCAFF, 0xBEEF], blocks=5, distance=3):
        ...     print(*map(hex, pair))
        0xcafe 0xcaff
    """
    search = BlockSearch(blocks, distance, bits)
    # Not np.unique: it builds a hash table, which takes longer than all the rest.
    ordered = np.sort(_as_array(fingerprints))
    distinct = ordered[is_first_of_run(ordered)]
    if len(distinct) and int(distinct[-1]) >> bits:
        raise ConfigurationError(f"{int(distinct[-1]):#x} has more than {bits} bits; give the right number as `bits`")
    found = [
        np.sort(pairs, axis=0) for table in _grouped(distinct, search) for pairs in _near_neighbours(*table, distance)
    ]
    if not found:
        return []
    return [(first, second) for first, second in np.unique(np.concatenate(found, axis=1), axis=1).T.tolist()]


def _as_array(fingerprints: Iterable[int] | Fingerprints) -> Fingerprints:
    if isinstance(fingerprints, np.ndarray):
        return fingerprints.astype(np.uint64, copy=False)
    return np.fromiter(fingerprints, np.uint64)


def _grouped(ordered: Fingerprints, search: BlockSearch) -> Iterator[tuple[Fingerprints, Fingerprints]]:
    """Yield sorted fingerprints in an order for each table, and what they have in its leading blocks.

    Those that agree in the leading blocks stand side by side. An order is made of another by a stable sort of one more
    block, so that orders with the same first blocks have these sorted once.
    """
    blocks, wanted = split_blocks(search.bits, search.blocks), search.blocks - search.distance
    orders = [ordered]
    masks = [0]
    chosen: tuple[tuple[int, int], ...] = ()
    for choice in combinations(blocks, wanted):
        shared = next((place for place, old in enumerate(chosen) if choice[place] != old), 0)
        del orders[shared + 1 :], masks[shared + 1 :]
        for place in range(shared, wanted):
            lowest, width = search.bits - sum(choice[place]), choice[place][1]
            # What is sorted is sorted by its first blocks, one after the other.
            is_sorted = choice[: place + 1] == blocks[: place + 1]
            orders.append(orders[-1] if is_sorted else _sorted_by(orders[-1], lowest, width))
            masks.append(masks[-1] | (1 << width) - 1 << lowest)
        chosen = choice
        yield orders[-1], orders[-1] & np.uint64(masks[-1])


def _sorted_by(fingerprints: Fingerprints, lowest: int, width: int) -> Fingerprints:
    """Return fingerprints stably sorted by `width` bits from the lowest one on.

    numpy sorts numbers of 16 bits by radix. For those of 64 bits it uses AVX-512, which is slow at it on Zen 4.
    """
    for done in range(0, width, _RADIX_BITS):
        digits = fingerprints >> np.uint64(lowest + done) & np.uint64((1 << min(_RADIX_BITS, width - done)) - 1)
        fingerprints = fingerprints[np.argsort(digits.astype(np.uint16), kind="stable")]
    return fingerprints


def _near_neighbours(fingerprints: Fingerprints, prefixes: Fingerprints, distance: int) -> Iterator[Fingerprints]:
    """Yield near pairs among fingerprints with equal prefixes, which stand side by side; arrays of shape (2, pairs)."""
    first = is_first_of_run(prefixes)
    # Most have a prefix of their own.
    alone = first.copy()
    alone[:-1] &= first[1:]
    fingerprints, firsts = fingerprints[~alone], first[~alone].nonzero()[0]
    lengths = np.diff(firsts, append=len(fingerprints))
    for runs in _slices(firsts):
        start = firsts[runs.start]
        some = fingerprints[start : start + int(lengths[runs].sum())]
        for step in range(1, int(lengths[runs].max())):
            near = (np.bitwise_count(some[step:] ^ some[:-step]) <= distance).nonzero()[0]
            if len(near):
                yield np.stack((some[near], some[near + step]))


def _slices(firsts: NDArray[np.intp]) -> Iterator[slice]:
    """Cut runs of keys with equal prefixes into slices that fit the cache."""
    start = 0
    while start < len(firsts):
        stop = int(np.searchsorted(firsts, firsts[start] + _KEYS_AT_ONCE))
        yield slice(start, stop)
        start = stop
