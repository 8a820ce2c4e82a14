"""Explain a verdict: what `Deduplicator.explain` returns."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Self

from crawldedup.verdict import Match, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawldedup.queries import Question
    from crawldedup.stores.base import Query, Record


@dataclass(frozen=True, slots=True)
class Candidate:
    """A remembered page that was compared. `cost` is the sum of the costs of its differing verify bits."""

    match: Match
    cost: int
    accepted: bool

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {**self.match.as_dict(), "cost": self.cost, "accepted": self.accepted}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Return the candidate of which `as_dict` gave these values."""
        return cls(Match.from_dict(values), values["cost"], values["accepted"])


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
        own = {each.name: getattr(self, each.name) for each in fields(self)}
        candidates = [candidate.as_dict() for candidate in self.candidates]
        return {**own, "verdict": self.verdict.as_dict(), "candidates": candidates}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Return the explanation of which `as_dict` gave these values."""
        candidates = tuple(map(Candidate.from_dict, values["candidates"]))
        return cls(**{**values, "verdict": Verdict.from_dict(values["verdict"]), "candidates": candidates})


def accepting_all(query: Query) -> Query:
    """Return the same search with every candidate accepted. A thin page has no candidates but its copies."""
    if query.exact_only:
        return query
    return replace(query, rule=replace(query.rule, limit=sum(query.rule.costs)))


def explained(
    question: Question, records: list[Record], text_of: Callable[[int], bytes], *, pages: int, similarity: float
) -> Explanation:
    """Explain what the records mean that were found for a question, in an index of this many pages.

    `text_of` is as in `Question.preview`.
    """
    rule, signature = question.query.rule, question.query.entry.signature
    found = [(record, rule.cost(signature, record.signature)) for record in records]
    accepted = [record for record, cost in found if cost <= rule.limit]
    return Explanation(
        verdict=replace(question.preview(accepted, text_of), candidates=len(records)),
        pages=pages,
        similarity=similarity,
        limit=rule.limit,
        threshold=None if rule.threshold is None else round(rule.threshold, 4),
        candidates=tuple(Candidate(question.match(record), cost, cost <= rule.limit) for record, cost in found),
    )
