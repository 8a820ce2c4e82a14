"""Explain verdicts, and compare two pages."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, cast

import numpy as np

from crawldedup import checks
from crawldedup.fingerprinting.bits import Fingerprint
from crawldedup.fingerprinting.shingles import jaccard
from crawldedup.index.queries import TABLES, QueryBuilder, match_of, preview, verdict_of
from crawldedup.key import Key
from crawldedup.options import Options
from crawldedup.page import Page
from crawldedup.reading.difference import Change, changes
from crawldedup.reading.reader import PageReader
from crawldedup.reading.volatile import VolatileLines
from crawldedup.scope import kept_apart
from crawldedup.search.decision import estimate_deviation, flip_probabilities, search_similarity
from crawldedup.stores.contract import PageName, Query, Record
from crawldedup.verdict import Match, Verdict

_TextOf = Callable[[PageName], bytes]

_LONGEST_CHANGE: Final = 2_000
INDEXES: Final = 10
_KEYS: Final = [
    Key(bytes([number] * 16)) for number in range(INDEXES)
]  # Two runs are compared alike everywhere.


class Flip(NamedTuple):
    """Holds a search bit that differs, and how probable that was."""

    bit: int  #: The place of the bit, from 0 to 63.
    probability: float  #: From 0 to 1; a small number is a surprise.


@dataclass(frozen=True, slots=True)
class Candidate:
    """Describes a remembered page that was compared."""

    match: Match  #: The remembered page, and how similar it is.
    cost: int  #: The sum of the costs of the verify bits that differ, from 0.
    accepted: bool  #: True if the cost is within the limit.
    #: The standard error of the estimated similarity; None for thin pages.
    deviation: float | None = None
    #: The number of the probe that meets the page, from 1; None for one known by its URL.
    probe: int | None = None
    flips: tuple[Flip, ...] = ()  #: The search bits that differ; none for thin pages.


@dataclass(frozen=True, slots=True)
class Explanation:
    """Tells the verdict that a crawl would give a page now, and why."""

    verdict: Verdict  #: The verdict.
    text: str | None  #: The text that is compared; None for a page that is given as a fingerprint.
    facts: tuple[
        str, ...
    ]  #: The facts that are compared. Pages of other facts are never near duplicates.
    thin: bool  #: True for a page with too few words. Only its exact copies are duplicates.
    pages: int  #: The number of pages in the index.
    #: From which similarity on pages were searched: lower if the page names one as its original.
    similarity: float
    limit: int  #: The highest cost that is accepted.
    threshold: (
        float | None
    )  #: The estimated similarity that `limit` stands for; None for thin pages.
    #: How many candidates resemble the page as the nearest does: more make `limit` stricter.
    crowd: int
    candidates: tuple[Candidate, ...]  #: The pages that were compared, nearest first.
    left_out: tuple[
        str, ...
    ] = ()  #: Lines that are not compared, since their numbers change with every load.

    def matches(self) -> list[Match]:
        """Return the pages that are accepted, most similar first."""
        accepted = [candidate.match for candidate in self.candidates if candidate.accepted]
        return sorted(accepted, key=lambda match: -match.similarity)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Tells how alike two pages are, and what a crawl would make of the second one."""

    verdict: (
        Verdict  #: The verdict on the second page, of a crawl that has seen the first page alone.
    )
    similarity: (
        float | None
    )  #: The exact Jaccard similarity of the word 3-shingles; None for fewer than three words.
    #: What a crawl goes by: the estimate, the cost, and the probe that meets the first page.
    candidate: Candidate
    limit: int  #: The highest cost that is accepted.
    threshold: (
        float | None
    )  #: The estimated similarity that `limit` stands for; None for thin pages.
    facts: tuple[
        tuple[str, ...], tuple[str, ...]
    ]  #: What facts each has alone: with any, they stay apart.
    texts: tuple[str, str]  #: The text that is compared of each page.
    words: tuple[int, int]  #: The number of words of each page.
    changes: tuple[Change, ...]  #: The passages that differ.
    #: True if at least one page has too few words. Such pages are duplicates only if they are exact
    #: copies.
    thin: bool
    #: Of `INDEXES` indexes, each with a key of its own, how many find that the second is a
    #: duplicate.
    drops: int


def explained(
    url: str,
    read: Fingerprint,
    query: Query,
    records: Sequence[Record],
    text_of: _TextOf,
    similarity: float,
) -> Explanation:
    """Explain what the records mean that were found for a page. `text_of` is as in `preview`.

    The text and the facts of the page, and the number of pages in the index, are left out.
    """
    compared = [_candidate(read, query, record, similarity) for record in records]
    bounds = query.rule.bounds
    bar = bounds.bar([candidate.cost for candidate in compared if candidate.cost <= bounds.reach])
    candidates = tuple(
        replace(candidate, accepted=candidate.cost <= bar.limit) for candidate in compared
    )
    accepted = [
        record for record, candidate in zip(records, candidates, strict=True) if candidate.accepted
    ]
    others = zip(records, candidates, strict=True)
    rejected = (record for record, other in others if not accepted and other.cost <= bounds.far)
    answer = replace(
        preview(query, accepted, text_of), candidates=len(records), rejected=next(rejected, None)
    )
    threshold = bar.threshold and round(bar.threshold, 4)
    verdict = verdict_of(url, read, query, answer)
    return Explanation(
        verdict, None, (), read.thin, 0, similarity, bar.limit, threshold, bar.crowd, candidates
    )


