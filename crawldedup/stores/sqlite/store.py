"""The stores in a SQLite file, for the processes of one machine, and in memory.

Each method is one transaction, which `SqliteStore._locked` begins. `decide.py` decides about pages.
"""

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import ClassVar
from weakref import WeakSet

from crawldedup.errors import StoreError, StoreUnavailableError
from crawldedup.stores.anchors import AnchorQuery, Holders
from crawldedup.stores.contract import (
    NO_SESSION,
    Answers,
    CrawlSession,
    Layout,
    PageName,
    Query,
    Record,
    Retention,
    StoreInfo,
    key_changed,
)
from crawldedup.stores.sqlite import schema
from crawldedup.stores.sqlite.anchors import Anchors
from crawldedup.stores.sqlite.crawlers import Crawlers
from crawldedup.stores.sqlite.decide import BatchDecision, find_records
from crawldedup.stores.sqlite.index import SqliteIndex


class SqliteStore:
    """A store for one index in a SQLite file. `Store` describes its methods.

    Several threads may share a store, and several processes a file. After a fork, the child
    connects again and works as the same crawler as its parent.
    """

    schemes: ClassVar[tuple[str, ...]] = ("sqlite",)
    is_persistent: ClassVar = True

    def __init__(self, url: str, layout: Layout, *, clock: Callable[[], float] = time.time) -> None:
        self.layout = layout
        self.session = NO_SESSION
        self._path = schema.path_of(url)
        self._url = f"sqlite:///{self._path}" if self.is_persistent else "memory://"
        self._clock = clock
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None
        self._index: SqliteIndex | None = None  # None if the file has no such index
        self._is_open = False
        self._is_forked = False  # the connection belongs to the parent, so a new one is needed
        _stores.add(self)

    def open(self, session: CrawlSession | None = None) -> int:
        with self._lock, schema.errors_of(self._path), self._connection() as db:
            db.execute("BEGIN IMMEDIATE")
            return self._join(db, session or self.session).pages

    def open_read_only(self) -> int:
        with self._lock, schema.errors_of(self._path):
            if self._exists():
                with self._connection() as db:
                    db.execute("BEGIN DEFERRED")
                    self._find_index(db)
            self._is_open = True
            return self._index.pages if self._index else 0

    def check(self, queries: Sequence[Query]) -> Answers:
        started = time.monotonic()
        try:
            with self._locked(queries) as index:
                if index is None:
                    raise StoreUnavailableError(f"the store {self._path} is not open for writing")
                crawlers = self._crawlers(index)
                delivered = [query.delivered for query in queries]
                crawlers.deliver(chain.from_iterable(delivered))
                answers = BatchDecision(index, queries, crawlers).answers()
                is_shared = len(queries) > 1 and crawlers.are_at_work()
        except StoreUnavailableError as error:
            return [error] * len(queries)
        except StoreError as error:
            if len(queries) == 1:
                return [error]
            # One of the pages caused the error, which belongs in its place among the answers.
            return [answer for query in queries for answer in self.check([query])]
        if is_shared:
            # A process that waits for a locked file only tries from time to time, and would hardly
            # ever find it free between two batches.
            time.sleep(time.monotonic() - started)
        return answers

    def find(self, queries: Sequence[Query]) -> list[list[Record]]:
        with self._locked(queries, writes=False) as index:
            if index is None:
                return [[] for _ in queries]
            now = self._now()
            return [find_records(index, query, now) for query in queries]

    def deliver(self, names: Sequence[PageName]) -> None:
        with self._locked() as index:
            if index:
                self._crawlers(index).deliver(names)

    def remembered(self, names: Sequence[PageName], retention: Retention) -> list[Record | None]:
        with self._locked(writes=False) as index:
            if index is None:
                return [None] * len(names)
            now = self._now()
            records = {}
            for page in index.pages_with(name.url_key for name in names):
                if retention.is_live(page.added_at, page.seen_at, now):
                    records[page.url_key] = page.record(index.text(page.number))
            return [records.get(name.url_key) for name in names]

    def forget(self, name: PageName, *, anchors_alone: bool = False) -> bool:
        with self._locked() as index:
            if index is None:
                return False
            pages = [] if anchors_alone else index.pages_with([name.url_key])
            if pages:
                index.remove(pages)
                index.freed += len(pages)
                index.write_head()
                self._crawlers(index).note_pending({name.url_key: False})
            had_anchors = Anchors(index, self._now()).forget(name)
            return had_anchors or bool(pages)

    def anchors(self, query: AnchorQuery, *, add: bool = True) -> Holders:
        with self._locked([query], writes=add) as index:
            if index is None:
                return Holders(((),) * len(query.anchors), {})
            return Anchors(index, self._now()).holders(query, add=add)

    def clear(self) -> None:
        with self._lock, schema.errors_of(self._path):
            if self._exists():
                with self._connection() as db:
                    db.execute("BEGIN IMMEDIATE")
                    schema.clear_index(db, self.layout.namespace)
                    if self.session.number:
                        self._join(db, self.session)

    def note(self, name: str, text: str | None = None) -> str:
        with self._locked(writes=text is not None) as index:
            if index is None:
                return ""
            if text is not None:
                index.db.execute(
                    "INSERT OR REPLACE INTO notes (idx, name, text) VALUES (?, ?, ?)",
                    (index.number, name, text),
                )
            row = index.db.execute(
                "SELECT text FROM notes WHERE idx = ? AND name = ?", (index.number, name)
            ).fetchone()
            if row is None:
                return ""
            (note,) = row
            return str(note)

    def info(self) -> StoreInfo:
        with self._locked(writes=False) as index:
            pages = 0
            size = 0
            if index is not None:
                pages = index.pages
                (size,) = index.db.execute(
                    "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
                ).fetchone()
            tables = len(self.layout.tables)
            return StoreInfo(
                pages=pages,
                bytes=size,
                table_bytes=pages * tables * schema.BYTES_PER_KEY,
                tables=tables,
                profile=self.layout.profile,
                namespace=self.layout.namespace,
                store=self._url,
            )

    def heartbeat(self) -> None:
        with self._locked() as index:
            if index:
                self._crawlers(index).renew()

    def close(self, *, leave: bool = True) -> None:
        with self._lock:
            if leave and self._db is not None and self._index is not None and self.session.number:
                with contextlib.suppress(sqlite3.Error):
                    self._crawlers(self._index).leave(self.session.number)
            self.session = NO_SESSION
            self._index = None
            self._is_open = False
            # An index in memory ends with its connection, and its store may be opened again.
            if self._db is not None and self.is_persistent:
                self._db.close()
                self._db = None
            self._is_forked = False

    @contextlib.contextmanager
    def _locked(
        self, queries: Sequence[Query | AnchorQuery] = (), *, writes: bool = True
    ) -> Iterator[SqliteIndex | None]:
        """Lock the index for one transaction.

        If it was cleared in the meantime, a crawler that writes begins it again.

        Yields:
            The index, or None if it doesn't exist.

        Raises:
            StoreUnavailableError: The store is not open.
            KeyMismatchError: The index was started again with another key, or a query was made with
                another key.
        """
        with self._lock, schema.errors_of(self._path):
            if not self._is_open:
                raise StoreUnavailableError(f"the store {self._path} is not open")
            if self._index is None:
                yield None
                return
            with self._connection() as db:
                # Locking at the start keeps other processes from deciding between our read and our
                # write.
                db.execute("BEGIN IMMEDIATE" if writes else "BEGIN DEFERRED")
                profile = self._index.load_head()
                is_begun_again = profile not in (schema.CLEARED, self.layout.profile)
                if is_begun_again:
                    self._find_index(db)
                if is_begun_again or any(query.key_id != self.layout.key.id for query in queries):
                    raise key_changed(self._url)
                if profile == schema.CLEARED and writes and self.session.number:
                    profile = schema.begin_index(db, self.layout, self._path).layout.profile
                yield None if profile == schema.CLEARED else self._index

    def _connection(self) -> sqlite3.Connection:
        """Return the connection to the file, and connect first if necessary.

        As a context manager, it commits the transaction, or rolls it back after an error.
        """
        if self._db is None:
            self._db = schema.connect(self._path)
            if self._is_forked:
                self._is_forked = False
                self._reopen_in_child(self._db)
        return self._db

    def _reopen_in_child(self, db: sqlite3.Connection) -> None:
        """After a fork, reconnect and continue as the crawler of the parent process."""
        with db:
            db.execute("BEGIN IMMEDIATE")
            if self.session.number:
                self._join(db, self.session)
            else:
                self._find_index(db)

    def _exists(self) -> bool:
        """Return whether there may be an index: the store is connected, or its file isn't empty."""
        if self._db is not None:
            return True
        path = Path(self._path)
        return path.exists() and path.stat().st_size > 0

    def _find_index(self, db: sqlite3.Connection) -> None:
        """Look for the index in the file. If it is there, use its layout."""
        entry = schema.find_index(db, self.layout, self._path)
        if entry is None:
            self._index = None
            return
        self.layout = entry.layout
        self._index = SqliteIndex(db, entry.number, entry.layout, self._path)

    def _join(self, db: sqlite3.Connection, session: CrawlSession) -> SqliteIndex:
        """Create the index if it is absent, join its crawl, and return it."""
        entry = schema.begin_index(db, self.layout, self._path)
        index = SqliteIndex(db, entry.number, entry.layout, self._path)
        self.layout = entry.layout
        self._index = index
        self._is_open = True
        self.session = Crawlers(db, index.number, session, self._now()).join()
        return index

    def _crawlers(self, index: SqliteIndex) -> Crawlers:
        return Crawlers(index.db, index.number, self.session, self._now())

    def _now(self) -> int:
        return int(self._clock())

    def _leave_parent(self) -> None:
        """Give up the connection that a forked process has inherited from its parent.

        SQLite would mistake the parent's locks for locks of this process, and pages would get lost.
        """
        if self._db is None or self._path == schema.IN_MEMORY:
            return
        if self._lock.locked():
            # A thread that exists only in the parent was using the connection. Closing it would
            # wait for that thread forever.
            _abandoned.append(self._db)
            self._lock = threading.Lock()
        else:
            with contextlib.suppress(sqlite3.Error):
                self._db.close()
        self._db = None
        self._is_forked = True


class MemoryStore(SqliteStore):
    """An index in memory, which ends with its process. Threads may share it."""

    schemes: ClassVar[tuple[str, ...]] = ("memory",)
    is_persistent: ClassVar = False


_stores: WeakSet[SqliteStore] = WeakSet()
# Keeps connections that must not be closed, which happens when nothing refers to them.
_abandoned: list[sqlite3.Connection] = []


def _leave_parents() -> None:
    for store in list(_stores):
        store._leave_parent()


# Windows has no fork.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_parents)
