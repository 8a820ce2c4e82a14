"""The pages of one index in a SQLite file. Each method is part of its caller's transaction."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from crawldedup.errors import StoreFullError
from crawldedup.stores.base import Record
from crawldedup.stores.candidates import accepted, choose_pages
from crawldedup.stores.packed_keys import MAX_PAGES, middles, pack_key, packed_ranges
from crawldedup.stores.retention import MAX_FREED
from crawldedup.stores.sqlite.statements import (
    cut_ranges_sql,
    ranges_sql,
    signed,
    signed_array,
    table_names,
    unsigned,
    unsigned_array,
)
from crawldedup.text.urls import are_same

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from crawldedup.stores.base import Entry, Layout, Query, Retention
    from crawldedup.stores.packed_keys import Keys


_LARGEST: Final = 0xFFFF_FFFF


class Page(NamedTuple):
    """One row: a page's number, the fields of its record in their order, and who delivered it last.

    64-bit integers are as SQLite has them.
    """

    number: int
    url: str
    url_key: int
    search: int
    signature: bytes
    digest: int
    added_at: int
    seen_at: int
    copies: int
    crawler: int
    home: int | None
    rank: int

    def record(self) -> Record:
        """Return what the page's record says."""
        url_key, search = unsigned(self.url_key), unsigned(self.search)
        return Record(self.url, url_key, search, *self[4:9], self.home, rank=self.rank)

    def is_sound(self, signature_bytes: int) -> bool:
        """Return True for a row as it was written; SQLite keeps values of any type in any column."""
        fields = (*self[5:10], self.home or 0, self.rank)
        numbers = (self.number, self.url_key, self.search, *fields)
        return (
            isinstance(self.url, str)
            and isinstance(self.signature, bytes)
            and len(self.signature) == signature_bytes
            and all(isinstance(number, int) for number in numbers)
            and all(0 <= number <= _LARGEST for number in fields)
        )

    def is_live(self, retention: Retention, now: int) -> bool:
        """Return True for a page that has not expired."""
        return retention.is_live(self.added_at, self.seen_at, now)


