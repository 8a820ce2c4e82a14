"""Turn the fingerprints of pages into queries that a store can answer by itself.

The tolerant search bits find candidates, the sharp verify bits decide about them, and the weights
of the page guide both. Array operations make the queries of a batch together: keys, probe plans,
prefilters and rules. A query is complete: nothing is added to it later.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple, cast

import numpy as np

from crawldedup.fingerprinting.bits import SEARCH_BITS, VERIFY_BITS, Fingerprint
from crawldedup.hosts.knowledge import HostKnowledge
from crawldedup.key import Key, salt_of
from crawldedup.marks.address import Address
from crawldedup.marks.packing import packed_address
from crawldedup.marks.values import address_marks, views_hash
from crawldedup.options import LOWEST_SIMILARITY, Options
from crawldedup.page import Page, PageId
from crawldedup.scope import kept_apart, page_key, site_of
from crawldedup.search import decision
from crawldedup.search import plan as planning
from crawldedup.search.decision import (
    MAX_CANDIDATES,
    Prefilter,
    WeightedThreshold,
    search_similarity,
    steepness,
)
from crawldedup.search.plan import KEY_BITS, MAX_KEYS, ProbePlan, Table
from crawldedup.stores.contract import DIGEST_MASK, Answer, PageName, Query, Record, Retention
from crawldedup.verdict import Kind

TABLES: Final = (Table(0), Table(KEY_BITS // 2))
"""The search tables, each of which begins with a different half of the fingerprint."""

KEPT: Final = np.array(
    [np.isin(range(SEARCH_BITS), table.order[: planning.STORED_BITS]) for table in TABLES], float
)
"""For each table, 1 for the bits of a fingerprint that its keys store, and 0 for the others.

The shape is (tables, 64).
"""

SIGNATURE_BYTES: Final = VERIFY_BITS // 8
CANONICAL_MARGIN: Final = 0.1
"""How much less similar a page may be to a page that it names as its original."""

MAX_EXTRA_BITS: Final = 16
"""The maximum number of bits by which prefixes are lengthened where an index is crowded."""

_IDENTITY: Final = decision.identity_rule(VERIFY_BITS)
_PAGES_TRIED: Final = 400
_LEADING_BITS: Final = 10
_STEP: Final = 2


class HotPrefixes:
    """Remembers in which places an index is crowded, so that searches there use longer prefixes.

    Pages that share a template also share most of their search bits. Among them, a prefix of the
    usual length is too short: a few ranges hold more keys than may be read, so the near duplicate
    may not be among the keys that are read. Later plans use longer prefixes there, and compare more
    records. A hot prefix is identified by the leading bits of a key, in each of the first two
    tables.
    """

    def __init__(self) -> None:
        self._extra_bits: dict[tuple[int, int], int] = {}

    def extra_bits(self, pages: Sequence[Sequence[int]]) -> list[int]:
        """Return how many bits to add to the prefixes that the search for each page looks up.

        Longer prefixes match fewer records, so they're used where earlier searches found too many.

        Args:
            pages: The keys of each page. A page is only in a crowd if it's in one in both of the
                tables.
        """
        if not self._extra_bits:
            return [0] * len(pages)
        return [
            min(self._extra_bits.get(leading, 0) for leading in _leading(keys)) for keys in pages
        ]

    def learn(self, query: Query, answer: Answer) -> None:
        """Lengthen the prefixes of later searches near a query that met too many candidates.

        If it met few, they are shortened again. Answers that involved no search don't count.
        """
        most = query.max_candidates
        met = answer.candidates
        if query.exact_only or answer.kind is Kind.REVISIT:
            return
        if not self._extra_bits and met < most:
            return
        for leading in _leading(query.keys):
            known = self._extra_bits.get(leading, 0)
            if met >= most:
                self._extra_bits[leading] = min(known + _STEP, MAX_EXTRA_BITS)
            elif known and met < most // 4:
                self._extra_bits[leading] = known - 1


def _leading(keys: Sequence[int]) -> list[tuple[int, int]]:
    """Return the leading bits of a page's key in each of the first two tables, by table."""
    return [(table, key >> KEY_BITS - _LEADING_BITS) for table, key in enumerate(keys[:2])]


