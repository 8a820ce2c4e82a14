"""From a fingerprint to the question for the store, and from the store's answer to the verdict. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import mmh3

from crawldedup.arguments import check_recall, check_similarity
from crawldedup.hashing.fingerprint import SEARCH_BITS, VERIFY_BITS, Fingerprint
from crawldedup.scope import canonical_url, check_scope, salt_of, site_of
from crawldedup.search.decision import estimate_similarity, identity_rule, likelihood_rule
from crawldedup.search.model import accept_threshold, search_similarity
from crawldedup.search.plan import prefix_bits, single_plan, volatile_plan
from crawldedup.search.tables import rotated_tables
from crawldedup.stores.base import Entry, Query, Status
from crawldedup.verdict import Kind, Match, Verdict

if TYPE_CHECKING:
    from crawldedup.search.decision import CostRule
    from crawldedup.search.plan import ProbePlan
    from crawldedup.stores.base import Answer, Record

TABLES: Final = rotated_tables(2, SEARCH_BITS)
SIGNATURE_BYTES: Final = VERIFY_BITS // 8
PROBE_BUDGET: Final = 64

_KINDS: Final = {
    Status.NEW: Kind.NEW,
    Status.NEAR: Kind.NEAR_DUPLICATE,
    Status.EXACT: Kind.EXACT_DUPLICATE,
    Status.REVISIT: Kind.REVISIT,
}


@dataclass(frozen=True, slots=True)
class QueryMaker:
    """What one user wants to know of a page: compared with whose pages, from which similarity on, how surely.

    Raises ConfigurationError for values that are out of range.
    """

    scope: str
    similarity: float
    recall: float
    ttl_seconds: int | None

    def __post_init__(self) -> None:
        check_scope(self.scope)
        check_similarity(self.similarity)
        check_recall(self.recall)

    def query(
        self,
        url: str,
        page: Fingerprint,
        *,
        pages: int,
        identity: str | None = None,
        scope_key: str | None = None,
        similarity: float | None = None,
    ) -> Query:
        """The question about one page, for an index of about `pages` pages; the rest as in `Deduplicator.judge`."""
        if similarity is None:
            similarity = self.similarity
        else:
            check_similarity(similarity)
        salt = salt_of(self._scope_key(url, scope_key), SIGNATURE_BYTES)
        search = page.search ^ salt.number
        return Query(
            entry=Entry(
                url=url,
                url_key=self.url_key(url, identity=identity, scope_key=scope_key),
                search=search,
                signature=bytes(a ^ b for a, b in zip(page.verify, salt.signature, strict=True)),
                digest=page.digest ^ salt.number,
            ),
            plan=self._plan(page, search, similarity, pages),
            rule=self._rule(page, similarity),
            ttl_seconds=self.ttl_seconds,
            exact_only=page.thin,
        )

    def url_key(self, url: str, *, identity: str | None = None, scope_key: str | None = None) -> int:
        """64 bits by which a page is recognised as itself within its scope."""
        name = f"{self._scope_key(url, scope_key)}\n{canonical_url(url) if identity is None else identity}"
        return int(mmh3.hash64(name.encode("utf-8", "replace"), signed=False)[0])

    def _scope_key(self, url: str, scope_key: str | None) -> str:
        if scope_key is not None:
            return scope_key
        return site_of(url) if self.scope == "site" else ""

    def _plan(self, page: Fingerprint, search: int, similarity: float, pages: int) -> ProbePlan:
        if page.thin:
            return single_plan(TABLES[0].key(search))
        return volatile_plan(
            search,
            page.search_weights,
            TABLES,
            prefix=prefix_bits(pages),
            similarity=search_similarity(similarity),
            # Half of what may be missed is left to the decision.
            recall=(1 + self.recall) / 2,
            budget=PROBE_BUDGET,
        )

    def _rule(self, page: Fingerprint, similarity: float) -> CostRule:
        if page.thin:
            return identity_rule(VERIFY_BITS)
        return likelihood_rule(page.verify_weights, accept_threshold(similarity, VERIFY_BITS, self.recall))


def verdict_of(url: str, page: Fingerprint, query: Query, answer: Answer) -> Verdict:
    """What the store's answer means for the page."""
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


def match_of(page: Fingerprint, query: Query, record: Record) -> Match:
    """A record that a query has found, for its user."""
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
