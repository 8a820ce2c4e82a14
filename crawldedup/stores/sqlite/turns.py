"""What a store does in one turn at an index: decide about a page, and everything made of such steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from crawldedup.stores.base import (
    MAX_EVICTED,
    MAX_FREED,
    MAX_SWEPT,
    NO_SESSION,
    Answer,
    CrawlSession,
    Pruned,
    Status,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from crawldedup.stores.base import Layout, Query, Record, Retention
    from crawldedup.stores.sqlite.index import Page, SqliteIndex

BATCH: Final = 1000
"""At most so many pages are read, freed or loaded while others wait."""


def decide(index: SqliteIndex, query: Query, session: CrawlSession, now: int) -> Answer:
    """Decide about a page and remember it, by the rules in `base`."""
    entry, retention = query.entry, query.retention
    own = index.page_with(entry.url_key)
    own_is_live = own is not None and own.is_live(retention, now)
    if own is not None and own_is_live and not session.is_concurrent(own.crawler):
        record, changed = index.revisit(own, entry, now, session.number)
        return Answer(Status.REVISIT, record, changed, index.pages, 0)
    accepted, compared, expired = index.search(query, now)
    if own is not None and not (own_is_live and accepted):
        expired = [own, *(page for page in expired if page != own)]
    index.remove(expired[:MAX_FREED])
    if accepted:
        record = index.count_copy(index.page(accepted[0]), now)
        status = Status.EXACT if record.digest == entry.digest else Status.NEAR
        return Answer(status, record, False, index.pages, compared)
    index.add(entry, entry.keys, added_at=now, seen_at=now, copies=0, crawler=session.number)
    if retention.ttl_seconds is not None:
        _free_expired(index, index.next_to_sweep(MAX_SWEPT), retention, now)
    _evict(index, retention, MAX_EVICTED)
    return Answer(Status.NEW, None, False, index.pages, compared)


def _free_expired(index: SqliteIndex, pages: Sequence[Page], retention: Retention, now: int) -> int:
    expired = [page for page in pages if not page.is_live(retention, now)]
    index.remove(expired)
    return len(expired)


def _evict(index: SqliteIndex, retention: Retention, most: int) -> int:
    """Free the oldest pages beyond the limit, at most so many; return how many."""
    excess = 0 if retention.max_pages is None else min(index.pages - retention.max_pages, most)
    if excess <= 0:
        return 0
    index.remove(index.pages_after(0, excess))
    return excess


class TurnTaker:
    """The methods of `Store` that take one turn after another at an index."""

    def __init__(self, layout: Layout, clock: Callable[[], float]) -> None:
        self._layout = layout
        self._clock = clock
        self._session = NO_SESSION

    def _turn(
        self, *, writes: bool = True, adds: bool = False, many: bool = False
    ) -> AbstractContextManager[SqliteIndex]:
        """Keep others from the index: from writing to it, or if `writes` is False only from changing what is read.

        `adds` begins an index that somebody has cleared; `many` leaves the others time for turns of their own.
        """
        raise NotImplementedError

    def _now(self) -> int:
        return int(self._clock())

    @property
    def session(self) -> CrawlSession | None:
        """See `Store`."""
        return self._session if self._session.number else None

    def check_and_add(self, query: Query) -> Answer:
        """See `Store`."""
        with self._turn(adds=True) as index:
            return decide(index, query, self._session, self._now())

    def find(self, query: Query) -> list[Record]:
        """See `Store`."""
        with self._turn(writes=False) as index:
            return [index.page(number).record() for number in index.search(query, self._now()).accepted]

    def forget(self, url_key: int) -> bool:
        """See `Store`."""
        with self._turn() as index:
            own = index.page_with(url_key)
            if own is not None:
                index.remove([own])
            return own is not None

    def prune(self, retention: Retention) -> Iterator[Pruned]:
        """See `Store`."""
        examined = freed = last = 0
        more = retention.ttl_seconds is not None
        while more:
            with self._turn(many=True) as index:
                pages = index.pages_after(last, BATCH)
                freed += _free_expired(index, pages, retention, self._now())
            more = len(pages) == BATCH
            last = pages[-1].number if pages else last
            examined += len(pages)
            yield Pruned(examined, freed)
        more = True
        while more:
            with self._turn(many=True) as index:
                evicted = _evict(index, retention, BATCH)
                more = evicted == BATCH
                examined, freed = examined + evicted, freed + evicted
            yield Pruned(examined, freed)

    def records(self) -> Iterator[list[Record]]:
        """See `Store`."""
        last, more = 0, True
        while more:
            with self._turn(writes=False) as index:
                pages = index.pages_after(last, BATCH)
            more = len(pages) == BATCH
            if pages:
                last = pages[-1].number
                yield [page.record() for page in pages]

    def load(self, records: Sequence[Record]) -> int:
        """See `Store`."""
        added = 0
        for start in range(0, len(records), BATCH):
            with self._turn(adds=True, many=True) as index:
                before = index.pages
                for record in records[start : start + BATCH]:
                    if index.page_with(record.url_key) is None:
                        keys = self._layout.keys(record.search, record.signature)
                        times = {"added_at": record.added_at, "seen_at": record.seen_at, "copies": record.copies}
                        # No crawler has the number 0, so the page is an earlier crawl's.
                        index.add(record, keys, **times, crawler=0)
                added += index.pages - before
        return added
