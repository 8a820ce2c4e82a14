"""How a page compares with a remembered page: similarity, evidence, and whether it is a copy."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from crawldedup.fingerprinting.bits import Fingerprint
from crawldedup.index.queries import TABLES
from crawldedup.index.verdicts import match_of
from crawldedup.marks.exact_keys import exact_keys, sought_keys, text_key
from crawldedup.marks.learning import is_former_text
from crawldedup.marks.relation import Conflict
from crawldedup.search.decision import estimate_deviation, flip_probabilities, search_similarity
from crawldedup.stores.contract import Query, Record
from crawldedup.verdict import Match


class Flip(NamedTuple):
    """A search bit in which two pages differ, and how probable that was for near duplicates."""

    bit: int  #: The place of the bit, from 0 to 63.
    probability: float  #: From 0 to 1. A small number means that the flip is surprising.


@dataclass(frozen=True, slots=True)
class Candidate:
    """A remembered page that may be the original, and the result of comparing it."""

    match: Match  #: The remembered page, and how similar it is.
    cost: int  #: The sum of the costs of the verify bits that differ, from 0.
    accepted: bool  #: True if the cost is within the limit.
    #: The standard error of the estimated similarity; None for thin pages.
    deviation: float | None = None
    #: The number of the probe that finds the page, from 1; None for one known by its URL.
    probe: int | None = None
    flips: tuple[Flip, ...] = ()  #: The search bits that differ; none for thin pages.
    #: What shows that the page is a sibling, such as "picture": see `crawldedup.marks.relation`.
    sibling: str | None = None
    #: True for a view of the page: their addresses only differ in what their site has proved to be
    #: a view, so having half of the text in common is enough.
    is_view: bool = False
    #: True if the remembered page replaced a worse copy that had the text of the page.
    has_former_text: bool = False


def candidate_of(
    fingerprint: Fingerprint, query: Query, record: Record, similarity: float
) -> Candidate:
    """Compare a page with a remembered page that a search has found.

    Args:
        fingerprint: The fingerprint that was made of the page.
        query: The query about the page.
        record: The remembered page.
        similarity: The minimum similarity that the query asks for.
    """
    sibling = _sibling_by(query, record)
    match = replace(match_of(fingerprint, query, record), sibling=sibling)
    cost = 0 if match.exact else query.rule.cost(query.record.signature, record.signature)
    is_view = cost <= query.rule.bounds.of_views and query.has_certain_view(record.marks)
    page = query.record
    own_text = text_key(page.search, page.digest)
    has_former_text = is_former_text(page.marks, record.marks, own_text)
    is_known = is_view or has_former_text
    candidate = Candidate(
        match=match,
        cost=0 if is_known else cost,
        is_view=is_view,
        has_former_text=has_former_text,
        accepted=is_known or cost <= query.rule.limit,
        probe=_probe_that_meets(record, query),
        sibling=sibling,
    )
    if fingerprint.thin:
        return candidate
    deviation = 0.0
    if not match.exact:
        # An estimate can't be less than 0, and at 0, the formula would claim that it has no error.
        estimated = max(match.similarity, 0.01)
        deviation = estimate_deviation(estimated, len(fingerprint.verify_weights))
    return replace(
        candidate,
        deviation=round(deviation, 4),
        flips=_flips(fingerprint, query.record.search ^ record.search, similarity),
    )


def _sibling_by(query: Query, record: Record) -> str | None:
    """Return the kind of mark that shows that two pages are siblings, or None for copies."""
    found = query.conflict_with(record.marks)
    return None if found is Conflict.NONE else found.name.lower()


def _probe_that_meets(record: Record, query: Query) -> int | None:
    """Return the number of the first probe (index lookup) that finds a page, from 1, or None."""
    plan = query.plan
    key_of_table = np.array([table.key(record.search) for table in TABLES], np.uint64)
    keys = key_of_table.take(plan.tables)
    meeting = ((plan.lows <= keys) & (keys <= plan.highs)).nonzero()[0]
    return int(meeting[0]) + 1 if len(meeting) else None


def shares_exact_key(query: Query, record: Record) -> bool:
    """Return whether a page and a remembered page have an exact key in common.

    Exact keys are described in `marks.exact_keys`."""
    page = query.record
    own = sought_keys(page.search, page.digest, page.marks)
    its = exact_keys(record.search, record.digest, record.marks)
    return any(key is not None and key == other for key, other in zip(own, its, strict=True))


def _flips(fingerprint: Fingerprint, differing: int, similarity: float) -> tuple[Flip, ...]:
    """Return the search bits in which two pages differ, and how probable each difference was."""
    weights = fingerprint.search_weights
    probabilities = flip_probabilities(weights, search_similarity(similarity)).tolist()
    flips = []
    for bit, digit in enumerate(f"{differing:0{len(weights)}b}"):
        if digit == "1":
            flips.append(Flip(bit, round(probabilities[bit], 4)))
    return tuple(flips)
