"""Explain a verdict: what `Deduplicator.explain` returns."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawldedup.fingerprinting.fingerprint import Fingerprint
    from crawldedup.queries import QueryBuilder
    from crawldedup.stores.base import Query, Record
    from crawldedup.verdict import Match, Verdict


@dataclass(frozen=True, slots=True)
class Candidate:
    """A remembered page that was compared. `cost` is the sum of the costs of its differing verify bits."""

    match: Match
    cost: int
    accepted: bool

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {**self.match.as_dict(), "cost": self.cost, "accepted": self.accepted}


@dataclass(frozen=True, slots=True)
class Explanation:
    """The verdict that a crawl would give a page now, and why.

    `pages` is the size of the index. Pages were searched from `similarity` on: the wanted one, or a lower one for a
    page that names its original and resembles it. A candidate is accepted up to the cost `limit`, which stands for
    the estimated similarity `threshold` (None for thin pages, and for methods that estimate none).
    `candidates` begin with the nearest.
    """

    verdict: Verdict
    pages: int
    similarity: float
    limit: int
    threshold: float | None
    candidates: tuple[Candidate, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {
            **asdict(self),
            "verdict": self.verdict.as_dict(),
            "candidates": [candidate.as_dict() for candidate in self.candidates],
        }


def accepting_all(query: Query) -> Query:
    """Return the same search with every candidate accepted. A thin page has no candidates but its copies."""
    if query.exact_only:
        return query
    return replace(query, rule=replace(query.rule, limit=sum(query.rule.costs)))


def explanation(
    queries: QueryBuilder,
    url: str,
    page: Fingerprint,
    query: Query,
    records: Sequence[Record],
    *,
    pages: int,
    similarity: float,
) -> Explanation:
    """Explain what the records, all that a query compares, mean for a page."""
    costs = [query.rule.cost(query.entry.signature, record.signature) for record in records]
    candidates = tuple(
        Candidate(queries.match(page, query, record), cost, cost <= query.rule.limit)
        for record, cost in zip(records, costs, strict=True)
    )
    accepted = [record for record, candidate in zip(records, candidates, strict=True) if candidate.accepted]
    verdict = replace(queries.preview(url, page, query, accepted), candidates=len(records))
    threshold = query.rule.threshold
    return Explanation(
        verdict=verdict,
        pages=pages,
        similarity=similarity,
        limit=query.rule.limit,
        threshold=None if threshold is None else round(threshold, 4),
        candidates=candidates,
    )
