"""Pair the pages that share a key, without ever pairing all pages of a crowd.

Keys are sorted, so the pages that share one form a run. A page is paired with the pages before it in its run, of which
it meets a bounded number: in a long run, these are the ones whose whole keys are next to its own. It is paired, too,
with the first page of each longer key that it shares with many: of a thousand copies, each meets the one that is kept.

Pairs wait on disk for their turn, so that memory holds those of some pages only.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from crawldedup.fingerprinting.features import is_first_of_run
from crawldedup.scan.columns import MOST_PAGES, Keys, numbers_in
from crawldedup.search.plan import STORED_BITS

NEIGHBOURS: Final = 64
"""A page meets at most so many pages before it in a run."""
_PAIRS_AT_ONCE: Final = 1 << 20
_KEYS_AT_ONCE: Final = 1 << 22
_PAGES_A_FILE: Final = 1 << 16
_MOST_FILES: Final = 256
_PAIRS_IN_MEMORY: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Nearness:
    """Tells which pairs of pages are worth a decision, by the number of bits in which they differ.

    `search` and `verify` hold the bits of the pages by their numbers, `verify` four words a page.
    """

    search: Keys
    verify: Keys
    most_search: int
    most_verify: int

    def near(self, first: Keys, second: Keys) -> Keys:
        """Return the distinct pairs that are near, as `pair` makes them."""
        is_near = np.bitwise_count(self.search[first] ^ self.search[second]) <= self.most_search
        is_near &= first != second
        first, second = first[is_near], second[is_near]
        # Sorting the pairs takes longer than this.
        differing = np.bitwise_count(self.verify[first] ^ self.verify[second]).sum(axis=1, dtype=np.uint16)
        is_near = differing <= self.most_verify
        return distinct(pair(first[is_near], second[is_near]))


def pair(first: Keys, second: Keys) -> Keys:
    """Return pairs of page numbers in one integer each, which sorts by the later page."""
    return np.maximum(first, second) * np.uint64(MOST_PAGES) | np.minimum(first, second)


def later_of(pairs: Keys) -> NDArray[np.int64]:
    """Return the numbers of the later pages of pairs."""
    return (pairs // np.uint64(MOST_PAGES)).astype(np.int64)


def earlier_of(pairs: Keys) -> NDArray[np.int64]:
    """Return the numbers of the earlier pages of pairs."""
    return numbers_in(pairs).astype(np.int64)


def distinct(values: Keys) -> Keys:
    """Return the distinct values, sorted. It takes a tenth of the time of numpy.unique, which builds a hash table."""
    ordered = np.sort(values)
    return ordered[is_first_of_run(ordered)]


def candidate_pairs(packed: Keys, bits: int, nearness: Nearness) -> Iterator[Keys]:
    """Yield near pairs of pages that share the leading `bits` of a key, as `pair` makes them; some more than once.

    `packed` holds the packed keys of one table, sorted.
    """
    first = 0
    while first < len(packed):
        # Between two runs.
        last = min(first + _KEYS_AT_ONCE, len(packed)) - 1
        end = int(np.searchsorted(packed, packed[last] | np.uint64((1 << 64 - bits) - 1), side="right"))
        yield from _neighbours(packed[first:end], bits, nearness)
        yield from _with_first(packed[first:end], bits, nearness)
        first = end


def crowded(packed: Keys, bits: int) -> Keys:
    """Return the numbers of pages of which a run is too long for all its pairs, ascending."""
    counts = _run_lengths(packed, bits)
    return distinct(numbers_in(packed[np.repeat(counts > NEIGHBOURS + 1, counts)]))


def _neighbours(packed: Keys, bits: int, nearness: Nearness) -> Iterator[Keys]:
    lengths = _run_lengths(packed, bits)
    starts = np.repeat(lengths.cumsum() - lengths, lengths)
    before = np.minimum(np.arange(len(packed)) - starts, NEIGHBOURS)
    ends = before.cumsum()
    numbers = numbers_in(packed)
    first = done = 0
    while first < len(packed):
        last = max(int(np.searchsorted(ends, done + _PAIRS_AT_ONCE, side="right")), first + 1)
        counts = before[first:last]
        later = np.repeat(np.arange(first, last), counts)
        back = np.arange(len(later)) - np.repeat(ends[first:last] - counts - done, counts) + 1
        yield nearness.near(numbers[later], numbers[later - back])
        first, done = last, int(ends[last - 1])


def _with_first(packed: Keys, bits: int, nearness: Nearness) -> Iterator[Keys]:
    for length in range(bits, STORED_BITS + 1, 2):
        counts = _run_lengths(packed, length)
        is_long = counts > NEIGHBOURS + 1
        if not is_long.any():
            return
        packed, counts = packed[np.repeat(is_long, counts)], counts[is_long]
        numbers = numbers_in(packed)
        firsts = np.minimum.reduceat(numbers, counts.cumsum() - counts)
        yield nearness.near(numbers, np.repeat(firsts, counts))


def _run_lengths(packed: Keys, bits: int) -> NDArray[np.int64]:
    """Return how many sorted keys share their leading bits, run by run."""
    firsts = np.flatnonzero(is_first_of_run(packed >> np.uint64(64 - bits)))
    return np.diff(firsts, append=len(packed))


class WaitingPairs:
    """Pairs in files of an empty folder, each for a block of later pages. Raises OSError."""

    def __init__(self, folder: Path, pages: int) -> None:
        self._block = max(_PAGES_A_FILE, -(-pages // _MOST_FILES))
        self._paths = [folder / f"pairs-{number}" for number in range(max(1, -(-pages // self._block)))]
        self._parts: list[Keys] = []
        self._count = 0

    def add(self, pairs: Keys) -> None:
        """Add pairs, as `pair` makes them."""
        self._parts.append(pairs)
        self._count += len(pairs)
        if self._count >= _PAIRS_IN_MEMORY:
            self._write()

    def blocks(self) -> Iterator[tuple[float, Keys]]:
        """Yield the distinct pairs of each block, after the share of the blocks that went before. Can be used once."""
        self._write()
        for number, path in enumerate(self._paths):
            yield number / len(self._paths), distinct(np.fromfile(path, np.uint64))
            path.unlink()

    def _write(self) -> None:
        pairs = distinct(np.concatenate([np.empty(0, np.uint64), *self._parts]))
        self._parts, self._count = [], 0
        ends = np.searchsorted(later_of(pairs) // self._block, np.arange(len(self._paths)), side="right")
        for path, part in zip(self._paths, np.split(pairs, ends[:-1]), strict=True):
            with path.open("ab") as file:
                file.write(part.tobytes())
