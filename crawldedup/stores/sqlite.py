"""The embedded store that survives a restart: one SQLite file, shared by the processes of one machine.

Each permuted table is a table of row ids alone: a row id is the key's leading 34 bits and the page number, so the
B-tree of the row ids *is* the sorted table, at about ten bytes a page. A probe is a range of row ids.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import threading
import time
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from crawldedup.errors import ProfileMismatchError, StoreFullError, StoreUnavailableError
from crawldedup.stores.base import (
    LEASE_SECONDS,
    MAX_PAGES,
    Answer,
    Crawler,
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
)
from crawldedup.stores.process import is_gone, own_process
from crawldedup.stores.sqlite_file import connect, errors_of, transaction

if TYPE_CHECKING:
    from collections.abc import Callable

_SIGN: Final = 1 << 63
# Most candidates are read only to be refused: their URLs stay where they are.
_CANDIDATE_COLUMNS: Final = "id, signature, digest, seen_at"
_PAGE_COLUMNS: Final = "id, url, url_key, search, signature, digest, added_at, seen_at, copies, crawler"


class SqliteStore:
    """One namespace of a SQLite file. Safe to use from several threads and several processes."""

    def __init__(self, path: str, layout: Layout, *, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._layout = layout
        self._clock = clock
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._crawler = Crawler(0, 0)
        self._index = 0
        self._process = own_process()

    def open(self) -> int:
        """See `Store`."""
        with self._lock, errors_of(self._path):
            if self._connection is None:
                self._connection = connect(self._path)
            with self._transaction() as db:
                crawler, pages = self._join(db)
            self._crawler = crawler
            return pages

    def _join(self, db: sqlite3.Connection) -> tuple[Crawler, int]:
        """Check the profile and start or join a crawl; a crawler that joins again keeps its number."""
        layout = self._layout
        row = db.execute(
            "SELECT number, profile, crawlers, first_crawler FROM indexes WHERE namespace = ?",
            (layout.namespace,),
        ).fetchone()
        if row is None:
            cursor = db.execute(
                "INSERT INTO indexes (namespace, profile, tables) VALUES (?, ?, ?)",
                (layout.namespace, layout.profile, len(layout.tables)),
            )
            row = (cursor.lastrowid, layout.profile, 0, 0)
        index, profile, crawlers, first = row
        self._check_profile(profile)
        self._index = index
        self._create_tables(db)
        now = int(self._clock())
        db.execute(
            "DELETE FROM crawlers WHERE idx = ? AND (expires <= ? OR number = ?)", (index, now, self._crawler.number)
        )
        others = 0
        for other, process in db.execute("SELECT number, process FROM crawlers WHERE idx = ?", (index,)).fetchall():
            if is_gone(process):
                # It died without a word; its fellow we are not.
                db.execute("DELETE FROM crawlers WHERE idx = ? AND number = ?", (index, other))
            else:
                others += 1
        number = self._crawler.number or crawlers + 1
        crawler = Crawler(number, first if others else number)
        db.execute(
            "UPDATE indexes SET crawlers = ?, first_crawler = ? WHERE number = ?",
            (max(crawlers, number), crawler.first, index),
        )
        self._renew_lease(db, number)
        return crawler, self._pages(db)

    def _check_profile(self, profile: str) -> None:
        if profile != self._layout.profile:
            raise ProfileMismatchError(
                f"the namespace {self._layout.namespace!r} of {self._path}",
                index_profile=profile,
                own_profile=self._layout.profile,
            )

    def _create_tables(self, db: sqlite3.Connection) -> None:
        db.execute(
            f"CREATE TABLE IF NOT EXISTS {self._pages_table} (id INTEGER PRIMARY KEY, url TEXT NOT NULL, "
            "url_key INTEGER NOT NULL, search INTEGER NOT NULL, signature BLOB NOT NULL, "
            "digest INTEGER NOT NULL, added_at INTEGER NOT NULL, seen_at INTEGER NOT NULL, "
            "copies INTEGER NOT NULL, crawler INTEGER NOT NULL)"
        )
        for name in (*self._key_tables, self._url_table):
            db.execute(f"CREATE TABLE IF NOT EXISTS {name} (k INTEGER PRIMARY KEY)")

    @property
    def _pages_table(self) -> str:
        return f"pages_{self._index}"

    @property
    def _url_table(self) -> str:
        return f"urls_{self._index}"

    @property
    def _key_tables(self) -> list[str]:
        return [f"keys_{self._index}_{table}" for table in range(len(self._layout.tables))]

    def check_and_add(self, query: Query) -> Answer:
        """See `Store`."""
        now = int(self._clock())
        entry = query.entry
        with self._lock, errors_of(self._path), self._transaction() as db:
            pages = self._pages(db)
            own = self._page_with(db, entry.url_key)
            if own is not None and self._is_live(own, query, now) and not self._crawler.is_fellow(own["crawler"]):
                record, changed = self._revisit(db, own, entry, now)
                return Answer(Status.REVISIT, record, changed, pages, 0)
            candidates = self._candidates(db, query, now)
            matches = self._matches(query, candidates)
            if matches:
                row = self._page(db, matches[0])
                db.execute(
                    f"UPDATE {self._pages_table} SET copies = copies + 1, seen_at = ? WHERE id = ?",
                    (now, row["id"]),
                )
                status = Status.EXACT if _unsigned(row["digest"]) == entry.digest else Status.NEAR
                record = _record(row, seen_at=now, copies=row["copies"] + 1)
                return Answer(status, record, False, pages, len(candidates))
            if own is not None:
                self._remove(db, own)
                pages -= 1
            self._add(db, entry, now)
            return Answer(Status.NEW, None, False, pages + 1, len(candidates))

    def _revisit(self, db: sqlite3.Connection, own: sqlite3.Row, entry: Entry, now: int) -> tuple[Record, bool]:
        newer: dict[str, Any] = {"seen_at": now}
        changed = _unsigned(own["digest"]) != entry.digest
        if changed:
            newer |= {"search": entry.search, "signature": entry.signature, "digest": entry.digest}
            self._unfile(db, own)
            self._file(db, own["id"], entry)
            db.execute(
                f"UPDATE {self._pages_table} SET search = ?, signature = ?, digest = ? WHERE id = ?",
                (_signed(entry.search), entry.signature, _signed(entry.digest), own["id"]),
            )
        db.execute(
            f"UPDATE {self._pages_table} SET seen_at = ?, crawler = ? WHERE id = ?",
            (now, self._crawler.number, own["id"]),
        )
        return _record(own, **newer), changed

    def find(self, query: Query) -> list[Record]:
        """See `Store`."""
        # One state of the index for all that is read, whatever others write meanwhile.
        with self._lock, errors_of(self._path), self._transaction("DEFERRED") as db:
            self._pages(db)
            candidates = self._candidates(db, query, int(self._clock()))
            return [_record(self._page(db, number)) for number in self._matches(query, candidates)]

    def forget(self, url_key: int) -> bool:
        """See `Store`."""
        with self._lock, errors_of(self._path), self._transaction() as db:
            own = self._page_with(db, url_key)
            if own is not None:
                self._remove(db, own)
            return own is not None

    def clear(self) -> None:
        """See `Store`. Works on an index of a foreign profile too: clearing it is the way out."""
        with self._lock, errors_of(self._path):
            if self._connection is None:
                self._connection = connect(self._path)
            with self._transaction() as db:
                row = db.execute(
                    "SELECT number, tables FROM indexes WHERE namespace = ?", (self._layout.namespace,)
                ).fetchone()
                if row is not None:
                    number, tables = row
                    keys = (f"keys_{number}_{table}" for table in range(tables))
                    for name in (f"pages_{number}", f"urls_{number}", *keys):
                        db.execute(f"DROP TABLE IF EXISTS {name}")
                    # The index keeps its number, for crawlers at work go on with it.
                    db.execute(
                        "UPDATE indexes SET profile = ?, tables = ?, forgotten = 0 WHERE number = ?",
                        (self._layout.profile, len(self._layout.tables), number),
                    )
                crawler, _ = self._join(db)
            self._crawler = crawler

    def info(self) -> StoreInfo:
        """See `Store`. `bytes` is the size of the whole file."""
        with self._lock, errors_of(self._path):
            db = self._open_connection()
            (size,) = db.execute("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size").fetchone()
            return StoreInfo(
                pages=self._pages(db),
                bytes=int(size),
                tables=len(self._layout.tables),
                profile=self._layout.profile,
                namespace=self._layout.namespace,
                store=f"sqlite:///{self._path}",
            )

    def heartbeat(self) -> None:
        """See `Store`."""
        with self._lock, errors_of(self._path), self._transaction() as db:
            self._renew_lease(db, self._crawler.number)

    def _renew_lease(self, db: sqlite3.Connection, number: int) -> None:
        db.execute(
            "INSERT OR REPLACE INTO crawlers (idx, number, expires, process) VALUES (?, ?, ?, ?)",
            (self._index, number, int(self._clock()) + LEASE_SECONDS, self._process),
        )

    def close(self) -> None:
        """See `Store`."""
        with self._lock:
            if self._connection is None:
                return
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute(
                    "DELETE FROM crawlers WHERE idx = ? AND number = ?", (self._index, self._crawler.number)
                )
            self._crawler = Crawler(0, 0)
            self._connection.close()
            self._connection = None

    def _open_connection(self) -> sqlite3.Connection:
        if self._connection is None:
            raise StoreUnavailableError(f"the store {self._path} is not open")
        return self._connection

    def _transaction(self, kind: str = "IMMEDIATE") -> contextlib.AbstractContextManager[sqlite3.Connection]:
        return transaction(self._open_connection(), kind)

    def _pages(self, db: sqlite3.Connection) -> int:
        """Pages in the index; raises ProfileMismatchError if another process began it anew for other settings."""
        # Page numbers count the pages ever added, so no counter has to be written for each of them.
        profile, forgotten, newest = db.execute(
            f"SELECT profile, forgotten, (SELECT max(id) FROM {self._pages_table}) FROM indexes WHERE number = ?",
            (self._index,),
        ).fetchone()
        self._check_profile(profile)
        return (newest or 0) - int(forgotten)

    def _page_with(self, db: sqlite3.Connection, url_key: int) -> sqlite3.Row | None:
        low, high = packed_range(url_key, url_key)
        return db.execute(  # type: ignore[no-any-return]
            f"SELECT {_PAGE_COLUMNS} FROM {self._url_table} CROSS JOIN {self._pages_table} "
            f"ON id = (k & {MAX_PAGES - 1}) WHERE k BETWEEN ? AND ? AND url_key = ?",
            (_signed(low), _signed(high), _signed(url_key)),
        ).fetchone()

    def _is_live(self, row: sqlite3.Row, query: Query, now: int) -> bool:
        return query.ttl_seconds is None or row["seen_at"] >= now - query.ttl_seconds

    def _candidates(self, db: sqlite3.Connection, query: Query, now: int) -> list[sqlite3.Row]:
        """Pages in the query's ranges, without repetition, best first."""
        plan = query.plan
        lows, highs = packed_ranges(plan)
        columns = np.column_stack((lows, middles(query, self._layout), highs))
        bounds = (columns ^ np.uint64(_SIGN)).view(np.int64)
        found: list[tuple[int, int, int]] = []
        for number, name in enumerate(self._key_tables):
            places = np.flatnonzero(plan.tables == number)
            mine = bounds[places]
            if not len(mine):
                continue
            place_of = dict(zip(mine[:, 0].tolist(), places.tolist(), strict=True))
            keys = self._keys_between(db, name, mine.ravel().tolist(), query.max_keys_a_side)
            found.extend((place_of[low], number, _unsigned(key)) for low, key in keys)
        if not found:
            return []
        found.sort()
        pages = choose_pages(query, self._layout, [(number, key) for _, number, key in found[: query.max_keys]])
        rows = db.execute(
            f"SELECT {_CANDIDATE_COLUMNS} FROM {self._pages_table} WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(pages),),
        ).fetchall()
        return [row for row in rows if self._is_live(row, query, now)]

    def _keys_between(self, db: sqlite3.Connection, name: str, bounds: list[int], limit: int) -> list[tuple[int, int]]:
        """(first key of its range, key) of a table's keys in ranges: low, middle, high; see `SortedKeys.ranges`."""
        ranges = ",".join(["(?,?,?)"] * (len(bounds) // 3))
        join = f"WITH r(low, middle, high) AS (VALUES {ranges}) SELECT low, k FROM r CROSS JOIN {name} ON k BETWEEN "
        keys = db.execute(f"{join} low AND high LIMIT {limit}", bounds).fetchall()
        if len(keys) < limit:
            return keys
        # Somewhere pages crowd: now each range is cut on both sides.
        side = f"SELECT k FROM {name} WHERE k"
        first = f"({side} >= low AND k < middle ORDER BY k DESC LIMIT 1 OFFSET {limit - 1})"
        last = f"({side} BETWEEN middle AND high ORDER BY k LIMIT 1 OFFSET {limit - 1})"
        return db.execute(f"{join} ifnull({first}, low) AND ifnull({last}, high)", bounds).fetchall()

    def _matches(self, query: Query, candidates: list[sqlite3.Row]) -> list[int]:
        """The pages of the accepted candidates, nearest first."""
        digests = [_unsigned(row["digest"]) for row in candidates]
        found = accepted(query, [row["signature"] for row in candidates], digests)
        return [page for _, page in sorted((cost, candidates[position]["id"]) for cost, position in found)]

    def _page(self, db: sqlite3.Connection, number: int) -> sqlite3.Row:
        row: sqlite3.Row = db.execute(
            f"SELECT {_PAGE_COLUMNS} FROM {self._pages_table} WHERE id = ?", (number,)
        ).fetchone()
        return row

    def _add(self, db: sqlite3.Connection, entry: Entry, now: int) -> None:
        cursor = db.execute(
            f"INSERT INTO {self._pages_table} (url, url_key, search, signature, digest, added_at, seen_at, "
            "copies, crawler) VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?)",
            (
                entry.url.encode("utf-8", "replace").decode(),
                _signed(entry.url_key),
                _signed(entry.search),
                entry.signature,
                _signed(entry.digest),
                now,
                now,
                self._crawler.number,
            ),
        )
        page = cursor.lastrowid or 0
        if page >= MAX_PAGES:
            raise StoreFullError(f"{self._path} holds its limit of {MAX_PAGES} pages")
        self._file(db, page, entry)
        db.execute(f"INSERT INTO {self._url_table} VALUES (?)", (_signed(pack_key(entry.url_key, page)),))

    def _remove(self, db: sqlite3.Connection, row: sqlite3.Row) -> None:
        self._unfile(db, row)
        page = row["id"]
        packed = _signed(pack_key(_unsigned(row["url_key"]), page))
        db.execute(f"DELETE FROM {self._url_table} WHERE k = ?", (packed,))
        # The newest row is emptied, not deleted: its number must not be given again.
        db.execute(
            f"DELETE FROM {self._pages_table} WHERE id = ? AND id < (SELECT max(id) FROM {self._pages_table})", (page,)
        )
        db.execute(f"UPDATE {self._pages_table} SET url = '' WHERE id = ?", (page,))
        db.execute("UPDATE indexes SET forgotten = forgotten + 1 WHERE number = ?", (self._index,))

    def _file(self, db: sqlite3.Connection, page: int, entry: Entry) -> None:
        for name, key in zip(self._key_tables, self._layout.keys(entry.search, entry.signature), strict=True):
            db.execute(f"INSERT INTO {name} VALUES (?)", (_signed(pack_key(key, page)),))

    def _unfile(self, db: sqlite3.Connection, row: sqlite3.Row) -> None:
        keys = self._layout.keys(_unsigned(row["search"]), row["signature"])
        for name, key in zip(self._key_tables, keys, strict=True):
            db.execute(f"DELETE FROM {name} WHERE k = ?", (_signed(pack_key(key, row["id"])),))


def _record(row: sqlite3.Row, **newer: Any) -> Record:
    values = {
        "url": row["url"],
        "url_key": _unsigned(row["url_key"]),
        "search": _unsigned(row["search"]),
        "signature": row["signature"],
        "digest": _unsigned(row["digest"]),
        "added_at": row["added_at"],
        "seen_at": row["seen_at"],
        "copies": row["copies"],
    }
    return Record(**{**values, **newer})


# SQLite's integers are signed: shift the unsigned 64-bit range so that the order stays.
def _signed(value: int) -> int:
    return value - _SIGN


def _unsigned(value: int) -> int:
    return value + _SIGN
