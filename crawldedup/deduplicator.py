"""The way of a page, top to bottom: HTML, fingerprint, one question to the store, verdict."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, Self

from crawldedup.arguments import check_namespace, parse_ttl
from crawldedup.errors import ConfigurationError
from crawldedup.hashing.features import DEFAULT_WEIGHTING
from crawldedup.hashing.fingerprint import MIN_WORDS, Fingerprint
from crawldedup.methods.spec import DEFAULT_METHOD
from crawldedup.page import PageReader
from crawldedup.queries import QueryMaker
from crawldedup.stores.base import Layout
from crawldedup.stores.registry import make_store
from crawldedup.text.facts import DEFAULT_DISTINGUISH

if TYPE_CHECKING:
    from types import TracebackType

    from crawldedup.stores.base import StoreInfo
    from crawldedup.verdict import Match, Verdict

HEARTBEAT_SECONDS: Final = 20.0


class Deduplicator:
    """Recognises pages that were seen before, in whatever store its URL names.

    Nothing is opened before the first use. Verdicts come in the order of the calls; one instance may be
    shared by threads. Raises ConfigurationError for arguments that are out of range.

    `store`: memory://, sqlite:///path, redis://host:port/db, rediss://, unix://.
    `namespace`: the name of the index within the store.
    `scope`: "global", "site" (registered domain) or "spider" (whatever `scope_key` a call gives).
    `similarity`: the Jaccard similarity of word 3-shingles from which on a page is a near duplicate.
    `recall`: the share of such pages that must be found; more costs more probes.
    `ttl`: forget pages not seen for so long, as in "30d".
    `extractor`: trafilatura, resiliparse, text, or the dotted path of your own.
    `min_words`: a page with fewer words is `thin`; only its exact copies are duplicates.
    `distinguish`: which pages differ however alike they read: "products" (those of different products),
    "numbers" (those whose numbers differ, too) or "nothing".
    `method` and `weighting`: how pages are compared, with options as in "simhash?distance=3&blocks=5"; see
    docs/quality.md. The defaults are the best known.
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
        extractor: str = "trafilatura",
        min_words: int = MIN_WORDS,
        distinguish: str = DEFAULT_DISTINGUISH,
        method: str = DEFAULT_METHOD,
        weighting: str = DEFAULT_WEIGHTING,
        expected_pages: int = 0,
    ) -> None:
        check_namespace(namespace)
        self.reader = PageReader(extractor, min_words, method=method, weighting=weighting, distinguish=distinguish)
        comparison = self.reader.method
        self._queries = QueryMaker(comparison, scope, similarity, recall, parse_ttl(ttl), expected_pages)
        layout = Layout(
            namespace=namespace,
            profile=self.reader.profile,
            tables=comparison.tables,
            signature_bytes=comparison.signature_bytes,
        )
        self._store = make_store(store, layout)
        self._pages = 0
        self._is_open = False
        self._next_heartbeat = 0.0

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

    def close(self) -> None:
        """Leave the crawl and disconnect. Harmless when repeated."""
        self._store.close()
        self._is_open = False

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
        page = self.read(html, text, encoding)
        return self.judge(url, page, identity=identity, scope_key=scope_key)

    def judge(
        self,
        url: str,
        page: Fingerprint,
        *,
        identity: str | None = None,
        scope_key: str | None = None,
        similarity: float | None = None,
    ) -> Verdict:
        """The second half of `check`, for a fingerprint made elsewhere: one atomic question to the store.

        `similarity` overrides the instance's. Raises StoreError.
        """
        self.open()
        self._beat_if_due()
        query = self._queries.query(
            url, page, pages=self._pages, identity=identity, scope_key=scope_key, similarity=similarity
        )
        answer = self._store.check_and_add(query)
        self._pages = answer.pages
        return self._queries.verdict(url, page, query, answer)

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
        page = self.read(html, text, encoding)
        self.open()
        query = self._queries.query(url, page, pages=self._pages, scope_key=scope_key, similarity=similarity)
        matches = [self._queries.match(page, query, record) for record in self._store.find(query)]
        return sorted(matches, key=lambda match: -match.similarity)

    def forget(self, page: str | Fingerprint, *, scope_key: str | None = None) -> int:
        """Remove a page by its URL, or every page with the text of a fingerprint; how many were removed."""
        self.open()
        if isinstance(page, str):
            return int(self._store.forget(self._queries.url_key(page, scope_key=scope_key)))
        query = self._queries.query("", page, pages=self._pages, scope_key=scope_key)
        records = [record for record in self._store.find(query) if record.digest == query.entry.digest]
        return sum(self._store.forget(record.url_key) for record in records)

    def clear(self) -> None:
        """Remove every page of this namespace, whatever settings it was made with."""
        self._store.clear()
        self._pages = 0

    def info(self) -> StoreInfo:
        """Pages, bytes, tables, profile and namespace of the index."""
        self.open()
        return self._store.info()

    def heartbeat(self) -> None:
        """Say that this crawler is still at work. `judge` does so by itself; call this while idle for long."""
        self.open()
        self._store.heartbeat()
        self._next_heartbeat = time.monotonic() + HEARTBEAT_SECONDS

    def _beat_if_due(self) -> None:
        if time.monotonic() >= self._next_heartbeat:
            self.heartbeat()

    def read(self, html: bytes | str | None, text: str | None, encoding: str | None) -> Fingerprint:
        """The first half of `check`: the page's fingerprint, from either `html` or `text`. Raises PageError."""
        if (html is None) == (text is None):
            raise ConfigurationError("give either html or text")
        return self.reader.read_text(text) if text is not None else self.reader.read(html or b"", encoding)
