"""The way between a page and a store: fingerprints to queries, answers to verdicts.

Tolerant search bits find, sharp verify bits decide, and the page's own weights guide both. The
queries of a batch are made in one pass of arrays: keys, probe plans, prefilters and rules. Each is
complete, and stays as it is.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from itertools import compress
from typing import Final, cast

import numpy as np
from numpy.typing import NDArray

from crawldedup.fingerprinting.bits import SEARCH_BITS, VERIFY_BITS, Fingerprint
from crawldedup.key import Key, salt_of
from crawldedup.options import LOWEST_SIMILARITY, Options
from crawldedup.page import Page
from crawldedup.reading.difference import difference, unpacked_text
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
from crawldedup.verdict import Kind, Match, Verdict

TABLES: Final = (Table(0), Table(KEY_BITS // 2))  # each led by another half of the fingerprint
# 1 where the stored part of a table's keys holds a bit of the fingerprint, else 0; shape (tables,
# 64).
KEPT: Final = np.array(
    [np.isin(range(SEARCH_BITS), table.order[: planning.STORED_BITS]) for table in TABLES], float
)
# The ranges to read for a page, which of the records there to accept, and which of the keys.
Search = tuple[ProbePlan, WeightedThreshold, Prefilter | None]
SIGNATURE_BYTES: Final = VERIFY_BITS // 8
# So much less is enough for a page that names the other one as its original.
CANONICAL_MARGIN: Final = 0.1

_IDENTITY: Final = decision.identity_rule(VERIFY_BITS)
_PAGES_TRIED: Final = 400
_LEADING_BITS: Final = 10
MAX_EXTRA_BITS: Final = 16
_STEP: Final = 2


class HotPrefixes:
    """Learns from answers where an index is crowded: pages of one template share most of their
    search bits.

    Among them a prefix of the usual length is too short: a few ranges hold more keys than may be
    read, and perhaps none of those that are holds the near duplicate. Later plans take longer
    prefixes there, and compare more. A hot prefix is known by the leading bits of a key, in each of
    the first two tables.
    """

    def __init__(self) -> None:
        self._extra_bits: dict[tuple[int, int], int] = {}

    def extra_bits(self, pages: Sequence[Sequence[int]]) -> list[int]:
        """Return how many bits to add to the prefixes for each page with these keys: those in both
        tables.
        """
        known = self._extra_bits
        return [
            min([known.get(leading, 0) for leading in _leading(keys)]) if known else 0
            for keys in pages
        ]

    def learn(self, query: Query, answer: Answer) -> None:
        """Note how many candidates a page met. Pages that were not searched for tell nothing."""
        most, met = query.max_candidates, answer.candidates
        if query.exact_only or answer.kind is Kind.REVISIT or not (self._extra_bits or met >= most):
            return
        for leading in _leading(query.keys):
            known = self._extra_bits.get(leading, 0)
            if met >= most:
                self._extra_bits[leading] = min(known + _STEP, MAX_EXTRA_BITS)
            elif known and met < most // 4:
                self._extra_bits[leading] = known - 1


def _leading(keys: Sequence[int]) -> list[tuple[int, int]]:
    return [(table, key >> KEY_BITS - _LEADING_BITS) for table, key in enumerate(keys[:2])]


class QueryBuilder:
    """Makes queries as the options say.

    Learns from the answers where pages crowd, to search deeper there.
    """

    def __init__(self, options: Options) -> None:
        self._options = options
        self.hot_prefixes = HotPrefixes()
        self.retention = Retention(
            cast("int | None", options.ttl), options.ttl_refresh, options.max_pages
        )

    def name(self, key: Key, page: Page, *, original: bool = False) -> PageName:
        """Return the name of a page in an index of this key; with `original`, that of its canonical
        page.
        """
        scope = self._scope(page)
        url, identity = (page.canonical or "", None) if original else (page.url, page.identity)
        is_global = not scope and self._options.scope == "global"
        shard_key = None if is_global else salt_of(scope, SIGNATURE_BYTES, key).number
        return PageName(page_key(scope, url, identity, key), shard_key)

    def scope_of(self, page: Page) -> str:
        """Return the key of pages that may be compared: their scope, and values of parameters in
        their URLs.
        """
        return "\n".join(
            filter(
                None, (self._scope(page), *kept_apart(self._options.distinguish_params, page.url))
            )
        )

    def _scope(self, page: Page) -> str:
        if page.scope_key is not None:
            return page.scope_key
        return site_of(page.url) if self._options.scope == "site" else ""

    def similarity(self, page: Page, *, is_lowered: bool = False) -> float:
        """Return the similarity that a page asks for; a lower one if it resembles the original that
        it names.
        """
        wanted = self._options.similarity if page.similarity is None else page.similarity
        return (
            max(wanted - CANONICAL_MARGIN, min(wanted, LOWEST_SIMILARITY + 0.01))
            if is_lowered
            else wanted
        )

    def resembles(self, asked: tuple[Page, Fingerprint], original: Record, key: Key) -> bool:
        """Return whether a page resembles the original that it names, from the lower similarity on."""
        page, read = asked
        threshold = decision.accept_threshold(
            self.similarity(page, is_lowered=True), VERIFY_BITS, self._options.recall
        )
        rule = decision.likelihood_rule(read.verify_weights, threshold)
        own = salted(read, self.scope_of(page), key)
        return rule.cost(own.verify, original.signature) <= rule.limit

    def queries(
        self,
        asked: Sequence[tuple[Page, Fingerprint]],
        key: Key,
        size: int,
        delivered: tuple[PageName, ...] = (),
        lowered: Collection[int] = (),
    ) -> list[Query]:
        """Return the queries about pages, for an index of this key and about `size` pages.

        The first tells the store which pages were `delivered`. `lowered` are places of pages that
        may be less alike.
        """
        options = self._options
        filed = [salted(read, self.scope_of(page), key) for page, read in asked]
        similarities = [
            self.similarity(page, is_lowered=place in lowered)
            for place, (page, _) in enumerate(asked)
        ]
        bits = np.array([read.search for read in filed], np.uint64)
        keys = np.column_stack([table.keys(bits) for table in TABLES])
        own_keys = list(map(tuple, keys.tolist()))
        extra_bits = self.hot_prefixes.extra_bits(own_keys)
        sizes = [max(size, options.expected_pages, 1) << extra for extra in extra_bits]
        found = searches(filed, keys, similarities, sizes, options.recall)
        queries: list[Query] = []
        made = zip(asked, filed, own_keys, extra_bits, found, strict=True)
        for (page, _), read, own, extra, (plan, rule, prefilter) in made:
            name, effort = self.name(key, page), planning.HOT_EFFORT if extra else 1
            record = Record(
                url=page.url if options.store_urls else "",
                url_key=name.url_key,
                search=read.search,
                signature=read.verify,
                digest=read.digest & DIGEST_MASK,
                rank=page.rank,
                packed_text=read.packed_text if options.keep_texts else b"",
            )
            revisit_rule = _IDENTITY if read.thin else None
            if page.revisit_similarity is not None and not read.thin:
                revisit_rule = decision.likelihood_rule(
                    read.verify_weights, page.revisit_similarity
                )
            query = Query(
                record=record,
                keys=own,
                plan=plan,
                rule=rule,
                prefilter=prefilter,
                retention=self.retention,
                exact_only=read.thin,
                max_candidates=effort * MAX_CANDIDATES,
                max_keys=effort * MAX_KEYS,
                shard_key=name.shard_key,
                key_id=key.id,
                is_pending=not page.delivered,
                delivered=() if queries else delivered,
                revisit_rule=revisit_rule,
            )
            queries.append(query)
        return queries


def searches(
    fingerprints: Sequence[Fingerprint],
    keys: NDArray[np.uint64],
    similarities: Sequence[float],
    sizes: Sequence[int],
    recall: float,
) -> list[Search]:
    """Plan the searches for pages of these keys, shape (pages, tables), in indexes of these sizes.

    The decision misses 1 - recall of the pages, and the search half as many more while the probes
    suffice.
    """
    is_full, found = [not page.thin for page in fingerprints], iter(list[Search]())
    if any(is_full):
        full, wanted = list(compress(fingerprints, is_full)), list(compress(similarities, is_full))
        weights = np.array([page.search_weights for page in full])
        slopes = np.array(
            [steepness(search_similarity(similarity)) for similarity in wanted], np.float32
        )
        sizes = list(compress(sizes, is_full))
        plans = planning.page_plans(
            keys[is_full], weights, TABLES, sizes=sizes, slopes=slopes, recall=(1 + recall) / 2
        )
        crowds = [decision.crowd_rule(similarity, recall, VERIFY_BITS) for similarity in wanted]
        verified, thresholds = (
            [page.verify_weights for page in full],
            [crowd.thresholds[0] for crowd in crowds],
        )
        rules = decision.likelihood_rules(np.array(verified), thresholds, crowds)
        found = zip(
            plans, rules, decision.likelihood_prefilters(weights, slopes, KEPT), strict=True
        )
    firsts = zip(is_full, keys[:, 0].tolist(), strict=True)
    return [
        next(found) if full else (planning.single_plan(own), _IDENTITY, None)
        for full, own in firsts
    ]


def expected_recall(*, similarity: float, recall: float, pages: int) -> float:
    """Return the share of pages of exactly this similarity that are met and accepted in an index of
    `pages` pages.
    """
    # The share that is met is the mean over the plans of made-up pages.
    weights = (
        np.random.default_rng(0).standard_normal((_PAGES_TRIED, SEARCH_BITS)).astype(np.float32)
    )
    keys, sizes = np.zeros((_PAGES_TRIED, len(TABLES)), np.uint64), [pages] * _PAGES_TRIED
    slopes = np.full(_PAGES_TRIED, steepness(search_similarity(similarity)), np.float32)
    plans = planning.page_plans(
        keys, weights, TABLES, sizes=sizes, slopes=slopes, recall=(1 + recall) / 2
    )
    return recall * sum(plan.recall for plan in plans) / _PAGES_TRIED


def salted(page: Fingerprint, scope: str, key: Key) -> Fingerprint:
    """Return a fingerprint as it is filed: its bits XORed with constants of its scope and its
    product attributes.
    """
    if not scope and not page.facts:
        return page
    of_scope = salt_of(scope, SIGNATURE_BYTES, key)
    of_facts = salt_of(f"facts {page.facts}" if page.facts else "", SIGNATURE_BYTES, key)
    number = of_scope.number ^ of_facts.number
    signature = of_scope.signature ^ of_facts.signature
    verify = (int.from_bytes(page.verify, "big") ^ signature).to_bytes(SIGNATURE_BYTES, "big")
    return replace(page, search=page.search ^ number, verify=verify, digest=page.digest ^ number)


def match_of(page: Fingerprint, query: Query, record: Record) -> Match:
    """Return a record that the query about a page found as a match."""
    own, exact = query.record, record.digest == query.record.digest
    estimate = (
        1.0
        if exact
        else decision.estimate_similarity(page.verify_weights, own.signature, record.signature)
    )
    # Bits of thin pages come from digests.
    hamming = 0 if page.thin else (own.search ^ record.search).bit_count()
    return Match(
        record.url,
        round(estimate, 4),
        hamming,
        exact,
        record.seen_at,
        record.added_at,
        record.copies,
    )


def verdict_of(url: str, page: Fingerprint, query: Query, answer: Answer) -> Verdict:
    """Return what the store's answer to a query means for its page."""
    record, probes = answer.record, len(query.plan.tables)
    if record is None:
        kind = Kind.THIN if page.thin else Kind.NEW
        verdict = Verdict(kind, url, words=page.words, probes=probes, candidates=answer.candidates)
        if (other := answer.rejected) is None:
            return verdict
        cost = query.rule.cost(query.record.signature, other.signature)
        similarity = round(query.rule.bounds.similarity(cost), 4)
        by = "crowd" if cost <= query.rule.limit else "similarity"
        return replace(
            verdict, rejected=other.url or None, rejected_similarity=similarity, rejected_by=by
        )
    # It may have been remembered before its volatile lines were known.
    full_digest = (
        query.record.digest ^ ((page.digest ^ page.full.digest) & DIGEST_MASK)
        if page.full
        else None
    )
    changed = answer.changed and record.digest != full_digest
    # Bits of thin pages come from the digest, so similarity means nothing.
    match = None if answer.changed and page.thin else match_of(page, query, record)
    earlier = unpacked_text(record.packed_text)
    text = None if earlier is None else unpacked_text(query.record.packed_text)
    return Verdict(
        kind=answer.kind,
        url=url,
        original=record.url or None,
        similarity=match.similarity if match else None,
        hamming=match.hamming if match else None,
        words=page.words,
        copies=record.copies,
        changed=changed,
        abandoned=answer.abandoned,
        replaces=answer.replaces,
        probes=probes,
        candidates=answer.candidates,
        difference=None if earlier is None or text is None else difference(earlier, text),
    )


def preview(
    query: Query, records: Sequence[Record], text_of: Callable[[PageName], bytes]
) -> Answer:
    """Return the answer of a query that accepts these records, nearest first.

    `text_of` gives a page's packed text.
    """
    own = [record for record in records if record.url_key == query.record.url_key]
    record = next(iter([*own, *records]), None)
    if record is None:
        return Answer(Kind.NEW, None, changed=False, pages=0, candidates=0)
    is_exact = record.digest == query.record.digest
    kind = Kind.REVISIT if own else Kind.EXACT_DUPLICATE if is_exact else Kind.NEAR_DUPLICATE
    counted = record if own else replace(record, copies=record.copies + 1)
    changed = bool(own) and query.has_new_text(record.signature, record.digest)
    if (changed or kind is Kind.NEAR_DUPLICATE) and query.record.packed_text:
        counted = replace(counted, packed_text=text_of(PageName(record.url_key, query.shard_key)))
    return Answer(kind, counted, changed, pages=0, candidates=len(records))
