"""Looking a page up without remembering it, with everything that led to the verdict."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from crawldedup.arguments import parse_ttl
from crawldedup.queries import QueryBuilder
from crawldedup.scrapy_plugin.middleware import deduplicator_for
from crawldedup.search.model import accept_threshold
from crawldedup.search.two_stage import TwoStage
from crawldedup.stores.base import Layout, Retention
from crawldedup.stores.registry import make_store

if TYPE_CHECKING:
    from crawldedup.fingerprinting.fingerprint import Fingerprint
    from crawldedup.page import PageReader
    from crawldedup.scrapy_plugin.settings import DedupSettings
    from crawldedup.stores.base import Query
    from crawldedup.verdict import Match, Verdict


@dataclass(frozen=True, slots=True)
class Candidate:
    """A remembered page that was compared: its differing verify bits cost `cost`, which is `accepted` or too much."""

    match: Match
    cost: int
    accepted: bool

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {**self.match.as_dict(), "cost": self.cost, "accepted": self.accepted}


@dataclass(frozen=True, slots=True)
class Look:
    """The verdict that a crawl would come to now, and why.

    Pages were looked for from `similarity` on: the wanted one, or a lower one for a page that names its original and
    resembles it. `limit` is the highest cost that makes a duplicate, `threshold` the estimated similarity it stands
    for (None for methods that know no such thing, and for thin pages). `pages` is the size of the index.
    `candidates` begin with the nearest.
    """

    verdict: Verdict
    pages: int
    similarity: float
    limit: int
    threshold: float | None
    candidates: tuple[Candidate, ...]


class LookOnly:
    """An index that is asked as a crawl asks it, and not changed."""

    def __init__(self, settings: DedupSettings) -> None:
        """Raises ConfigurationError."""
        self.reader: PageReader = deduplicator_for(settings).reader
        self._settings = settings
        method = self.reader.method
        retention = Retention(parse_ttl(settings.ttl), settings.ttl_refresh, settings.max_pages)
        self._queries = QueryBuilder(method, settings.scope, settings.similarity, settings.recall, retention)
        layout = Layout(
            namespace=settings.namespace,
            profile=self.reader.profile,
            tables=method.tables,
            signature_bytes=method.signature_bytes,
        )
        self._store = make_store(settings.store, layout)
        self._pages = 0

    def __enter__(self) -> Self:
        self._pages = self._store.open_read_only()
        return self

    def __exit__(self, *_: object) -> None:
        self._store.close()

    def look(self, url: str, page: Fingerprint, *, scope_key: str, canonical: str | None = None) -> Look:
        """Judge a page; the arguments as in `Deduplicator.check_fingerprint`. Raises StoreError."""
        similarity = self._similarity(url, page, scope_key, canonical)
        query = self._query(url, page, scope_key, similarity)
        records = self._store.find(_for_all_candidates(query))
        costs = [query.rule.cost(query.entry.signature, record.signature) for record in records]
        candidates = tuple(
            Candidate(self._queries.match(page, query, record), cost, cost <= query.rule.limit)
            for record, cost in zip(records, costs, strict=True)
        )
        accepted = [record for record, candidate in zip(records, candidates, strict=True) if candidate.accepted]
        verdict = replace(self._queries.preview(url, page, query, accepted), candidates=len(records))
        threshold = self._threshold(page, similarity)
        return Look(verdict, self._pages, similarity, query.rule.limit, threshold, candidates)

    def _similarity(self, url: str, page: Fingerprint, scope_key: str, canonical: str | None) -> float:
        """As `Deduplicator.check_fingerprint` takes it for a page that names its original."""
        if canonical is not None:
            lowered = self._queries.canonical_threshold(None)
            original = self._queries.url_key(canonical, scope_key=scope_key)
            found = self._store.find(self._query(url, page, scope_key, lowered))
            if any(record.url_key == original for record in found):
                return lowered
        return self._settings.similarity

    def _query(self, url: str, page: Fingerprint, scope_key: str, similarity: float) -> Query:
        return self._queries.query(url, page, pages=self._pages, scope_key=scope_key, similarity=similarity)

    def _threshold(self, page: Fingerprint, similarity: float) -> float | None:
        method = self.reader.method
        if page.thin or not isinstance(method, TwoStage):
            return None
        return round(accept_threshold(similarity, 8 * method.signature_bytes, self._settings.recall), 4)


def _for_all_candidates(query: Query) -> Query:
    """The same ranges and candidates, but every candidate is accepted. Thin pages have none but their copies."""
    if query.exact_only:
        return query
    return replace(query, rule=replace(query.rule, limit=sum(query.rule.costs)))
