"""Explain verdicts, compare two pages, and say in words what came of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np

from crawldedup.errors import ConfigurationError
from crawldedup.fingerprinting.features import jaccard
from crawldedup.fingerprinting.fingerprint import Fingerprint
from crawldedup.options import Options
from crawldedup.page import Page, PageContent, PageReader
from crawldedup.search.model import estimate_deviation, flip_probabilities, search_similarity
from crawldedup.search.query import TABLES, QueryBuilder, match_of, preview, verdict_of
from crawldedup.stores.base import PageName, Query, Record
from crawldedup.text.difference import Change, changes
from crawldedup.text.keys import NO_KEY
from crawldedup.verdict import Match, Verdict

# At 0 there is no error of an estimate that cannot be lower.
_LEAST_SIMILARITY: Final = 0.01
_LONGEST_CHANGE: Final = 2_000


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

    Thin pages have no `deviation`, and no `flips`.

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
        threshold: The estimated similarity that `limit` stands for, from 0 to 1. It is None for thin pages.
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


@dataclass(frozen=True, slots=True)
class Comparison:
    """Tells how alike two pages are, and what a crawl would make of the second one.

    Attributes:
        verdict: The verdict on the second page, of a crawl that has seen the first page alone.
        similarity: The exact Jaccard similarity of the word 3-shingles, from 0 to 1; None for texts of fewer than three
            words.
        candidate: What a crawl goes by: the estimate, the cost, and the probe that meets the first page.
        limit: The highest cost that is accepted.
        threshold: The estimated similarity that `limit` stands for, from 0 to 1; None for thin pages.
        facts: The facts of the first page alone, and those of the second alone. With any, the pages are kept apart
            however alike they are.
        texts: The text that is compared of each page.
        words: The number of words of each page.
        changes: The passages that differ.
        thin: True if at least one page has too few words. Such pages are duplicates only if they are exact copies.
    """

    verdict: Verdict
    similarity: float | None
    candidate: Candidate
    limit: int
    threshold: float | None
    facts: tuple[tuple[str, ...], tuple[str, ...]]
    texts: tuple[str, str]
    words: tuple[int, int]
    changes: tuple[Change, ...]
    thin: bool


def accepting_all(query: Query) -> Query:
    """Return the same search with every candidate accepted. A thin page has no candidates but its copies."""
    if query.exact_only:
        return query
    return replace(query, rule=replace(query.rule, limit=sum(query.rule.costs), crowd=None))


def explained(
    url: str,
    read: Fingerprint,
    query: Query,
    records: Sequence[Record],
    text_of: Callable[[PageName], bytes],
    content: object,
    pages: int,
    similarity: float,
) -> Explanation:
    """Explain what the records mean that were found for a page, in an index of this many pages.

    `content` is what was read of the page, or its fingerprint. `text_of` is as in `preview`.
    """
    text, facts = (content.text, content.fact_lines) if isinstance(content, PageContent) else (None, ())
    rule = query.rule
    compared = [_candidate(read, query, record, similarity) for record in records]
    bar = rule.bar([candidate.cost for candidate in compared if candidate.cost <= rule.reach])
    candidates = tuple(replace(candidate, accepted=candidate.cost <= bar.limit) for candidate in compared)
    accepted = [record for record, candidate in zip(records, candidates, strict=True) if candidate.accepted]
    answer = preview(query, accepted, text_of)
    return Explanation(
        verdict=verdict_of(url, read, query, replace(answer, candidates=len(records))),
        text=text,
        facts=facts,
        thin=read.thin,
        pages=pages,
        similarity=similarity,
        limit=bar.limit,
        threshold=None if bar.threshold is None else round(bar.threshold, 4),
        crowd=bar.crowd,
        candidates=candidates,
    )


def _candidate(read: Fingerprint, query: Query, record: Record, similarity: float) -> Candidate:
    """Return how a record compares with the page of a query, which asks for pages from `similarity` on."""
    match, own = match_of(read, query, record), query.record
    cost = 0 if match.exact else query.rule.cost(own.signature, record.signature)
    plan = query.plan
    keys = np.array([table.key(record.search) for table in TABLES], np.uint64).take(plan.tables)
    met = ((plan.lows <= keys) & (keys <= plan.highs)).nonzero()[0]
    candidate = Candidate(match, cost, cost <= query.rule.limit, probe=int(met[0]) + 1 if len(met) else None)
    if read.thin:
        return candidate
    similar = max(match.similarity, _LEAST_SIMILARITY)
    deviation = 0.0 if match.exact else estimate_deviation(similar, len(read.verify_weights))
    differing = f"{own.search ^ record.search:0{len(read.search_weights)}b}"
    probabilities = flip_probabilities(read.search_weights, search_similarity(similarity)).tolist()
    flips = (Flip(bit, round(probabilities[bit], 4)) for bit, differs in enumerate(differing) if differs == "1")
    return replace(candidate, deviation=round(deviation, 4), flips=tuple(flips))


def compare(first: Page, second: Page, **options: Any) -> Comparison:
    """Compare two pages, given as html or text.

    No index is asked. Pages of equal URLs are not taken for a revisit: a URL only tells the option `content` the site.

    Args:
        first: The page that a crawl has seen.
        second: The page that it meets now.
        **options: The options of `Options` by keyword. `store`, `scope` and `key` have no effect.

    Raises:
        ConfigurationError: An option is not allowed, or a page is given as a fingerprint.
        PageError: A page cannot be read.

    Example:
        >>> from crawldedup import Page, compare
        >>> story = (
        ...     "The river ferry runs every hour from the old harbour to the "
        ...     "island. Tickets are sold on board. Bicycles travel free of charge, "
        ...     "and dogs need a lead. The last boat back leaves at ten."
        ... )
        >>> other = story.replace("every hour", "twice a day")
        >>> first = Page("https://a.example/", text=story)
        >>> second = Page("https://b.example/", text=other)
        >>> told = compare(first, second)
        >>> print(told.verdict.kind, round(told.similarity, 3))
        new 0.763
        >>> print(*told.changes)
        The river ferry runs [-every hour-] {+twice a day+} from the old harbour
    """
    if first.fingerprint or second.fingerprint:
        raise ConfigurationError("a fingerprint alone does not tell what differs: give html or text")
    checked = Options.from_values({**options, "store": "memory://", "scope": "global", "key": 0})
    reader, builder = PageReader(checked), QueryBuilder(checked)
    contents = [reader.content(page) for page in (first, second)]
    one, other = contents
    reads = reader.fingerprints(contents)
    # Different facts would hide how alike the texts are.
    asked = [
        (replace(page, identity=name, scope_key=None), replace(read, facts=0))
        for name, page, read in zip(("first", "second"), (first, second), reads, strict=True)
    ]
    similarities = [builder.similarity(page) for page, _ in asked]
    known, query = builder.queries(asked, similarities, NO_KEY, size=1)
    read, rule, record = asked[1][1], query.rule, replace(known.record, packed_text=b"")
    candidate = _candidate(read, query, record, similarities[1])
    facts = [set(content.fact_lines) for content in contents]
    is_met = candidate.match.exact if read.thin else candidate.accepted and candidate.probe is not None
    found = [record] if is_met and reads[0].facts == reads[1].facts else []
    answer = replace(preview(query, found, lambda _: b""), candidates=len(found))
    return Comparison(
        verdict=verdict_of(second.url, read, query, answer),
        similarity=jaccard(one.text, other.text),
        candidate=candidate,
        limit=rule.limit,
        threshold=None if rule.threshold is None else round(rule.threshold, 4),
        facts=(tuple(sorted(facts[0] - facts[1])), tuple(sorted(facts[1] - facts[0]))),
        texts=(one.text, other.text),
        words=(reads[0].words, reads[1].words),
        changes=tuple(changes(one.whole or one.text, other.whole or other.text, longest=_LONGEST_CHANGE)),
        thin=reads[0].thin or reads[1].thin,
    )


def reason(told: Comparison) -> str:
    """Return why two pages got their verdict."""
    if any(told.facts):
        return "their product attributes differ, so they stay apart however alike they are"
    if told.candidate.match.exact and told.candidate.probe is not None:
        return f"they have the same text{' but for the moment of rendering' if told.changes else ''}"
    if told.thin:
        return "at least one page is too thin to be compared, and their texts differ"
    threshold = "" if told.threshold is None else f", an estimate of about {told.threshold:.3f}"
    if not told.candidate.accepted:
        return f"the cost is above {told.limit}{threshold}"
    if told.candidate.probe is None:
        return "alike enough, but the search does not meet the first page, as for a few in a hundred"
    return f"the cost is at most {told.limit}{threshold}"


def criterion(told: Explanation, recall: float) -> str:
    """Return which pages would be accepted."""
    if told.thin:
        return "an exact copy only, for the page is thin"
    estimated = "" if told.threshold is None else f", an estimated similarity of about {told.threshold:.3f}"
    wanted = f"from {told.similarity:g} on with a recall of {recall:g}"
    crowd = f", stricter in a crowd of {told.crowd} pages that resemble it alike" if told.crowd > 1 else ""
    return f"a cost of at most {told.limit}{estimated}{crowd}, to find pages {wanted}"


def outcome(candidate: Candidate) -> str:
    """Return what became of a page that was compared."""
    return "same text" if candidate.match.exact else "accepted" if candidate.accepted else "refused"


def estimate(candidate: Candidate) -> str:
    """Return the estimated similarity, with its standard error if there is one."""
    error = f" ± {candidate.deviation:.3f}" if candidate.deviation else ""
    return f"{candidate.match.similarity:.3f}{error}"


def search(candidate: Candidate) -> str:
    """Return whether the search meets the first page of two."""
    probe = "no probe" if candidate.probe is None else f"probe {candidate.probe}"
    return f"{candidate.match.hamming} of 64 search bits differ, {probe} meets the first page"
