"""All near pairs of a collection of fingerprints, by the block-permuted search (see `blocks.BlockSearch`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from crawldedup.errors import ConfigurationError
from crawldedup.simhash.blocks import BlockSearch, fingerprints_of, keys_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    Fingerprints = NDArray[np.uint64]

_KEYS_AT_ONCE: Final = 1 << 14


def find_all(
    fingerprints: Iterable[int] | Fingerprints, blocks: int, distance: int, *, bits: int = 64
) -> list[tuple[int, int]]:
    """Return every pair of different fingerprints that differ in at most `distance` bits, smaller one first, sorted.

    No pair is missed. More blocks mean more tables, C(blocks, distance), each of which is quicker to go through.
    Memory is proportional to fingerprints and pairs. Raises ConfigurationError unless 0 <= distance < blocks <= bits,
    and for fingerprints of more than `bits` bits.
    """
    search = BlockSearch(blocks, distance, bits)
    # Not np.unique: it builds a hash table, which takes longer than all the rest.
    ordered = np.sort(_as_array(fingerprints))
    distinct = ordered[_first_of_runs(ordered)]
    if len(distinct) and int(distinct[-1]) >> bits:
        raise ConfigurationError(f"{int(distinct[-1]):#x} has more than {bits} bits; give the right number as `bits`")
    found = [
        np.sort(fingerprints_of(pairs, table), axis=0)
        for table, prefix in zip(search.tables, search.prefixes, strict=True)
        for pairs in _near_neighbours(np.sort(keys_of(distinct, table)), bits - prefix, distance)
    ]
    if not found:
        return []
    return [(first, second) for first, second in np.unique(np.concatenate(found, axis=1), axis=1).T.tolist()]


def _as_array(fingerprints: Iterable[int] | Fingerprints) -> Fingerprints:
    if isinstance(fingerprints, np.ndarray):
        return fingerprints.astype(np.uint64, copy=False)
    return np.fromiter(fingerprints, np.uint64)


def _near_neighbours(keys: Fingerprints, rest: int, distance: int) -> Iterator[Fingerprints]:
    """Yield near pairs among sorted keys, arrays of shape (2, pairs): all that agree above the lowest `rest` bits.

    Keys differ in as many bits as their fingerprints do, so only the pairs are turned back.
    """
    # numpy cannot shift by 64.
    prefixes = keys >> np.uint64(rest) if rest < 64 else np.zeros_like(keys)
    firsts = _first_of_runs(prefixes).nonzero()[0]
    lengths = np.diff(firsts, append=len(keys))
    for runs in _slices(firsts):
        start = firsts[runs.start]
        some = keys[start : start + int(lengths[runs].sum())]
        for step in range(1, int(lengths[runs].max())):
            near = (np.bitwise_count(some[step:] ^ some[:-step]) <= distance).nonzero()[0]
            if len(near):
                yield np.stack((some[near], some[near + step]))


def _first_of_runs(ordered: Fingerprints) -> NDArray[np.bool_]:
    """Return the starts of runs of equal values, as a mask."""
    first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return first


def _slices(firsts: NDArray[np.intp]) -> Iterator[slice]:
    """Cut runs of keys with equal prefixes into slices that fit the cache."""
    start = 0
    while start < len(firsts):
        stop = int(np.searchsorted(firsts, firsts[start] + _KEYS_AT_ONCE))
        yield slice(start, stop)
        start = stop
