"""Explain why a page gets its verdict, and compare two pages the way a crawl would."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, Unpack, cast

from crawldedup import checks
from crawldedup.errors import PageError
from crawldedup.fingerprinting.bits import Fingerprint
from crawldedup.fingerprinting.shingles import jaccard
from crawldedup.hosts.knowledge import HostKnowledge
from crawldedup.index.candidate import Candidate as Candidate
from crawldedup.index.candidate import candidate_of, shares_exact_key
from crawldedup.index.judging import Judge, SearchResult
from crawldedup.index.lifetime import Index
from crawldedup.index.queries import QueryBuilder, Subject
from crawldedup.index.verdicts import TextOf, preview, verdict_of
from crawldedup.key import Key
from crawldedup.marks.packing import unpacked
from crawldedup.marks.reasons import reason_of
from crawldedup.marks.relation import Conflict
from crawldedup.marks.values import ShownMarks
from crawldedup.options import Options, OptionValues
from crawldedup.page import Page
from crawldedup.reading.difference import Change, changes
from crawldedup.reading.omissions import Omission
from crawldedup.reading.reader import PageContent, PageReader
from crawldedup.scope import kept_apart, named_difference
from crawldedup.search.decision import Crowd
from crawldedup.stores.contract import PageName, Query, Record
from crawldedup.urls import canonical_url, claimed_url
from crawldedup.verdict import Match, Verdict

INDEXES: Final = 10
"""The number of indexes, each with its own key, in which `compare` tries two pages."""

_LONGEST_CHANGE: Final = 2_000
_KEYS: Final = [Key(bytes([number] * 16)) for number in range(INDEXES)]
"""The keys of these indexes. They're the same in every run, so the results are as well."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The verdict that a crawl would give a page now, and every page that was compared."""

    verdict: Verdict  #: The verdict.
    text: str | None  #: The compared text, or None for a page given as a fingerprint.
    #: The marks that show which content the page is, one per line.
    marks: tuple[str, ...]
    thin: bool  #: True for a page with too few words. Only its exact copies are duplicates.
    pages: int  #: The number of pages in the index.
    #: The least similarity that was searched for. It is lower if the page names an original.
    similarity: float
    limit: int  #: The highest cost that is accepted.
    #: The estimated similarity that `limit` stands for; None for thin pages.
    threshold: float | None
    #: The number of candidates about as near as the nearest one. More make `limit` stricter.
    crowd: int
    candidates: tuple[Candidate, ...]  #: The pages that were compared, nearest first.
    #: Lines that are not compared because their numbers change with every load.
    left_out: tuple[str, ...] = ()
    #: Everything else that is left out of `text`, and why, most words first.
    omissions: tuple[Omission, ...] = ()

    def matches(self) -> list[Match]:
        """Return the remembered pages that are similar enough, siblings included, nearest first."""
        accepted = [candidate.match for candidate in self.candidates if candidate.accepted]
        return sorted(accepted, key=lambda match: -match.similarity)


@dataclass(frozen=True, slots=True)
class Comparison:
    """How similar two pages are, and what a crawl that knows the first does with the second."""

    #: The verdict on the second page in a crawl that has only seen the first page.
    verdict: Verdict
    #: The exact Jaccard similarity of the word 3-shingles; None for fewer than three words.
    similarity: float | None
    #: What a crawl uses: the estimate, the cost, and the probe that finds the first page.
    candidate: Candidate
    limit: int  #: The highest cost that is accepted.
    #: The estimated similarity that `limit` stands for; None for thin pages.
    threshold: float | None
    #: What keeps pages of one site apart although they read alike, in words, or None for copies.
    apart: str | None
    #: The marks that show which content each page is, one per line.
    marks: tuple[tuple[str, ...], tuple[str, ...]]
    texts: tuple[str, str]  #: The compared text of each page.
    words: tuple[int, int]  #: The number of words of each page.
    changes: tuple[Change, ...]  #: The passages that differ.
    #: True if at least one page has too few words. Such pages are duplicates only if they are exact
    #: copies.
    thin: bool
    #: How many of `INDEXES` indexes with different keys find that the second page is a
    #: duplicate.
    drops: int
    #: The parts that are left out of the text of each page, and why, most words first.
    omissions: tuple[tuple[Omission, ...], tuple[Omission, ...]] = ((), ())
    #: True if the second page names the first one as its original and resembles it, so a lower
    #: similarity is enough.
    names_first: bool = False


