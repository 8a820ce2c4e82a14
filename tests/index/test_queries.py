"""The search for a page: scopes change no answer, what is promised is found, and crowds are
searched deeper.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from crawldedup import Deduplicator
from crawldedup import Page as AskedPage
from crawldedup.fingerprinting.bits import Fingerprint, fingerprint
from crawldedup.index.queries import (
    MAX_EXTRA_BITS,
    TABLES,
    FiledPage,
    HotPrefixes,
    QueryBuilder,
    Search,
    Subject,
    expected_recall,
    searches,
)
from crawldedup.key import NO_KEY
from crawldedup.options import Options
from crawldedup.search.decision import MAX_CANDIDATES
from crawldedup.search.plan import HOT_EFFORT, MAX_KEYS, STORED_BITS
from crawldedup.stores.contract import Answer
from crawldedup.verdict import Kind
from tests.fingerprinting.golden import TEXTS
from tests.stores.pages import Page, named, random_page, similar_page


def searched(page: Fingerprint, pages: int) -> Search:
    keys = tuple(table.key(page.search) for table in TABLES)
    (search,) = searches([FiledPage(page, keys, similarity=0.9, index_size=pages)], recall=0.98)
    return search


def xored(first: bytes, second: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(first, second, strict=True))


def test_only_pages_of_a_scope_choose_a_part_of_the_index() -> None:
    pages = [
        AskedPage(url, text="x")
        for url in ("https://a.com/", "https://www.a.com/", "https://b.com/")
    ]
    shared, spread = QueryBuilder(Options()), QueryBuilder(Options(scope="site"))
    assert {shared.name(NO_KEY, page.id).shard_key for page in pages} == {None}
    own, same, other = (spread.name(NO_KEY, page.id).shard_key for page in pages)
    assert own == same != other
    assert shared.name(NO_KEY, replace(pages[0].id, scope_key="team")).shard_key is not None


def test_what_indexes_are_made_of_never_changes() -> None:
    assert STORED_BITS == 34
    profile = Deduplicator(key=0, extractor="text").info().profile
    assert (
        profile
        == "text/text11.siblings/words+pairs.damped-tf.64/shingle3.set.256/unicode14/3/2x64/key.0"
    )


def test_a_search_goes_by_the_bits_as_filed() -> None:
    """XORed with a constant, a page is looked for elsewhere, by ranges as probable, and decided
    about alike.
    """
    page = fingerprint(TEXTS["english"], min_words=8)
    search, signature = 0x1234_5678_9ABC_DEF0, bytes(range(32))
    filed = replace(page, search=page.search ^ search, verify=xored(page.verify, signature))
    unsalted, salted = searched(page, 1_000_000), searched(filed, 1_000_000)
    assert (unsalted.rule, unsalted.prefilter) == (salted.rule, salted.prefilter)
    before, after = unsalted.plan, salted.plan
    assert before.recall == after.recall
    assert before.tables.tolist() == after.tables.tolist()
    spans = (before.highs ^ before.lows).tolist()
    assert spans == (after.highs ^ after.lows).tolist()
    ranges = zip(before.tables.tolist(), before.lows.tolist(), spans, strict=True)
    assert after.lows.tolist() == [
        low ^ TABLES[table].key(search) & ~span for table, low, span in ranges
    ]


def is_found(page: Page, asking: Page, pages: int) -> bool:
    bits = {"search": asking.search, "verify": asking.signature, "digest": asking.digest}
    weights = {"search_weights": asking.search_weights, "verify_weights": asking.verify_weights}
    plan, rule, _ = searched(Fingerprint(**bits, **weights, words=100, thin=False), pages)  # type: ignore[arg-type]
    keys = np.array([table.key(page.search) for table in TABLES], np.uint64).take(plan.tables)
    met = bool(((plan.lows <= keys) & (keys <= plan.highs)).any())
    return met and rule.cost(asking.signature, page.signature) <= rule.limit


@pytest.mark.parametrize(("pages", "least"), [(10**6, 0.965), (10**9, 0.95)])
def test_what_is_expected_is_promised_and_found(pages: int, least: float) -> None:
    """Of pages of exactly the wanted similarity, however large the index."""
    expected = expected_recall(similarity=0.9, recall=0.98, pages=pages)
    assert expected > least
    rng = np.random.default_rng(8)
    count = 600
    planted = [random_page(rng) for _ in range(count)]
    found = sum(is_found(page, similar_page(page, 0.9, rng), pages) for page in planted) / count
    assert abs(found - expected) < 4 * (expected * (1 - expected) / count) ** 0.5


MOST = 64
HERE = [0x123 << 54, 0x3FF << 54]
HERE_TOO = [HERE[0] + 12345, HERE[1] + 99]
ELSEWHERE = [0x122 << 54, 0x3FE << 54]
HALF_HERE = [HERE[0], ELSEWHERE[1]]
SUBJECT = Subject(
    AskedPage("https://example.com/", text=TEXTS["english"]), fingerprint(TEXTS["english"])
)
(QUERY,) = QueryBuilder(Options()).queries([SUBJECT], NO_KEY, 1)


def meet(hot_prefixes: HotPrefixes, candidates: int, *, exact_only: bool = False) -> int:
    """Let a page that lies here be compared with so many pages, of at most MOST; return the bits
    added then.
    """
    query = replace(QUERY, keys=tuple(HERE), max_candidates=MOST, exact_only=exact_only)
    hot_prefixes.learn(query, Answer(Kind.NEW, None, False, 1_000_000, candidates))
    return hot_prefixes.extra_bits([HERE])[0]


def test_a_crowd_is_remembered_where_it_was() -> None:
    hot_prefixes = HotPrefixes()
    assert meet(hot_prefixes, MOST - 1) == 0
    assert [meet(hot_prefixes, MOST)] == hot_prefixes.extra_bits([HERE_TOO]) > [0]
    assert hot_prefixes.extra_bits([ELSEWHERE]) == hot_prefixes.extra_bits([HALF_HERE]) == [0]


def test_the_larger_a_crowd_the_more_bits_are_added_and_the_fewer_once_it_has_left() -> None:
    hot_prefixes = HotPrefixes()
    added = [meet(hot_prefixes, MOST) for _ in range(40)]
    assert added == sorted(added)
    assert added[0] < added[1] < added[-1] == MAX_EXTRA_BITS
    # Pages that were not searched for tell nothing.
    assert meet(hot_prefixes, MOST // 4) == meet(hot_prefixes, 0, exact_only=True) == MAX_EXTRA_BITS
    left = [meet(hot_prefixes, MOST // 4 - 1) for _ in range(MAX_EXTRA_BITS + 1)]
    assert left == [*reversed(range(MAX_EXTRA_BITS)), 0]


def test_in_a_crowd_ranges_are_narrower_and_more_is_compared() -> None:
    builder = QueryBuilder(Options())

    def limits() -> tuple[int, int, int]:
        (query,) = builder.queries([SUBJECT], NO_KEY, 1_000_000)
        builder.hot_prefixes.learn(
            query, Answer(Kind.NEW, None, False, 1_000_000, query.max_candidates)
        )
        return query.max_candidates, query.max_keys, int(query.plan.highs[-1] - query.plan.lows[-1])

    alone, crowded = limits(), limits()
    assert alone[:2] == (MAX_CANDIDATES, MAX_KEYS)
    assert crowded[:2] == (HOT_EFFORT * MAX_CANDIDATES, HOT_EFFORT * MAX_KEYS)
    assert crowded[2] < alone[2]


def test_in_a_crowd_what_exact_keys_find_is_searched_as_elsewhere() -> None:
    builder = QueryBuilder(Options())
    marked = SUBJECT._replace(fingerprint=replace(SUBJECT.fingerprint, marks=named(1, 1)))
    for _ in range(2):
        (query,) = builder.queries([marked], NO_KEY, 1_000_000)
        builder.hot_prefixes.learn(
            query, Answer(Kind.NEW, None, False, 1_000_000, query.max_candidates)
        )
        assert (query.max_candidates, query.max_keys) == (MAX_CANDIDATES, MAX_KEYS)
