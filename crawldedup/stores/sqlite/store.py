"""The embedded stores: one SQLite file, shared by the processes of one machine, and one in memory.

They decide about the pages of a batch one after the other, by the rules in `base`, in one
transaction. The file is read once for all pages, and written once: until then, what earlier pages
of the batch changed is kept here. A page whose answer cannot be told from what was read is asked
alone, after all before it are written.
"""

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
from crawldedup.stores import contract
from crawldedup.stores.contract import (
    Answer,
    Answers,
    CrawlSession,
    Layout,
    PageName,
    Query,
    Record,
)
from crawldedup.stores.sqlite import schema
from crawldedup.stores.sqlite.index import (
    NEVER,
    Anchors,
    Candidate,
    Page,
    SqliteIndex,
    candidates,
    candidates_alone,
)
from crawldedup.stores.sqlite.schema import IN_MEMORY, Crawlers, errors_of
from crawldedup.verdict import Kind


class SqliteStore:
    """The `Store` of one namespace of a SQLite file, for several threads and processes, and after a
    fork.
    """

    schemes: ClassVar[tuple[str, ...]] = ("sqlite",)
    is_persistent: ClassVar = True

    def __init__(self, url: str, layout: Layout, *, clock: Callable[[], float] = time.time) -> None:
        self._path = schema.path_of(url)
        self._url = f"sqlite:///{self._path}" if self.is_persistent else "memory://"
        self._clock, self.layout = clock, layout
        self.session = contract.NO_SESSION
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
                crawlers.deliver([name for query in queries for name in query.delivered])
                answers = _Turn(index, queries, crawlers).answers()
                is_shared = len(queries) > 1 and crawlers.are_at_work()
        except StoreUnavailableError as error:
            return [error] * len(queries)
        except StoreError as error:
            # Of several, one of the pages is to blame, and its error shall come in its place.
            return (
                [error]
                if len(queries) == 1
                else [answer for query in queries for answer in self.check([query])]
            )
        if is_shared:
            # Who waits for a locked file only looks from time to time, and would hardly find it
            # free between batches.
            time.sleep(time.monotonic() - started)
        return answers

    def find(self, queries: Sequence[Query]) -> list[list[Record]]:
        with self._locked(queries, writes=False) as index:
            return [_find(index, query, self._now()) if index else [] for query in queries]

    def deliver(self, names: Sequence[PageName]) -> None:
        with self._locked() as index:
            if index:
                self._crawlers(index).deliver(names)

    def remembered(
        self, names: Sequence[PageName], retention: contract.Retention
    ) -> list[Record | None]:
        with self._locked(writes=False) as index:
            own = index.pages_with(name.url_key for name in names) if index else []
            live = (
                page for page in own if retention.is_live(page.added_at, page.seen_at, self._now())
            )
            records = (
                {page.url_key: page.record(index.text(page.number)) for page in live}
                if index
                else {}
            )
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

    def anchors(self, query: contract.AnchorQuery, *, add: bool = True) -> contract.Holders:
        with self._locked([query], writes=add) as index:
            if index is None:
                return contract.Holders(((),) * len(query.anchors), {})
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
                index.db.execute(
                    "INSERT OR REPLACE INTO notes VALUES (?, ?, ?)", (index.number, name, text)
                )
            sql = "SELECT text FROM notes WHERE idx = ? AND name = ?"
            return "".join(index.db.execute(sql, (index.number, name)).fetchone() or ())

    def info(self) -> contract.StoreInfo:
        with self._locked(writes=False) as index:
            sql = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
            pages, size = (index.pages, index.db.execute(sql).fetchone()[0]) if index else (0, 0)
            layout, tables = self.layout, len(self.layout.tables)
            keys = pages * tables * schema.BYTES_PER_KEY
            return contract.StoreInfo(
                pages, size, keys, tables, layout.profile, layout.namespace, self._url
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
            self.session, self._index, self._is_open = contract.NO_SESSION, None, False
            # An index in memory ends with its connection, and its store may be opened again.
            if self._db is not None and self.is_persistent:
                self._db.close()
                self._db = None
            self._is_forked = False

    @contextlib.contextmanager
    def _locked(
        self, queries: Sequence[Query | contract.AnchorQuery] = (), *, writes: bool = True
    ) -> Iterator[SqliteIndex | None]:
        """Lock the index; give None where there is none.

        Raises KeyMismatchError for queries of another key.
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
                    raise contract.key_changed(self._url)
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
        return self._db is not None or (
            Path(self._path).exists() and Path(self._path).stat().st_size > 0
        )

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

    schemes: ClassVar[tuple[str, ...]] = ("memory",)
    is_persistent: ClassVar = False


_stores: WeakSet[SqliteStore] = WeakSet()
_abandoned: list[sqlite3.Connection] = []


def _part_from_parent() -> None:
    """Give up inherited connections:

    SQLite would take the parent's locks for ours, and pages would get lost.
    """
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


def _find(index: SqliteIndex, query: Query, now: int) -> list[Record]:
    retention = query.retention
    met = [
        page
        for page in candidates_alone(index, query)
        if retention.is_live(page.added_at, page.seen_at, now)
    ]
    numbers, _ = _accepted(query, met)
    pages = {page.number: page for page in index.pages_of(numbers)}
    return [pages[number].record() for number in numbers]


def _accepted(query: Query, pages: Sequence[Candidate]) -> tuple[list[int], list[int]]:
    """Return the numbers of the pages that a query accepts, nearest first, and that of the nearest
    other, if any.
    """
    bounds = query.rule.bounds
    most = bounds.far if len(pages) <= contract.FEW else bounds.reach
    costs = sorted([(page.cost, page.number) for page in pages if page.cost <= most])
    limit = bounds.bar([cost for cost, _ in costs if cost <= bounds.reach]).limit if costs else 0
    accepted = [number for cost, number in costs if cost <= limit]
    return accepted, [number for _, number in costs[len(accepted) :][:1]]


class _Turn:
    """What is known of the pages that a batch meets, and what is to be written of them."""

    def __init__(self, index: SqliteIndex, batch: Sequence[Query], crawlers: Crawlers) -> None:
        self._index, self._batch, self._crawlers, self._now = index, batch, crawlers, crawlers.now
        # What is not written yet: keys and texts, pages that are new or have changed, those gone,
        # and who is pending.
        self._added: dict[int, tuple[int, ...]] = {}
        self._texts: dict[int, bytes] = {}
        self._changed: set[int] = set()
        self._removed: dict[int, Page] = {}
        self._pending: dict[int, bool] = {}
        # Whose query's text a page has since the file was read, None for those gone; and which page
        # has a query's.
        self._place_of: dict[int, int | None] = {}
        self._page_of: dict[int, int] = {}
        own = index.pages_with([query.record.url_key for query in batch])
        # The pages that the batch meets, as they are now.
        self._pages = {page.number: page for page in own}
        self._own = {page.url_key: page.number for page in own}
        self._candidates: dict[int, tuple[list[Candidate], int]] = {}
        if len(batch) > 1 and (
            asked := [place for place, query in enumerate(batch) if not self._revisited(query)]
        ):
            self._candidates = candidates(index, batch, asked)
            met = [page for pages, _ in self._candidates.values() for page in pages]
            self._load([page.number for page in met if page.number > 0 and page.cost != NEVER])

    def answers(self) -> Answers:
        answers: Answers = [self._answer(place) for place in range(len(self._batch))]
        self._write()
        return answers

    def _answer(self, place: int) -> Answer:
        query, index = self._batch[place], self._index
        record = query.record
        if own := self._revisited(query):
            return self._revisit(place, own)
        met = self._met(place)
        live = (
            met
            if query.retention.ttl_seconds is None
            else [page for page in met if self._is_live(page, query)]
        )
        near, others = _accepted(query, live)
        near = near or self._same_thin(query)
        self._load([*near, *others])
        gone = []
        while near and self._crawlers.is_abandoned(
            (page := self._pages[near[0]]).url_key, page.crawler
        ):
            gone.append(page)
            del near[0]
        nearest = self._pages[near[0]] if near else None
        replaces = (
            nearest is not None and min([self._pages[number].rank for number in near]) > record.rank
        )
        self._free(query, met, live, is_added=nearest is None or replaces)
        kind, earlier, rejected = (
            Kind.NEW,
            None,
            next((self._pages[number].record() for number in others), None),
        )
        if nearest is not None:
            rejected = None
            kind = Kind.EXACT_DUPLICATE if nearest.digest == record.digest else Kind.NEAR_DUPLICATE
            text = (
                self._text(nearest.number)
                if kind is Kind.NEAR_DUPLICATE and record.packed_text
                else b""
            )
            counted = nearest._replace(seen_at=self._now, copies=nearest.copies + 1)
            earlier = counted.record(text)
            if not replaces:
                self._change(counted)
                return Answer(kind, earlier, False, index.pages, len(live))
            gone.append(nearest)
        for page in gone:
            self._remove(page)
            self._pending[page.url_key] = False
        self._add(place, earlier.copies if earlier else 0)
        return Answer(
            kind, earlier, False, index.pages, len(live), replaces=replaces, rejected=rejected
        )

    def _write(self) -> None:
        index = self._index
        if self._removed:
            index.remove(self._removed.values())
        if self._changed:
            index.keep([self._pages[number] for number in self._changed])
        if self._added:
            index.file([self._pages[number] for number in self._added], self._added.values())
        index.keep_texts(self._texts)
        self._crawlers.note_pending(self._pending)
        index.write_head()
        self._added, self._texts, self._changed, self._removed, self._pending = (
            {},
            {},
            set(),
            {},
            {},
        )

    def _is_live(self, page: Page | Candidate, query: Query) -> bool:
        return query.retention.is_live(page.added_at, page.seen_at, self._now)

    def _revisited(self, query: Query) -> Page | None:
        page = self._pages.get(self._own.get(query.record.url_key, 0))
        is_own = (
            page is not None
            and self._is_live(page, query)
            and not self._crawlers.is_at_work(page.crawler)
        )
        return page if is_own else None

    def _same_thin(self, query: Query) -> list[int]:
        """Return the number of a thin page that another crawler at work has, if it is unchanged."""
        own = self._pages.get(self._own.get(query.record.url_key, 0)) if query.exact_only else None
        is_same = (
            own is not None
            and self._is_live(own, query)
            and not query.has_new_text(own.signature, own.digest)
        )
        return [own.number] if own is not None and is_same else []

    def _load(self, numbers: Sequence[int]) -> None:
        if missing := set(numbers).difference(self._pages):
            for page in self._index.pages_of(missing):
                self._pages[page.number] = page

    def _met(self, place: int) -> Sequence[Candidate]:
        """Return the pages to compare with a query, as they are now."""
        if place in self._candidates:
            pages, room = self._candidates[place]
            of_file = [
                page for page in pages if page.number > 0 and page.number not in self._place_of
            ]
            of_batch = [
                page for page in pages if page.number < 0 and self._is_kept(-1 - page.number)
            ]
            if sum([page.keys for page in of_batch]) <= room:
                return of_file + [
                    page._replace(number=self._page_of[-1 - page.number]) for page in of_batch
                ]
        if len(self._batch) > 1:
            self._write()
        return candidates_alone(self._index, self._batch[place])

    def _is_kept(self, place: int) -> bool:
        """Return whether a page has the text of an earlier query of the batch."""
        return self._place_of.get(self._page_of.get(place, 0)) == place

    def _revisit(self, place: int, own: Page) -> Answer:
        """Note that a page was seen again, and its new text if it has one; its URL, age and copies
        stay.
        """
        query, index = self._batch[place], self._index
        record = query.record
        is_abandoned = self._crawlers.is_abandoned(own.url_key, own.crawler)
        self._pending[own.url_key] = query.is_pending
        is_changed = query.has_new_text(own.signature, own.digest, abandoned=is_abandoned)
        seen = own._replace(seen_at=self._now, crawler=self._crawlers.own)
        earlier = seen.record(self._text(own.number) if is_changed else b"")
        if is_changed:
            if own.number not in self._added:
                index.unfile([own])
            self._added[own.number] = query.keys
            seen = Page(
                *seen[:3], record.search, record.signature, record.digest, record.rank, *seen[7:]
            )
            self._texts[own.number] = record.packed_text
            self._page_of[place], self._place_of[own.number] = own.number, place
        elif record.packed_text and record.digest == own.digest and not self._text(own.number):
            # Texts may not have been kept when the page was added.
            self._texts[own.number] = record.packed_text
        self._change(seen)
        return Answer(Kind.REVISIT, earlier, is_changed, index.pages, 0, is_abandoned)

    def _free(
        self, query: Query, met: Sequence[Candidate], live: Sequence[Candidate], *, is_added: bool
    ) -> None:
        """Remove pages that have expired, and what has the URL of a page that is added."""
        gone = sorted({page.number for page in met}.difference([page.number for page in live]))
        own = self._own.get(query.record.url_key)
        if own is not None and (is_added or not self._is_live(self._pages[own], query)):
            gone = [own, *gone]
        self._load(gone[: contract.MAX_FREED])
        for number in gone[: contract.MAX_FREED]:
            self._remove(self._pages[number])

    def _text(self, number: int) -> bytes:
        return self._texts[number] if number in self._texts else self._index.text(number)

    def _change(self, page: Page) -> None:
        self._pages[page.number] = page
        self._changed.add(page.number)

    def _add(self, place: int, copies: int) -> None:
        query, index = self._batch[place], self._index
        record, retention, number = query.record, query.retention, index.next_number()
        url = record.url.encode("utf-8", "replace").decode()
        bits = record.url_key, record.search, record.signature, record.digest, record.rank
        self._change(Page(number, url, *bits, self._now, self._now, copies, self._crawlers.own))
        self._added[number], self._own[record.url_key] = query.keys, number
        self._page_of[place], self._place_of[number] = number, place
        if record.packed_text:
            self._texts[number] = record.packed_text
        self._pending[record.url_key] = query.is_pending
        if retention.ttl_seconds is not None:
            swept = index.pages_after(index.swept, contract.MAX_SWEPT)
            index.swept = swept[-1].number if len(swept) == contract.MAX_SWEPT else 0
            for page in swept:
                if not self._is_live(self._pages.get(page.number, page), query):
                    self._remove(page)
        if retention.max_pages is not None:
            excess = min(index.pages - retention.max_pages, contract.MAX_EVICTED)
            if excess > 0:
                self._write()
                for page in index.pages_after(0, excess):
                    self._remove(page)

    def _remove(self, page: Page) -> None:
        if page.number in self._removed:
            return
        page = self._pages.get(page.number, page)
        self._removed[page.number] = page
        self._added.pop(page.number, None)
        self._texts.pop(page.number, None)
        self._changed.discard(page.number)
        self._place_of[page.number] = None
        if self._own.get(page.url_key) == page.number:
            del self._own[page.url_key]
        self._index.freed += 1