def explain_page(judge: Judge, index: Index, page: Page) -> Explanation:
    """Explain the verdict that a page would get now.

    Args:
        judge: Takes pages through the index.
        index: The index.
        page: The page, with `remember` False.

    Raises:
        CrawlDedupError: The page cannot be read, or the store cannot answer.
    """
    search = judge.search(page)
    explanation = _explain_search(page.url, search, index.packed_text)
    full = search.fingerprint.full
    if full is not None and judge.may_be_two_pages(page, search.fingerprint, explanation.verdict):
        with_numbers = judge.search(judge.with_all_numbers(page, full))
        explanation = _explain_search(page.url, with_numbers, index.packed_text)
    explanation = replace(
        explanation,
        verdict=judge.with_coverage(explanation.verdict, page, search.fingerprint, search.query),
        pages=index.pages,
    )
    if isinstance(search.content, PageContent):
        explanation = replace(
            explanation,
            text=search.content.text,
            marks=_marks_in_words(
                search.content.marks,
                _ignored_kinds(index.hosts, page.url, search.fingerprint.marks),
            ),
            left_out=search.content.left_out,
            omissions=judge.omissions(page, search.content),
        )
    return explanation


def _ignored_kinds(hosts: HostKnowledge, url: str, marks: bytes) -> frozenset[str]:
    """Return the kinds of marks to ignore in a page's folder because they change by themselves.

    Args:
        hosts: What is known about hosts.
        url: The URL of the page.
        marks: The packed marks of its content.
    """
    own = unpacked(marks)
    steady = unpacked(hosts.steady_marks(url, marks))
    if own is None or steady is None:
        return frozenset()
    before = own.content
    after = steady.content
    gone = {
        "name": before.names != after.names,
        "picture": before.pictures != after.pictures,
        "player": before.players != after.players,
        "data": before.data != after.data,
    }
    return frozenset([kind for kind, is_gone in gone.items() if is_gone])


def _marks_in_words(marks: ShownMarks | None, quiet: frozenset[str]) -> tuple[str, ...]:
    """Return the marks of a page, one per line, noting which are ignored in its folder."""
    if marks is None:
        return ()
    kept = marks.without(quiet).lines()
    ignored = [line for line in marks.lines() if line not in kept]
    return (*kept, *(f"{line} (ignored: it changes by itself here)" for line in ignored))


def _explain_search(url: str, search: SearchResult, text_of: TextOf) -> Explanation:
    """Turn the result of a search into an explanation of the verdict that it leads to.

    The caller adds the text and marks of the page, and the number of pages in the index.
    """
    fingerprint = search.fingerprint
    query = search.query
    records = search.records
    compared = [candidate_of(fingerprint, query, record, search.similarity) for record in records]
    bounds = query.rule.bounds
    bar = bounds.bar(
        [
            candidate.cost
            for candidate in compared
            if candidate.cost <= bounds.reach and candidate.sibling is None
        ]
    )
    candidates = tuple(_judged_by(candidate, bar.limit, query.rule.limit) for candidate in compared)
    accepted = [
        record for record, candidate in zip(records, candidates, strict=True) if candidate.accepted
    ]
    answer = replace(preview(query, accepted, text_of), candidates=len(records))
    if not accepted:
        answer = replace(answer, rejected=_nearest(records, candidates, bounds))
    return Explanation(
        verdict=verdict_of(url, fingerprint, query, answer),
        text=None,
        marks=(),
        thin=fingerprint.thin,
        pages=0,
        similarity=search.similarity,
        limit=bar.limit,
        threshold=_rounded(bar.threshold),
        crowd=bar.crowd,
        candidates=candidates,
    )


def _judged_by(candidate: Candidate, limit: int, limit_of_siblings: int) -> Candidate:
    """Return a candidate that is marked as accepted if its cost is within the limit, or else not.

    Args:
        candidate: The remembered page, compared with the page in question.
        limit: The highest cost that is accepted. In a crowd of similar pages, it is stricter.
        limit_of_siblings: The limit for siblings, which aren't part of a crowd.
    """
    if candidate.sibling is not None:
        limit = limit_of_siblings
    return replace(candidate, accepted=candidate.cost <= limit)


