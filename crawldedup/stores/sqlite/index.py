"""The tables of one index in a SQLite file, and the statements on them; each is part of its caller's transaction.

Each permuted table is a table of row ids alone: a row id is the key's leading 34 bits and the page number, so the
B-tree of the row ids *is* the sorted table. A probe is a range of row ids. URL keys are kept in the same way.
Pages are numbered in the order of adding, and no number is given again.
"""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from crawldedup.stores.base import Record
from crawldedup.stores.candidates import choose_pages
from crawldedup.stores.packed_keys import MAX_PAGES, middles, pack_key, packed_range, packed_ranges

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from crawldedup.stores.base import Entry, Layout, Query, Retention
    from crawldedup.stores.packed_keys import Keys

BYTES_PER_KEY: Final = 16
"""Bytes of a file for one row id, inserted in random order: 15.4 at a million of them."""
CLEARED: Final = ""
"""In the place of a profile: who joins next gives the index his own."""
_SIGN: Final = 1 << 63


class Head(NamedTuple):
    """What an index knows of its pages as a whole."""

    profile: str
    newest: int
    """The highest page number that was ever given."""
    freed: int
    swept: int

    @property
    def pages(self) -> int:
        """Number of pages in the index. No counter has to be written for every page that is added."""
        return self.newest - self.freed


class Page(NamedTuple):
    """One page: its number, its record, with 64-bit integers as SQLite has them, and who delivered it last."""

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

    def record(self) -> Record:
        """The page as everyone knows it."""
        return Record(
            url=self.url,
            url_key=unsigned(self.url_key),
            search=unsigned(self.search),
            signature=self.signature,
            digest=self.digest,
            added_at=self.added_at,
            seen_at=self.seen_at,
            copies=self.copies,
        )


class Candidate(NamedTuple):
    """What is read of a page to judge by. Most are read only to be refused: their URLs stay where they are."""

    number: int
    signature: bytes
    digest: int
    added_at: int
    seen_at: int