class SqliteIndex:
    """The pages of an index while a store has its turn at it, in the tables of this number.

    Pages are numbered in the order of adding. No number is given again.

    `load_head` begins each transaction; from there on the counters are kept here.
    """

    def __init__(self, db: sqlite3.Connection, number: int, layout: Layout, path: str) -> None:
        self.number = number
        self.layout = layout
        self._db = db
        self._path = path
        self._newest = self._freed = self._swept = 0
        self._pages, self._texts, self._urls, *self._keys = table_names(number, len(layout.tables))
        page = ", ".join(Page._fields)
        newest = f"ifnull((SELECT number FROM {self._pages} ORDER BY number DESC LIMIT 1), 0)"
        self._head_sql = (
            f"SELECT profile, max({newest}, newest_freed), freed, swept FROM indexes WHERE number = {number}"
        )
        self._page_sql = f"SELECT {page} FROM {self._pages} WHERE number = ?"
        self._pages_sql = f"SELECT {page} FROM {self._pages} WHERE number > ? ORDER BY number LIMIT ?"
        self._url_sql = (
            f"SELECT {page} FROM {self._urls} CROSS JOIN {self._pages} "
            f"ON number = (k & {MAX_PAGES - 1}) WHERE k BETWEEN ? AND ? AND url_key = ? ORDER BY k"
        )
        # Most candidates are read only to be refused, so their URLs stay where they are.
        self._candidates_sql = (
            f"SELECT number, signature, digest, added_at, seen_at FROM {self._pages} "
            "WHERE number IN (SELECT value FROM json_each(?))"
        )
        self._insert_sql = f"INSERT INTO {self._pages} ({page}) VALUES ({', '.join('?' * len(Page._fields))})"

    def load_head(self) -> str:
        """Read what the index knows of its pages as a whole; return its profile."""
        profile, *counts = self._db.execute(self._head_sql).fetchone()
        if not all(isinstance(count, int) for count in counts):
            raise ValueError("it counts its pages otherwise")
        self._newest, self._freed, self._swept = counts
        return str(profile)

    @property
    def pages(self) -> int:
        """The number of pages. No counter has to be written for every page that is added."""
        return self._newest - self._freed

    def page(self, number: int) -> Page:
        """Return the page with a number that exists."""
        return self._page(self._db.execute(self._page_sql, (number,)).fetchone())

    def page_with(self, url_key: int, url: str = "") -> Page | None:
        """Return the page with a URL key, if there is one, and this URL, if that is given and kept."""
        low, high = (signed(pack_key(url_key, page)) for page in (0, MAX_PAGES - 1))
        rows = self._db.execute(self._url_sql, (low, high, signed(url_key)))
        return next((page for page in map(self._page, rows) if are_same(page.url, url)), None)

    def _page(self, row: Iterable[Any]) -> Page:
        page = Page._make(row)
        if not page.is_sound(self.layout.signature_bytes):
            raise ValueError(f"the page {page.number!r} is none")
        return page

    def search(self, query: Query, now: int) -> tuple[list[int], int, list[Page]]:
        """Compare the query with the pages in its ranges.

        Return the numbers of the accepted pages, nearest first; how many were compared; some expired pages.
        """
        tables, packed = self._keys_in_ranges(query)
        numbers = json.dumps(choose_pages(query, self.layout, tables, packed))
        found = self._db.execute(self._candidates_sql, (numbers,)).fetchall()
        live = [row for row in found if query.retention.is_live(row[3], row[4], now)]
        matches = accepted(query, [row[1] for row in live], [row[2] for row in live])
        nearest = sorted((cost, live[place][0]) for cost, place in matches)
        expired = {row[0] for row in found}.difference(row[0] for row in live)
        return [number for _, number in nearest], len(live), [self.page(n) for n in sorted(expired)[:MAX_FREED]]

    def _keys_in_ranges(self, query: Query) -> tuple[NDArray[np.intp], Keys]:
        """Return tables and packed keys of what lies in the query's ranges, best ranges first."""
        plan, limit = query.plan, query.max_keys_per_side
        lows, highs = packed_ranges(plan)
        bounds = signed_array(np.stack((lows, highs), axis=1))
        found: list[tuple[int, int, int]] = []
        for table, name in enumerate(self._keys):
            places = np.flatnonzero(plan.tables == table)
            if not len(places):
                continue
            mine = bounds[places]
            keys = self._db.execute(ranges_sql(name, len(places), limit), mine.ravel().tolist()).fetchall()
            if len(keys) == limit:
                # Somewhere pages crowd: now each range is cut on both sides.
                between = signed_array(middles(query))[places]
                three = np.stack((mine[:, 0], between, mine[:, 1]), axis=1)
                keys = self._db.execute(cut_ranges_sql(name, len(places), limit), three.ravel().tolist()).fetchall()
            place_of = places.tolist()
            found.extend((place_of[number], key, table) for number, key in keys)
        found.sort()
        best = np.array(found[: query.max_keys], np.int64).reshape(-1, 3)
        return best[:, 2].astype(np.intp), unsigned_array(best[:, 1])

    def add(
        self, page: Entry | Record, keys: Sequence[int], *, added_at: int, seen_at: int, copies: int, crawler: int
    ) -> None:
        """Add a page. Raises StoreFullError if there are no numbers left."""
        number = self._newest + 1
        if number >= MAX_PAGES:
            raise StoreFullError(
                f"{self._path} has given all its {MAX_PAGES} page numbers; clear the index, or load it into another"
            )
        url = page.url.encode("utf-8", "replace").decode()
        numbers = (signed(page.url_key), signed(page.search))
        times = (added_at, seen_at, copies, crawler)
        row = Page(number, url, *numbers, page.signature, page.digest, *times, page.home, page.rank)
        self._db.execute(self._insert_sql, row)
        self._db.execute(f"INSERT INTO {self._urls} VALUES (?)", (signed(pack_key(page.url_key, number)),))
        if page.packed_text:
            self._keep(number, page.packed_text)
        self._file(number, keys)
        self._newest = number

    def revisit(self, page: Page, entry: Entry, now: int, crawler: int, *, changed: bool) -> Record:
        """Note that a page was seen again, and its new text, if it has changed; its URL, age and copies stay.

        Return the page as it was, seen now, with the earlier text.
        """
        seen = newer = page._replace(seen_at=now, crawler=crawler)
        record = seen.record()
        if changed:
            record = replace(record, packed_text=self.text(page.number))
            self._keep(page.number, entry.packed_text)
            newer = seen._replace(
                search=signed(entry.search),
                signature=entry.signature,
                digest=entry.digest,
                home=entry.home,
                rank=entry.rank,
            )
            self._unfile([page])
            self._file(page.number, entry.keys)
        elif entry.packed_text and entry.digest == page.digest:
            # Texts may not have been kept when the page was added.
            row = (page.number, entry.packed_text)
            self._db.execute(f"INSERT OR IGNORE INTO {self._texts} VALUES (?, ?)", row)
        self._update(newer)
        return record

    def text(self, number: int) -> bytes:
        """Return the text that is kept of the page with this number, if any."""
        row = self._db.execute(f"SELECT text FROM {self._texts} WHERE number = ?", (number,)).fetchone()
        return row[0] if row and isinstance(row[0], bytes) else b""

    def _keep(self, number: int, text: bytes) -> None:
        """Keep a text in place of the one that was kept; none if it is empty."""
        if text:
            self._db.execute(f"INSERT OR REPLACE INTO {self._texts} VALUES (?, ?)", (number, text))
        else:
            self._db.execute(f"DELETE FROM {self._texts} WHERE number = ?", (number,))

    def count_copy(self, page: Page, now: int) -> Record:
        """Note that a copy of a page was seen."""
        return self._update(page._replace(seen_at=now, copies=page.copies + 1))

    def _update(self, page: Page) -> Record:
        self._db.execute(
            f"UPDATE {self._pages} SET search = ?, signature = ?, digest = ?, seen_at = ?, copies = ?, crawler = ?, "
            "home = ?, rank = ? WHERE number = ?",
            (page.search, page.signature, page.digest, *page[7:], page.number),
        )
        return page.record()

    def remove(self, pages: Sequence[Page]) -> None:
        """Free pages."""
        if not pages:
            return
        self._unfile(pages)
        urls = [(signed(pack_key(unsigned(page.url_key), page.number)),) for page in pages]
        self._db.executemany(f"DELETE FROM {self._urls} WHERE k = ?", urls)
        for table in (self._pages, self._texts):
            self._db.executemany(f"DELETE FROM {table} WHERE number = ?", [(page.number,) for page in pages])
        self._db.execute(
            "UPDATE indexes SET freed = freed + ?, newest_freed = max(newest_freed, ?) WHERE number = ?",
            (len(pages), max(page.number for page in pages), self.number),
        )
        self._freed += len(pages)

    def next_to_sweep(self, count: int) -> list[Page]:
        """Return the next pages to look at for expired ones, going round and round."""
        pages = self.pages_after(self._swept, count)
        self._swept = pages[-1].number if len(pages) == count else 0
        self._db.execute("UPDATE indexes SET swept = ? WHERE number = ?", (self._swept, self.number))
        return pages

    def pages_after(self, number: int, most: int) -> list[Page]:
        """Return the first pages behind a number, at most so many."""
        return [self._page(row) for row in self._db.execute(self._pages_sql, (number, most))]

    def _file(self, number: int, keys: Sequence[int]) -> None:
        for name, key in zip(self._keys, keys, strict=True):
            self._db.execute(f"INSERT INTO {name} VALUES (?)", (signed(pack_key(key, number)),))

    def _unfile(self, pages: Sequence[Page]) -> None:
        keys = [self.layout.keys(unsigned(page.search), page.signature) for page in pages]
        for name, column in zip(self._keys, zip(*keys, strict=True), strict=True):
            packed = [(signed(pack_key(key, page.number)),) for key, page in zip(column, pages, strict=True)]
            self._db.executemany(f"DELETE FROM {name} WHERE k = ?", packed)
