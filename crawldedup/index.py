"""Open, maintain and close an index: the part of `Deduplicator` that is not about pages."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self, Unpack

from crawldedup.errors import ClosedError, ConfigurationError, ProfileMismatchError, StoreError
from crawldedup.options import Options, OptionValues
from crawldedup.page import PageReader
from crawldedup.page_input import PageRef
from crawldedup.queries import QueryBuilder
from crawldedup.stores.base import Layout
from crawldedup.stores.registry import make_store
from crawldedup.stores.shown import shown_url

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawldedup.search.method import Method
    from crawldedup.stores.base import CrawlSession, StoreInfo

    Progress = Callable[[int, int], None]

HEARTBEAT_SECONDS: Final = 20.0


@dataclass(frozen=True, slots=True)
class CopyResult:
    """What a copy did: `pages` were read, and `added` of them were not known to the other index."""

    pages: int
    added: int


class Index:
    """An index in a store. See `Deduplicator`."""

    def __init__(
        self, store: str = "memory://", *, method: Method | None = None, **options: Unpack[OptionValues]
    ) -> None:
        self._options = Options.from_values({"store": store, **options})
        self._reader = PageReader(self._options, method)
        method = self._reader.method
        self._queries = QueryBuilder(method, self._options)
        self._layout = Layout(self._options.namespace, self._reader.profile, method.tables, method.signature_bytes)
        self._store = make_store(store, self._layout)
        self._pages = 0
        self._is_open = self._is_closed = False
        self._next_heartbeat = self._next_look = 0.0
        self._wanted_session: CrawlSession | None = None
        self._delivered: dict[int, None] = {}

    @classmethod
    def from_options(cls, options: Options, method: Method | None = None) -> Self:
        """Make a Deduplicator of checked options; those of a subclass of `Options` are left out."""
        return cls(options.store, method=method, **options.index_values())

    @property
    def options(self) -> Options:
        """The options, checked."""
        return self._options

    def __repr__(self) -> str:
        state = "open" if self._is_open else "closed" if self._is_closed else "not opened"
        options = self._options
        return (
            f"<{type(self).__name__} {shown_url(options.store)} namespace={options.namespace!r} "
            f"similarity={options.similarity} ({state})>"
        )

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def open(self, session: CrawlSession | None = None) -> None:
        """Connect to the store, check that the index fits, and join the crawl. Harmless when repeated.

        Opens a closed Deduplicator again. Processes that work on one crawl share the `session` that the first of them
        got, and count as one crawler. Raises StoreUnavailableError, and ProfileMismatchError for an index made with
        other options.
        """
        if not self._is_open:
            self._is_closed = False
            self._wanted_session = session
        self._join()

    @property
    def session(self) -> CrawlSession | None:
        """The crawler that this instance works as; None before it joined a crawl."""
        return self._store.session

    def close(self, *, leave: bool = True) -> None:
        """Leave the crawl (it goes on for other processes if `leave` is False) and disconnect. Can be repeated."""
        if self._is_open:
            with suppress(StoreError):
                self._tell_delivered()
        self._store.close(leave=leave)
        self._is_open, self._is_closed = False, True
        self._next_look = 0.0

    def deliver(self, url: str, *, identity: str | None = None, scope_key: str | None = None) -> None:
        """Note that a page checked with `delivered=False` was delivered. The next check, or `close`, tells it."""
        self._require_not_closed()
        self._delivered[self._queries.url_key(PageRef(url, identity, scope_key))] = None

    def _tell_delivered(self) -> None:
        collected = tuple(self._delivered)
        self._store.deliver(collected)
        self._has_told(collected)

    def _has_told(self, collected: tuple[int, ...]) -> None:
        for url_key in collected:
            self._delivered.pop(url_key, None)

    def clear(self) -> None:
        """Remove every page of this namespace, whatever options it was made with."""
        self._require_not_closed()
        self._store.clear()
        self._pages = 0

    def prune(self, *, progress: Progress | None = None) -> int:
        """Free now every page that `ttl` and `max_pages` let go, and return how many. A check frees only a few.

        Crawls may go on meanwhile. `progress` is called with the pages looked at and, about, the pages there are.
        Raises ConfigurationError without either limit.
        """
        retention = self._queries.retention
        if retention.ttl_seconds is None and retention.max_pages is None:
            raise ConfigurationError("there is nothing to prune by: give ttl or max_pages")
        self._look()
        freed = 0
        for step in self._store.prune(retention):
            freed = step.freed
            if progress is not None:
                progress(step.examined, self._pages)
        self._pages = max(0, self._pages - freed)
        return freed

    def copy_to(self, other: Index, *, progress: Progress | None = None) -> CopyResult:
        """Add the pages of this index to another, with their times and copies. Pages known there are left out.

        Nothing is compared, so every page that was kept stays kept. `progress` is called with the pages copied and,
        about, the pages there are. Raises ProfileMismatchError unless both were made with the same options.
        """
        own, others = self._layout.profile, other._layout.profile
        if own != others:
            raise ProfileMismatchError(self._place, index_profile=own, own_profile=others)
        self._look()
        other._join()
        pages = added = 0
        for records in self._store.records():
            loaded = other._store.load([other._queries.with_shard_key(record) for record in records])
            other._pages += loaded
            added += loaded
            pages += len(records)
            if progress is not None:
                progress(pages, self._pages)
        return CopyResult(pages, added)

    def info(self) -> StoreInfo:
        """Return the index's pages, bytes, tables, profile and namespace."""
        self._look()
        return self._store.info()

    def heartbeat(self) -> None:
        """Renew the lease of this crawler, if it joined a crawl. Checks do so by themselves; call it while idle."""
        self._require_not_closed()
        if self._is_open:
            self._store.heartbeat()
            self._tell_delivered()
            self._next_heartbeat = time.monotonic() + HEARTBEAT_SECONDS

    @property
    def _place(self) -> str:
        return f"the namespace {self._options.namespace!r} of {shown_url(self._options.store)}"

    @property
    def _heartbeat_is_due(self) -> bool:
        return self._is_open and time.monotonic() >= self._next_heartbeat

    def _look(self) -> None:
        """Connect for reading: no crawl is joined, and no index is created. Raises as `open` does."""
        self._require_not_closed()
        if not self._is_open and time.monotonic() >= self._next_look:
            self._pages = self._store.open_read_only()
            # An index that is not there yet may be there at any moment.
            self._next_look = time.monotonic() + (HEARTBEAT_SECONDS if self._pages else 0)

    def _join(self) -> None:
        self._require_not_closed()
        if not self._is_open:
            self._pages = self._store.open(self._wanted_session)
            self._is_open = True
            self._next_heartbeat = time.monotonic() + HEARTBEAT_SECONDS
        self._beat_if_due()

    def _beat_if_due(self) -> None:
        if self._heartbeat_is_due:
            self.heartbeat()

    def _require_not_closed(self) -> None:
        if self._is_closed:
            raise ClosedError(f"{self._place} is closed; call open() or use a `with` statement to open it again")
