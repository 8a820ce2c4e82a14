"""Fingerprints: frozen, as defined, and the same however the work is cut up."""

from __future__ import annotations

import random

import pytest

from crawldedup.fingerprinting import MIN_WORDS
from crawldedup.fingerprinting.bits import Fingerprint, fingerprint, text_digest, thin_bits
from crawldedup.fingerprinting.shingles import jaccard
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


def test_case_form_and_layout_of_a_text_do_not_matter() -> None:
    page = fingerprint(ENGLISH)
    for text in (
        ENGLISH.upper(),
        ENGLISH.replace(" ", "\n\t "),
        ENGLISH.replace(",", " -"),
        "\ud800 " + ENGLISH,
    ):
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
        ("one two three four five six seven " * 2, MIN_WORDS, True),
        ("one two three four five six seven eight nine ten " * 2, MIN_WORDS, False),
        ("one two", 1, True),
        ("漢字仮名交じり文", 8, False),
    ],
)
def test_pages_of_too_few_words_are_thin(text: str, min_words: int, thin: bool) -> None:
    page = fingerprint(text, min_words=min_words)
    assert page.thin is thin
    assert bool(page.search_weights.any()) is not thin
    assert (page.search_weights.shape, page.verify_weights.shape, len(page.verify)) == (
        (64,),
        (256,),
        32,
    )


def test_thin_pages_equal_their_exact_copies_only() -> None:
    page = fingerprint("Out of stock")
    assert values_of(page) == values_of(fingerprint("  Out of\nstock "))
    for text in ("out of stock", "Out of stock.", "Out of socks", ""):
        other = fingerprint(text)
        assert other.search != page.search
        assert (
            int.from_bytes(page.verify, "big") ^ int.from_bytes(other.verify, "big")
        ).bit_count() > 80
    digest = text_digest("Out of stock")
    assert (page.digest, page.search, page.verify, page.words) == (
        digest,
        digest,
        thin_bits(digest),
        3,
    )
    assert not page.verify_weights.any()
    assert (f"{page.search:x}", page.verify.hex()[:16]) == ("1ea948fb577aa045", "3f8f4c128ef2bd91")


def test_identity_of_a_thin_page_is_given_by_the_caller() -> None:
    wholes = ("Red shoe Add to basket", "Red shoe\nAdd to basket", "Blue hat Add to basket")
    first, copy, second = (fingerprint("Add to basket", identity=whole) for whole in wholes)
    assert values_of(first) == values_of(copy)
    assert first.verify != second.verify
    long = random_text(5, 50)
    assert values_of(fingerprint(long, identity="x")) == values_of(fingerprint(long))


@pytest.mark.parametrize(
    "invisible", ["\u200b", "\u200d", "\ufeff", "\ufe0f", "\u2060", "\U000e0100"]
)
def test_short_texts_are_exact_copies_whatever_invisible_characters_they_have(
    invisible: str,
) -> None:
    text = "Heute Ruhetag ❤ 東京"
    with_some = "".join(f"{letter}{invisible}" for letter in text)
    assert text_digest(with_some) == text_digest(text) != text_digest(f"{text}.")


def in_any_order(seed: int, words: str, count: int) -> str:
    generator = random.Random(seed)
    return " ".join(generator.choice(words.split()) for _ in range(count))


def distance(text: str, other: str) -> int:
    bits = [int.from_bytes(fingerprint(each).verify, "big") for each in (text, other)]
    return (bits[0] ^ bits[1]).bit_count()


@pytest.mark.parametrize("before", [0, 100])
@pytest.mark.parametrize(
    ("words", "count"),
    [
        ("0 1", 225),
        ("W D L", 300),
        ("C G Am F", 320),
        ("yes no", 120),
        ("A B C D", 200),
        ("o o o o o o o o o o o o o o o o o o o x", 400),
        ("0 1", 10_000),
    ],
)
def test_few_words_in_other_orders_are_other_texts(words: str, count: int, before: int) -> None:
    texts = [f"{random_text(5, before)} {in_any_order(seed, words, count)}" for seed in (1, 2)]
    assert (jaccard(*texts) or 0) < 0.6
    assert distance(*texts) > 40
    assert_as_defined(texts[0])
    # A text of few words has near duplicates like any other.
    edited = f"{texts[0]} new"
    assert (jaccard(texts[0], edited) or 0) > 0.95
    assert distance(texts[0], edited) < 25


@pytest.mark.parametrize("times", [2, 3, 40])
def test_a_text_that_is_shown_twice_is_the_same(times: int) -> None:
    text = random_text(3, 300)
    assert (jaccard(text, f"{text} " * times) or 0) > 0.9
    assert distance(text, f"{text} " * times) < 25
