"""Pair pages that may be near duplicates, because they share a key.

No crowd of pages is ever paired in full.

A crawl files a page under its own key in each table and probes the keys that its near duplicates
probably have. A scan has all pages, so both sides can share the work: each page is filed under its
own key and under a few others, in which the bits that most likely differ are flipped (Sood and
Loguinov 2011). Two pages are paired if they have one of these keys in common, so n keys per page do
the work of nearly n * n probes. Only the leading bits of a key count, and the fewer pages there
are, the fewer bits. That way, about the same number of unrelated pages share a key in every
collection.

Keys are sorted, so the pages that share one form a run. A page is paired with a limited number of
pages before it in its run: in a long run, with those whose whole keys are next to its own. It is
also paired with the first page of each longer key that it shares with many pages, so each of a
thousand copies is paired with the one that is kept.

Siblings share nearly all of their text, so a page may be paired with a crowd of them and miss the
one that it is a copy of. Therefore, pages that have an exact key in common are paired as well, each
with the first page of that key and with the pages before it.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from crawldedup.fingerprinting.shingles import is_first_of_run
from crawldedup.marks.exact_keys import MOST_PER_KEY
from crawldedup.search.decision import grid_rows, normal_tables, search_similarity, steepness
from crawldedup.search.plan import STORED_BITS, Table, flip_sets

Keys = NDArray[np.uint64]
Near = Callable[[Keys, Keys], Keys]  # `near_pairs` of some pages

# The resolution of search weights, which only show which bits are likely to flip.
VOLATILITY_UNIT: Final = 32
KEYS_A_TABLE: Final = 6
"""The number of keys under which each page is filed in each table.

