"""The embedded default: an index in this process's memory, about 200 bytes a page with its URL."""

from __future__ import annotations

import sys
import threading
import time
from bisect import bisect_left
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Final

import numpy as np

from crawldedup.errors import StoreFullError
from crawldedup.stores.base import (
    MAX_PAGES,
    Answer,
    Entry,
    Layout,
    Query,
    Record,
    Status,
    StoreInfo,
    accepted,
    choose_pages,
    middles,
    pack_key,
    packed_range,
    packed_ranges,
    page_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from crawldedup.stores.base import Keys

_FIRST_ROOM: Final = 1024
_DELTA_ROOM: Final = 4096


class SortedKeys:
    """A sorted multiset of 64-bit integers: a large sorted array and a small one that takes the insertions.

    Reading many ranges costs two binary searches an array; inserting moves at most `_DELTA_ROOM` numbers, and
    every `_DELTA_ROOM` insertions the small array is merged into the large one.
    """

    def __init__(self) -> None:
        self._main: NDArray[np.uint64] = np.empty(0, np.uint64)
        self._delta: NDArray[np.uint64] = np.empty(_DELTA_ROOM, np.uint64)
        self._in_delta = 0

    def __len__(self) -> int:
        return len(self._main) + self._in_delta

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self._main.nbytes + self._delta.nbytes

    def add(self, key: int) -> None:
        """Insert a key."""
        used = self._in_delta
        place = int(np.searchsorted(self._delta[:used], np.uint64(key)))
        self._delta[place + 1 : used + 1] = self._delta[place:used]
        self._delta[place] = key
        self._in_delta += 1
        if self._in_delta == _DELTA_ROOM:
            places = np.searchsorted(self._main, self._delta)
            self._main = np.insert(self._main, places, self._delta)
            self._in_delta = 0

    def remove(self, key: int) -> None:
        """Remove one key that is there."""
        used = self._in_delta
        place = int(np.searchsorted(self._delta[:used], np.uint64(key)))
        if place < used and self._delta[place] == key:
            self._delta[place : used - 1] = self._delta[place + 1 : used]
            self._in_delta -= 1
        else:
            self._main = np.delete(self._main, np.searchsorted(self._main, np.uint64(key)))

    def ranges(self, lows: Keys, middles: Keys, highs: Keys, limit: int) -> list[tuple[int, int]]:
        """(number of a range, key) of the keys in each range (ends included), in order.

        Of a range that holds many, the last `limit` keys below its middle and the first `limit` from there on.
        """
        found: list[tuple[int, int]] = []
        for part in (self._main, self._delta[: self._in_delta]):
            middle = np.searchsorted(part, middles, "left")
            first = np.maximum(np.searchsorted(part, lows, "left"), middle - limit)
            last = np.minimum(np.searchsorted(part, highs, "right"), middle + limit)
            for number in np.flatnonzero(last > first).tolist():
                found.extend((number, key) for key in part[first[number] : last[number]].tolist())
        found.sort()
        if len(found) <= limit:
            return found
        return [
            pair for number, mine in groupby(found, itemgetter(0)) for pair in _around(mine, middles[number], limit)
        ]


def _around(found: Iterator[tuple[int, int]], middle: np.uint64, limit: int) -> list[tuple[int, int]]:
    pairs = list(found)
    place = bisect_left(pairs, int(middle), key=itemgetter(1))
    return pairs[max(place - limit, 0) : place + limit]


class MemoryStore:
    """An index that lives and dies with its process. Safe to use from several threads."""

    def __init__(self, layout: Layout, *, clock: Callable[[], float] = time.time) -> None:
        self._layout = layout
        self._clock = clock
        self._lock = threading.Lock()
        self._row_type = np.dtype(
            [
                ("url_key", "u8"),
                ("search", "u8"),
                ("digest", "u8"),
                ("added_at", "u4"),
                ("seen_at", "u4"),
                ("copies", "u4"),
                ("signature", "V", layout.signature_bytes),
            ]
        )
        self._reset()

    def _reset(self) -> None:
        self._tables = [SortedKeys() for _ in self._layout.tables]
        self._by_url = SortedKeys()
        self._rows = np.zeros(_FIRST_ROOM, self._row_type)
        self._urls: list[bytes] = []
        self._forgotten = 0

    def open(self) -> int:
        """See `Store`; nothing can fail here."""
        return self._pages

    @property
    def _pages(self) -> int:
        return len(self._urls) - self._forgotten

    def check_and_add(self, query: Query) -> Answer:
        """See `Store`."""
        now = int(self._clock())
        entry = query.entry
        with self._lock:
            own = self._page_with(entry.url_key)
            if own is not None and self._is_live(own, query, now):
                changed = int(self._rows[own]["digest"]) != entry.digest
                if changed:
                    self._replace(own, entry)
                self._rows[own]["seen_at"] = now
                return Answer(Status.REVISIT, self._record(own), changed, self._pages, 0)
            candidates = self._candidates(query, now)
            matches = self._matches(query, candidates)
            if matches:
                _, best = min(matches)
                self._rows[best]["copies"] += 1
                self._rows[best]["seen_at"] = now
                exact = int(self._rows[best]["digest"]) == entry.digest
                status = Status.EXACT if exact else Status.NEAR
                return Answer(status, self._record(best), False, self._pages, len(candidates))
            if own is not None:
                self._remove(own)
            self._add(entry, now)
            return Answer(Status.NEW, None, False, self._pages, len(candidates))

    def find(self, query: Query) -> list[Record]:
        """See `Store`."""
        with self._lock:
            candidates = self._candidates(query, int(self._clock()))
            return [self._record(page) for _, page in sorted(self._matches(query, candidates))]

    def forget(self, url_key: int) -> bool:
        """See `Store`."""
        with self._lock:
            page = self._page_with(url_key)
            if page is not None:
                self._remove(page)
            return page is not None

    def clear(self) -> None:
        """See `Store`."""
        with self._lock:
            self._reset()

    def info(self) -> StoreInfo:
        """See `Store`."""
        with self._lock:
            size = self._rows.nbytes + sum(keys.nbytes for keys in (*self._tables, self._by_url))
            size += sys.getsizeof(self._urls) + sum(map(sys.getsizeof, self._urls))
            return StoreInfo(
                pages=self._pages,
                bytes=size,
                tables=len(self._tables),
                profile=self._layout.profile,
                namespace=self._layout.namespace,
                store="memory://",
            )

    def heartbeat(self) -> None:
        """See `Store`; a memory has one crawler only."""

    def close(self) -> None:
        """See `Store`."""

    def _is_live(self, page: int, query: Query, now: int) -> bool:
        return query.ttl_seconds is None or int(self._rows[page]["seen_at"]) >= now - query.ttl_seconds

    def _candidates(self, query: Query, now: int) -> list[int]:
        """Pages in the query's ranges, without repetition, best first."""
        found: list[tuple[int, int, int]] = []
        lows, highs = packed_ranges(query.plan)
        between = middles(query, self._layout)
        for number, keys in enumerate(self._tables):
            mine = np.flatnonzero(query.plan.tables == number)
            places = mine.tolist()
            ranges = keys.ranges(lows[mine], between[mine], highs[mine], query.max_keys_a_side)
            found.extend((places[place], number, packed) for place, packed in ranges)
        found.sort()
        pages = choose_pages(query, self._layout, [(number, packed) for _, number, packed in found[: query.max_keys]])
        return [page for page in pages if self._is_live(page, query, now)]

    def _matches(self, query: Query, candidates: list[int]) -> list[tuple[int, int]]:
        """(cost, page) of the accepted candidates."""
        rows = self._rows[candidates]
        signatures = [value.tobytes() for value in rows["signature"]]
        return [(cost, candidates[position]) for cost, position in accepted(query, signatures, rows["digest"].tolist())]

    def _page_with(self, url_key: int) -> int | None:
        low, high = packed_range(url_key, url_key)
        first, last = np.array([low], np.uint64), np.array([high], np.uint64)
        for _, packed in self._by_url.ranges(first, first, last, MAX_PAGES):
            page = page_of(packed)
            if int(self._rows[page]["url_key"]) == url_key:
                return page
        return None

    def _record(self, page: int) -> Record:
        row = self._rows[page]
        return Record(
            url=self._urls[page].decode(),
            url_key=int(row["url_key"]),
            search=int(row["search"]),
            signature=row["signature"].tobytes(),
            digest=int(row["digest"]),
            added_at=int(row["added_at"]),
            seen_at=int(row["seen_at"]),
            copies=int(row["copies"]),
        )

    def _add(self, entry: Entry, now: int) -> None:
        page = len(self._urls)
        if page == MAX_PAGES:
            raise StoreFullError(f"the memory store holds its limit of {MAX_PAGES} pages")
        if page == len(self._rows):
            self._rows = np.concatenate([self._rows, np.zeros(page // 2, self._row_type)])
        self._urls.append(entry.url.encode("utf-8", "replace"))
        self._rows[page]["url_key"] = entry.url_key
        self._rows[page]["added_at"] = self._rows[page]["seen_at"] = now
        self._by_url.add(pack_key(entry.url_key, page))
        self._fill(page, entry)

    def _replace(self, page: int, entry: Entry) -> None:
        """Give a page other text; its URL, age and copies stay."""
        self._unfile(page)
        self._fill(page, entry)

    def _remove(self, page: int) -> None:
        self._unfile(page)
        self._by_url.remove(pack_key(int(self._rows[page]["url_key"]), page))
        self._urls[page] = b""
        self._forgotten += 1

    def _fill(self, page: int, entry: Entry) -> None:
        row = self._rows[page]
        row["search"], row["digest"] = entry.search, entry.digest
        row["signature"] = np.void(entry.signature)
        for keys, key in zip(self._tables, self._packed_keys(page), strict=True):
            keys.add(key)

    def _unfile(self, page: int) -> None:
        for keys, key in zip(self._tables, self._packed_keys(page), strict=True):
            keys.remove(key)

    def _packed_keys(self, page: int) -> list[int]:
        row = self._rows[page]
        keys = self._layout.keys(int(row["search"]), row["signature"].tobytes())
        return [pack_key(key, page) for key in keys]
