"""The search for a page: scopes change no answer, and what is promised is found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from crawldedup import Deduplicator
from crawldedup.fingerprinting.fingerprint import Fingerprint, fingerprint
from crawldedup.search.query import TABLES, Search, expected_recall, searches
from tests.fingerprinting.golden import TEXTS
from tests.stores.pages import Page, random_page, similar_page


def searched(page: Fingerprint, pages: int) -> Search:
    keys = tuple(table.key(page.search) for table in TABLES)
    (search,) = searches([page], np.array([keys], np.uint64), [0.9], [pages], 0.98)
    return search


def xored(first: bytes, second: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(first, second, strict=True))


def test_the_profile_never_changes() -> None:
    profile = Deduplicator(key=0, extractor="text").info().profile
    assert profile == "text/text7.products/words+pairs.damped-tf.64/shingle3.set.256/unicode14/2/2x64/key.0"


def test_a_search_goes_by_the_bits_as_filed() -> None:
    """XORed with a constant, a page is looked for elsewhere, by ranges as probable, and decided about alike."""
    page = fingerprint(TEXTS["english"], min_words=8)
    search, signature = 0x1234_5678_9ABC_DEF0, bytes(range(32))
    filed = replace(page, search=page.search ^ search, verify=xored(page.verify, signature))
    own, moved = searched(page, 1_000_000), searched(filed, 1_000_000)
    assert (own.rule, own.prefilter, own.plan.recall) == (moved.rule, moved.prefilter, moved.plan.recall)
    assert own.plan.tables.tolist() == moved.plan.tables.tolist()
    spans = (own.plan.highs ^ own.plan.lows).tolist()
    assert spans == (moved.plan.highs ^ moved.plan.lows).tolist()
    ranges = zip(own.plan.tables.tolist(), own.plan.lows.tolist(), spans, strict=True)
    assert moved.plan.lows.tolist() == [low ^ TABLES[table].key(search) & ~span for table, low, span in ranges]


def is_found(page: Page, asking: Page, pages: int) -> bool:
    bits = {"search": asking.search, "verify": asking.signature, "digest": asking.digest}
    weights = {"search_weights": asking.search_weights, "verify_weights": asking.verify_weights}
    search = searched(Fingerprint(**bits, **weights, words=100, thin=False), pages)  # type: ignore[arg-type]
    keys = np.array([table.key(page.search) for table in TABLES], np.uint64).take(search.plan.tables)
    met = bool(((search.plan.lows <= keys) & (keys <= search.plan.highs)).any())
    return met and search.rule.cost(asking.signature, page.signature) <= search.rule.limit


@pytest.mark.parametrize(("pages", "least"), [(10**6, 0.965), (10**9, 0.95)])
def test_what_is_expected_is_promised_and_found(pages: int, least: float) -> None:
    """Of pages of exactly the wanted similarity, however large the index."""
    expected = expected_recall(similarity=0.9, recall=0.98, pages=pages)
    assert expected > least
    rng = np.random.default_rng(8)
    count = 1000
    planted = [random_page(rng) for _ in range(count)]
    found = sum(is_found(page, similar_page(page, 0.9, rng), pages) for page in planted) / count
    assert abs(found - expected) < 4 * (expected * (1 - expected) / count) ** 0.5
