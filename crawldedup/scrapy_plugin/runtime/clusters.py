"""Count the originals that pages of one crawl were copies of, and the copies of the one that has most."""

from __future__ import annotations

import heapq
from operator import itemgetter
from typing import Final

MOST_ORIGINALS: Final = 100_000
"""Copies are counted for so many originals, which takes some 20 MB. Then those with the fewest copies are forgotten."""


class Clusters:
    """The copies of each original. An original with one copy or more makes a cluster."""

    def __init__(self, most: int = MOST_ORIGINALS) -> None:
        self._most = most
        self._copies: dict[int, int] = {}
        self._has_forgotten = False
        self.count = 0
        self.largest = 0

    def rename(self, original: str, newer: str) -> None:
        """Note that a page takes the place of an original."""
        if (known := self._copies.pop(hash(original), None)) is not None:
            self._copies[hash(newer)] = known

    def add(self, original: str, copies: int) -> None:
        """Count a copy of an original, of which the index has seen so many."""
        key = hash(original)
        known = self._copies.get(key, 0)
        # One that was forgotten had a copy before.
        if not known and (copies == 1 or not self._has_forgotten):
            self.count += 1
        self._copies[key] = known + 1
        self.largest = max(self.largest, known + 1)
        if len(self._copies) > self._most:
            self._has_forgotten = True
            self._copies = dict(heapq.nlargest(self._most // 2, self._copies.items(), key=itemgetter(1)))
