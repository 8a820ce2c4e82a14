"""The embedded store that survives a restart: one SQLite file, shared by the processes of one machine.

This module locks and shares the file; `index` keeps the pages, `leases` the crawlers at work.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, ClassVar, Final, Self

from crawldedup.errors import StoreError, StoreUnavailableError
from crawldedup.stores.base import NO_SESSION, CrawlSession, Pruned, StoreInfo
from crawldedup.stores.layout import key_changed
from crawldedup.stores.sqlite.anchors import SqliteAnchors
from crawldedup.stores.sqlite.database import connect, errors_of, holds_anything, path_of, transaction
from crawldedup.stores.sqlite.deliveries import Crew
from crawldedup.stores.sqlite.file import SqliteFile
from crawldedup.stores.sqlite.heads import CLEARED, begin_index, clear_index, find_index, noted
from crawldedup.stores.sqlite.leases import has_others, join_crawl, leave_crawl, renew_lease
from crawldedup.stores.sqlite.statements import BYTES_PER_KEY
from crawldedup.stores.sqlite.turns import decide, evict, free_expired, load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from crawldedup.stores.base import Answer, Layout, Query, Record, Retention
    from crawldedup.stores.sqlite.index import SqliteIndex
    from crawldedup.text.keys import Key

_CHECKS_PER_TRANSACTION: Final = 100
_BATCH: Final = 1000
"""At most so many pages are read, freed or loaded while others wait."""


class SqliteStore(SqliteFile, SqliteAnchors):
    """One namespace of a SQLite file. Safe to use from several threads, several processes, and after a fork."""

    is_persistent: ClassVar = True
    partitions: ClassVar = 1

    def __init__(self, path: str, layout: Layout, *, clock: Callable[[], float] = time.time) -> None:
        super().__init__(path)
        self.layout = layout
        self._clock = clock
        self._shown = f"sqlite:///{path}"
        self._session = NO_SESSION
        self._index: SqliteIndex | None = None

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
            if not holds_anything(path):
                return []
            with contextlib.closing(connect(path)) as db:
                return [name for (name,) in db.execute("SELECT namespace FROM indexes ORDER BY namespace")]

    def use_key(self, key: Key) -> None:
        """See `Store`."""
        self.layout = self.layout.with_key(key)

    @property
    def session(self) -> CrawlSession | None:
        """See `Store`."""
        return self._session if self._session.number else None

    def open(self, session: CrawlSession | None = None) -> int:
        """See `Store`."""
        with self._lock, errors_of(self._path):
            self._disconnect_if_absent()
            with transaction(self._connect()) as db:
                index, joined = self._join(db, session or self._session)
                index.load_head()
            self._session = joined
            self._use(index)
            return index.pages

    def open_read_only(self) -> int:
        """See `Store`. An index in memory takes the place of an absent one."""
        with self._lock, errors_of(self._path):
            self._disconnect_if_absent()
            if self._exists():
                with transaction(self._connect(), "DEFERRED") as db:
                    self._use(find_index(db, self.layout, self._path) or self._index)
            if self._index is None:
                with transaction(self._connect_in_memory()) as db:
                    self._index = begin_index(db, self.layout, self._path)
        with self._turn(writes=False) as index:
            return index.pages

    def check_and_add(self, query: Query) -> Answer:
        """See `Store`."""
        with self._turn(queries=(query,)) as index:
            return self._decided(index, query)

    def check_many(self, queries: Sequence[Query]) -> Iterator[Answer]:
        """See `Store`. Many pages share a transaction; their answers are handed out when it is over."""
        starts = range(0, len(queries), _CHECKS_PER_TRANSACTION)
        return chain.from_iterable(self._decide(queries[at : at + _CHECKS_PER_TRANSACTION]) for at in starts)

    def _decide(self, batch: Sequence[Query]) -> Iterable[Answer]:
        try:
            with self._turn(many=True, queries=batch) as index:
                return [self._decided(index, query) for query in batch]
        except StoreUnavailableError:
            raise
        except StoreError:
            # One of the pages is to blame, and its error shall come in its place.
            return map(self.check_and_add, batch)

    def _decided(self, index: SqliteIndex, query: Query) -> Answer:
        now = self._now()
        return decide(index, query, self._session, Crew(self._connect(), index.number, self._session.number, now), now)

    def deliver(self, url_keys: Sequence[int]) -> None:
        """See `Store`."""
        if url_keys:
            with self._turn() as index:
                Crew(self._connect(), index.number, self._session.number, self._now()).deliver(url_keys)

    def find(self, query: Query) -> list[Record]:
        """See `Store`."""
        with self._turn(writes=False, queries=(query,)) as index:
            return [index.page(number).record() for number in index.search(query, self._now())[0]]

    def text_of(self, url_key: int, retention: Retention) -> bytes:
        """See `Store`."""
        with self._turn(writes=False) as index:
            own = index.page_with(url_key)
            return index.text(own.number) if own and own.is_live(retention, self._now()) else b""

    def forget(self, url_key: int) -> bool:
        """See `Store`."""
        with self._turn() as index:
            own = index.page_with(url_key)
            if own is not None:
                index.remove([own])
                Crew(self._connect(), index.number, self._session.number, self._now()).arrive(url_key)
            return own is not None

    def prune(self, retention: Retention) -> Iterator[Pruned]:
        """See `Store`."""
        examined = freed = last = 0
        more = retention.ttl_seconds is not None
        while more:
            with self._turn(many=True) as index:
                pages = index.pages_after(last, _BATCH)
                freed += free_expired(index, pages, retention, self._now())
            more = len(pages) == _BATCH
            last = pages[-1].number if pages else last
            examined += len(pages)
            yield Pruned(examined, freed)
        more = True
        while more:
            with self._turn(many=True) as index:
                evicted = evict(index, retention, _BATCH)
                more = evicted == _BATCH
                examined, freed = examined + evicted, freed + evicted
            yield Pruned(examined, freed)

    def records(self) -> Iterator[list[Record]]:
        """See `Store`."""
        last, more = 0, True
        while more:
            with self._turn(writes=False) as index:
                pages = index.pages_after(last, _BATCH)
                records = [replace(page.record(), packed_text=index.text(page.number)) for page in pages]
            more, last = len(pages) == _BATCH, pages[-1].number if pages else last
            if records:
                yield records

    def load(self, records: Sequence[Record]) -> int:
        """See `Store`."""
        added = 0
        for start in range(0, len(records), _BATCH):
            with self._turn(many=True) as index:
                added += load(index, records[start : start + _BATCH])
        return added

    def clear(self) -> None:
        """See `Store`. Works on an index of a foreign profile too: clearing it is the way out."""
        with self._lock, errors_of(self._path):
            self._disconnect_if_absent()
            if self._connection is None and not self._exists():
                return
            if self._is_forked:
                self._reconnect()
            index, session = self._index, self._session
            with transaction(self._connect()) as db:
                clear_index(db, self.layout.namespace)
                if session.number:
                    index, session = self._join(db, session)
            self._session = session
            self._use(index)

    def note(self, name: str, text: str | None = None) -> str:
        """See `Store`."""
        with self._turn(writes=text is not None) as index:
            return noted(self._connect(), index.number, name, text)

    def info(self) -> StoreInfo:
        """See `Store`. `bytes` is the size of the whole file; what tables take of it is estimated."""
        with self._turn(writes=False) as index:
            db = self._connect()
            (size,) = db.execute("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size").fetchone()
            table_bytes = index.pages * len(self.layout.tables) * BYTES_PER_KEY
            return StoreInfo.of(self.layout, index.pages, int(size), table_bytes, store=self._shown)

    def heartbeat(self) -> None:
        """See `Store`."""
        with self._transaction("IMMEDIATE") as (db, index):
            renew_lease(db, index.number, self._session, self._now())

    def close(self, *, leave: bool = True) -> None:
        """See `Store`."""
        with self._lock:
            if leave and self._connection is not None and self._index is not None and self._session.number:
                with contextlib.suppress(sqlite3.Error):
                    leave_crawl(self._connection, self._index.number, self._session.number)
            self._session = NO_SESSION
            self._disconnect()

    @contextlib.contextmanager
    def _turn(self, *, writes: bool = True, many: bool = False, queries: Sequence[Query] = ()) -> Iterator[SqliteIndex]:
        """Keep others from the index: from writing to it, or if `writes` is False only from changing what is read.

        Processes that wait for a locked file only look from time to time, and would hardly find it free between two
        turns of many pages: each such turn is followed by a pause of its length if other crawlers are at work.
        """
        started = time.monotonic()
        with self._transaction("IMMEDIATE" if writes else "DEFERRED") as (db, index):
            profile = index.load_head()
            if profile not in (CLEARED, self.layout.profile):
                self._use(begin_index(db, self.layout, self._path))
                raise key_changed(self._shown)
            if any(query.key_id != self.layout.key.id for query in queries):
                raise key_changed(self._shown)
            if profile == CLEARED and writes and self._session.number:
                begin_index(db, self.layout, self._path)
            yield index
            others = many and has_others(db, index.number, self._session.number, self._now())
        if others:
            time.sleep(time.monotonic() - started)

    @contextlib.contextmanager
    def _transaction(self, kind: str) -> Iterator[tuple[sqlite3.Connection, SqliteIndex]]:
        with self._lock, errors_of(self._path):
            if self._is_forked:
                self._reconnect()
            if self._connection is None or self._index is None:
                raise StoreUnavailableError(f"the store {self._path} is not open")
            with transaction(self._connection, kind) as db:
                yield db, self._index

    def _use(self, index: SqliteIndex | None) -> None:
        self._index = index
        if index is not None:
            self.layout = index.layout

    def _disconnect_if_absent(self) -> None:
        """Give up the index in memory that took the place of an absent one."""
        if self._is_absent:
            self._disconnect()

    def _disconnect(self) -> None:
        super()._disconnect()
        self._index = None

    def _reconnect(self) -> None:
        """Go on as the crawler of the process that forked this one."""
        with transaction(self._connect()) as db:
            joins = self._session.number > 0
            self._use(self._join(db, self._session)[0] if joins else find_index(db, self.layout, self._path))

    def _join(self, db: sqlite3.Connection, session: CrawlSession) -> tuple[SqliteIndex, CrawlSession]:
        index = begin_index(db, self.layout, self._path)
        return index, join_crawl(db, index.number, session, self._now())

    def _now(self) -> int:
        return int(self._clock())