class Search(NamedTuple):
    """A plan for finding the near duplicates of a page, and the rules for accepting them."""

    plan: ProbePlan
    """The ranges of keys to read."""

    rule: WeightedThreshold
    """The rule that decides which of the pages found there are accepted."""

    prefilter: Prefilter | None
    """A cheap test on keys, which saves reading the records that can't be accepted, or None."""


class Subject(NamedTuple):
    """A page to ask the store about, with its fingerprint."""

    page: Page
    fingerprint: Fingerprint
    resembles_original: bool = False
    """True if a page resembles the original that it names, so a lower similarity is enough."""


class FiledPage(NamedTuple):
    """A page as an index files it: its keys, and the requirements for its search."""

    fingerprint: Fingerprint
    """The bits of the page, salted with its scope: see `salted`."""

    keys: tuple[int, ...]
    """The key of the page in each table."""

    similarity: float
    """The minimum similarity at which pages are accepted."""

    index_size: int
    """The approximate number of pages to plan for."""

    is_crowded: bool = False
    """True if many pages share a template here.

    Texts without marks are then searched more deeply.
    """


class QueryBuilder:
    """Makes the queries about pages according to the options of an index.

    It learns from the answers where the index is crowded, and searches more deeply there.
    """

    def __init__(self, options: Options, hosts: HostKnowledge | None = None) -> None:
        self._options = options
        self._hosts = hosts
        self.hot_prefixes = HotPrefixes()
        self.retention = Retention(
            cast("int | None", options.ttl), options.ttl_refresh, options.max_pages
        )

    def name(self, key: Key, page: PageId) -> PageName:
        """Return the name (a hash) under which an index with this key knows a page."""
        return self._name(key, self._scope(page), page.url, page.identity)

    def original_name(self, key: Key, page: Page) -> PageName:
        """Return the name (a hash) of the page that a page claims to be a copy of."""
        return self._name(key, self._scope(page.id), page.canonical or "", None)

    def _name(self, key: Key, scope: str, url: str, identity: str | None) -> PageName:
        if scope or self._options.scope != "global":
            shard_key, _ = salt_of(scope, SIGNATURE_BYTES, key)
        else:
            shard_key = None  # All pages of the index may be compared.
        return PageName(page_key(scope, url, identity, key), shard_key)

    def scope_of(self, page: Page) -> str:
        """Return a text that is the same for all pages that may be compared with a page.

        It contains the scope of the page and the values of URL parameters that keep pages apart or,
        for a page that a user keeps apart from all others (the option `apart`), its own URL.
        """
        options = self._options
        named = kept_apart(options.distinguish_params, page.url, options.apart)
        parts = [self._scope(page.id), *named]
        return "\n".join(part for part in parts if part)

    def _scope(self, page: PageId) -> str:
        if page.scope_key is not None:
            return page.scope_key
        if self._options.scope == "site":
            return site_of(page.url)
        return ""

    def similarity(self, page: Page, *, resembles_original: bool = False) -> float:
        """Return the minimum similarity at which a page counts as a near duplicate.

        It is lower for a page that resembles the original that it names.
        """
        similarity = self._options.similarity if page.similarity is None else page.similarity
        if not resembles_original:
            return similarity
        lowest = min(similarity, LOWEST_SIMILARITY + 0.01)
        return max(similarity - CANONICAL_MARGIN, lowest)

    def resembles(self, subject: Subject, original: Record, key: Key) -> bool:
        """Return whether a page is similar enough to the original that it names.

        A lower similarity is required than for other pages.
        """
        fingerprint = subject.fingerprint
        similarity = self.similarity(subject.page, resembles_original=True)
        threshold = decision.accept_threshold(similarity, VERIFY_BITS, self._options.recall)
        rule = decision.likelihood_rule(fingerprint.verify_weights, threshold)
        filed = salted(fingerprint, self.scope_of(subject.page), key)
        return rule.cost(filed.verify, original.signature) <= rule.limit

    def queries(
        self,
        subjects: Sequence[Subject],
        key: Key,
        size: int,
        delivered: tuple[PageName, ...] = (),
    ) -> list[Query]:
        """Make the queries about a batch of pages.

        Args:
            subjects: The pages, with fingerprints made with `key`.
            key: The key of the index.
            size: The approximate number of pages in the index.
            delivered: Pages that were delivered. The first query tells the store.
        """
        filed_pages = self._file(subjects, key, size)
        planned = searches(filed_pages, self._options.recall)
        queries: list[Query] = []
        for subject, filed, search in zip(subjects, filed_pages, planned, strict=True):
            queries.append(self._query(subject, filed, search, key, delivered))
            delivered = ()
        return queries

    def _file(self, subjects: Sequence[Subject], key: Key, size: int) -> list[FiledPage]:
        """Return pages as the index files them: salted, with keys and what a search requires."""
        options = self._options
        fingerprints = [
            salted(subject.fingerprint, self.scope_of(subject.page), key) for subject in subjects
        ]
        keys = _keys_of(fingerprints)
        extra_bits = self.hot_prefixes.extra_bits(keys)
        size = max(size, options.expected_pages, 1)
        filed_pages = []
        for subject, fingerprint, page_keys, extra in zip(
            subjects, fingerprints, keys, extra_bits, strict=True
        ):
            similarity = self.similarity(
                subject.page, resembles_original=subject.resembles_original
            )
            filed = FiledPage(
                fingerprint, page_keys, similarity, size << extra, is_crowded=extra > 0
            )
            filed_pages.append(filed)
        return filed_pages

    def _query(
        self,
        subject: Subject,
        filed: FiledPage,
        search: Search,
        key: Key,
        delivered: tuple[PageName, ...],
    ) -> Query:
        """Make the query about a page from the page as it is filed and the plan of its search."""
        page = subject.page
        name = self.name(key, page.id)
        searches_deeper = filed.is_crowded and not filed.fingerprint.marks
        effort = planning.HOT_EFFORT if searches_deeper else 1
        return Query(
            record=self._record(page, name, filed.fingerprint, key),
            keys=filed.keys,
            plan=search.plan,
            rule=search.rule,
            prefilter=search.prefilter,
            retention=self.retention,
            exact_only=filed.fingerprint.thin,
            max_candidates=effort * MAX_CANDIDATES,
            max_keys=effort * MAX_KEYS,
            shard_key=name.shard_key,
            key_id=key.id,
            is_pending=not page.delivered,
            delivered=delivered,
            proved_views=self._proved_views(page, filed.fingerprint, key),
            revisit_rule=_revisit_rule(page, filed.fingerprint),
        )

    def _proved_views(self, page: Page, fingerprint: Fingerprint, key: Key) -> tuple[int, ...]:
        if self._hosts is None or not fingerprint.marks:
            return ()  # A text without marks isn't a view of anything.
        address = Address.of(page.url, page.identity)
        if address is None:
            return ()
        return tuple([views_hash(views, key) for views in self._hosts.proved_views_at(address)])

    def _record(self, page: Page, name: PageName, filed: Fingerprint, key: Key) -> Record:
        return Record(
            url=page.url if self._options.store_urls else "",
            url_key=name.url_key,
            search=filed.search,
            signature=filed.verify,
            digest=filed.digest & DIGEST_MASK,
            rank=page.rank,
            packed_text=filed.packed_text if self._options.keep_texts else b"",
            marks=marks_of(page, filed, key, self._hosts),
        )


