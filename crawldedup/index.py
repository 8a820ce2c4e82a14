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
from crawldedup.page import Page, PageRef
from crawldedup.paragraphs.check import ParagraphCheck
from crawldedup.queries import QueryBuilder
from crawldedup.reader import PageReader
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
        """Make a Deduplicator of checked options.

        Args:
            options: The options. Those that a subclass of `Options` adds are left out.
            method: As in `Deduplicator`.

        Example:
            >>> from crawldedup import Deduplicator, Options
            >>> Deduplicator.from_options(Options(similarity=0.95)).options.similarity
            0.95
        """
        return cls(options.store, method=method, **options.index_values())

    @property
    def options(self) -> Options:
        """Return the options, checked."""
        return self._options

    @property
    def key(self) -> Key:
        """Return the secret of the index, made when it began; looked up once.

        Raises:
            StoreError: The key cannot be looked up.
        """
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
        """Connect to the store, check that the index fits, and join the crawl.

        A closed Deduplicator is opened again. An open one stays as it is.

        Args:
            session: The session that another process of the same crawl has got. The processes then count as one
                crawler.

        Raises:
            ProfileMismatchError: The index was made with other options.
            ForeignStoreError: The store holds data of another program or version.
            StoreUnavailableError: The store cannot be reached.
        """
        if not self._is_open:
            self._is_closed = False
            self._wanted_session = session
        self._join()

    @property
    def pages(self) -> int:
        """Return about how many pages the index held when it was last asked; 0 before."""
        return self._pages

    @property
    def session(self) -> CrawlSession | None:
        """Return the crawler that this instance works as; None before it joined a crawl."""
        return self._store.session

    def close(self, *, leave: bool = True) -> None:
        """Leave the crawl and disconnect.

        The call can be repeated. What `deliver` noted goes to the store first, if that can be reached.

        Args:
            leave: With False, the crawl goes on for other processes that share its session.
        """
        if self._is_open:
            with suppress(StoreError):
                self._tell_delivered()
        self._store.close(leave=leave)
        self._is_open, self._is_closed = False, True
        self._next_look = 0.0

    def fingerprint(
        self, *, html: bytes | str | None = None, text: str | None = None, encoding: str | None = None, url: str = ""
    ) -> Fingerprint:
        """Return the fingerprint of a page, for `check_fingerprint`.

        Nothing is remembered. Give either `html` or `text`.

        Arguments that are not listed here are as in `check`.

        Args:
            url: Tells the option `content` the site.

        Raises:
            ConfigurationError: An argument is not allowed.
            PageError: The page cannot be read.
            StoreError: The key of the index cannot be looked up.

        Example:
            >>> from crawldedup import Deduplicator
            >>> page = Deduplicator().fingerprint(html="<p>Closed today.</p>")
            >>> page.words, page.thin
            (2, True)
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
        """Tell how much of a page stands on earlier pages, and remember its paragraphs.

        The page itself is neither judged nor remembered: with the option `paragraphs`, `check` does both. Pages that
        came after the page do not count. A page that is partial adds no paragraphs.

        Arguments that are not listed here are as in `check`.

        Args:
            url: The URL of the page.
            fingerprint: A fingerprint made with the option `paragraphs`. Without that option it has none, and tells
                nothing.
            remember: With False, no paragraphs are added.

        Returns:
            The words that are new, known and boilerplate, and each paragraph.

        Raises:
            ConfigurationError: An argument is not allowed.
            PageError: The page cannot be read.
            KeyMismatchError: The index was begun again, with another key. Repeat the call, with a new `fingerprint` if
                any.
            StoreError: The store cannot answer. The call can be repeated.

        Example:
            >>> from crawldedup import Deduplicator
            >>> report = " ".join(
            ...     f"Gate {n} opened at {n} and let {37 * n} visitors into the park."
            ...     for n in range(30)
            ... )
            >>> dedup = Deduplicator(key=0)
            >>> dedup.check_paragraphs("https://news.example/park", text=report).share_new
            1.0
            >>> quote = f"{report} We agree with it."
            >>> coverage = dedup.check_paragraphs("https://blog.example/", text=quote)
            >>> coverage.share_new, coverage.is_partial, coverage.sources[0][0]
            (0.0, True, 'https://news.example/park')
        """
        ref = Page(url, html, text, fingerprint, encoding, identity, scope_key).ref
        (self._join if remember else self._look)()
        if fingerprint is None:
            paragraphs = paragraphs_of(self._reader.content(html, text, encoding, url).text, self.key)
        else:
            self._queries.key_of(url, fingerprint)
            paragraphs = fingerprint.paragraphs
        page = url, self._queries.url_key(ref), self._queries.shard_key_of(ref), paragraphs
        return self._paragraphs.coverage(*page, add=remember)

    def deliver(self, url: str, *, identity: str | None = None, scope_key: str | None = None) -> None:
        """Note that a page checked with `delivered=False` was delivered.

        The next check, `heartbeat` or `close` tells it to the store. A process that dies before that leaves the page
        abandoned.

        Args:
            url: The URL of the page, as in the check.
            identity: The identity of the page, as in the check.
            scope_key: The scope key of the page, as in the check.

        Raises:
            ConfigurationError: An argument is not a text.
            ClosedError: The Deduplicator is closed.

        Example:
            >>> from crawldedup import Deduplicator
            >>> saved = []
            >>> with Deduplicator() as dedup:
            ...     url, text = "https://a.example/", "Closed today."
            ...     verdict = dedup.check(url, text=text, delivered=False)
            ...     if not verdict.is_duplicate:
            ...         saved.append(verdict.url)
            ...         dedup.deliver(verdict.url)
            >>> saved
            ['https://a.example/']
        """
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
        """Remove every page of this namespace, whatever options it was made with.

        Crawlers at work go on in the empty index. Notes of the index are removed, too.

        Raises:
            StoreError: The store cannot answer. The call can be repeated.
        """
        self._require_not_closed()
        self._store.clear()
        self._pages = 0

    def prune(self, *, progress: Progress | None = None) -> int:
        """Free now every page that `ttl` and `max_pages` let go.

        A check frees only a few. With the option `paragraphs`, paragraphs beyond their limits go, too. Crawls may go on
        meanwhile.

        Args:
            progress: Is called with the number of pages looked at and, about, the number of pages there are.

        Returns:
            How many pages were freed.

        Raises:
            ConfigurationError: None of the options `ttl`, `max_pages` and `paragraphs` is set.
            StoreError: The store cannot answer. The call can be repeated.
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
        """Add the pages of this index to another, with their times and copies.

        Nothing is compared, so every page that was kept stays kept. Pages known there are left out. An empty index
        takes over the key of this one. The copy is not atomic: after an error, repeat it.

        Args:
            other: The Deduplicator to copy to, with the same options.
            progress: Is called with the number of pages copied and, about, the number of pages there are.

        Returns:
            How many pages were read, and how many were added.

        Raises:
            ProfileMismatchError: The other index has other options, or pages and another key.
            StoreError: One of the stores cannot answer. The call can be repeated.

        Example:
            >>> from crawldedup import Deduplicator
            >>> crawled, kept = Deduplicator(), Deduplicator("sqlite:///kept.sqlite")
            >>> verdict = crawled.check("https://a.example/", text="Closed today.")
            >>> crawled.copy_to(kept)
            CopyResult(pages=1, added=1)
            >>> crawled.copy_to(kept)
            CopyResult(pages=1, added=0)
        """
        own, others = self._store.layout, other._store.layout
        if own.keyless_profile != others.keyless_profile:
            raise ProfileMismatchError(self._place, index_profile=own.profile, own_profile=others.profile)
        self._look()
        other._take_key(self.key)
        return copied(self._store.records(), other.load, lambda read: progress and progress(read, self._pages))

    def load(self, records: Sequence[Record]) -> int:
        """Add pages as they are, but for those that are known by their URL keys.

        Nothing is compared.

        Args:
            records: Pages as another index holds them.

        Returns:
            How many pages were added.

        Raises:
            StoreError: The store cannot answer, or a record belongs to an unknown place.
        """
        self._join()
        added = self._store.load([self._queries.with_shard_key(record) for record in records])
        self._pages += added
        return added

    def clusters(self, most: int = 20, *, progress: Progress | None = None) -> list[Cluster]:
        """Return the pages with the most duplicates, largest clusters first.

        The call reads the whole index. Which pages the duplicates are is not kept: `crawldedup report` knows it of a
        crawl. Pages that have expired and are not freed yet count.

        Args:
            most: The most clusters to return, from 1.
            progress: Is called with the number of pages looked at and, about, the number of pages there are.

        Raises:
            ConfigurationError: `most` is not allowed.
            StoreError: The store cannot answer.

        Example:
            >>> from crawldedup import Deduplicator
            >>> dedup = Deduplicator()
            >>> for name in "abc":
            ...     verdict = dedup.check(f"https://{name}.example/", text="Closed today.")
            >>> [(cluster.url, cluster.copies) for cluster in dedup.clusters()]
            [('https://a.example/', 2)]
        """
        checks.whole(1)("most", most)
        self._look()
        return largest_clusters(self._store.records(), most, lambda read: progress and progress(read, self._pages))

    def info(self) -> StoreInfo:
        """Return the figures of the index: pages, bytes, tables, profile and namespace.

        Raises:
            StoreError: The store cannot answer.
        """
        self._look()
        return self._store.info()

    def note(self, name: str, text: str | None = None) -> str:
        """Return a short text that is kept with the index; write it before if a text is given.

        Of crawlers that write at once, one has its way. `clear` removes notes.

        Args:
            name: The name of the note.
            text: The text to write; None only reads.

        Returns:
            The note; "" if there is none.

        Raises:
            StoreError: The store cannot answer.
        """
        (self._look if text is None else self._join)()
        return self._store.note(name, text)

    def heartbeat(self) -> None:
        """Renew the lease of this crawler, if it joined a crawl.

        A crawler without a heartbeat for 120 seconds counts as dead. Checks send one every 20 seconds. Call this while
        idle.

        Raises:
            StoreError: The store cannot answer. The call can be repeated.
        """
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
