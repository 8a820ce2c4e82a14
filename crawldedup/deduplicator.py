"""The way of a page, top to bottom: HTML, fingerprint, one question to the store, verdict."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

from crawldedup.arguments import (
    check_address,
    check_batch,
    check_body,
    check_flag,
    check_max_pages,
    check_namespace,
    check_text,
    parse_ttl,
)
from crawldedup.errors import ConfigurationError, PageError, ProfileMismatchError, StoreError
from crawldedup.facts.page_facts import DEFAULT_DISTINGUISH
from crawldedup.fingerprinting.fingerprint import MIN_WORDS, Fingerprint
from crawldedup.page import PageReader
from crawldedup.page_input import PageInput
from crawldedup.queries import QueryBuilder
from crawldedup.search.limits import MAX_KEYS
from crawldedup.stores.base import Layout, Retention, shown_url
from crawldedup.stores.registry import make_store, scheme_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import TracebackType

    from crawldedup.search.method import Method
    from crawldedup.stores.base import Answer, Query, Record, StoreInfo
    from crawldedup.verdict import Match, Verdict

    Progress = Callable[[int, int], None]
    OnUnreadable = Callable[[PageInput, PageError], None]
    Records = list[Record]

HEARTBEAT_SECONDS: Final = 20.0
BATCH: Final = 100
BATCH_SECONDS: Final = 0.5


@dataclass(frozen=True, slots=True)
class CopyResult:
    """What an import or a copy has done: `pages` that came, and how many of them were not known and so `added`."""

    pages: int
    added: int


@dataclass(frozen=True, slots=True)
class _Question:
    page: PageInput
    fingerprint: Fingerprint
    query: Query


@dataclass(frozen=True, slots=True)
class _Unreadable:
    page: PageInput
    error: PageError


class Deduplicator:
    """Recognises pages that were seen before, in whatever store its URL names.

    Nothing is opened before the first use, and only what may add pages begins an index or joins a crawl. Verdicts come
    in the order of the calls; one instance may be shared by threads. Raises ConfigurationError for arguments that are
    out of range.

    `store`: memory://, sqlite:///path, redis://host:port/db, rediss://, unix://.
    `namespace`: the name of the index within the store.
    `scope`: "global", "site" (registered domain) or "spider" (whatever `scope_key` a call gives).
    `similarity`: the Jaccard similarity of word 3-shingles from which on a page is a near duplicate.
    `recall`: the share of such pages that must be found; more costs more probes.
    `ttl`: forget pages not seen for so long, as in "30d". `ttl_refresh`: False counts from when a page was added.
    `max_pages`: of more pages forget the ones added first.
    `store_urls`: False remembers no URLs, only 64 bits of each: verdicts and matches then do not name the original.
    `extractor`: trafilatura, resiliparse, text, or the dotted path of your own.
    `min_words`: a page with fewer words is `thin`; only its exact copies are duplicates.
    `distinguish`: which pages differ however alike they read: "products" (those of different products),
    "numbers" (those whose numbers differ, too) or "nothing".
    `method`: how pages are compared, by default the best known method; see `crawldedup.evaluation.methods` for others.
    `expected_pages`: search at once as in an index of so many pages, rather than as in one of the present size.
    """

    def __init__(
        self,
        store: str = "memory://",
        *,
        namespace: str = "default",
        scope: str = "global",
        similarity: float = 0.9,
        recall: float = 0.98,
        ttl: str | float | None = None,
        ttl_refresh: bool = True,
        max_pages: int | None = None,
        store_urls: bool = True,
        extractor: str = "trafilatura",
        min_words: int = MIN_WORDS,
        distinguish: str = DEFAULT_DISTINGUISH,
        method: Method | None = None,
        expected_pages: int = 0,
    ) -> None:
        check_namespace(namespace)
        check_text("extractor", extractor)
        check_flag("ttl_refresh", ttl_refresh)
        check_flag("store_urls", store_urls)
        self.reader = PageReader(extractor, min_words, method=method, distinguish=distinguish)
        comparison = self.reader.method
        self._retention = Retention(parse_ttl(ttl), ttl_refresh, check_max_pages(max_pages))
        self._queries = QueryBuilder(comparison, scope, similarity, recall, self._retention, expected_pages, store_urls)
        self._layout = Layout(
            namespace=namespace,
            profile=self.reader.profile,
            tables=comparison.tables,
            signature_bytes=comparison.signature_bytes,
        )
        self._store = make_store(store, self._layout)
        self.answers_at_once = scheme_of(store) == "memory" and comparison.max_keys <= MAX_KEYS
        """Whether `check_fingerprint` waits for nothing but the processor, and for that a fraction of a millisecond."""
        self._place = f"the namespace {namespace!r} of {shown_url(store)}"
        self._pages = 0
        self._is_open = False
        self._next_heartbeat = self._next_look = 0.0

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def open(self) -> None:
        """Connect to the store and check that the index fits. Harmless when repeated.

        Raises StoreUnavailableError, and ProfileMismatchError for an index made with other settings.
        """
        if not self._is_open:
            self._pages = self._store.open()
            self._is_open = True
            self._next_heartbeat = time.monotonic() + HEARTBEAT_SECONDS

    def look(self) -> None:
        """Connect as far as it takes to look at the index: no crawl is joined, and nothing is begun.

        Raises as `open` does. `check_fingerprint(remember=False)`, `find` and the like do so by themselves.
        """
        if not self._is_open and time.monotonic() >= self._next_look:
            self._pages = self._store.open_read_only()
            # An index that is not there yet may be there at any moment.
            self._next_look = time.monotonic() + (HEARTBEAT_SECONDS if self._pages else 0)

    def close(self) -> None:
        """Leave the crawl and disconnect. Harmless when repeated."""
        self._store.close()
        self._is_open = False
        self._next_look = 0.0

    def check(
        self,
        url: str,
        *,
        html: bytes | str | None = None,
        text: str | None = None,
        encoding: str | None = None,
        identity: str | None = None,
        scope_key: str | None = None,
    ) -> Verdict:
        """Decide about a page and remember it. Give `html` (with its declared `encoding`) or `text`.

        `identity` is what makes the page itself, by default its canonical URL: with the same identity it is
        a revisit, never a duplicate. Raises PageError for a page that cannot be read, and StoreError.
        """
        check_address(url, identity, scope_key)
        page = self.fingerprint(html=html, text=text, encoding=encoding)
        return self.check_fingerprint(url, page, identity=identity, scope_key=scope_key)

    def check_fingerprint(
        self,
        url: str,
        page: Fingerprint,
        *,
        identity: str | None = None,
        scope_key: str | None = None,
        similarity: float | None = None,
        canonical: str | None = None,
        remember: bool = True,
    ) -> Verdict:
        """The second half of `check`, for a fingerprint made elsewhere: one atomic question to the store.

        `similarity` overrides the instance's. `canonical` is the URL that the page names as its original: where that
        page is remembered and resembles this one from CANONICAL_MARGIN below the similarity on, this one is judged by
        that lower similarity. `remember` False changes nothing in the index, so a page is known as itself only while
        its text resembles what is remembered of it. Raises StoreError.
        """
        check_address(url, identity, scope_key)
        check_text("canonical", canonical, optional=True)
        if not isinstance(page, Fingerprint):
            raise ConfigurationError(
                f"page is a {type(page).__name__}; it must be a Fingerprint, as `Deduplicator.fingerprint` makes one"
            )
        if remember:
            self.open()
            self._beat_if_due()
        else:
            self.look()
        query = self._query(url, page, identity, scope_key, similarity)
        if canonical is not None:
            lenient = self._query(url, page, identity, scope_key, self._queries.canonical_threshold(similarity))
            original = self._queries.url_key(canonical, scope_key=self._queries.scope_key_of(url, scope_key))
            if any(record.url_key == original for record in self._store.find(lenient)):
                query = lenient
        if not remember:
            return self._queries.preview(url, page, query, self._store.find(query))
        return self._verdict(url, page, query, self._store.check_and_add(query))

    def check_many(
        self, pages: Iterable[PageInput], *, batch: int = BATCH, on_unreadable: OnUnreadable | None = None
    ) -> Iterator[Verdict]:
        """Decide about many pages in their order, asking the store for up to `batch` of them at once.

        The verdicts are those that `check` would give for one page after the other. Pages are taken as verdicts are
        asked for, and a batch that took half a second to read is not waited for any longer; whoever stops early finds
        up to a batch of pages remembered beyond the last verdict. An error is raised in the place of the verdict that
        it prevented, and ends the iteration; the verdicts before it hold. A page that cannot be read is such an
        error, unless `on_unreadable` takes it, in its turn.
        Raises ConfigurationError for a batch below 1, PageError, StoreError, and whatever `pages` raises.
        """
        check_batch(batch)
        return self._check_many(iter(pages), batch, on_unreadable)

    def _check_many(
        self, pages: Iterator[PageInput], batch: int, on_unreadable: OnUnreadable | None
    ) -> Iterator[Verdict]:
        while True:
            self.open()
            self._beat_if_due()
            taken, error = self._take(pages, batch, skip=on_unreadable is not None)
            asked = [item for item in taken if isinstance(item, _Question)]
            answers = self._store.check_many([item.query for item in asked]) if asked else iter(())
            for item in taken:
                if isinstance(item, _Question):
                    with suppress(StoreError):
                        # Whoever takes verdicts slowly is at work, too. The verdict is there, whatever becomes of this.
                        self._beat_if_due()
                    yield self._verdict(item.page.url, item.fingerprint, item.query, next(answers))
                elif on_unreadable is not None:
                    on_unreadable(item.page, item.error)
            if error is not None:
                raise error
            if not taken:
                return

    def _take(
        self, pages: Iterator[PageInput], batch: int, *, skip: bool
    ) -> tuple[list[_Question | _Unreadable], Exception | None]:
        """The next pages, none at the end, and the error that kept further ones from being read."""
        taken: list[_Question | _Unreadable] = []
        deadline = time.monotonic() + BATCH_SECONDS
        try:
            for page in pages:
                if not isinstance(page, PageInput):
                    raise ConfigurationError(f"one of the pages is a {type(page).__name__}; each must be a PageInput")
                try:
                    fingerprint = page.fingerprint or self.fingerprint(
                        html=page.html, text=page.text, encoding=page.encoding
                    )
                except PageError as error:
                    if not skip:
                        raise
                    taken.append(_Unreadable(page, error))
                else:
                    query = self._query(page.url, fingerprint, page.identity, page.scope_key, page.similarity)
                    taken.append(_Question(page, fingerprint, query))
                if len(taken) >= batch or time.monotonic() >= deadline:
                    break
        except Exception as error:
            return taken, error
        return taken, None

    def find(
        self,
        *,
        html: bytes | str | None = None,
        text: str | None = None,
        encoding: str | None = None,
        url: str = "",
        scope_key: str | None = None,
        similarity: float | None = None,
    ) -> list[Match]:
        """Remembered pages that resemble this one, best first; changes nothing. `url` gives a site scope its site."""
        check_address(url, None, scope_key)
        page = self.fingerprint(html=html, text=text, encoding=encoding)
        self.look()
        query = self._queries.query(url, page, pages=self._pages, scope_key=scope_key, similarity=similarity)
        matches = [self._queries.match(page, query, record) for record in self._store.find(query)]
        return sorted(matches, key=lambda match: -match.similarity)

    def forget(self, page: str | Fingerprint, *, identity: str | None = None, scope_key: str | None = None) -> int:
        """Remove a page by its URL, or every page with the text of a fingerprint; how many were removed.

        A page that was checked with an `identity` of its own is known by that instead of its URL. A fingerprint does
        not tell its site or spider: where these are compared apart, it needs the `scope_key`.
        """
        check_address(page if isinstance(page, str) else "", identity, scope_key)
        if not isinstance(page, str | Fingerprint):
            raise ConfigurationError(f"page is a {type(page).__name__}; forget takes a URL as a str, or a Fingerprint")
        self.look()
        if isinstance(page, str):
            return int(self._store.forget(self._queries.url_key(page, identity=identity, scope_key=scope_key)))
        query = self._queries.query("", page, pages=self._pages, scope_key=scope_key)
        records = [record for record in self._store.find(query) if record.digest == query.entry.digest]
        return sum(self._store.forget(record.url_key) for record in records)

    def clear(self) -> None:
        """Remove every page of this namespace, whatever settings it was made with."""
        self._store.clear()
        self._pages = 0

    def prune(self, *, progress: Progress | None = None) -> int:
        """Free at once the pages that `ttl` and `max_pages` let go; how many there were. Checks free a few each.

        Crawls may go on meanwhile. `progress` is called with the pages looked at and the pages there are, about.
        Raises ConfigurationError if the instance has neither limit.
        """
        if self._retention.ttl_seconds is None and self._retention.max_pages is None:
            raise ConfigurationError("there is nothing to prune by: give ttl or max_pages")
        self.look()
        freed = 0
        for step in self._store.prune(self._retention):
            freed = step.freed
            if progress is not None:
                progress(step.examined, self._pages)
        self._pages = max(0, self._pages - freed)
        return freed

    def copy_to(self, other: Deduplicator, *, progress: Progress | None = None) -> CopyResult:
        """Add the pages of this index to another, with their times and copies, but for those known there already.

        Nothing is compared, so every page that was kept stays kept. `progress` is called with the pages copied and the
        pages there are, about.

        Raises ProfileMismatchError unless both were made with the same settings.
        """
        if self._layout.profile != other._layout.profile:
            raise ProfileMismatchError(
                self._place, index_profile=self._layout.profile, own_profile=other._layout.profile
            )
        self.look()
        return other._load(_counted(self._store.records(), self._pages, progress))

    def _load(self, batches: Iterable[Records]) -> CopyResult:
        self.open()
        pages = added = 0
        for records in batches:
            pages += len(records)
            added += self._store.load([self._queries.placed(record) for record in records])
        self._pages += added
        return CopyResult(pages, added)

    def info(self) -> StoreInfo:
        """Pages, bytes, tables, profile and namespace of the index."""
        self.look()
        return self._store.info()

    def heartbeat(self) -> None:
        """Say that this crawler is still at work. `check_fingerprint` does so by itself; call this while idle for long.

        One that has only looked is at no work, and says nothing.
        """
        if self._is_open:
            self._store.heartbeat()
            self._next_heartbeat = time.monotonic() + HEARTBEAT_SECONDS

    @property
    def heartbeat_is_due(self) -> bool:
        """True if the crawl was joined, and has not heard of this crawler for a while."""
        return self._is_open and time.monotonic() >= self._next_heartbeat

    def _beat_if_due(self) -> None:
        if self.heartbeat_is_due:
            self.heartbeat()

    def _query(
        self, url: str, page: Fingerprint, identity: str | None, scope_key: str | None, similarity: float | None
    ) -> Query:
        return self._queries.query(
            url, page, pages=self._pages, identity=identity, scope_key=scope_key, similarity=similarity
        )

    def _verdict(self, url: str, page: Fingerprint, query: Query, answer: Answer) -> Verdict:
        self._pages = answer.pages
        return self._queries.verdict(url, page, query, answer)

    def fingerprint(
        self, *, html: bytes | str | None = None, text: str | None = None, encoding: str | None = None
    ) -> Fingerprint:
        """The first half of `check`: the page's fingerprint, from either `html` or `text`. Raises PageError."""
        check_body(html, text, encoding)
        return self.reader.read_text(text) if text is not None else self.reader.read(html or b"", encoding)


def _counted(batches: Iterable[Records], total: int, progress: Progress | None) -> Iterator[Records]:
    """The batches, telling how far they are whenever one has been dealt with."""
    done = 0
    for batch in batches:
        yield batch
        done += len(batch)
        if progress is not None:
            progress(done, total)
