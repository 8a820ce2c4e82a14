"""The embedded store that survives a restart: one SQLite file, shared by the processes of one machine.

This module decides, locks and shares; the tables are those of `sqlite_index`, the crawlers those of `sqlite_crawlers`.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Final, Self

from crawldedup.errors import ProfileMismatchError, StoreError, StoreFullError, StoreUnavailableError
from crawldedup.stores.base import (
    MAX_EVICTED,
    MAX_FREED,
    MAX_SWEPT,
    NO_SESSION,
    Answer,
    CrawlSession,
    Pruned,
    Status,
    StoreInfo,
)
from crawldedup.stores.candidates import accepted
from crawldedup.stores.packed_keys import MAX_PAGES
from crawldedup.stores.sqlite.database import (
    IN_MEMORY,
    connect,
    errors_of,
    holds_anything,
    namespaces_in,
    path_of,
    transaction,
)
from crawldedup.stores.sqlite.index import BYTES_PER_KEY, CLEARED, SqliteIndex, create_tables, drop_tables
from crawldedup.stores.sqlite.leases import has_others, join_crawl, leave_crawl, renew_lease

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from crawldedup.stores.base import Layout, Query, Record, Retention
    from crawldedup.stores.sqlite.index import Candidate, Head

_CHECKS_A_TRANSACTION: Final = 100
_PAGES_A_TRANSACTION: Final = 1000


class SqliteStore:
    """One namespace of a SQLite file. Safe to use from several threads and several processes."""

    is_persistent: ClassVar = True

    def __init__(self, path: str, layout: Layout, *, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._layout = layout
        self._clock = clock
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._is_absent = False
        self._session = NO_SESSION
        self._index = SqliteIndex(0, layout)

    @classmethod
    def check_url(cls, url: str) -> None:
        """See `Store`."""
        path_of(url)

    @classmethod
    def from_url(cls, url: str, layout: Layout) -> Self:
        """See `Store`."""
        return cls(path_of(url), layout)

    @classmethod
    def namespaces(cls, url: str, wanted: str) -> list[str]:  # noqa: ARG003
        """See `Store`."""
        path = path_of(url)
        with errors_of(path):
            return namespaces_in(path) if holds_anything(path) else []

    @property
    def session(self) -> CrawlSession | None:
        """See `Store`."""
        return self._session if self._session.number else None

    def open(self, session: CrawlSession | None = None) -> int:
        """See `Store`."""
        with self._lock, errors_of(self._path):
            if self._is_absent:
                self._disconnect()
            with transaction(self._connect()) as db:
                joined = self._join(db, session or replace(self._session, first=0))
                pages = self._head(db).pages
            self._session = joined
            return pages

    def open_read_only(self) -> int:
        """See `Store`. An index that is not there is looked at as an empty one in memory."""
        with self._lock, errors_of(self._path):
            if self._is_absent:
                self._disconnect()
            if not self._index.number and not self._is_there():
                self._disconnect()
                self._connection, self._is_absent = connect(IN_MEMORY), True
                with transaction(self._connection) as db:
                    self._attach(db, begin=True)
            with transaction(self._open_connection(), "DEFERRED") as db:
                return self._head(db).pages

    def _is_there(self) -> bool:
        """True if the file holds the index, and is connected now."""
        if not holds_anything(self._path):
            return False
        with transaction(self._connect(), "DEFERRED") as db:
            return self._attach(db, begin=False)

    def check_and_add(self, query: Query) -> Answer:
        """See `Store`."""
        with self._turn() as db:
            self._begin_if_cleared(db)
            return self._check(db, query)

    def check_many(self, queries: Sequence[Query]) -> Iterator[Answer]:
        """See `Store`. Many pages share a transaction; their answers are handed out when it is over."""
        for start in range(0, len(queries), _CHECKS_A_TRANSACTION):
            batch = queries[start : start + _CHECKS_A_TRANSACTION]
            try:
                with self._turn_of_many() as db:
                    self._begin_if_cleared(db)
                    answers = [self._check(db, query) for query in batch]
            except StoreUnavailableError:
                raise
            except StoreError:
                # One of the pages is to blame, and its error shall come in its place.
                yield from map(self.check_and_add, batch)
            else:
                yield from answers

    def _check(self, db: sqlite3.Connection, query: Query) -> Answer:
        index, entry, retention, now = self._index, query.entry, query.retention, int(self._clock())
        head = self._head(db)
        own = index.page_with(db, entry.url_key)
        own_lives = own is not None and retention.is_live(own.added_at, own.seen_at, now)
        if own is not None and own_lives and not self._session.is_concurrent(own.crawler):
            newer = index.revisit(db, own, entry, now, self._session.number)
            return Answer(Status.REVISIT, newer.record(), newer.digest != own.digest, head.pages, 0)
        candidates, expired = self._candidates(db, query, now)
        matches = _matches(query, candidates)
        if own is not None and not (own_lives and matches):
            expired = [own.number, *(number for number in expired if number != own.number)]
        freed = [index.page(db, number) for number in expired[:MAX_FREED]]
        index.remove(db, freed)
        pages = head.pages - len(freed)
        if matches:
            page = index.count_copy(db, matches[0], now)
            status = Status.EXACT if page.digest == entry.digest else Status.NEAR
            return Answer(status, page.record(), False, pages, len(candidates))
        self._check_room(head.newest)
        index.add(
            db, head.newest + 1, entry, entry.keys, added_at=now, seen_at=now, copies=0, crawler=self._session.number
        )
        pages += 1
        if retention.ttl_seconds is not None:
            pages -= index.sweep(db, head.swept, retention, now, MAX_SWEPT)
        pages -= self._evict(db, pages, retention, MAX_EVICTED)
        return Answer(Status.NEW, None, False, pages, len(candidates))

    def _candidates(self, db: sqlite3.Connection, query: Query, now: int) -> tuple[list[Candidate], list[int]]:
        """Pages to compare, and numbers of pages in the ranges that have expired; both without repetition."""
        live: list[Candidate] = []
        expired = []
        for page in self._index.candidates(db, query):
            if query.retention.is_live(page.added_at, page.seen_at, now):
                live.append(page)
            else:
                expired.append(page.number)
        return live, expired

    def _check_room(self, newest: int) -> None:
        if newest + 1 >= MAX_PAGES:
            raise StoreFullError(
                f"{self._path} has given all its {MAX_PAGES} page numbers; clear the index, or load it into another"
            )

    def _evict(self, db: sqlite3.Connection, pages: int, retention: Retention, most: int) -> int:
        """Free at most so many of the oldest pages beyond the limit; how many they were."""
        excess = 0 if retention.max_pages is None else min(max(pages - retention.max_pages, 0), most)
        oldest = self._index.pages_after(db, 0, excess) if excess else []
        self._index.remove(db, oldest)
        return len(oldest)

    def find(self, query: Query) -> list[Record]:
        """See `Store`."""
        # One state of the index for all that is read, whatever others write meanwhile.
        with self._turn("DEFERRED") as db:
            self._head(db)
            candidates, _ = self._candidates(db, query, int(self._clock()))
            return [self._index.page(db, number).record() for number in _matches(query, candidates)]

    def forget(self, url_key: int) -> bool:
        """See `Store`."""
        with self._turn() as db:
            own = self._index.page_with(db, url_key)
            if own is not None:
                self._index.remove(db, [own])
            return own is not None

    def clear(self) -> None:
        """See `Store`. Works on an index of a foreign profile too: clearing it is the way out."""
        with self._lock, errors_of(self._path):
            if self._is_absent:
                self._disconnect()
            if self._connection is None and not holds_anything(self._path):
                return
            session = self._session
            with transaction(self._connect()) as db:
                row = db.execute(
                    "SELECT number, tables FROM indexes WHERE namespace = ?", (self._layout.namespace,)
                ).fetchone()
                if row is not None:
                    number, tables = row
                    drop_tables(db, number, tables)
                    create_tables(db, number, tables)
                    # The index keeps its number, for crawlers at work go on with it.
                    db.execute(
                        "UPDATE indexes SET profile = ?, freed = 0, newest_freed = 0, swept = 0 WHERE number = ?",
                        (CLEARED, number),
                    )
                if session.number:
                    session = self._join(db, replace(session, first=0))
            self._session = session

    def prune(self, retention: Retention) -> Iterator[Pruned]:
        """See `Store`."""
        examined = freed = last = 0
        more = retention.ttl_seconds is not None
        while more:
            with self._turn_of_many() as db:
                self._head(db)
                pages = self._index.pages_after(db, last, _PAGES_A_TRANSACTION)
                freed += self._index.remove_expired(db, pages, retention, int(self._clock()))
            more = len(pages) == _PAGES_A_TRANSACTION
            last = pages[-1].number if pages else last
            examined += len(pages)
            yield Pruned(examined, freed)
        more = True
        while more:
            with self._turn_of_many() as db:
                evicted = self._evict(db, self._head(db).pages, retention, _PAGES_A_TRANSACTION)
            more = evicted == _PAGES_A_TRANSACTION
            examined, freed = examined + evicted, freed + evicted
            yield Pruned(examined, freed)

    def records(self) -> Iterator[list[Record]]:
        """See `Store`."""
        last, more = 0, True
        while more:
            with self._turn("DEFERRED") as db:
                self._head(db)
                pages = self._index.pages_after(db, last, _PAGES_A_TRANSACTION)
            more = len(pages) == _PAGES_A_TRANSACTION
            if pages:
                last = pages[-1].number
                yield [page.record() for page in pages]

    def load(self, records: Sequence[Record]) -> int:
        """See `Store`."""
        added = 0
        for start in range(0, len(records), _PAGES_A_TRANSACTION):
            with self._turn_of_many() as db:
                self._begin_if_cleared(db)
                before = newest = self._head(db).newest
                for record in records[start : start + _PAGES_A_TRANSACTION]:
                    if self._index.page_with(db, record.url_key) is None:
                        self._check_room(newest)
                        newest += 1
                        self._load(db, newest, record)
            added += newest - before
        return added

    def _load(self, db: sqlite3.Connection, number: int, record: Record) -> None:
        self._index.add(
            db,
            number,
            record,
            self._layout.keys(record.search, record.signature),
            added_at=record.added_at,
            seen_at=record.seen_at,
            copies=record.copies,
            # Nobody's number: to none who is at work the page is a fellow's.
            crawler=0,
        )

    def info(self) -> StoreInfo:
        """See `Store`. `bytes` is the size of the whole file; what tables take of it is estimated."""
        with self._lock, errors_of(self._path):
            db = self._open_connection()
            (size,) = db.execute("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size").fetchone()
            pages = self._head(db).pages
            return StoreInfo(
                pages=pages,
                bytes=int(size),
                table_bytes=pages * len(self._layout.tables) * BYTES_PER_KEY,
                tables=len(self._layout.tables),
                profile=self._layout.profile,
                namespace=self._layout.namespace,
                store=f"sqlite:///{self._path}",
            )

    def heartbeat(self) -> None:
        """See `Store`."""
        with self._turn() as db:
            renew_lease(db, self._index.number, self._session, int(self._clock()))

    def close(self, *, leave: bool = True) -> None:
        """See `Store`."""
        with self._lock:
            if leave and self._connection is not None and self._session.number:
                with contextlib.suppress(sqlite3.Error):
                    leave_crawl(self._connection, self._index.number, self._session.number)
            self._session = NO_SESSION
            self._disconnect()

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection, self._is_absent = None, False
        self._index = SqliteIndex(0, self._layout)

    def _connect(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = connect(self._path)
        return self._connection

    def _open_connection(self) -> sqlite3.Connection:
        if self._connection is None:
            raise StoreUnavailableError(f"the store {self._path} is not open")
        return self._connection

    @contextlib.contextmanager
    def _turn(self, kind: str = "IMMEDIATE") -> Iterator[sqlite3.Connection]:
        with self._lock, errors_of(self._path), transaction(self._open_connection(), kind) as db:
            yield db

    @contextlib.contextmanager
    def _turn_of_many(self) -> Iterator[sqlite3.Connection]:
        """A turn, and a pause of the same length if others are at work in the file.

        Those who wait for a locked file only look from time to time; without pauses they would hardly find it free.
        """
        started = time.monotonic()
        with self._turn() as db:
            yield db
            others = has_others(db, self._index.number, self._session.number, int(self._clock()))
        if others:
            time.sleep(time.monotonic() - started)

    def _join(self, db: sqlite3.Connection, session: CrawlSession) -> CrawlSession:
        """Check the profile, make what is missing, and join the crawl."""
        self._attach(db, begin=True)
        return join_crawl(db, self._index.number, session, int(self._clock()))

    def _attach(self, db: sqlite3.Connection, *, begin: bool) -> bool:
        """Check the profile of the index, which is begun if that is wanted; False if it is not there."""
        layout = self._layout
        row = db.execute(
            "SELECT number, profile, tables FROM indexes WHERE namespace = ?", (layout.namespace,)
        ).fetchone()
        if not begin and (row is None or row[1] == CLEARED):
            return False
        if row is None:
            cursor = db.execute(
                "INSERT INTO indexes (namespace, profile, tables) VALUES (?, ?, ?)",
                (layout.namespace, layout.profile, len(layout.tables)),
            )
            row = (cursor.lastrowid, layout.profile, len(layout.tables))
        number, profile, tables = row
        if profile == CLEARED:
            drop_tables(db, number, tables)
            db.execute(
                "UPDATE indexes SET profile = ?, tables = ? WHERE number = ?",
                (layout.profile, len(layout.tables), number),
            )
        else:
            self._check_profile(profile)
        self._index = SqliteIndex(number, layout)
        if begin:
            create_tables(db, number, len(layout.tables))
        return True

    def _begin_if_cleared(self, db: sqlite3.Connection) -> None:
        """Begin the index again that somebody has cleared who is no crawler."""
        if self._index.head(db).profile == CLEARED:
            self._attach(db, begin=True)

    def _head(self, db: sqlite3.Connection) -> Head:
        """Raises ProfileMismatchError if another process began the index anew for other settings."""
        head = self._index.head(db)
        if head.profile != CLEARED:
            self._check_profile(head.profile)
        return head

    def _check_profile(self, profile: str) -> None:
        if profile != self._layout.profile:
            raise ProfileMismatchError(
                f"the namespace {self._layout.namespace!r} of {self._path}",
                index_profile=profile,
                own_profile=self._layout.profile,
            )


def _matches(query: Query, candidates: list[Candidate]) -> list[int]:
    """The numbers of the accepted candidates, nearest first."""
    found = accepted(query, [page.signature for page in candidates], [page.digest for page in candidates])
    return [number for _, number in sorted((cost, candidates[position].number) for cost, position in found)]