def _candidate(read: Fingerprint, query: Query, record: Record, similarity: float) -> Candidate:
    """Return how a record compares with the page of a query, which asks for pages from `similarity`
    on.
    """
    match, own, plan = match_of(read, query, record), query.record, query.plan
    cost = 0 if match.exact else query.rule.cost(own.signature, record.signature)
    keys = np.array([table.key(record.search) for table in TABLES], np.uint64).take(plan.tables)
    met = ((plan.lows <= keys) & (keys <= plan.highs)).nonzero()[0]
    candidate = Candidate(
        match, cost, cost <= query.rule.limit, probe=int(met[0]) + 1 if len(met) else None
    )
    if read.thin:
        return candidate
    similar = max(
        match.similarity, 0.01
    )  # At 0 there is no error of an estimate that cannot be lower.
    deviation = 0.0 if match.exact else estimate_deviation(similar, len(read.verify_weights))
    differing = f"{own.search ^ record.search:0{len(read.search_weights)}b}"
    probabilities = flip_probabilities(read.search_weights, search_similarity(similarity)).tolist()
    flips = (
        Flip(bit, round(probabilities[bit], 4))
        for bit, differs in enumerate(differing)
        if differs == "1"
    )
    return replace(candidate, deviation=round(deviation, 4), flips=tuple(flips))


def compare(
    first: Page, second: Page, *, volatile_lines: VolatileLines | None = None, **options: Any
) -> Comparison:
    """Compare two pages, given as html or text, as a crawl would that has seen the first one alone.

    Near the limit, indexes decide differently, since the key of an index decides how texts are
    estimated. So `drops` says how many of ten would call the second page a duplicate. The verdict
    is that of an index with the option `key`, by default without one. No index is asked: `store`
    and `scope` have no effect. A URL tells the site for the option `content` and for
    `volatile_lines`, which a Deduplicator has learned. Raises ConfigurationError and PageError.

    Example:
        >>> from crawldedup import Page, compare
        >>> story = " ".join(f"Boat {n} leaves at pier {n + 7}." for n in range(30))
        >>> first = Page("https://a.example/", text=story)
        >>> other = story.replace("at pier 9.", "late.")
        >>> comparison = compare(first, Page("https://b.example/", text=other))
        >>> print(round(comparison.similarity, 3), *comparison.changes)
        0.954 8. Boat 2 leaves [-at pier 9.-] {+late.+} Boat 3 leaves at
    """
    for page in (pages := (first, second)):
        if not isinstance(page, Page) or page.fingerprint:
            allowed = "a Page; a fingerprint alone does not tell what differs: give html or text"
            raise checks.refused("a page to compare", page, allowed)
    checked = Options.from_values({"key": 0, **options, "store": "memory://", "scope": "global"})
    apart, checked = checked.distinguish_params, replace(checked, distinguish_params=None)
    reader, builder = PageReader(checked), QueryBuilder(checked)
    lines = volatile_lines or VolatileLines()
    contents = [reader.content(page, lines.known_at(page.url)) for page in pages]
    facts = [
        {*content.fact_lines, *kept_apart(apart, page.url)}
        for page, content in zip(pages, contents, strict=True)
    ]

    def judged(key: Key) -> tuple[list[Fingerprint], Query, Candidate, Verdict]:
        reads = reader.fingerprints(contents, key)
        # Different facts would hide how alike the texts are.
        pairs = [
            (replace(page, identity=name, scope_key=None), replace(read, facts=0))
            for name, page, read in zip(("first", "second"), pages, reads, strict=True)
        ]
        known, query = builder.queries(pairs, key, size=1)
        read, record = pairs[1][1], replace(known.record, packed_text=b"")
        candidate = _candidate(read, query, record, builder.similarity(second))
        is_met = (
            candidate.match.exact
            if read.thin
            else candidate.accepted and candidate.probe is not None
        )
        records = [record] if is_met and facts[0] == facts[1] else []
        return (
            reads,
            query,
            candidate,
            verdict_of(second.url, read, query, preview(query, records, lambda _: b"")),
        )

    reads, query, candidate, verdict = judged(Key(cast("bytes", checked.key) or b""))
    return Comparison(
        verdict=verdict,
        similarity=jaccard(contents[0].text, contents[1].text),
        candidate=candidate,
        limit=query.rule.limit,
        threshold=query.rule.threshold and round(query.rule.threshold, 4),
        facts=(tuple(sorted(facts[0] - facts[1])), tuple(sorted(facts[1] - facts[0]))),
        texts=(contents[0].text, contents[1].text),
        words=(reads[0].words, reads[1].words),
        changes=tuple(
            changes(
                *(content.whole or content.text for content in contents), longest=_LONGEST_CHANGE
            )
        ),
        thin=reads[0].thin or reads[1].thin,
        drops=sum(judged(key)[-1].is_duplicate for key in _KEYS),
    )
