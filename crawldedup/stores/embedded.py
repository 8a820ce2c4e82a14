"""What the stores of this machine have in common: how a page is decided, and everything made of such steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, Protocol, TypeVar

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

    from crawldedup.stores.base import Entry, Layout, Query, Record, Retention

BATCH: Final = 1000
"""At most so many pages are read, freed or loaded while others wait."""

Page = TypeVar("Page")


class Found(NamedTuple, Generic[Page]):
    """What a search found: numbers of the accepted pages, nearest first; how many were compared; expired pages."""

    accepted: list[int]
    compared: int
    expired: list[Page]


class Index(Protocol[Page]):
    """The pages of an index while a store has its turn at it. `Page` is what the index knows of a page at hand.

    Pages are numbered in the order of adding.
    """

    @property
    def pages(self) -> int:
        """Number of pages in the index."""

    def page(self, number: int) -> Page:
        """Return the page with a number that exists."""

    def page_with(self, url_key: int) -> Page | None:
        """Return the page with a URL key, if there is one."""

    def record(self, page: Page) -> Record:
        """Return the record of a page."""

    def crawler_of(self, page: Page) -> int:
        """Return the number of the crawler that delivered a page last; 0 where only one can."""

    def is_live(self, page: Page, retention: Retention, now: int) -> bool:
        """Return True for a page that has not expired."""

    def search(self, query: Query, now: int) -> Found[Page]:
        """Compare the query with the pages in its ranges."""

    def add(
        self, page: Entry | Record, keys: Sequence[int], *, added_at: int, seen_at: int, copies: int, crawler: int
    ) -> None:
        """Add a page. Raises StoreFullError if there are no numbers left."""

    def revisit(self, page: Page, entry: Entry, now: int, crawler: int) -> tuple[Record, bool]:
        """Note that a page was seen again, and its new text; its URL, age and copies stay. True for new text."""

    def count_copy(self, page: Page, now: int) -> Record:
        """Note that a copy of a page was seen."""

    def remove(self, pages: Sequence[Page]) -> None:
        """Free pages."""

    def next_to_sweep(self, count: int) -> list[Page]:
        """Return the next pages to look at for expired ones, going round and round."""

    def oldest(self, count: int) -> list[Page]:
        """Return the pages that were added first."""

    def next_pages(self, cursor: Cursor, most: int) -> tuple[list[Page], bool]:
        """Return pages behind a cursor, at most so many, and True if more may follow; move the cursor there."""

    def compact(self) -> None:
        """Give room back, after many pages were freed."""


@dataclass(eq=False, slots=True)
class Cursor:
    """A place among the pages of an index."""

    place: int = 0


def decide(index: Index[Page], query: Query, session: CrawlSession, now: int) -> Answer:
    """Decide about a page and remember it, by the rules in `base`."""
    entry, retention = query.entry, query.retention
    own = index.page_with(entry.url_key)
    own_is_live = own is not None and index.is_live(own, retention, now)
    if own is not None and own_is_live and not session.is_concurrent(index.crawler_of(own)):
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


def _free_expired(index: Index[Page], pages: Sequence[Page], retention: Retention, now: int) -> int:
    expired = [page for page in pages if not index.is_live(page, retention, now)]
    index.remove(expired)
    return len(expired)


def _evict(index: Index[Page], retention: Retention, most: int) -> int:
    """Free the oldest pages beyond the limit, at most so many; return how many."""
    excess = 0 if retention.max_pages is None else min(index.pages - retention.max_pages, most)
    if excess <= 0:
        return 0
    index.remove(index.oldest(excess))
    return excess


class EmbeddedStore(Generic[Page]):
    """The methods of `Store` that take one turn after another at an index of this machine."""

    def __init__(self, layout: Layout, clock: Callable[[], float]) -> None:
        self._layout = layout
        self._clock = clock
        self._session = NO_SESSION

    def _turn(
        self, *, writes: bool = True, adds: bool = False, many: bool = False
    ) -> AbstractContextManager[Index[Page]]:
        """Keep others from the index: from writing to it, or if `writes` is False only from changing what is read.

        `adds` begins an index that somebody has cleared; `many` leaves the others time for turns of their own.
        """
        raise NotImplementedError

    def _new_cursor(self) -> AbstractContextManager[Cursor]:
        """Make a cursor that stays in its place while the index changes between turns."""
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
            return [index.record(index.page(number)) for number in index.search(query, self._now()).accepted]

    def forget(self, url_key: int) -> bool:
        """See `Store`."""
        with self._turn() as index:
            own = index.page_with(url_key)
            if own is not None:
                index.remove([own])
            return own is not None

    def prune(self, retention: Retention) -> Iterator[Pruned]:
        """See `Store`."""
        examined = freed = 0
        with self._new_cursor() as cursor:
            more = retention.ttl_seconds is not None
            while more:
                with self._turn(many=True) as index:
                    pages, more = index.next_pages(cursor, BATCH)
                    freed += _free_expired(index, pages, retention, self._now())
                examined += len(pages)
                yield Pruned(examined, freed)
        more = True
        while more:
            with self._turn(many=True) as index:
                evicted = _evict(index, retention, BATCH)
                more = evicted == BATCH
                examined, freed = examined + evicted, freed + evicted
                if freed and not more:
                    index.compact()
            yield Pruned(examined, freed)

    def records(self) -> Iterator[list[Record]]:
        """See `Store`."""
        with self._new_cursor() as cursor:
            more = True
            while more:
                with self._turn(writes=False) as index:
                    pages, more = index.next_pages(cursor, BATCH)
                    records = [index.record(page) for page in pages]
                if records:
                    yield records

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
