"""The default method: its profile is that of every index in the world, and scopes change no answer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from crawldedup.search.method import SearchContext
from crawldedup.search.two_stage import TABLES, TwoStage, expected_recall
from tests.fingerprinting.golden import TEXTS
from tests.stores.pages import Page, random_page, similar_page

METHOD = TwoStage()


def xored(first: bytes, second: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(first, second, strict=True))


def test_the_profile_never_changes() -> None:
    assert METHOD.profile == "words+pairs.damped-tf.64/shingle3.set.256/unicode14/2/2x64"


def test_a_search_goes_by_the_bits_as_filed() -> None:
    """XORed with a constant, a page is looked for elsewhere, by ranges as probable, and decided about alike."""
    page = METHOD.fingerprint(TEXTS["english"], min_words=8, identity=None, facts=None)
    search, signature = 0x1234_5678_9ABC_DEF0, bytes(range(32))
    filed = replace(page, search=page.search ^ search, verify=xored(page.verify, signature))
    context = SearchContext(similarity=0.9, recall=0.98, pages=1_000_000)
    own, moved = METHOD.search(page, context), METHOD.search(filed, context)
    assert (own.rule, own.prefilter, own.plan.recall) == (moved.rule, moved.prefilter, moved.plan.recall)
    assert own.plan.tables.tolist() == moved.plan.tables.tolist()
    spans = (own.plan.highs ^ own.plan.lows).tolist()
    assert spans == (moved.plan.highs ^ moved.plan.lows).tolist()
    ranges = zip(own.plan.tables.tolist(), own.plan.lows.tolist(), spans, strict=True)
    assert moved.plan.lows.tolist() == [low ^ TABLES[table].key(search) & ~span for table, low, span in ranges]


def is_found(page: Page, asking: Page, context: SearchContext) -> bool:
    search = METHOD.search(asking.fingerprint, context)
    keys = np.array([table.key(page.search) for table in TABLES], np.uint64).take(search.plan.tables)
    met = bool(((search.plan.lows <= keys) & (keys <= search.plan.highs)).any())
    return met and search.rule.cost(asking.signature, page.signature) <= search.rule.limit


@pytest.mark.parametrize(("pages", "least"), [(10**6, 0.965), (10**7, 0.965), (10**8, 0.96), (10**9, 0.95)])
def test_what_is_expected_is_promised_and_found(pages: int, least: float) -> None:
    """Of pages of exactly the wanted similarity, however large the index."""
    expected = expected_recall(similarity=0.9, recall=0.98, pages=pages)
    assert expected > least
    rng = np.random.default_rng(8)
    context, count = SearchContext(0.9, 0.98, pages), 1000
    planted = [random_page(rng) for _ in range(count)]
    found = sum(is_found(page, similar_page(page, 0.9, rng), context) for page in planted) / count
    assert abs(found - expected) < 4 * (expected * (1 - expected) / count) ** 0.5


def test_the_estimate_goes_by_the_bits_as_filed() -> None:
    page, other = (
        METHOD.fingerprint(text, min_words=8, identity=None, facts=None)
        for text in (TEXTS["english"], TEXTS["english"] + " And so it goes on.")
    )
    mask = bytes(range(32))
    salted, other_salted = (xored(each.verify, mask) for each in (page, other))
    assert METHOD.estimate(page, page.verify) == 1
    assert METHOD.estimate(page, other.verify) == METHOD.estimate(replace(page, verify=salted), other_salted) < 1
