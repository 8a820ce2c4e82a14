"""Explain a verdict: what `Deduplicator.explain` returns."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

import numpy as np

from crawldedup.search.model import estimate_deviation, flip_probabilities, search_similarity
from crawldedup.search.two_stage import TwoStage
from crawldedup.verdict import Match, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from crawldedup.queries import Question
    from crawldedup.reader import PageContent
    from crawldedup.stores.base import Query, Record


# At 0 there is no error of an estimate that cannot be lower.
_LEAST_SIMILARITY: Final = 0.01


class Flip(NamedTuple):
    """Holds a search bit that differs, and how probable that was.

    Attributes:
        bit: The place of the bit, from 0 to 63.
        probability: From 0 to 1; a small number is a surprise.
    """

    bit: int
    probability: float


@dataclass(frozen=True, slots=True)
class Candidate:
    """Describes a remembered page that was compared.

    Methods without weights give no `deviation`, and no `flips`.

    Attributes:
        match: The remembered page, and how similar it is.
        cost: The sum of the costs of the verify bits that differ, from 0.
        accepted: True if the cost is within the limit.
        deviation: The standard error of the estimated similarity, from 0.
        probe: The number of the probe that meets the page, from 1; None for a page that is known by its URL alone.
        flips: The search bits that differ.
    """

    match: Match
    cost: int
    accepted: bool
    deviation: float | None = None
    probe: int | None = None
    flips: tuple[Flip, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON; those of `match` stand beside the others."""
        own = asdict(self)
        return {**own.pop("match"), **own}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Return the candidate of which `as_dict` gave these values.

        Args:
            values: The result of `as_dict`, perhaps after a way through JSON.

        Raises:
            KeyError: A value is missing.
        """
        own = {each.name: values[each.name] for each in fields(cls) if each.name != "match"}
        flips = tuple(Flip(*flip) for flip in values["flips"])
        return cls(Match.from_dict(values), **{**own, "flips": flips})


@dataclass(frozen=True, slots=True)
class Explanation:
    """Tells the verdict that a crawl would give a page now, and why.

    Attributes:
        verdict: The verdict.
        text: The text that is compared; None for a page that is given as a fingerprint.
        facts: The facts that are compared. Pages of other facts are never near duplicates. It is empty for a
            fingerprint.
        thin: True for a page with too few words. Only its exact copies are duplicates.
        pages: The number of pages in the index.
        similarity: From which similarity on pages were searched: the wanted one, or a lower one for a page that names
            its original and resembles it.
        limit: The highest cost that is accepted.
        threshold: The estimated similarity that `limit` stands for, from 0 to 1. It is None for thin pages, and for
            methods that estimate none.
        crowd: How many candidates resemble the page about as much as the nearest does. In a crowd, `limit` and
            `threshold` are stricter.
        candidates: The pages that were compared, nearest first.
    """

    verdict: Verdict
    text: str | None
    facts: tuple[str, ...]
    thin: bool
    pages: int
    similarity: float
    limit: int
    threshold: float | None
    crowd: int
    candidates: tuple[Candidate, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        own = {each.name: getattr(self, each.name) for each in fields(self)}
        candidates = [candidate.as_dict() for candidate in self.candidates]
        return {**own, "verdict": self.verdict.as_dict(), "candidates": candidates}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Return the explanation of which `as_dict` gave these values.

        Args:
            values: The result of `as_dict`, perhaps after a way through JSON.

        Raises:
            LookupError: A value is missing. One that is not allowed raises ValueError or TypeError.
        """
        candidates = tuple(map(Candidate.from_dict, values["candidates"]))
        verdict = Verdict.from_dict(values["verdict"])
        return cls(**{**values, "verdict": verdict, "facts": tuple(values["facts"]), "candidates": candidates})


def accepting_all(query: Query) -> Query:
    """Return the same search with every candidate accepted. A thin page has no candidates but its copies."""
    if query.exact_only:
        return query
    return replace(query, rule=replace(query.rule, limit=sum(query.rule.costs), crowd=None))


def explained(
    question: Question,
    content: PageContent | None,
    records: Sequence[Record],
    text_of: Callable[[int], bytes],
    *,
    pages: int,
    similarity: float,
) -> Explanation:
    """Explain what the records mean that were found for a question, in an index of this many pages.

    `content` is what was read of the page, if it was. `text_of` is as in `Question.preview`.
    """
    rule = question.query.rule
    compared = [candidate_of(question, record, similarity) for record in records]
    bar = rule.bar([candidate.cost for candidate in compared if candidate.cost <= rule.reach])
    candidates = tuple(replace(candidate, accepted=candidate.cost <= bar.limit) for candidate in compared)
    accepted = [record for record, candidate in zip(records, candidates, strict=True) if candidate.accepted]
    return Explanation(
        verdict=replace(question.preview(accepted, text_of), candidates=len(records)),
        text=None if content is None else content.text,
        facts=() if content is None else content.fact_lines,
        thin=question.page.thin,
        pages=pages,
        similarity=similarity,
        limit=bar.limit,
        threshold=None if bar.threshold is None else round(bar.threshold, 4),
        crowd=bar.crowd,
        candidates=candidates,
    )


def candidate_of(question: Question, record: Record, similarity: float) -> Candidate:
    """Return how a record compares with the page of a question, which asks for pages from `similarity` on."""
    page, rule, match = question.page, question.query.rule, question.match(record)
    cost = 0 if match.exact else rule.cost(question.query.entry.signature, record.signature)
    candidate = Candidate(match, cost, cost <= rule.limit, probe=_probe_for(question, record))
    if page.thin or not isinstance(question.method, TwoStage):
        return candidate
    similar = max(match.similarity, _LEAST_SIMILARITY)
    deviation = 0.0 if match.exact else estimate_deviation(similar, len(page.verify_weights))
    differing = f"{page.search ^ record.search:0{len(page.search_weights)}b}"
    probabilities = flip_probabilities(page.search_weights, search_similarity(similarity)).tolist()
    flips = (Flip(bit, round(probabilities[bit], 4)) for bit, differs in enumerate(differing) if differs == "1")
    return replace(candidate, deviation=round(deviation, 4), flips=tuple(flips))


def _probe_for(question: Question, record: Record) -> int | None:
    plan, tables = question.query.plan, question.method.tables
    keys = np.array([table.key_of(record.search, record.signature) for table in tables], np.uint64).take(plan.tables)
    met = ((plan.lows <= keys) & (keys <= plan.highs)).nonzero()[0]
    return int(met[0]) + 1 if len(met) else None
