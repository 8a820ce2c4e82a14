"""The pages of an index in memory: rows in the order of adding, and sorted keys that lead to them."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from crawldedup.errors import StoreFullError
from crawldedup.stores.base import MAX_FREED, Record
from crawldedup.stores.candidates import accepted, choose_pages
from crawldedup.stores.embedded import Cursor, Found
from crawldedup.stores.memory.sorted_keys import SortedKeys
from crawldedup.stores.packed_keys import MAX_PAGES, middles, pack_key, packed_range, packed_ranges, page_of, renumbered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from crawldedup.stores.base import Entry, Layout, Query, Retention

_FIRST_ROOM: Final = 1024


class MemoryIndex:
    """An `Index` whose pages are the numbers of their rows. It is a context manager: one thread at a time is inside.

    The rows of freed pages stay until they are a third of all; then the others are numbered anew.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
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
        self._swept = Cursor()
        self._oldest = Cursor()
        self.cursors = {self._swept, self._oldest}
        self.reset()

    def __enter__(self) -> Self:
        self._lock.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def reset(self) -> None:
        """Forget every page."""
        self._tables = [SortedKeys() for _ in self._layout.tables]
        self._by_url = SortedKeys()
        self._rows = np.zeros(_FIRST_ROOM, self._row_type)
        self._kept = np.zeros(_FIRST_ROOM, np.bool_)
        self._urls: list[bytes] = []
        self.pages = 0
        for cursor in self.cursors:
            cursor.place = 0

    def sizes(self) -> tuple[int, int]:
        """Return the bytes of everything, and those of the permuted tables."""
        tables = sum(keys.nbytes for keys in self._tables)
        size = tables + self._by_url.nbytes + self._rows.nbytes + self._kept.nbytes
        return size + sys.getsizeof(self._urls) + sum(map(sys.getsizeof, self._urls)), tables

    def page(self, number: int) -> int:
        """See `Index`."""
        return number

    def page_with(self, url_key: int) -> int | None:
        """See `Index`."""
        for packed in self._by_url.between(*packed_range(url_key, url_key)):
            page = page_of(packed)
            if int(self._rows[page]["url_key"]) == url_key:
                return page
        return None

    def record(self, page: int) -> Record:
        """See `Index`."""
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

    def crawler_of(self, page: int) -> int:  # noqa: ARG002
        """See `Index`."""
        return 0

    def is_live(self, page: int, retention: Retention, now: int) -> bool:
        """See `Index`."""
        row = self._rows[page]
        return retention.is_live(int(row["added_at"]), int(row["seen_at"]), now)

    def search(self, query: Query, now: int) -> Found[int]:
        """See `Index`."""
        pages = self._candidates(query)
        expired: list[int] = []
        if query.retention.ttl_seconds is not None:
            expired = [page for page in pages if not self.is_live(page, query.retention, now)]
            pages = [page for page in pages if page not in expired]
        rows = self._rows[pages]
        signatures = [value.tobytes() for value in rows["signature"]]
        matches = sorted((cost, pages[place]) for cost, place in accepted(query, signatures, rows["digest"].tolist()))
        return Found([page for _, page in matches], len(pages), expired[:MAX_FREED])

    def _candidates(self, query: Query) -> list[int]:
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
            return []
        places, packed = map(np.concatenate, zip(*found, strict=True))
        best = places.argsort(kind="stable")[: query.max_keys]
        return choose_pages(query, self._layout, plan.tables.take(places[best]), packed[best])

    def add(
        self,
        page: Entry | Record,
        keys: Sequence[int],
        *,
        added_at: int,
        seen_at: int,
        copies: int,
        crawler: int,  # noqa: ARG002
    ) -> None:
        """See `Index`."""
        if len(self._urls) == len(self._rows):
            self._make_room()
        number = len(self._urls)
        self._urls.append(page.url.encode("utf-8", "replace"))
        row = (page.url_key, page.search, page.digest, added_at, seen_at, copies, np.void(page.signature))
        self._rows[number] = row
        self._kept[number] = True
        self.pages += 1
        self._by_url.add(pack_key(page.url_key, number))
        self._file(number, keys)

    def revisit(self, page: int, entry: Entry, now: int, crawler: int) -> tuple[Record, bool]:  # noqa: ARG002
        """See `Index`."""
        row = self._rows[page]
        changed = int(row["digest"]) != entry.digest
        if changed:
            self._unfile(page)
            row["search"], row["digest"], row["signature"] = entry.search, entry.digest, np.void(entry.signature)
            self._file(page, entry.keys)
        row["seen_at"] = now
        return self.record(page), changed

    def count_copy(self, page: int, now: int) -> Record:
        """See `Index`."""
        row = self._rows[page]
        row["copies"] += 1
        row["seen_at"] = now
        return self.record(page)

    def remove(self, pages: Sequence[int]) -> None:
        """See `Index`."""
        for page in pages:
            self._unfile(page)
            self._by_url.remove(pack_key(int(self._rows[page]["url_key"]), page))
            self._urls[page] = b""
            self._kept[page] = False
        self.pages -= len(pages)

    def _file(self, page: int, keys: Sequence[int]) -> None:
        for table, key in zip(self._tables, keys, strict=True):
            table.add(pack_key(key, page))

    def _unfile(self, page: int) -> None:
        row = self._rows[page]
        keys = self._layout.keys(int(row["search"]), row["signature"].tobytes())
        for table, key in zip(self._tables, keys, strict=True):
            table.remove(pack_key(key, page))

    def next_pages(self, cursor: Cursor, most: int) -> tuple[list[int], bool]:
        """See `Index`; `most` counts the rows of freed pages too."""
        first = cursor.place
        cursor.place = min(first + most, len(self._urls))
        pages: list[int] = (first + np.flatnonzero(self._kept[first : cursor.place])).tolist()
        return pages, cursor.place < len(self._urls)

    def next_to_sweep(self, count: int) -> list[int]:
        """See `Index`."""
        pages, more = self.next_pages(self._swept, count * len(self._urls) // self.pages)
        if not more:
            self._swept.place = 0
        return pages

    def oldest(self, count: int) -> list[int]:
        """See `Index`."""
        pages: list[int] = []
        place = self._oldest.place
        for _ in range(count):
            place += int(self._kept[place:].argmax())
            pages.append(place)
            place += 1
        # Rows are not used again, so the oldest page is never before this one.
        self._oldest.place = pages[0]
        return pages

    def _make_room(self) -> None:
        rows = len(self._urls)
        freed = rows - self.pages
        if freed >= rows // 3 or (freed and rows == MAX_PAGES):
            self.compact()
        elif rows == MAX_PAGES:
            raise StoreFullError(f"the memory store holds its limit of {MAX_PAGES} pages")
        else:
            self._move(slice(rows), rows + rows // 2)

    def compact(self) -> None:
        """See `Index`: number the pages anew, without the rows of freed ones."""
        rows = len(self._urls)
        kept = np.flatnonzero(self._kept[:rows])
        numbers = (self._kept[:rows].cumsum() - 1).astype(np.uint64)
        for keys in (*self._tables, self._by_url):
            keys.change(lambda packed: renumbered(packed, numbers))
        self._urls = [self._urls[page] for page in kept.tolist()]
        for cursor in self.cursors:
            cursor.place = int(np.searchsorted(kept, cursor.place))
        self._move(kept, len(kept) + len(kept) // 2)

    def _move(self, pages: slice | NDArray[np.intp], room: int) -> None:
        """Give these pages the first rows of so many."""
        room = min(max(room, _FIRST_ROOM), MAX_PAGES)
        self._rows, self._kept = _moved(self._rows[pages], room), _moved(self._kept[pages], room)


def _moved(values: NDArray[Any], room: int) -> NDArray[Any]:
    moved = np.zeros(room, values.dtype)
    moved[: len(values)] = values
    return moved