class SqliteIndex:
    """The tables of the index with this number."""

    def __init__(self, number: int, layout: Layout) -> None:
        self.number = number
        self._layout = layout
        self._pages, self._urls, *self._keys = _names(number, len(layout.tables))
        page = ", ".join(Page._fields)
        values = ", ".join("?" * len(Page._fields))
        newest = f"ifnull((SELECT number FROM {self._pages} ORDER BY number DESC LIMIT 1), 0)"
        self._head_sql = (
            f"SELECT profile, max({newest}, newest_freed), freed, swept FROM indexes WHERE number = {number}"
        )
        self._page_sql = f"SELECT {page} FROM {self._pages} WHERE number = ?"
        self._pages_sql = f"SELECT {page} FROM {self._pages} WHERE number > ? ORDER BY number LIMIT ?"
        self._url_sql = (
            f"SELECT {page} FROM {self._urls} CROSS JOIN {self._pages} "
            f"ON number = (k & {MAX_PAGES - 1}) WHERE k BETWEEN ? AND ? AND url_key = ?"
        )
        self._candidates_sql = (
            f"SELECT {', '.join(Candidate._fields)} FROM {self._pages} WHERE number IN (SELECT value FROM json_each(?))"
        )
        self._insert_sql = f"INSERT INTO {self._pages} ({page}) VALUES ({values})"

    def head(self, db: sqlite3.Connection) -> Head:
        """The index as a whole."""
        return Head._make(db.execute(self._head_sql).fetchone())

    def page(self, db: sqlite3.Connection, number: int) -> Page:
        """The page with a number that is there."""
        return Page._make(db.execute(self._page_sql, (number,)).fetchone())

    def pages_after(self, db: sqlite3.Connection, number: int, most: int) -> list[Page]:
        """The next pages in the order of adding."""
        return [Page._make(row) for row in db.execute(self._pages_sql, (number, most))]

    def page_with(self, db: sqlite3.Connection, url_key: int) -> Page | None:
        """The page with a URL key, if there is one."""
        low, high = packed_range(url_key, url_key)
        row = db.execute(self._url_sql, (signed(low), signed(high), signed(url_key))).fetchone()
        return None if row is None else Page._make(row)

    def candidates(self, db: sqlite3.Connection, query: Query) -> list[Candidate]:
        """The pages to compare, expired or not; without repetition."""
        tables, packed = self._keys_in_ranges(db, query)
        pages = choose_pages(query, self._layout, tables, packed)
        return [Candidate._make(row) for row in db.execute(self._candidates_sql, (json.dumps(pages),))] if pages else []

    def _keys_in_ranges(self, db: sqlite3.Connection, query: Query) -> tuple[NDArray[np.intp], Keys]:
        """Tables and packed keys of what lies in the query's ranges, best ranges first."""
        plan, limit = query.plan, query.max_keys_per_side
        lows, highs = packed_ranges(plan)
        bounds = _signed_array(np.stack((lows, highs), axis=1))
        found: list[tuple[int, int, int]] = []
        for table, name in enumerate(self._keys):
            places = np.flatnonzero(plan.tables == table)
            if not len(places):
                continue
            mine = bounds[places]
            keys = db.execute(_ranges_sql(name, len(places), limit), mine.ravel().tolist()).fetchall()
            if len(keys) == limit:
                # Somewhere pages crowd: now each range is cut on both sides.
                between = _signed_array(middles(query))[places]
                three = np.stack((mine[:, 0], between, mine[:, 1]), axis=1)
                keys = db.execute(_cut_ranges_sql(name, len(places), limit), three.ravel().tolist()).fetchall()
            place_of = places.tolist()
            found.extend((place_of[number], key, table) for number, key in keys)
        found.sort()
        best = np.array(found[: query.max_keys], np.int64).reshape(-1, 3)
        return best[:, 2].astype(np.intp), best[:, 1].view(np.uint64) ^ np.uint64(_SIGN)

    def add(
        self,
        db: sqlite3.Connection,
        number: int,
        page: Entry | Record,
        keys: Sequence[int],
        *,
        added_at: int,
        seen_at: int,
        copies: int,
        crawler: int,
    ) -> None:
        """Add a page under a new number."""
        row = Page(
            number=number,
            url=page.url.encode("utf-8", "replace").decode(),
            url_key=signed(page.url_key),
            search=signed(page.search),
            signature=page.signature,
            digest=page.digest,
            added_at=added_at,
            seen_at=seen_at,
            copies=copies,
            crawler=crawler,
        )
        db.execute(self._insert_sql, row)
        db.execute(f"INSERT INTO {self._urls} VALUES (?)", (signed(pack_key(page.url_key, number)),))
        self._file(db, number, keys)

    def revisit(self, db: sqlite3.Connection, page: Page, entry: Entry, now: int, crawler: int) -> Page:
        """The page as it is now that it was seen again, maybe with other text; its URL, age and copies stay."""
        newer = page._replace(seen_at=now, crawler=crawler)
        if page.digest != entry.digest:
            newer = newer._replace(search=signed(entry.search), signature=entry.signature, digest=entry.digest)
            self._unfile(db, [page])
            self._file(db, page.number, entry.keys)
            db.execute(
                f"UPDATE {self._pages} SET search = ?, signature = ?, digest = ? WHERE number = ?",
                (newer.search, newer.signature, newer.digest, page.number),
            )
        db.execute(f"UPDATE {self._pages} SET seen_at = ?, crawler = ? WHERE number = ?", (now, crawler, page.number))
        return newer

    def count_copy(self, db: sqlite3.Connection, number: int, now: int) -> Page:
        """The page as it is now that a copy of it was seen."""
        page = self.page(db, number)
        newer = page._replace(seen_at=now, copies=page.copies + 1)
        db.execute(f"UPDATE {self._pages} SET seen_at = ?, copies = ? WHERE number = ?", (now, newer.copies, number))
        return newer

    def remove(self, db: sqlite3.Connection, pages: Sequence[Page]) -> None:
        """Free pages that are there."""
        if not pages:
            return
        self._unfile(db, pages)
        urls = [(signed(pack_key(unsigned(page.url_key), page.number)),) for page in pages]
        db.executemany(f"DELETE FROM {self._urls} WHERE k = ?", urls)
        db.executemany(f"DELETE FROM {self._pages} WHERE number = ?", [(page.number,) for page in pages])
        db.execute(
            "UPDATE indexes SET freed = freed + ?, newest_freed = max(newest_freed, ?) WHERE number = ?",
            (len(pages), max(page.number for page in pages), self.number),
        )

    def remove_expired(self, db: sqlite3.Connection, pages: Sequence[Page], retention: Retention, now: int) -> int:
        """Free those of some pages that have expired; how many they were."""
        expired = [page for page in pages if not retention.is_live(page.added_at, page.seen_at, now)]
        self.remove(db, expired)
        return len(expired)

    def sweep(self, db: sqlite3.Connection, after: int, retention: Retention, now: int, most: int) -> int:
        """Free what has expired of the next few pages after a number, and note for the next time how far this went.

        After the last page it begins again with the first. Returns how many were freed.
        """
        pages = self.pages_after(db, after, most)
        swept = pages[-1].number if len(pages) == most else 0
        db.execute("UPDATE indexes SET swept = ? WHERE number = ?", (swept, self.number))
        return self.remove_expired(db, pages, retention, now)

    def _file(self, db: sqlite3.Connection, number: int, keys: Sequence[int]) -> None:
        for name, key in zip(self._keys, keys, strict=True):
            db.execute(f"INSERT INTO {name} VALUES (?)", (signed(pack_key(key, number)),))

    def _unfile(self, db: sqlite3.Connection, pages: Sequence[Page]) -> None:
        keys = [self._layout.keys(unsigned(page.search), page.signature) for page in pages]
        for name, column in zip(self._keys, zip(*keys, strict=True), strict=True):
            packed = [(signed(pack_key(key, page.number)),) for key, page in zip(column, pages, strict=True)]
            db.executemany(f"DELETE FROM {name} WHERE k = ?", packed)


