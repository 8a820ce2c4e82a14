"""The way of a page, top to bottom: HTML, fingerprint, probe plan, one question to the store, verdict."""

from __future__ import annotations

import asyncio
import re
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, Self, TypeVar

import mmh3

from crawldedup.errors import ConfigurationError
from crawldedup.hashing.fingerprint import MIN_WORDS, VERIFY_BITS, Fingerprint
from crawldedup.page import PageReader
from crawldedup.scope import canonical_url, check_scope, salt_of, site_of
from crawldedup.search.decision import estimate_similarity, identity_rule, likelihood_rule
from crawldedup.search.model import accept_threshold, search_similarity
from crawldedup.search.plan import prefix_bits, single_plan, volatile_plan
from crawldedup.search.tables import rotated_tables
from crawldedup.stores.base import Entry, Layout, Query, Status
from crawldedup.stores.registry import make_store
from crawldedup.verdict import Kind, Match, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from crawldedup.search.decision import CostRule
    from crawldedup.search.plan import ProbePlan
    from crawldedup.stores.base import Answer, Record, StoreInfo

T = TypeVar("T")

TABLES: Final = rotated_tables(2)
PROBE_BUDGET: Final = 64
HEARTBEAT_SECONDS: Final = 20.0
LOWEST_SIMILARITY: Final = 0.5

_TTL_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_KINDS: Final = {
    Status.NEW: Kind.NEW,
    Status.NEAR: Kind.NEAR_DUPLICATE,
    Status.EXACT: Kind.EXACT_DUPLICATE,
    Status.REVISIT: Kind.REVISIT,
}


def parse_ttl(ttl: str | float | None) -> int | None:
    """Seconds of a time to live: a number of seconds, or "90m", "12h", "30d", "8w"; None means for ever."""
    if ttl is None or ttl == "":
        return None
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([smhdw]?)\s*", str(ttl))
    seconds = float(match[1]) * _TTL_UNITS[match[2] or "s"] if match else 0
    if seconds < 1:
        raise ConfigurationError(
            f"ttl is {ttl!r}; it must be a number of seconds from 1, or a number with one of the units "
            f"{', '.join(_TTL_UNITS)}, as in '30d'"
        )
    return int(seconds)


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
    ) -> None:
        check_scope(scope)
        check_similarity(similarity)
        check_namespace(namespace)
        if not 0.5 <= recall < 1:
            raise ConfigurationError(f"recall is {recall!r}; it must lie between 0.5 and 1 (1 excluded)")
        self.reader = PageReader(extractor, min_words)
        self._scope = scope
        self._similarity = similarity
        self._recall = recall
        self._ttl_seconds = parse_ttl(ttl)
        self._layout = Layout(
            namespace=namespace,
            profile=f"{self.reader.profile}/{len(TABLES)}x64",
            tables=TABLES,
            signature_bytes=VERIFY_BITS // 8,
        )
        self._store = make_store(store, self._layout)
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
        page = self._read(html, text, encoding)
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
        query = self._query(url, page, identity=identity, scope_key=scope_key, similarity=similarity)
        answer = self._store.check_and_add(query)
        self._pages = answer.pages
        return _verdict(url, page, query, answer)

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
        page = self._read(html, text, encoding)
        self.open()
        query = self._query(url, page, scope_key=scope_key, similarity=similarity)
        matches = [_match(page, query, record) for record in self._store.find(query)]
        return sorted(matches, key=lambda match: -match.similarity)

    def forget(self, page: str | Fingerprint, *, scope_key: str | None = None) -> int:
        """Remove a page by its URL, or every page with the text of a fingerprint; how many were removed."""
        self.open()
        if isinstance(page, str):
            return int(self._store.forget(self._url_key(page, None, self._scope_key(page, scope_key))))
        query = self._query("", page, scope_key=scope_key)
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

    def _read(self, html: bytes | str | None, text: str | None, encoding: str | None) -> Fingerprint:
        if (html is None) == (text is None):
            raise ConfigurationError("give either html or text")
        return self.reader.read_text(text) if text is not None else self.reader.read(html or b"", encoding)

    def _scope_key(self, url: str, scope_key: str | None) -> str:
        if scope_key is not None:
            return scope_key
        return site_of(url) if self._scope == "site" else ""

    def _url_key(self, url: str, identity: str | None, scope_key: str) -> int:
        name = f"{scope_key}\n{canonical_url(url) if identity is None else identity}"
        return int(mmh3.hash64(name.encode("utf-8", "replace"), signed=False)[0])

    def _query(
        self,
        url: str,
        page: Fingerprint,
        *,
        identity: str | None = None,
        scope_key: str | None = None,
        similarity: float | None = None,
    ) -> Query:
        if similarity is None:
            similarity = self._similarity
        else:
            check_similarity(similarity)
        key = self._scope_key(url, scope_key)
        salt = salt_of(key, self._layout.signature_bytes)
        search = page.search ^ salt.number
        return Query(
            entry=Entry(
                url=url,
                url_key=self._url_key(url, identity, key),
                search=search,
                signature=bytes(a ^ b for a, b in zip(page.verify, salt.signature, strict=True)),
                digest=page.digest ^ salt.number,
            ),
            plan=self._plan(page, search, similarity),
            rule=self._rule(page, similarity),
            ttl_seconds=self._ttl_seconds,
            exact_only=page.thin,
        )

    def _plan(self, page: Fingerprint, search: int, similarity: float) -> ProbePlan:
        if page.thin:
            return single_plan(TABLES[0].key(search))
        return volatile_plan(
            search,
            page.search_weights,
            TABLES,
            prefix=prefix_bits(self._pages),
            similarity=search_similarity(similarity),
            # Half of what may be missed is left to the decision.
            recall=(1 + self._recall) / 2,
            budget=PROBE_BUDGET,
        )

    def _rule(self, page: Fingerprint, similarity: float) -> CostRule:
        if page.thin:
            return identity_rule(VERIFY_BITS)
        threshold = accept_threshold(similarity, VERIFY_BITS, self._recall)
        return likelihood_rule(page.verify_weights, threshold)