def marks_of(
    page: Page, fingerprint: Fingerprint, key: Key, hosts: HostKnowledge | None = None
) -> bytes:
    """Return the packed marks of a page: those of its content, and those of its address.

    Args:
        page: The page.
        fingerprint: Its fingerprint, which has the marks of its content.
        key: The key of the index.
        hosts: What is known about hosts. Marks that are known to come and go are left out.
    """
    if not fingerprint.marks:
        return b""
    content = fingerprint.marks
    if hosts is not None:
        content = hosts.steady_marks(page.url, content)
    address = Address.of(page.url, page.identity)
    if address is None:
        return content
    is_proved = hosts is not None and hosts.are_proved(address)
    hashes = address_marks(address, page.url, fingerprint.links, key, is_proved=is_proved)
    return content + packed_address(hashes)


def _revisit_rule(page: Page, fingerprint: Fingerprint) -> WeightedThreshold | None:
    """Return the rule by which the text of a revisited page counts as unchanged.

    None means that the texts have to be equal.
    """
    if fingerprint.thin:
        return _IDENTITY
    if page.revisit_similarity is None:
        return None
    return decision.likelihood_rule(fingerprint.verify_weights, page.revisit_similarity)


def _keys_of(fingerprints: Sequence[Fingerprint]) -> list[tuple[int, ...]]:
    """Return the search keys of each page, one per table."""
    bits = np.array([fingerprint.search for fingerprint in fingerprints], np.uint64)
    columns = np.column_stack([table.keys(bits) for table in TABLES])
    return [tuple(row) for row in columns.tolist()]


