"""Fingerprints: frozen, as defined, and the same however the work is cut up."""

from __future__ import annotations

import random
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawldedup.fingerprinting import fingerprint as module
from crawldedup.fingerprinting.fingerprint import (
    MAX_WEIGHT,
    MIN_WORDS,
    Fingerprint,
    damped_weights,
    fingerprint,
    jaccard,
    text_digest,
    thin_bits,
)
from tests.fingerprinting.definition import fingerprint_of
from tests.fingerprinting.golden import GOLDEN, TEXTS, golden_of

WORDS = [f"word{number}" for number in range(3000)]
ENGLISH = TEXTS["english"]


def random_text(seed: int, words: int) -> str:
    # Squared, so that some words are frequent, as in a language.
    generator = random.Random(seed)
    return " ".join(WORDS[int(len(WORDS) * generator.random() ** 2)] for _ in range(words))


def values_of(page: Fingerprint) -> tuple[object, ...]:
    weights = page.search_weights.tobytes(), page.verify_weights.tobytes()
    return page.search, page.verify, page.words, page.thin, *weights


def assert_as_defined(text: str) -> None:
    page, defined = fingerprint(text, min_words=8), fingerprint_of(text)
    assert not page.thin
    assert (page.search, page.verify) == (defined.search, defined.verify)
    assert page.search_weights.astype("<f4").tobytes() == defined.search_weights
    assert page.verify_weights.astype("<f4").tobytes() == defined.verify_weights


@pytest.mark.parametrize("name", TEXTS)
def test_those_of_known_texts_are_frozen_and_as_defined(name: str) -> None:
    assert golden_of(fingerprint(TEXTS[name], min_words=8)) == GOLDEN[name]
    assert_as_defined(TEXTS[name])


# 255 shingles fill one byte counter, 2,048 features one block.
@pytest.mark.parametrize("words", [8, 256, 257, 258, 512, 513, 1500, 5000])
def test_as_defined_at_lengths_where_the_counting_changes(words: int) -> None:
    assert_as_defined(random_text(words, words))
    if words < 2000:
        assert_as_defined(" ".join(WORDS[:words]))


@given(st.lists(st.sampled_from([*WORDS[:40], "é", "漢", "字"]), min_size=8, max_size=40).map(" ".join))
@settings(max_examples=60, deadline=None)
def test_as_defined_for_few_words_in_any_order(text: str) -> None:
    assert_as_defined(text)


def test_a_sum_of_zero_sets_the_bit() -> None:
    """Two shingles cancel out in half of the bits."""
    page = fingerprint("a b c d", min_words=4)
    smallest = np.abs(page.verify_weights) < 1
    assert smallest.sum() > 50
    assert np.unpackbits(np.frombuffer(page.verify, np.uint8))[smallest].all()


@pytest.mark.parametrize("rows", [1, 7, 255, 256, 1000])
def test_blocks_of_rows_change_nothing(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [random_text(1, 600), *TEXTS.values()]
    whole = [values_of(fingerprint(text)) for text in texts]
    monkeypatch.setattr(module, "_ROWS_A_BLOCK", rows)
    assert [values_of(fingerprint(text)) for text in texts] == whole


def test_huge_text_in_bounded_memory() -> None:
    text = random_text(3, 400_000)
    tracemalloc.start()
    page = fingerprint(text, min_words=8)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert page.words == 400_000
    assert peak < 64 * len(text)
    # Normalised weights are about N(0, 1).
    assert abs(float(page.verify_weights.mean())) < 5 / 16
    assert 0.7 < float(page.verify_weights.std()) < 1.3


def test_case_form_and_layout_of_a_text_do_not_matter() -> None:
    page = fingerprint(ENGLISH)
    for text in (ENGLISH.upper(), ENGLISH.replace(" ", "\n\t "), ENGLISH.replace(",", " -"), "\ud800 " + ENGLISH):
        assert values_of(fingerprint(text)) == values_of(page)
        assert (fingerprint(text).digest == page.digest) == (text.split() == ENGLISH.split())


def test_digest_tells_texts_apart_character_for_character_but_for_white_space() -> None:
    texts = ["", "a", "A", "á", "a\u0301", "\ud800", *TEXTS.values()]
    assert len({text_digest(text) for text in texts}) == len(texts)
    assert text_digest("crawldedup") == text_digest(" crawldedup\n") == 0xFDA092DCF2FA1E98


@pytest.mark.parametrize(
    ("text", "min_words", "thin"),
    [
        ("", MIN_WORDS, True),
        ("\ud800", MIN_WORDS, True),
        ("one two three four five six seven " * 2, MIN_WORDS, True),
        ("one two three four five six seven eight nine ten " * 2, MIN_WORDS, False),
        ("one two three four five six seven eight", 8, False),
        ("one two three four five six seven eight", 9, True),
        ("one two three", 1, False),
        ("one two", 1, True),
        ("漢字仮名交じり文", 8, False),
    ],
)
def test_pages_of_too_few_words_are_thin(text: str, min_words: int, thin: bool) -> None:
    page = fingerprint(text, min_words=min_words)
    assert page.thin is thin
    assert bool(page.search_weights.any()) is not thin
    assert (page.search_weights.shape, page.verify_weights.shape, len(page.verify)) == ((64,), (256,), 32)


def test_thin_pages_equal_their_exact_copies_only() -> None:
    page = fingerprint("Out of stock")
    assert values_of(page) == values_of(fingerprint("  Out of\nstock "))
    for text in ("out of stock", "Out of stock.", "Out of socks", ""):
        other = fingerprint(text)
        assert other.search != page.search
        assert (int.from_bytes(page.verify, "big") ^ int.from_bytes(other.verify, "big")).bit_count() > 80
    digest = text_digest("Out of stock")
    assert (page.digest, page.search, page.verify, page.words) == (digest, digest, thin_bits(digest), 3)
    assert not page.verify_weights.any()
    assert (f"{page.search:x}", page.verify.hex()[:16]) == ("1ea948fb577aa045", "3f8f4c128ef2bd91")


def test_identity_of_a_thin_page_is_given_by_the_caller() -> None:
    wholes = ("Red shoe Add to basket", "Red shoe\nAdd to basket", "Blue hat Add to basket")
    first, copy, second = (fingerprint("Add to basket", identity=whole) for whole in wholes)
    assert values_of(first) == values_of(copy)
    assert first.verify != second.verify
    long = random_text(5, 50)
    assert values_of(fingerprint(long, identity="x")) == values_of(fingerprint(long))


def test_a_fingerprint_is_shown_without_its_weights() -> None:
    shown = repr(fingerprint("a text of some words"))
    assert "words=5" in shown
    assert "weights" not in shown


@given(st.lists(st.integers(1, 200_000), min_size=1, max_size=40))
@settings(max_examples=60, deadline=None)
def test_weights_grow_with_the_term_frequency_in_whole_numbers(counts: list[int]) -> None:
    weights = damped_weights(np.array(counts))
    assert weights.dtype == np.float32
    assert weights.tolist() == [round(8 * min(count, 4096) ** 0.75) for count in counts]
    assert 1 <= weights.min() <= weights.max() <= MAX_WEIGHT


def test_the_exact_similarity_of_two_texts() -> None:
    assert jaccard("a b c d", "a b c e") == pytest.approx(1 / 3)
    assert jaccard("a b", "a b c") is None
