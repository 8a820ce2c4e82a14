"""Open, maintain and close an index: the part of `Deduplicator` that is not about pages."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Self, Unpack, cast

from crawldedup import checks
from crawldedup.errors import ClosedError, ConfigurationError, ProfileMismatchError, StoreError
from crawldedup.fingerprinting.anchors import paragraphs_of
from crawldedup.options import Options, OptionValues
from crawldedup.page import PageReader
from crawldedup.page_input import PageInput, PageRef
from crawldedup.paragraphs.check import ParagraphCheck
from crawldedup.queries import QueryBuilder
from crawldedup.search.two_stage import TwoStage
from crawldedup.stores.base import Layout
from crawldedup.stores.contents import copied, largest_clusters
from crawldedup.stores.registry import make_store
from crawldedup.stores.shown import shown_url
from crawldedup.text.keys import Key

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from crawldedup.fingerprinting.fingerprint import Fingerprint
    from crawldedup.search.method import Method
    from crawldedup.stores.base import CrawlSession, Record, StoreInfo
    from crawldedup.stores.contents import Cluster, CopyResult
    from crawldedup.verdict import Coverage

    Progress = Callable[[int, int], None]

HEARTBEAT_SECONDS: Final = 20.0


class Index:
    """An index in a store. See `Deduplicator`."""

    def __init__(
        self, store: str = "memory://", *, method: Method | None = None, **options: Unpack[OptionValues]
    ) -> None:
        self._options = Options.from_values({"store": store, **options})
        self._reader = PageReader(self._options, method)
        method = self._reader.method
        secret = self._options.key
        if not isinstance(method, TwoStage):
            if secret:
                raise ConfigurationError(f"the method {method.profile!r} hashes without a key: give none, or 0")
            secret = b""
        layout = Layout(self._options.namespace, self._reader.profile, method.tables, method.signature_bytes)
        key = Key.random() if secret is None else Key(cast("bytes", secret))
        self._store = make_store(store, replace(layout.with_key(key), takes_any_key=secret is None))
        self._queries = QueryBuilder(method, self._options, lambda: self.key)
        self._paragraphs = ParagraphCheck(self._store, self._options)
        self._pages = 0
        self._is_open = self._is_closed = False
        self._next_heartbeat = self._next_look = 0.0
        self._wanted_session: CrawlSession | None = None
        self._delivered: dict[PageRef, None] = {}

    @classmethod
    def from_options(cls, options: Options, method: Method | None = None) -> Self:
        """Make a Deduplicator of checked options; those of a subclass of `Options` are left out."""
        return cls(options.store, method=method, **options.index_values())

    @property
    def options(self) -> Options:
        """The options, checked."""
        return self._options

    @property
    def key(self) -> Key:
        """The secret of the index, made when it began; looked up once. Raises StoreError if that is not possible."""
        if not (self._is_open or self._is_closed or self._next_look):
            self._look()
        return self._store.layout.key

    def __repr__(self) -> str:
        state = "open" if self._is_open else "closed" if self._is_closed else "not opened"
        place = f"{shown_url(self._options.store)} namespace={self._options.namespace!r}"
        return f"<{type(self).__name__} {place} similarity={self._options.similarity} ({state})>"

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
    def pages(self) -> int:
        """About how many pages the index held when it was last asked; 0 before."""
        return self._pages

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

    def fingerprint(
        self, *, html: bytes | str | None = None, text: str | None = None, encoding: str | None = None, url: str = ""
    ) -> Fingerprint:
        """Return the fingerprint of a page, for `check_fingerprint`. `url` tells the option `content` the site.

        Raises PageError, or StoreError if the key of the index, which it is made with, cannot be looked up.
        """
        return self._reader.read(html, text, encoding, self.key, url)

    def check_paragraphs(
        self,
        url: str,
        *,
        html: bytes | str | None = None,
        text: str | None = None,
        encoding: str | None = None,
        fingerprint: Fingerprint | None = None,
        identity: str | None = None,
        scope_key: str | None = None,
        remember: bool = True,
    ) -> Coverage:
        """Tell how much of a page stands on earlier pages, paragraph by paragraph, and remember its paragraphs.

        The page itself is neither judged nor remembered: with the option `paragraphs`, `check` does both. What came
        after the page does not count. A page that is partial adds nothing, and with `remember` False none does. A
        `fingerprint` tells it if it was made with the option `paragraphs`. Raises PageError and StoreError;
        KeyMismatchError if the index was begun again, with another key: repeat the call.
        """
        ref = PageInput(url, html, text, fingerprint, encoding, identity, scope_key).ref
        (self._join if remember else self._look)()
        if fingerprint is None:
            paragraphs = paragraphs_of(self._reader.content(html, text, encoding, url).text, self.key)
        else:
            self._queries.key_of(url, fingerprint)
            paragraphs = fingerprint.paragraphs
        page = url, self._queries.url_key(ref), self._queries.shard_key_of(ref), paragraphs
        return self._paragraphs.coverage(*page, add=remember)

    def deliver(self, url: str, *, identity: str | None = None, scope_key: str | None = None) -> None:
        """Note that a page checked with `delivered=False` was delivered. The next check, or `close`, tells it."""
        self._require_not_closed()
        self._delivered[PageRef(url, identity, scope_key)] = None

    def _tell_delivered(self) -> None:
        collected = tuple(self._delivered)
        self._store.deliver(self._url_keys(collected))
        self._has_told(collected)

    def _url_keys(self, pages: Sequence[PageRef]) -> tuple[int, ...]:
        return tuple(map(self._queries.url_key, pages))

    def _has_told(self, collected: Sequence[PageRef]) -> None:
        for page in collected:
            self._delivered.pop(page, None)

    def clear(self) -> None:
        """Remove every page of this namespace, whatever options it was made with."""
        self._require_not_closed()
        self._store.clear()
        self._pages = 0

    def prune(self, *, progress: Progress | None = None) -> int:
        """Free now every page that `ttl` and `max_pages` let go, and return how many. A check frees only a few.

        With the option `paragraphs`, what exceeds their limits goes, too. Crawls may go on meanwhile. `progress` is
        called with the pages looked at and, about, the pages there are. Raises ConfigurationError without any of them.
        """
        retention = self._queries.retention
        has_paragraphs = self._options.paragraphs is not None
        if retention.ttl_seconds is None and retention.max_pages is None and not has_paragraphs:
            raise ConfigurationError("there is nothing to prune by: give ttl or max_pages")
        self._look()
        if has_paragraphs:
            self._store.prune_anchors(self._paragraphs.limits)
        freed = 0
        for step in self._store.prune(retention):
            freed = step.freed
            if progress is not None:
                progress(step.examined, self._pages)
        self._pages = max(0, self._pages - freed)
        return freed

    def copy_to(self, other: Index, *, progress: Progress | None = None) -> CopyResult:
        """Add the pages of this index to another, with their times and copies. Pages known there are left out.

        Nothing is compared, so every page that was kept stays kept. An empty index takes over the key. `progress` is
        called with the pages copied and, about, the pages there are. Raises ProfileMismatchError unless both have the
        same options and the same key.
        """
        own, others = self._store.layout, other._store.layout
        if own.keyless_profile != others.keyless_profile:
            raise ProfileMismatchError(self._place, index_profile=own.profile, own_profile=others.profile)
        self._look()
        other._take_key(self.key)
        return copied(self._store.records(), other.load, lambda read: progress and progress(read, self._pages))

    def load(self, records: Sequence[Record]) -> int:
        """Add pages as they are, but for those known by their URL keys; return how many. Nothing is compared."""
        self._join()
        added = self._store.load([self._queries.with_shard_key(record) for record in records])
        self._pages += added
        return added

    def clusters(self, most: int = 20, *, progress: Progress | None = None) -> list[Cluster]:
        """Return the pages with the most duplicates, largest clusters first; reads the whole index.

        Which pages the duplicates are is not kept: `crawldedup report` knows it of a crawl. `progress` is called with
        the pages looked at and, about, the pages there are. Pages that have expired and are not freed yet count.
        """
        checks.whole(1)("most", most)
        self._look()
        return largest_clusters(self._store.records(), most, lambda read: progress and progress(read, self._pages))

    def info(self) -> StoreInfo:
        """Return the index's pages, bytes, tables, profile and namespace."""
        self._look()
        return self._store.info()

    def note(self, name: str, text: str | None = None) -> str:
        """Return a note that is kept with the index, "" if there is none; write it before if a text is given."""
        (self._look if text is None else self._join)()
        return self._store.note(name, text)

    def heartbeat(self) -> None:
        """Renew the lease of this crawler, if it joined a crawl. Checks do so by themselves; call it while idle."""
        self._require_not_closed()
        if self._is_open:
            self._store.heartbeat()
            self._tell_delivered()
            self._next_heartbeat = time.monotonic() + HEARTBEAT_SECONDS

    def _take_key(self, key: Key) -> None:
        """Join an index of this key; an empty one is begun again with it. Raises ProfileMismatchError."""
        if self._options.key is None and not self._is_open:
            self._store.use_key(key)
        self._join()
        if self._options.key is None and key != self.key and not self._store.info().pages:
            self._store.use_key(key)
            self._store.clear()
        if key != self.key:
            wanted = self._store.layout.with_key(key)
            raise ProfileMismatchError(
                self._place, index_profile=self._store.layout.profile, own_profile=wanted.profile
            )

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