def create_tables(db: sqlite3.Connection, number: int, tables: int) -> None:
    """Make those of an index with so many permuted tables that are not there."""
    pages, *sorted_tables = _names(number, tables)
    db.execute(
        f"CREATE TABLE IF NOT EXISTS {pages} (number INTEGER PRIMARY KEY, url TEXT NOT NULL, "
        "url_key INTEGER NOT NULL, search INTEGER NOT NULL, signature BLOB NOT NULL, "
        "digest INTEGER NOT NULL, added_at INTEGER NOT NULL, seen_at INTEGER NOT NULL, "
        "copies INTEGER NOT NULL, crawler INTEGER NOT NULL)"
    )
    for name in sorted_tables:
        db.execute(f"CREATE TABLE IF NOT EXISTS {name} (k INTEGER PRIMARY KEY)")


def drop_tables(db: sqlite3.Connection, number: int, tables: int) -> None:
    """Drop the tables of an index, which may be one of other settings with so many permuted tables."""
    for name in _names(number, tables):
        db.execute(f"DROP TABLE IF EXISTS {name}")


def _names(number: int, tables: int) -> tuple[str, ...]:
    """Of the tables of an index: its pages, its URL keys, its permuted tables."""
    return (f"pages_{number}", f"urls_{number}", *(f"keys_{number}_{table}" for table in range(tables)))


@cache
def _ranges_sql(name: str, ranges: int, limit: int) -> str:
    """(number of its range, key) of a table's keys in ranges, `limit` in all; takes low and high of each range."""
    values = ",".join(f"({number},?,?)" for number in range(ranges))
    return (
        f"WITH r(number, low, high) AS (VALUES {values}) "
        f"SELECT number, k FROM r CROSS JOIN {name} ON k BETWEEN low AND high LIMIT {limit}"
    )


def _cut_ranges_sql(name: str, ranges: int, limit: int) -> str:
    """The same, but of each range the last `limit` below its middle and the first `limit` from there on.

    Takes low, middle and high of each range.
    """
    values = ",".join(f"({number},?,?,?)" for number in range(ranges))
    side = f"SELECT k FROM {name} WHERE k"
    first = f"({side} >= low AND k < middle ORDER BY k DESC LIMIT 1 OFFSET {limit - 1})"
    last = f"({side} BETWEEN middle AND high ORDER BY k LIMIT 1 OFFSET {limit - 1})"
    return (
        f"WITH r(number, low, middle, high) AS (VALUES {values}) "
        f"SELECT number, k FROM r CROSS JOIN {name} ON k BETWEEN ifnull({first}, low) AND ifnull({last}, high)"
    )


# SQLite's integers are signed: shift the unsigned 64-bit range so that the order stays.
def signed(value: int) -> int:
    """An unsigned 64-bit integer as SQLite keeps it."""
    return value - _SIGN


def unsigned(value: int) -> int:
    """The unsigned integer that SQLite keeps as this one."""
    return value + _SIGN


def _signed_array(values: Keys) -> NDArray[np.int64]:
    return (values ^ np.uint64(_SIGN)).view(np.int64)
