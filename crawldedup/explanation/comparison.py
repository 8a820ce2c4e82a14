"""Compare two pages: how alike they are, how they differ, and what a crawl would make of the second one."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Self, Unpack

from crawldedup.errors import ConfigurationError
from crawldedup.explanation.explained import Candidate, candidate_of
from crawldedup.fingerprinting.exact import jaccard
from crawldedup.options import Options
from crawldedup.page import Page, PageRef
from crawldedup.queries import QueryBuilder
from crawldedup.reader import PageReader
from crawldedup.stores.base import Record
from crawldedup.text.difference import Change, changes
from crawldedup.verdict import Verdict

if TYPE_CHECKING:
    from crawldedup.options import OptionValues
    from crawldedup.queries import Question

_LONGEST_CHANGE = 2_000


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

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        own = {each.name: getattr(self, each.name) for each in fields(self)}
        parts = {"verdict": self.verdict.as_dict(), "candidate": self.candidate.as_dict()}
        return {**own, **parts, "changes": [change._asdict() for change in self.changes]}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Return the comparison of which `as_dict` gave these values.

        Args:
            values: The result of `as_dict`, perhaps after a way through JSON.

        Raises:
            LookupError: A value is missing. One that is not allowed raises ValueError or TypeError.
        """
        first, second = values["facts"]
        made = {
            "verdict": Verdict.from_dict(values["verdict"]),
            "candidate": Candidate.from_dict(values["candidate"]),
            "facts": (tuple(first), tuple(second)),
            "texts": tuple(values["texts"]),
            "words": tuple(values["words"]),
            "changes": tuple(Change(**change) for change in values["changes"]),
        }
        return cls(**{**values, **made})


def compare(first: Page, second: Page, **options: Unpack[OptionValues]) -> Comparison:
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
    reader = PageReader(checked)
    one, other = (reader.content(page.html, page.text, page.encoding, page.url) for page in (first, second))
    pages = [reader.fingerprint(content) for content in (one, other)]
    # Different facts would hide how alike the texts are.
    builder = QueryBuilder(reader.method, checked)
    known, asked = (
        builder.question(PageRef(page.url, identity=name), replace(read, facts=0), pages=1, similarity=page.similarity)
        for name, page, read in zip(("first", "second"), (first, second), pages, strict=True)
    )
    record = _record(known)
    candidate = candidate_of(asked, record, builder.similarity(second.similarity))
    facts = [set(content.fact_lines) for content in (one, other)]
    is_met = candidate.match.exact if asked.query.exact_only else candidate.accepted and candidate.probe is not None
    found = [record] if is_met and pages[0].facts == pages[1].facts else []
    rule = asked.query.rule
    return Comparison(
        verdict=replace(asked.preview(found, lambda _: b""), candidates=len(found)),
        similarity=jaccard(one.text, other.text),
        candidate=candidate,
        limit=rule.limit,
        threshold=None if rule.threshold is None else round(rule.threshold, 4),
        facts=(_sorted(facts[0] - facts[1]), _sorted(facts[1] - facts[0])),
        texts=(one.text, other.text),
        words=(pages[0].words, pages[1].words),
        changes=tuple(changes(one.whole or one.text, other.whole or other.text, longest=_LONGEST_CHANGE)),
        thin=pages[0].thin or pages[1].thin,
    )


def _sorted(facts: set[str]) -> tuple[str, ...]:
    return tuple(sorted(facts))


def _record(question: Question) -> Record:
    """Return the page of a question as an index would hold it."""
    entry = question.query.entry
    return Record(
        entry.url, entry.url_key, entry.search, entry.signature, entry.digest, added_at=0, seen_at=0, copies=0
    )