With 6 keys in each of two tables, and 4 to 8 pages that share a key by chance, 99.7% of the pairs
with J = .9 share a key, and 98% of those with J = .85. An index of a million pages finds 99.0% and
98.4%.
"""
# If too many pages share a key, keys that are longer by this number of bits are compared as well.
CROWD_BITS: Final = 4
NEIGHBORS: Final = 64  # the maximum number of earlier pages in a run that a page is compared with
_SPARED_BITS: Final = 3  # how many fewer bits a key has than the number of pages
_FEWEST_BITS: Final = 8
_NUMBER_BITS: Final = 64 - STORED_BITS
MOST_PAGES: Final = 1 << _NUMBER_BITS

_PAIRS_AT_ONCE: Final = 1 << 20
_KEYS_AT_ONCE: Final = 1 << 22
_PAGES_A_FILE: Final = 1 << 16
_MOST_FILES: Final = 256


def key_bits(pages: int) -> int:
    """Return how many leading bits of a key count in a collection with this many pages."""
    return min(max(max(pages - 1, 0).bit_length() - _SPARED_BITS, _FEWEST_BITS), STORED_BITS)


def keys_of(
    search: Keys, volatility: NDArray[np.uint8], table: Table, *, bits: int, similarity: float
) -> Keys:
    """Return the keys that near duplicates of pages are most likely to have.

    Near duplicates have `similarity` or more. Only the leading `bits` of a key count. The shape is
    (pages, KEYS_A_TABLE).
    """
    _, members = flip_sets(bits, KEYS_A_TABLE)
    # Bits are chosen by their rank of volatility.
    members = members[: max(int(np.count_nonzero(members.any(axis=1))), 1)]
    weights = np.arange(256, dtype=np.float32) / np.float32(VOLATILITY_UNIT)
    log_odds = normal_tables().log_odds.take(
        grid_rows(weights, steepness(search_similarity(similarity)))
    )
    sizes = volatility[:, table.order[:bits]]
    most_volatile = sizes.argsort(axis=1, kind="stable")[:, : len(members)]
    costs = -log_odds.take(np.take_along_axis(sizes, most_volatile, axis=1)) @ members
    likeliest = costs.argsort(axis=1, kind="stable")[:, :KEYS_A_TABLE]
    values = np.uint64(1) << (63 - most_volatile).astype(np.uint64)
    flips = np.take_along_axis(values @ members.astype(np.uint64), likeliest, axis=1)
    return table.keys(search)[:, None] ^ flips


def pack(keys: Keys, numbers: NDArray[np.uint64]) -> Keys:
    """Pack each key (its leading bits) and the number of its page into one integer.

    Numbers are below MOST_PAGES.
    """
    return keys >> np.uint64(_NUMBER_BITS) << np.uint64(_NUMBER_BITS) | numbers


def numbers_in(packed: Keys) -> Keys:
    """Return the numbers of pages from packed keys."""
    return packed & np.uint64(MOST_PAGES - 1)


def near_pairs(
    search: Keys, verify: Keys, most_search: int, most_verify: int, first: Keys, second: Keys
) -> Keys:
    """Select the distinct pairs of pages that differ in few enough bits. They are packed by `pair`.

    `search` and `verify` hold the bits of pages by number; `verify` has four words per page.
    """
    is_near = np.bitwise_count(search[first] ^ search[second]) <= most_search
    is_near &= first != second
    first = first[is_near]
    second = second[is_near]
    # This is done before sorting the pairs, which takes longer.
    is_near = (
        np.bitwise_count(verify[first] ^ verify[second]).sum(axis=1, dtype=np.uint16) <= most_verify
    )
    return distinct(pair(first[is_near], second[is_near]))


def pair(first: Keys, second: Keys) -> Keys:
    """Pack two page numbers into one integer, for each pair.

    The integers sort by the later page.
    """
    return np.maximum(first, second) * np.uint64(MOST_PAGES) | np.minimum(first, second)


def later_of(pairs: Keys) -> NDArray[np.int64]:
    """Return the numbers of the later pages of pairs."""
    return (pairs // np.uint64(MOST_PAGES)).astype(np.int64)


def earlier_of(pairs: Keys) -> NDArray[np.int64]:
    """Return the numbers of the earlier pages of pairs."""
    return numbers_in(pairs).astype(np.int64)


def distinct(values: Keys) -> Keys:
    """Sort values and remove repetitions.

    It takes a tenth of the time of numpy.unique, which builds a hash table.
    """
    ordered = np.sort(values)
    return ordered[is_first_of_run(ordered)]


def candidate_pairs(packed: Keys, bits: int, near: Near) -> Iterator[Keys]:
    """Yield near pairs of pages whose keys, which are packed and sorted, share the leading `bits`.

    The pairs are packed by `pair`, and some come twice.
    """
    first = 0
    while first < len(packed):
        # Between two runs.
        last = min(first + _KEYS_AT_ONCE, len(packed)) - 1
        end = int(
            np.searchsorted(packed, packed[last] | np.uint64((1 << 64 - bits) - 1), side="right")
        )
        yield from _neighbors(packed[first:end], bits, near)
        yield from _with_first(packed[first:end], bits, near)
        first = end


def pairs_of_exact_keys(keys: Keys, numbers: Keys) -> Iterator[Keys]:
    """Yield pairs of pages with the same exact key, sorted. Some come twice.

    A page is paired with the first page of its key and with up to MOST_PER_KEY pages before it. The
    key 0 means that there is none.
    """
    has_key = keys != 0
    keys = keys[has_key]
    numbers = numbers[has_key]
    order = np.lexsort((numbers, keys))
    keys = keys[order]
    numbers = numbers[order]
    places = np.arange(len(keys))
    starts = np.maximum.accumulate(np.where(is_first_of_run(keys), places, 0))
    later = np.flatnonzero(places > starts)
    yield distinct(pair(numbers[later], numbers[starts[later]]))
    for back in range(1, MOST_PER_KEY + 1):
        later = np.flatnonzero(places - starts > back)
        if not len(later):
            return
        yield distinct(pair(numbers[later], numbers[later - back]))


def crowded(packed: Keys, bits: int) -> Keys:
    """Return the numbers of pages whose key too many pages share to pair all, ascending."""
    counts = _run_lengths(packed, bits)
    return distinct(numbers_in(packed[np.repeat(counts > NEIGHBORS + 1, counts)]))


def _neighbors(packed: Keys, bits: int, near: Near) -> Iterator[Keys]:
    lengths = _run_lengths(packed, bits)
    starts = np.repeat(lengths.cumsum() - lengths, lengths)
    before = np.minimum(np.arange(len(packed)) - starts, NEIGHBORS)
    ends = before.cumsum()
    numbers = numbers_in(packed)
    first = done = 0
    while first < len(packed):
        last = max(int(np.searchsorted(ends, done + _PAIRS_AT_ONCE, side="right")), first + 1)
        counts = before[first:last]
        later = np.repeat(np.arange(first, last), counts)
        back = np.arange(len(later)) - np.repeat(ends[first:last] - counts - done, counts) + 1
        yield near(numbers[later], numbers[later - back])
        first = last
        done = int(ends[last - 1])


def _with_first(packed: Keys, bits: int, near: Near) -> Iterator[Keys]:
    for length in range(bits, STORED_BITS + 1, 2):
        counts = _run_lengths(packed, length)
        is_long = counts > NEIGHBORS + 1
        if not is_long.any():
            return
        packed = packed[np.repeat(is_long, counts)]
        counts = counts[is_long]
        numbers = numbers_in(packed)
        firsts = np.minimum.reduceat(numbers, counts.cumsum() - counts)
        yield near(numbers, np.repeat(firsts, counts))


def _run_lengths(packed: Keys, bits: int) -> NDArray[np.int64]:
    """Return how many sorted keys share their leading bits, for each run of such keys."""
    firsts = np.flatnonzero(is_first_of_run(packed >> np.uint64(64 - bits)))
    return np.diff(firsts, append=len(packed))


class WaitingPairs:
    """Pairs that wait on disk until it is their turn, in one file for each block of later pages.

    Only one block of pairs has to be in memory at a time.
    """

    def __init__(self, folder: Path, pages: int) -> None:
        self._block = max(_PAGES_A_FILE, -(-pages // _MOST_FILES))
        self._files = [
            (folder / f"pairs-{start}").open("wb+")
            for start in range(0, max(pages, 1), self._block)
        ]

    def add(self, pairs: Keys) -> None:
        """Add pairs, which must be sorted and packed by `pair`. Raises OSError."""
        ends = np.searchsorted(
            later_of(pairs) // self._block, np.arange(len(self._files)), side="right"
        )
        for file, part in zip(self._files, np.split(pairs, ends[:-1]), strict=True):
            file.write(part.tobytes())

    def blocks(self) -> Iterator[tuple[float, Keys]]:
        """Yield, for each block, the share of blocks before it and its distinct pairs.

        Can only be used once.
        """
        for number, file in enumerate(self._files):
            file.seek(0)
            with file:
                pairs = distinct(np.frombuffer(file.read(), np.uint64))
            yield number / len(self._files), pairs
