"""The default method: its profile is that of every index in the world, and scopes change no answer."""

from __future__ import annotations

from dataclasses import replace

from crawldedup.search.method import SearchContext
from crawldedup.search.two_stage import TABLES, TwoStage
from tests.fingerprinting.golden import TEXTS

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


def test_the_estimate_goes_by_the_bits_as_filed() -> None:
    page, other = (
        METHOD.fingerprint(text, min_words=8, identity=None, facts=None)
        for text in (TEXTS["english"], TEXTS["english"] + " And so it goes on.")
    )
    mask = bytes(range(32))
    salted, other_salted = (xored(each.verify, mask) for each in (page, other))
    assert METHOD.estimate(page, page.verify) == 1
    assert METHOD.estimate(page, other.verify) == METHOD.estimate(replace(page, verify=salted), other_salted) < 1