class AsyncDeduplicator:
    """`Deduplicator` for asyncio: the same calls, awaited, with the work done in threads beside the event loop.

    Pages are read in up to `readers` threads; the store is asked by one, so verdicts come in the order of the
    questions. Takes the arguments of `Deduplicator`.
    """

    def __init__(self, store: str = "memory://", *, readers: int = 2, **options: object) -> None:
        self._dedup = Deduplicator(store, **options)  # type: ignore[arg-type]
        self._readers = ThreadPoolExecutor(readers, thread_name_prefix="crawldedup-read")
        self._asker = ThreadPoolExecutor(1, thread_name_prefix="crawldedup-store")

    async def __aenter__(self) -> Self:
        await self._ask(self._dedup.open)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def check(
        self,
        url: str,
        *,
        html: bytes | str | None = None,
        text: str | None = None,
        encoding: str | None = None,
        identity: str | None = None,
        scope_key: str | None = None,
    ) -> Verdict:
        """See `Deduplicator.check`."""
        loop = asyncio.get_running_loop()
        page = await loop.run_in_executor(self._readers, self._dedup._read, html, text, encoding)
        return await self._ask(lambda: self._dedup.judge(url, page, identity=identity, scope_key=scope_key))

    async def find(self, **arguments: object) -> list[Match]:
        """See `Deduplicator.find`."""
        return await self._ask(lambda: self._dedup.find(**arguments))  # type: ignore[arg-type]

    async def forget(self, page: str | Fingerprint, *, scope_key: str | None = None) -> int:
        """See `Deduplicator.forget`."""
        return await self._ask(lambda: self._dedup.forget(page, scope_key=scope_key))

    async def info(self) -> StoreInfo:
        """See `Deduplicator.info`."""
        return await self._ask(self._dedup.info)

    async def close(self) -> None:
        """Finish what was asked, leave the crawl and disconnect."""
        await self._ask(self._dedup.close)
        self._readers.shutdown(wait=False)
        self._asker.shutdown(wait=False)

    async def _ask(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._asker, call)


def check_similarity(similarity: float) -> None:
    """Raise ConfigurationError unless a similarity threshold is one that can be promised."""
    if not isinstance(similarity, int | float) or not LOWEST_SIMILARITY < similarity <= 1:
        raise ConfigurationError(
            f"similarity is {similarity!r}; it must be a number above {LOWEST_SIMILARITY} and at most 1"
        )


def check_namespace(namespace: str) -> None:
    """Raise ConfigurationError unless a namespace can be part of a key."""
    if not re.fullmatch(r"[\w.:-]{1,100}", namespace, re.ASCII):
        raise ConfigurationError(
            f"namespace is {namespace!r}; it must be 1 to 100 letters, digits and the signs . _ : -"
        )


def _verdict(url: str, page: Fingerprint, query: Query, answer: Answer) -> Verdict:
    kind = _KINDS[answer.status]
    record = answer.record
    if kind is Kind.NEW:
        return Verdict(Kind.THIN if page.thin else kind, url, words=page.words)
    assert record is not None
    return Verdict(
        kind=kind,
        url=url,
        original=record.url,
        similarity=_similarity(page, query, record) if not answer.changed else None,
        hamming=_hamming(query, record) if not answer.changed else None,
        words=page.words,
        copies=record.copies,
        changed=answer.changed,
    )


def _match(page: Fingerprint, query: Query, record: Record) -> Match:
    return Match(
        url=record.url,
        similarity=_similarity(page, query, record),
        hamming=_hamming(query, record),
        exact=record.digest == query.entry.digest,
        seen_at=record.seen_at,
        copies=record.copies,
    )


def _similarity(page: Fingerprint, query: Query, record: Record) -> float:
    if record.digest == query.entry.digest:
        return 1.0
    return round(estimate_similarity(page.verify_weights, query.entry.signature, record.signature), 4)


def _hamming(query: Query, record: Record) -> int:
    return (query.entry.search ^ record.search).bit_count()
