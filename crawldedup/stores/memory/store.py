"""The embedded default: an index in this process's memory, about 200 bytes a page with its URL."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

import numpy as np

from crawldedup.errors import ConfigurationError, StoreFullError
from crawldedup.stores.base import (
    MAX_EVICTED,
    MAX_FREED,
    MAX_SWEPT,
    NO_SESSION,
    Answer,
    CrawlSession,
    Layout,
    Pruned,
    Query,
    Record,
    Status,
    StoreInfo,
)
from crawldedup.stores.candidates import accepted, choose_pages
from crawldedup.stores.memory.sorted_keys import SortedKeys
from crawldedup.stores.packed_keys import MAX_PAGES, middles, pack_key, packed_range, packed_ranges, page_of, renumbered
from crawldedup.stores.process import own_process

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from crawldedup.stores.base import Entry, Retention

_FIRST_ROOM: Final = 1024
_BATCH: Final = 1000
"""At most so many pages are read or freed while others wait."""


@dataclass(eq=False)
class _Cursor:
    """A place among the pages that stays where it is when they are numbered anew."""

    place: int = 0


class MemoryStore:
    """An index that lives and dies with its process. Safe to use from several threads.

    Pages are numbered in the order of adding. The rows of freed pages stay behind until they are a third of
    all; then the others move together.
    """

    is_persistent: ClassVar = False

    def __init__(self, layout: Layout, *, clock: Callable[[], float] = time.time) -> None:
        self._layout = layout
        self._clock = clock
        self._lock = threading.Lock()
        self._row_type = np.dtype(
            [
                ("url_key", "u8"),
                ("search", "u8"),
                ("digest", "u4"),
                ("added_at", "u4"),
                ("seen_at", "u4"),
                ("copies", "u4"),
                ("signature", "V", layout.signature_bytes),
            ]
        )
        self._session = NO_SESSION
        self._swept = _Cursor()
        self._oldest = _Cursor()
        self._cursors = {self._swept, self._oldest}
        self._reset()

    @classmethod
    def check_url(cls, url: str) -> None:
        """See `Store`."""
        if url.partition("://")[2]:
            raise ConfigurationError(f"the store URL {url!r} is not valid: memory:// takes nothing behind it")

    @classmethod
    def from_url(cls, url: str, layout: Layout) -> Self:
        """See `Store`."""
        cls.check_url(url)
        return cls(layout)

    @classmethod
    def namespaces(cls, url: str, wanted: str) -> list[str]:  # noqa: ARG003
        """See `Store`."""
        return []

    def _reset(self) -> None:
        self._tables = [SortedKeys() for _ in self._layout.tables]
        self._by_url = SortedKeys()
        self._rows = np.zeros(_FIRST_ROOM, self._row_type)
        self._kept = np.zeros(_FIRST_ROOM, np.bool_)
        self._urls: list[bytes] = []
        self._pages = 0
        for cursor in self._cursors:
            cursor.place = 0

    @property
    def session(self) -> CrawlSession | None:
        """See `Store`."""
        return self._session if self._session.number else None

    def open(self, session: CrawlSession | None = None) -> int:
        """See `Store`; nothing can fail here, and nobody else works on the index."""
        given = session or self._session
        number = given.number or 1
        self._session = CrawlSession(number, given.first or number, given.process or own_process())
        return self._pages

    def open_read_only(self) -> int:
        """See `Store`."""
        return self._pages

    def check_and_add(self, query: Query) -> Answer:
        """See `Store`."""
        with self._lock:
            return self._check(query, int(self._clock()))

    def check_many(self, queries: Sequence[Query]) -> Iterator[Answer]:
        """See `Store`."""
        return map(self.check_and_add, queries)

    def _check(self, query: Query, now: int) -> Answer:
        entry = query.entry
        own = self._page_with(entry.url_key)
        if own is not None and self._is_live(own, query.retention, now):
            changed = int(self._rows[own]["digest"]) != entry.digest
            if changed:
                self._replace(own, entry)
            self._rows[own]["seen_at"] = now
            return Answer(Status.REVISIT, self._record(own), changed, self._pages, 0)
        candidates, expired = self._candidates(query, now)
        if own is not None:
            # It has expired, or this were a revisit.
            expired = [own, *(page for page in expired if page != own)]
        for page in expired[:MAX_FREED]:
            self._remove(page)
        matches = self._matches(query, candidates)
        if matches:
            _, best = min(matches)
            self._rows[best]["copies"] += 1
            self._rows[best]["seen_at"] = now
            exact = int(self._rows[best]["digest"]) == entry.digest
            status = Status.EXACT if exact else Status.NEAR
            return Answer(status, self._record(best), False, self._pages, len(candidates))
        self._add(entry, entry.keys, now, now, 0)
        self._sweep(query.retention, now)
        self._evict(query.retention, MAX_EVICTED)
        return Answer(Status.NEW, None, False, self._pages, len(candidates))

    def find(self, query: Query) -> list[Record]:
        """See `Store`."""
        with self._lock:
            candidates, _ = self._candidates(query, int(self._clock()))
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

    def prune(self, retention: Retention) -> Iterator[Pruned]:
        """See `Store`."""
        examined = freed = 0
        with self._cursor() as cursor:
            more = retention.ttl_seconds is not None
            while more:
                with self._lock:
                    pages = self._next_pages(cursor, _BATCH)
                    freed += self._free_expired(pages, retention, int(self._clock()))
                    more = cursor.place < len(self._urls)
                examined += len(pages)
                yield Pruned(examined, freed)
        more = True
        while more:
            with self._lock:
                evicted = self._evict(retention, _BATCH)
                more = evicted == _BATCH
                examined, freed = examined + evicted, freed + evicted
                if freed and not more:
                    self._compact()
            yield Pruned(examined, freed)

    def records(self) -> Iterator[list[Record]]:
        """See `Store`."""
        with self._cursor() as cursor:
            more = True
            while more:
                with self._lock:
                    records = [self._record(page) for page in self._next_pages(cursor, _BATCH)]
                    more = cursor.place < len(self._urls)
                if records:
                    yield records

    def load(self, records: Sequence[Record]) -> int:
        """See `Store`."""
        added = 0
        with self._lock:
            for record in records:
                if self._page_with(record.url_key) is None:
                    keys = self._layout.keys(record.search, record.signature)
                    self._add(record, keys, record.added_at, record.seen_at, record.copies)
                    added += 1
        return added

    def info(self) -> StoreInfo:
        """See `Store`."""
        with self._lock:
            tables = sum(keys.nbytes for keys in self._tables)
            size = tables + self._by_url.nbytes + self._rows.nbytes + self._kept.nbytes
            size += sys.getsizeof(self._urls) + sum(map(sys.getsizeof, self._urls))
            return StoreInfo(
                pages=self._pages,
                bytes=size,
                table_bytes=tables,
                tables=len(self._tables),
                profile=self._layout.profile,
                namespace=self._layout.namespace,
                store="memory://",
            )

    def heartbeat(self) -> None:
        """See `Store`; a memory has one crawler only."""

    def close(self, *, leave: bool = True) -> None:  # noqa: ARG002
        """See `Store`."""
        self._session = NO_SESSION

    @contextlib.contextmanager
    def _cursor(self) -> Iterator[_Cursor]:
        cursor = _Cursor()
        with self._lock:
            self._cursors.add(cursor)
        try:
            yield cursor
        finally:
            with self._lock:
                self._cursors.remove(cursor)

    def _next_pages(self, cursor: _Cursor, most: int) -> list[int]:
        """The pages in the next rows, of which so many are looked at."""
        first = cursor.place
        cursor.place = min(first + most, len(self._urls))
        pages: list[int] = (first + np.flatnonzero(self._kept[first : cursor.place])).tolist()
        return pages

    def _is_live(self, page: int, retention: Retention, now: int) -> bool:
        row = self._rows[page]
        return retention.is_live(int(row["added_at"]), int(row["seen_at"]), now)

    def _candidates(self, query: Query, now: int) -> tuple[list[int], list[int]]:
        """Pages to compare, and pages in the ranges that have expired; both without repetition."""
        plan = query.plan
        lows, highs = packed_ranges(plan)
        between = middles(query)
        found = []
        for number, keys in enumerate(self._tables):
            mine = np.flatnonzero(plan.tables == number)
            if len(mine):
                ranges, packed = keys.ranges(lows[mine], between[mine], highs[mine], query.max_keys_per_side)
                found.append((mine.take(ranges), packed))
        if not found:
            return [], []
        places, packed = map(np.concatenate, zip(*found, strict=True))
        best = places.argsort(kind="stable")[: query.max_keys]
        pages = choose_pages(query, self._layout, plan.tables.take(places[best]), packed[best])
        if query.retention.ttl_seconds is None:
            return pages, []
        live = [page for page in pages if self._is_live(page, query.retention, now)]
        return live, [page for page in pages if page not in live]

    def _matches(self, query: Query, candidates: list[int]) -> list[tuple[int, int]]:
        """(cost, page) of the accepted candidates."""
        rows = self._rows[candidates]
        signatures = [value.tobytes() for value in rows["signature"]]
        return [(cost, candidates[position]) for cost, position in accepted(query, signatures, rows["digest"].tolist())]

    def _page_with(self, url_key: int) -> int | None:
        for packed in self._by_url.between(*packed_range(url_key, url_key)):
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

    def _add(self, page: Entry | Record, keys: Sequence[int], added_at: int, seen_at: int, copies: int) -> None:
        if len(self._urls) == len(self._rows):
            self._make_room()
        number = len(self._urls)
        self._urls.append(page.url.encode("utf-8", "replace"))
        row = (page.url_key, page.search, page.digest, added_at, seen_at, copies, np.void(page.signature))
        self._rows[number] = row
        self._kept[number] = True
        self._pages += 1
        self._by_url.add(pack_key(page.url_key, number))
        self._file(number, keys)

    def _replace(self, page: int, entry: Entry) -> None:
        """Give a page other text; its URL, age and copies stay."""
        self._unfile(page)
        row = self._rows[page]
        row["search"], row["digest"], row["signature"] = entry.search, entry.digest, np.void(entry.signature)
        self._file(page, entry.keys)

    def _remove(self, page: int) -> None:
        self._unfile(page)
        self._by_url.remove(pack_key(int(self._rows[page]["url_key"]), page))
        self._urls[page] = b""
        self._kept[page] = False
        self._pages -= 1

    def _file(self, page: int, keys: Sequence[int]) -> None:
        for table, key in zip(self._tables, keys, strict=True):
            table.add(pack_key(key, page))

    def _unfile(self, page: int) -> None:
        row = self._rows[page]
        keys = self._layout.keys(int(row["search"]), row["signature"].tobytes())
        for table, key in zip(self._tables, keys, strict=True):
            table.remove(pack_key(key, page))

    def _sweep(self, retention: Retention, now: int) -> None:
        """Free what has expired of the next few pages, going round and round."""
        if retention.ttl_seconds is not None:
            # Among the rows are some of pages that are gone.
            rows = MAX_SWEPT * len(self._urls) // self._pages
            self._free_expired(self._next_pages(self._swept, rows), retention, now)
            if self._swept.place == len(self._urls):
                self._swept.place = 0

    def _free_expired(self, pages: list[int], retention: Retention, now: int) -> int:
        expired = [page for page in pages if not self._is_live(page, retention, now)]
        for page in expired:
            self._remove(page)
        return len(expired)

    def _evict(self, retention: Retention, most: int) -> int:
        """Free at most so many of the oldest pages beyond the limit; how many they were."""
        excess = 0 if retention.max_pages is None else min(max(self._pages - retention.max_pages, 0), most)
        for _ in range(excess):
            # All before it are gone for good, for numbers are not given again.
            self._oldest.place += int(self._kept[self._oldest.place :].argmax())
            self._remove(self._oldest.place)
        return excess

    def _make_room(self) -> None:
        rows = len(self._urls)
        gone = rows - self._pages
        if gone >= rows // 3 or (gone and rows == MAX_PAGES):
            self._compact()
        elif rows == MAX_PAGES:
            raise StoreFullError(f"the memory store holds its limit of {MAX_PAGES} pages")
        else:
            self._move(slice(rows), rows + rows // 2)

    def _compact(self) -> None:
        """Number the pages anew, without those that are gone."""
        rows = len(self._urls)
        kept = np.flatnonzero(self._kept[:rows])
        numbers = (self._kept[:rows].cumsum() - 1).astype(np.uint64)
        for keys in (*self._tables, self._by_url):
            keys.change(lambda packed: renumbered(packed, numbers))
        self._urls = [self._urls[page] for page in kept.tolist()]
        for cursor in self._cursors:
            cursor.place = int(np.searchsorted(kept, cursor.place))
        self._move(kept, len(kept) + len(kept) // 2)

    def _move(self, pages: slice | NDArray[np.intp], room: int) -> None:
        """Give these pages other rows: the first of so many."""
        room = min(max(room, _FIRST_ROOM), MAX_PAGES)
        self._rows, self._kept = _moved(self._rows[pages], room), _moved(self._kept[pages], room)


def _moved(values: NDArray[Any], room: int) -> NDArray[Any]:
    moved = np.zeros(room, values.dtype)
    moved[: len(values)] = values
    return moved
