"""A sorted set of 64-bit integers, eight bytes each, for quick reads of many ranges at once."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from crawldedup.stores.packed_keys import Keys

    Numbers = NDArray[np.intp]

_ROOM: Final = 4096
_NONE: Final = np.empty(0, np.uint64)
_NO_NUMBERS: Final = np.empty(0, np.intp)


class SortedKeys:
    """A large sorted array that is never changed in place, and two small ones of keys added and removed since.

    A change moves at most `_ROOM` numbers; after `_ROOM` changes the small arrays are merged into the large one.
    Reading a range costs two binary searches per array.
    """

    def __init__(self, keys: Keys = _NONE) -> None:
        """Make a set of keys, which must be sorted and distinct."""
        self._main = keys
        self._added = array("Q")
        self._removed = array("Q")

    def __len__(self) -> int:
        return len(self._main) + len(self._added) - len(self._removed)

    @property
    def nbytes(self) -> int:
        """Return the bytes held."""
        return self._main.nbytes + 8 * (len(self._added) + len(self._removed))

    def add(self, key: int) -> None:
        """Insert a key that is not in the set."""
        if not _take(self._removed, key):
            self._added.insert(bisect_left(self._added, key), key)
            self._merge_when_full()

    def remove(self, key: int) -> None:
        """Remove a key of the set."""
        if not _take(self._added, key):
            self._removed.insert(bisect_left(self._removed, key), key)
            self._merge_when_full()

    def change(self, change: Callable[[Keys], Keys]) -> None:
        """Replace all keys by others in the same order."""
        self._merge()
        self._main = change(self._main)

    def between(self, low: int, high: int) -> list[int]:
        """Return the keys from low to high, both included, in order."""
        first, last = self._main.searchsorted(np.array([low, high], np.uint64)).tolist()
        # Keys are distinct, so only the last one can be `high` itself.
        keys: list[int] = [key for key in self._main[first : last + 1].tolist() if key <= high]
        if self._removed:
            keys = [key for key in keys if not _holds(self._removed, key)]
        place = bisect_left(self._added, low)
        if place < len(self._added) and self._added[place] <= high:
            keys.extend(self._added[place : bisect_left(self._added, high + 1)])
            keys.sort()
        return keys

    def ranges(self, lows: Keys, middles: Keys, highs: Keys, limit: int) -> tuple[Numbers, Keys]:
        """Return the keys in each range (ends included): range numbers and keys, in the order of both.

        Of a crowded range, return the last `limit` keys below its middle and the first `limit` from there on.
        """
        if self._removed:
            # Removed keys are read and then dropped, so as many more must be read.
            removed = np.frombuffer(self._removed, np.uint64)
            dead = removed.searchsorted(highs, "right") - removed.searchsorted(lows, "left")
            numbers, keys = _read(self._main, lows, middles, highs, limit + dead)
            kept = removed.take(removed.searchsorted(keys), mode="clip") != keys
            numbers, keys = numbers[kept], keys[kept]
        else:
            numbers, keys = _read(self._main, lows, middles, highs, limit)
        if self._added:
            more_numbers, more_keys = _read(np.frombuffer(self._added, np.uint64), lows, middles, highs, limit)
            if len(more_keys):
                numbers, keys = np.concatenate((numbers, more_numbers)), np.concatenate((keys, more_keys))
                order = np.lexsort((keys, numbers))
                numbers, keys = numbers.take(order), keys.take(order)
        if len(keys) <= limit:
            return numbers, keys
        return _around(numbers, keys, middles, limit)

    def _merge_when_full(self) -> None:
        if len(self._added) + len(self._removed) >= _ROOM:
            self._merge()

    def _merge(self) -> None:
        if self._removed:
            self._main = np.delete(self._main, self._main.searchsorted(np.frombuffer(self._removed, np.uint64)))
            self._removed = array("Q")
        if self._added:
            added = np.frombuffer(self._added, np.uint64)
            self._main = np.insert(self._main, self._main.searchsorted(added), added)
            self._added = array("Q")


def _holds(keys: array[int], key: int) -> bool:
    place = bisect_left(keys, key)
    return place < len(keys) and keys[place] == key


def _take(keys: array[int], key: int) -> bool:
    """Take a key out; return False if it was not in the array."""
    place = bisect_left(keys, key)
    if place == len(keys) or keys[place] != key:
        return False
    del keys[place]
    return True


def _read(part: Keys, lows: Keys, middles: Keys, highs: Keys, limit: int | Numbers) -> tuple[Numbers, Keys]:
    first = part.searchsorted(lows, "left")
    last = part.searchsorted(highs, "right")
    counts = last - first
    if not counts.any():
        return _NO_NUMBERS, _NONE
    if (counts > limit).any():
        middle = part.searchsorted(middles, "left")
        first = np.maximum(first, middle - limit)
        counts = np.maximum(np.minimum(last, middle + limit) - first, 0)
    numbers = np.arange(len(counts)).repeat(counts)
    places = np.arange(len(numbers)) + (first - counts.cumsum() + counts).take(numbers)
    return numbers, part.take(places)


def _around(numbers: Numbers, keys: Keys, middles: Keys, limit: int) -> tuple[Numbers, Keys]:
    """Keep the `limit` keys on either side of each range's middle."""
    below = np.bincount(numbers[keys < middles.take(numbers)], minlength=len(middles))
    counts = np.bincount(numbers, minlength=len(middles))
    middle = (counts.cumsum() - counts + below).take(numbers)
    places = np.arange(len(numbers))
    kept = (middle - limit <= places) & (places < middle + limit)
    return numbers[kept], keys[kept]