def _nearest(
    records: Sequence[Record], candidates: Sequence[Candidate], bounds: Crowd
) -> Record | None:
    """Return the nearest remembered page that a verdict would name, or None if there is none.

    Siblings within reach are passed over. Beyond that, it doesn't matter whether it's a sibling.
    """
    for record, candidate in zip(records, candidates, strict=True):
        is_sibling = candidate.cost <= bounds.reach and candidate.sibling is not None
        if candidate.cost <= bounds.far and not is_sibling:
            return record
    return None


def _rounded(threshold: float | None) -> float | None:
    return None if threshold is None else round(threshold, 4)


def compare(
    first: Page,
    second: Page,
    *,
    hosts: HostKnowledge | None = None,
    **options: Unpack[OptionValues],
) -> Comparison:
    """Compare two pages the way a crawl that has only seen the first one would.

    Near the limit, indexes decide differently, because the estimate depends on the key of the
    index. `Comparison.drops` therefore says how many of ten indexes would call the second page a
    duplicate. The verdict is the one that an index with the option `key` would give, by default
    without a key. No index is used, so the option `scope` has no effect. The URL of a page is only
    used to find its site, for the option `content` and for `hosts`. If the second page names the
    first one as its original, with a canonical link or with `canonical`, it may be less similar,
    as in a crawl.

    Args:
        first: The page that the crawl has seen, as `html` or `text`.
        second: The page to decide about, as `html` or `text`.
        hosts: What a Deduplicator has learned about hosts: which lines and marks change with every
            load, and which parts of addresses name views.
        **options: The options of `Options`, by keyword.

    Raises:
        ConfigurationError: An option or a page is not allowed.
        PageError: A page cannot be read.

    Example:
        >>> from crawldedup import Page, compare
        >>> story = " ".join(f"Boat {n} leaves at pier {n + 7}." for n in range(30))
        >>> first = Page("https://a.example/", text=story)
        >>> other = story.replace("at pier 9.", "late.")
        >>> comparison = compare(first, Page("https://b.example/", text=other))
        >>> print(round(comparison.similarity, 3), *comparison.changes)
        0.954 8. Boat 2 leaves [-at pier 9.-] {+late.+} Boat 3 leaves at
    """
    for page in (first, second):
        if not isinstance(page, Page) or page.fingerprint:
            allowed = "a Page; a fingerprint alone cannot show what differs: give html or text"
            raise checks.refused("a page to compare", page, allowed)
    checked = Options.from_values({"key": 0, **options, "store": "memory://", "scope": "global"})
    key = Key(cast("bytes", checked.key) or b"")
    pair = _Pair(first, second, checked, key, hosts or HostKnowledge(volatile=False))
    judged = pair.judge(key)
    rule = judged.query.rule
    before, after = pair.contents
    return Comparison(
        verdict=judged.verdict,
        similarity=jaccard(before.text, after.text),
        candidate=judged.candidate,
        limit=rule.limit,
        threshold=_rounded(rule.threshold),
        apart=pair.reason(judged.conflict),
        marks=(
            pair.shown_marks(0, judged.first.marks),
            pair.shown_marks(1, judged.second.marks),
        ),
        texts=(before.text, after.text),
        words=(judged.first.words, judged.second.words),
        changes=pair.changes(judged.conflict),
        thin=judged.first.thin or judged.second.thin,
        drops=sum(pair.judge(key).verdict.is_duplicate for key in _KEYS),
        omissions=pair.omissions(),
        names_first=judged.names_first,
    )


class _JudgedPair(NamedTuple):
    """How an index with a certain key compares two pages."""

    first: Fingerprint
    second: Fingerprint
    query: Query  #: About the second page.
    candidate: Candidate  #: The first page, as a candidate for the second one.
    verdict: Verdict  #: About the second page.
    conflict: Conflict  #: What tells the pages apart.
    names_first: bool  #: Whether a lower similarity is enough.


