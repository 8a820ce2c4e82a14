"""From a fingerprint to the question for the store, and from the store's answer to the verdict.

Pure, but for what `HotPrefixes` learns from the answers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from crawldedup.options import LOWEST_SIMILARITY, check_similarity
from crawldedup.scope import page_key, salt_of, site_of, xored
from crawldedup.search.decision import identity_rule
from crawldedup.search.hot_prefixes import HotPrefixes
from crawldedup.search.method import Search, SearchContext
from crawldedup.search.plan import single_plan
from crawldedup.stores.base import DIGEST_MASK, UNKNOWN_SHARD, Answer, Entry, Query, Retention, Status
from crawldedup.verdict import Kind, Match, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawldedup.fingerprinting.fingerprint import Fingerprint
    from crawldedup.options import Options
    from crawldedup.page_input import PageRef
    from crawldedup.search.method import Method
    from crawldedup.stores.base import Record

_KINDS: Final = {
    Status.NEW: Kind.NEW,
    Status.NEAR: Kind.NEAR_DUPLICATE,
    Status.EXACT: Kind.EXACT_DUPLICATE,
    Status.REVISIT: Kind.REVISIT,
}


CANONICAL_MARGIN: Final = 0.1
"""So much less than the wanted similarity is enough for a page that itself names the other one as its original."""


class QueryBuilder:
    """Builds the questions about pages that a method and options ask, and the verdicts from their answers."""

    def __init__(self, method: Method, options: Options) -> None:
        self.method = method
        self.options = options
        self.retention = Retention(options.ttl_seconds, options.ttl_refresh, options.max_pages)
        self._hot_prefixes = HotPrefixes()

    def query(
        self,
        ref: PageRef,
        page: Fingerprint,
        *,
        pages: int,
        similarity: float | None = None,
    ) -> Query:
        """Return the question about one page for an index of about `pages` pages."""
        similarity = self.similarity(similarity)
        size = self.method.signature_bytes
        scope = self.scope_key_of(ref)
        salt = salt_of(scope, size)
        shard_key = salt.number if scope or self.options.scope != "global" else None
        facts = salt_of(f"facts {page.facts}" if page.facts else "", size)
        search = page.search ^ salt.number ^ facts.number
        signature = xored(xored(page.verify, salt.signature), facts.signature)
        keys = tuple(table.key_of(search, signature) for table in self.method.tables)
        found = self._search(replace(page, search=search, verify=signature), keys, similarity, pages)
        return Query(
            entry=Entry(
                url=ref.url if self.options.store_urls else "",
                url_key=self.url_key(ref),
                search=search,
                signature=signature,
                digest=(page.digest ^ salt.number ^ facts.number) & DIGEST_MASK,
                keys=keys,
            ),
            plan=found.plan,
            rule=found.rule,
            retention=self.retention,
            exact_only=page.thin,
            max_candidates=self.method.max_candidates,
            max_keys=self.method.max_keys,
            prefilter=found.prefilter,
            shard_key=shard_key,
        )

    def url_key(self, ref: PageRef) -> int:
        """Return the 64 bits by which a page is recognised as itself within its scope."""
        return page_key(self.scope_key_of(ref), ref.url, ref.identity)

    def scope_key_of(self, ref: PageRef) -> str:
        """Return the key of the pages a page is compared with: as given, or what the scope says of the URL."""
        if ref.scope_key is not None:
            return ref.scope_key
        return site_of(ref.url) if self.options.scope == "site" else ""

    def with_shard_key(self, record: Record) -> Record:
        """A record from elsewhere, with its place in an index of this scope."""
        if self.options.scope == "global":
            return record
        if self.options.scope == "site" and site_of(record.url):
            salt = salt_of(site_of(record.url), self.method.signature_bytes)
            return replace(record, shard_key=salt.number)
        return replace(record, shard_key=UNKNOWN_SHARD)

    def similarity(self, wanted: float | None) -> float:
        """Return the similarity a call wants, or that of the options. Raises ConfigurationError."""
        return self.options.similarity if wanted is None else check_similarity("similarity", wanted)

    def canonical_threshold(self, similarity: float | None) -> float:
        """Return the similarity that is enough for a page that names its original."""
        wanted = self.similarity(similarity)
        return max(wanted - CANONICAL_MARGIN, min(wanted, LOWEST_SIMILARITY + 0.01))

    def _search(self, page: Fingerprint, keys: tuple[int, ...], similarity: float, pages: int) -> Search:
        if page.thin:
            return Search(single_plan(keys[0]), identity_rule(8 * self.method.signature_bytes))
        size = max(pages, self.options.expected_pages, 1) << self._hot_prefixes.extra_bits(keys)
        return self.method.search(page, SearchContext(similarity, self.options.recall, size))

    def verdict(self, url: str, page: Fingerprint, query: Query, answer: Answer) -> Verdict:
        """What the store's answer means for the page. Learns from it where pages crowd."""
        if not page.thin and answer.status is not Status.REVISIT:
            self._hot_prefixes.learn(query.entry.keys, answer.candidates, query.max_candidates)
        return self._verdict(url, page, query, answer)

    def preview(self, url: str, page: Fingerprint, query: Query, records: Sequence[Record]) -> Verdict:
        """What the store would answer for the page, judged by the records that were found of it, nearest first."""
        own = [record for record in records if record.url_key == query.entry.url_key]
        record = next(iter([*own, *records]), None)
        is_exact = record is not None and record.digest == query.entry.digest
        if own:
            status = Status.REVISIT
        elif record is None:
            status = Status.NEW
        else:
            status = Status.EXACT if is_exact else Status.NEAR
            record = replace(record, copies=record.copies + 1)
        changed = status is Status.REVISIT and not is_exact
        return self._verdict(url, page, query, Answer(status, record, changed, pages=0, candidates=len(records)))

    def _verdict(self, url: str, page: Fingerprint, query: Query, answer: Answer) -> Verdict:
        kind = _KINDS[answer.status]
        record = answer.record
        verdict = Verdict(
            kind=Kind.THIN if kind is Kind.NEW and page.thin else kind,
            url=url,
            words=page.words,
            probes=len(query.plan),
            candidates=answer.candidates,
        )
        if record is None:
            return verdict
        return replace(
            verdict,
            original=record.url or None,
            similarity=self._similarity(page, query, record) if not answer.changed else None,
            hamming=_hamming(query, record) if not answer.changed else None,
            copies=record.copies,
            changed=answer.changed,
        )

    def match(self, page: Fingerprint, query: Query, record: Record) -> Match:
        """A record that a query has found, for its user."""
        return Match(
            url=record.url,
            similarity=self._similarity(page, query, record),
            hamming=_hamming(query, record),
            exact=record.digest == query.entry.digest,
            seen_at=record.seen_at,
            copies=record.copies,
        )

    def _similarity(self, page: Fingerprint, query: Query, record: Record) -> float:
        if record.digest == query.entry.digest:
            return 1.0
        return round(self.method.estimate(replace(page, verify=query.entry.signature), record.signature), 4)


def _hamming(query: Query, record: Record) -> int:
    return (query.entry.search ^ record.search).bit_count()