def searches(pages: Sequence[FiledPage], recall: float) -> list[Search]:
    """Plan how to search the index for the near duplicates of each page.

    Among pages that are exactly as similar as asked for, the decision misses a share of 1 -
    `recall`, and the search misses half as many more, as long as the probes suffice.
    """
    full_pages = [page for page in pages if not page.fingerprint.thin]
    planned = iter(_searches_for_near_duplicates(full_pages, recall) if full_pages else [])
    found: list[Search] = []
    for page in pages:
        if page.fingerprint.thin:
            found.append(_search_for_exact_copies(page))
        else:
            found.append(next(planned))
    return found


def _search_for_exact_copies(page: FiledPage) -> Search:
    return Search(planning.single_plan(page.keys[0]), _IDENTITY, None)


def _searches_for_near_duplicates(pages: Sequence[FiledPage], recall: float) -> list[Search]:
    """Plan the searches for pages with enough words for near duplicates, with array operations."""
    similarities = [page.similarity for page in pages]
    search_weights = np.array([page.fingerprint.search_weights for page in pages])
    slopes = np.array(
        [steepness(search_similarity(similarity)) for similarity in similarities], np.float32
    )
    plans = planning.page_plans(
        np.array([page.keys for page in pages], np.uint64),
        search_weights,
        TABLES,
        sizes=[page.index_size for page in pages],
        slopes=slopes,
        recall=(1 + recall) / 2,
    )
    crowds = [decision.crowd_rule(similarity, recall, VERIFY_BITS) for similarity in similarities]
    rules = decision.likelihood_rules(
        np.array([page.fingerprint.verify_weights for page in pages]),
        [crowd.thresholds[0] for crowd in crowds],
        crowds,
    )
    prefilters = decision.likelihood_prefilters(search_weights, slopes, KEPT)
    return [
        Search(plan, rule, prefilter)
        for plan, rule, prefilter in zip(plans, rules, prefilters, strict=True)
    ]


def expected_recall(*, similarity: float, recall: float, pages: int) -> float:
    """Return which share of the pages with exactly this similarity would be recognized.

    Args:
        similarity: The least similarity at which pages are accepted.
        recall: The share that the decision accepts: the option `recall`.
        pages: The number of pages in the index.
    """
    # The share that is found is the mean over the plans of simulated pages.
    rng = np.random.default_rng(0)
    weights = rng.standard_normal((_PAGES_TRIED, SEARCH_BITS)).astype(np.float32)
    plans = planning.page_plans(
        np.zeros((_PAGES_TRIED, len(TABLES)), np.uint64),
        weights,
        TABLES,
        sizes=[pages] * _PAGES_TRIED,
        slopes=np.full(_PAGES_TRIED, steepness(search_similarity(similarity)), np.float32),
        recall=(1 + recall) / 2,
    )
    return recall * sum(plan.recall for plan in plans) / _PAGES_TRIED


def salted(page: Fingerprint, scope: str, key: Key) -> Fingerprint:
    """Return the fingerprint of a page as an index files it.

    Its bits are XORed with constants of its scope, so pages of other scopes look unrelated.
    """
    if not scope:
        return page
    number, signature = salt_of(scope, SIGNATURE_BYTES, key)
    verify = int.from_bytes(page.verify, "big") ^ signature
    return replace(
        page,
        search=page.search ^ number,
        verify=verify.to_bytes(SIGNATURE_BYTES, "big"),
        digest=page.digest ^ number,
    )