class _Pair:
    """Two pages that have been read, ready to be compared in indexes with different keys."""

    def __init__(
        self, first: Page, second: Page, options: Options, key: Key, hosts: HostKnowledge
    ) -> None:
        self._pages = (first, second)
        self._key = key  # the key with which the lines that `hosts` knows are hashed
        # Parameters that keep pages apart would hide how similar the texts are.
        parameters = options.distinguish_params
        apart = options.apart
        options = replace(options, distinguish_params=None, apart=None)
        self._reader = PageReader(options)
        self._queries = QueryBuilder(options, hosts)
        self._hosts = hosts
        self.contents = [self._content_of(page, hosts) for page in self._pages]
        self._parameters = [kept_apart(parameters, page.url, apart) for page in self._pages]
        self._names_first = self._is_first_named()

    def _content_of(self, page: Page, hosts: HostKnowledge) -> PageContent:
        """Return the content of a page. Raises PageError, with its URL, if it can't be read."""
        try:
            return self._reader.content(page, hosts.known_at(page.url), self._key)
        except PageError as error:
            if not page.url:
                raise
            raise PageError(error.reason, f"{page.url}: {error}") from error

    def _is_first_named(self) -> bool:
        """Return whether the second page names the first one as its original.

        A file doesn't have an address, but its canonical link says where it comes from.
        """
        first, second = self._pages
        before, after = self.contents
        claimed = second.canonical or claimed_url(second.url, after.links)
        if claimed is None or canonical_url(claimed) == canonical_url(second.url):
            return False
        address: str | None = first.url
        if not first.url.startswith(("http://", "https://")):
            address = claimed_url(first.url, before.links)
        return address is not None and canonical_url(address) == canonical_url(claimed)

    def shown_marks(self, place: int, packed: bytes) -> tuple[str, ...]:
        """Return the marks of a page in words, and which of them are ignored.

        Args:
            place: 0 for the first page, 1 for the second.
            packed: The marks in its fingerprint.
        """
        ignored = _ignored_kinds(self._hosts, self._pages[place].url, packed)
        return _marks_in_words(self.contents[place].marks, ignored)

    def omissions(self) -> tuple[tuple[Omission, ...], tuple[Omission, ...]]:
        """Return what is left out of the compared text of each page, and why."""
        pairs = zip(self._pages, self.contents, strict=True)
        first, second = [self._reader.omissions(page, content) for page, content in pairs]
        return first, second

    def reason(self, conflict: Conflict) -> str | None:
        """Say in words what keeps the pages apart. Return None if nothing does."""
        if self._parameters[0] != self._parameters[1]:
            return named_difference(*self._parameters)
        if conflict is Conflict.NONE:
            return None
        before, after = self.contents
        return reason_of(conflict, before.marks or ShownMarks(), after.marks or ShownMarks())

    def changes(self, conflict: Conflict) -> tuple[Change, ...]:
        """Return the passages in which the pages differ, outside the main text if that decides."""
        before, after = self.contents
        old = before.whole or before.text
        new = after.whole or after.text
        if conflict is Conflict.REST and before.marks is not None and after.marks is not None:
            old = before.marks.rest or ""
            new = after.marks.rest or ""
        return tuple(changes(old, new, longest=_LONGEST_CHANGE))

    def judge(self, key: Key) -> _JudgedPair:
        """Compare the pages in an index with this key that has only seen the first page."""
        first_page, second_page = self._pages
        first, second = self._reader.fingerprints(self.contents, key)
        known = Subject(replace(first_page, scope_key=None), first)
        subject = Subject(replace(second_page, scope_key=None), second)
        known_query, query = self._queries.queries([known, subject], key, size=1)
        resembles_original = (
            self._names_first
            and not second.thin
            and self._queries.resembles(subject, known_query.record, key)
        )
        if resembles_original:
            subject = subject._replace(resembles_original=True)
            (query,) = self._queries.queries([subject], key, size=1)
        # They may even have the same URL, but they aren't revisits of each other.
        record = replace(known_query.record, packed_text=b"", url_key=query.record.url_key ^ 1)
        similarity = self._queries.similarity(second_page, resembles_original=resembles_original)
        candidate = candidate_of(second, query, record, similarity)
        if candidate.is_view:
            is_duplicate = True
        elif second.thin:
            is_duplicate = candidate.match.exact
        else:
            is_met = candidate.probe is not None or shares_exact_key(query, record)
            is_duplicate = candidate.accepted and is_met
        is_alike = self._parameters[0] == self._parameters[1]
        answer = preview(query, [record] if is_duplicate and is_alike else [], _no_text)
        verdict = verdict_of(second_page.url, second, query, answer)
        conflict = query.conflict_with(record.marks)
        return _JudgedPair(first, second, query, candidate, verdict, conflict, resembles_original)


def _no_text(_: PageName) -> bytes:
    """Return no text: `Comparison.changes` shows the difference, so the verdict doesn't have to."""
    return b""
