"""The embedded stores: one SQLite file, shared by the processes of one machine, and one in memory."""

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import ClassVar
from weakref import WeakSet

from crawldedup.errors import StoreError, StoreUnavailableError
from crawldedup.stores import base
from crawldedup.stores.base import Answers, CrawlSession, Layout, PageName, Query, Record
from crawldedup.stores.sqlite import schema
from crawldedup.stores.sqlite.decide import decide, find
from crawldedup.stores.sqlite.index import Anchors, SqliteIndex
from crawldedup.stores.sqlite.schema import IN_MEMORY, Crawlers, errors_of


class SqliteStore:
    """The `Store` of one namespace of a SQLite file, for several threads and processes, and after a fork."""

    is_persistent: ClassVar = True

    def __init__(self, url: str, layout: Layout, *, clock: Callable[[], float] = time.time) -> None:
        self._path = schema.path_of(url)
        self._url = f"sqlite:///{self._path}" if self.is_persistent else "memory://"
        self._clock, self.layout = clock, layout
        self.session = base.NO_SESSION
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None
        self._index: SqliteIndex | None = None
        self._is_open = self._is_forked = False
        _stores.add(self)

    def open(self, session: CrawlSession | None = None) -> int:
        with self._lock, errors_of(self._path), self._connection() as db:
            db.execute("BEGIN IMMEDIATE")
            return self._join(db, session or self.session).pages

    def open_read_only(self) -> int:
        with self._lock, errors_of(self._path):
            if self._exists():
                with self._connection() as db:
                    db.execute("BEGIN DEFERRED")
                    self._find(db)
            self._is_open = True
            return self._index.pages if self._index else 0

    def check(self, queries: Sequence[Query]) -> Answers:
        started = time.monotonic()
        try:
            with self._locked(queries) as index:
                if index is None:
                    raise StoreUnavailableError(f"the store {self._path} is not open for writing")
                crawlers = self._crawlers(index)
                answers = decide(index, queries, crawlers)
                is_shared = len(queries) > 1 and crawlers.are_at_work()
        except StoreUnavailableError as error:
            return [error] * len(queries)
        except StoreError as error:
            # Of several, one of the pages is to blame, and its error shall come in its place.
            return [error] if len(queries) == 1 else [answer for query in queries for answer in self.check([query])]
        if is_shared:
            # Who waits for a locked file only looks from time to time, and would hardly find it free between batches.
            time.sleep(time.monotonic() - started)
        return answers

    def find(self, queries: Sequence[Query]) -> list[list[Record]]:
        with self._locked(queries, writes=False) as index:
            return [find(index, query, self._now()) if index else [] for query in queries]

    def deliver(self, names: Sequence[PageName]) -> None:
        with self._locked() as index:
            if index:
                self._crawlers(index).deliver(names)

    def remembered(self, names: Sequence[PageName], retention: base.Retention) -> list[Record | None]:
        with self._locked(writes=False) as index:
            own = index.pages_with(name.url_key for name in names) if index else []
            live = (page for page in own if retention.is_live(page.added_at, page.seen_at, self._now()))
            records = {page.url_key: page.record(index.text(page.number)) for page in live} if index else {}
            return [records.get(name.url_key) for name in names]

    def forget(self, name: PageName, *, anchors_alone: bool = False) -> bool:
        with self._locked() as index:
            if index is None:
                return False
            if own := [] if anchors_alone else index.pages_with([name.url_key]):
                index.remove(own)
                index.freed += len(own)
                index.write_head()
                self._crawlers(index).note_pending({name.url_key: False})
            return Anchors(index, self._now()).forget(name) or bool(own)

    def anchors(self, query: base.AnchorQuery, *, add: bool = True) -> base.Holders:
        with self._locked([query], writes=add) as index:
            if index is None:
                return base.Holders(((),) * len(query.anchors), {})
            return Anchors(index, self._now()).holders(query, add=add)

    def clear(self) -> None:
        with self._lock, errors_of(self._path):
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
                index.db.execute("INSERT OR REPLACE INTO notes VALUES (?, ?, ?)", (index.number, name, text))
            sql = "SELECT text FROM notes WHERE idx = ? AND name = ?"
            return "".join(index.db.execute(sql, (index.number, name)).fetchone() or ())

    def info(self) -> base.StoreInfo:
        with self._locked(writes=False) as index:
            sql = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
            pages, size = (index.pages, index.db.execute(sql).fetchone()[0]) if index else (0, 0)
            layout, tables = self.layout, len(self.layout.tables)
            keys = pages * tables * schema.BYTES_PER_KEY
            return base.StoreInfo(pages, size, keys, tables, layout.profile, layout.namespace, self._url)

    def heartbeat(self) -> None:
        with self._locked() as index:
            if index:
                self._crawlers(index).renew()

    def close(self, *, leave: bool = True) -> None:
        with self._lock:
            if leave and self._db is not None and self._index is not None and self.session.number:
                with contextlib.suppress(sqlite3.Error):
                    self._crawlers(self._index).leave(self.session.number)
            self.session, self._index, self._is_open = base.NO_SESSION, None, False
            # An index in memory ends with its connection, and its store may be opened again.
            if self._db is not None and self.is_persistent:
                self._db.close()
                self._db = None
            self._is_forked = False

    @contextlib.contextmanager
    def _locked(
        self, queries: Sequence[Query | base.AnchorQuery] = (), *, writes: bool = True
    ) -> Iterator[SqliteIndex | None]:
        """Keep others from writing to the index, or from changing what is read; give None where there is none.

        Raises KeyMismatchError for queries of another key than that of the index.
        """
        with self._lock, errors_of(self._path):
            if not self._is_open:
                raise StoreUnavailableError(f"the store {self._path} is not open")
            if self._index is None:
                yield None
                return
            with self._connection() as db:
                # With a lock from the start, no other process decides between our read and write.
                db.execute("BEGIN IMMEDIATE" if writes else "BEGIN DEFERRED")
                profile = self._index.load_head()
                is_other = profile not in (schema.CLEARED, self.layout.profile)
                if is_other:
                    self._find(db)
                if is_other or {query.key_id for query in queries} - {self.layout.key.id}:
                    raise base.key_changed(self._url)
                if profile == schema.CLEARED and writes and self.session.number:
                    profile = schema.begin_index(db, self.layout, self._path)[1].profile
                yield None if profile == schema.CLEARED else self._index

    def _connection(self) -> sqlite3.Connection:
        if self._db is None:
            self._db = schema.connect(self._path)
            if self._is_forked:
                # Go on as the crawler of the process that forked this one.
                self._is_forked = False
                with self._db as db:
                    db.execute("BEGIN IMMEDIATE")
                    self._join(db, self.session) if self.session.number else self._find(db)
        return self._db

    def _exists(self) -> bool:
        """Return True for a file that is not empty: others hold no index."""
        return self._db is not None or (Path(self._path).exists() and Path(self._path).stat().st_size > 0)

    def _find(self, db: sqlite3.Connection) -> None:
        number, self.layout = schema.find_index(db, self.layout, self._path) or (0, self.layout)
        self._index = SqliteIndex(db, number, self.layout, self._path) if number else None

    def _join(self, db: sqlite3.Connection, session: CrawlSession) -> SqliteIndex:
        number, self.layout = schema.begin_index(db, self.layout, self._path)
        self._index, self._is_open = SqliteIndex(db, number, self.layout, self._path), True
        self.session = self._crawlers(self._index, session).join()
        return self._index

    def _crawlers(self, index: SqliteIndex, session: CrawlSession | None = None) -> Crawlers:
        return Crawlers(index.db, index.number, session or self.session, self._now())

    def _now(self) -> int:
        return int(self._clock())


class MemoryStore(SqliteStore):
    """An index that ends with its process. Threads may share it."""

    is_persistent: ClassVar = False


_stores: WeakSet[SqliteStore] = WeakSet()
_abandoned: list[sqlite3.Connection] = []


def _part_from_parent() -> None:
    """Give up inherited connections: SQLite would take the parent's locks for ours, and pages would get lost."""
    for store in list(_stores):
        if store._db is None or store._path == IN_MEMORY:
            continue
        if store._lock.locked():
            # A thread that only the parent has was using it: closing would wait for it forever.
            _abandoned.append(store._db)
            store._lock = threading.Lock()
        else:
            with contextlib.suppress(sqlite3.Error):
                store._db.close()
        store._db, store._is_forked = None, True


# Windows has no fork.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_part_from_parent)
