"""Plain simhash with the options of the literature."""

from __future__ import annotations

import doctest
from collections import Counter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import mmh3
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawldedup.errors import ConfigurationError
from crawldedup.simhash import classic
from crawldedup.simhash.classic import (
    ENGLISH_STOP_WORDS,
    compute,
    features,
    num_differing_bits,
    shingle,
    simhash,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

HASHES = st.integers(0, (1 << 64) - 1)


def plain_compute(hashes: Sequence[int], weights: Sequence[float], bits: int) -> int:
    value = 0
    for bit in reversed(range(bits)):
        total = sum(weight if number >> bit & 1 else -weight for number, weight in zip(hashes, weights, strict=True))
        value = value << 1 | (total > 0)
    return value


@given(st.lists(st.tuples(HASHES, st.integers(0, 1000)), min_size=1, max_size=40), st.sampled_from([32, 64]))
@settings(max_examples=150, deadline=None)
def test_compute_is_the_sign_of_weighted_sums(weighted: list[tuple[int, int]], bits: int) -> None:
    hashes = [number for number, _ in weighted]
    weights = [weight for _, weight in weighted]
    assert compute(hashes, weights=weights, bits=bits) == plain_compute(hashes, weights, bits)
    assert compute(hashes, bits=bits) == plain_compute(hashes, [1] * len(hashes), bits)


@given(st.lists(HASHES, min_size=1, max_size=30), st.randoms())
@settings(max_examples=80, deadline=None)
def test_order_of_the_hashes_does_not_matter(hashes: list[int], generator: Any) -> None:
    shuffled = list(hashes)
    generator.shuffle(shuffled)
    assert compute(shuffled) == compute(hashes)
    assert compute(hashes * 3) == compute(hashes)


@given(HASHES, HASHES)
def test_num_differing_bits(first: int, second: int) -> None:
    assert num_differing_bits(first, second) == sum(first >> bit & 1 != second >> bit & 1 for bit in range(64))
    assert compute([first]) == first


@pytest.mark.parametrize("bits", [32, 64])
def test_no_features_give_zero(bits: int) -> None:
    assert compute([], bits=bits) == 0
    assert simhash({}, bits=bits) == 0
    assert simhash(features("... !"), bits=bits) == 0


@pytest.mark.parametrize(
    ("tokens", "window", "expected"),
    [
        ("abcd", 3, [["a", "b", "c"], ["b", "c", "d"]]),
        ((1, 2, 3), 1, [[1], [2], [3]]),
        (iter(["a", "b"]), 2, [["a", "b"]]),
        (["a", "b"], 3, []),
        ([], 1, []),
    ],
)
def test_shingles(tokens: Any, window: int, expected: list[list[Any]]) -> None:
    assert list(shingle(tokens, window)) == expected


TEXT = "The cat saw the CAT, and it sat."


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {"the": 2, "cat": 2, "saw": 1, "and": 1, "it": 1, "sat": 1}),
        ({"term_frequency": False}, dict.fromkeys(["the", "cat", "saw", "and", "it", "sat"], 1)),
        ({"stop_words": ENGLISH_STOP_WORDS}, {"cat": 2, "saw": 1, "sat": 1}),
        ({"fold_case": False}, dict.fromkeys(["The", "cat", "saw", "the", "CAT", "and", "it", "sat"], 1)),
        (
            {"kind": "word-shingles", "stop_words": ENGLISH_STOP_WORDS},
            {"cat saw cat": 1, "saw cat sat": 1},
        ),
        ({"kind": "word-shingles", "size": 7}, {"the cat saw the cat and it": 1, "cat saw the cat and it sat": 1}),
        (
            {"kind": "char-shingles", "size": 4, "stop_words": ENGLISH_STOP_WORDS | {"saw"}},
            {"cat ": 2, "at c": 1, "t ca": 1, " cat": 1, "at s": 1, "t sa": 1, " sat": 1},
        ),
        ({"kind": "char-shingles", "size": 100}, {"the cat saw the cat and it sat": 1}),
    ],
)
def test_features(options: dict[str, Any], expected: dict[str, int]) -> None:
    assert features(TEXT, **options) == expected


@pytest.mark.parametrize("kind", ["words", "word-shingles", "char-shingles"])
def test_an_empty_text_has_no_features(kind: classic.FeatureKind) -> None:
    assert features("", kind=kind) == {}
    assert features("of the", kind=kind, stop_words=ENGLISH_STOP_WORDS) == {}


@pytest.mark.parametrize("bits", [32, 64])
def test_simhash_of_features_with_any_weights(bits: int) -> None:
    weighted = {"storm": 3.5, "harbour": 1.25, "ice": 0.5, "ferry": 2.0}
    hashes = [
        mmh3.hash(word.encode(), signed=False) if bits == 32 else mmh3.hash64(word.encode(), signed=False)[0]
        for word in weighted
    ]
    expected = plain_compute(hashes, list(weighted.values()), bits)
    assert simhash(weighted, bits=bits) == expected
    assert simhash(MappingProxyType(weighted), bits=bits) == expected
    assert simhash(weighted, bits=bits).bit_length() <= bits


def test_features_without_weights_count_once() -> None:
    assert simhash(["ice", "storm", "storm"]) == simhash({"storm": 1, "ice": 1})
    assert simhash(word for word in ("ice", "storm")) == simhash({"storm": 1, "ice": 1})


def test_frozen_simhashes() -> None:
    weighted = features("The ferries stop when the harbour freezes; then carts cross the ice.")
    assert f"{simhash(weighted):016x}" == "5aade481c1cb0e1e"
    assert f"{simhash(weighted, bits=32):08x}" == "3a730e60"


@pytest.mark.parametrize("kind", ["words", "word-shingles", "char-shingles"])
def test_near_duplicates_are_nearer_than_others(kind: classic.FeatureKind) -> None:
    words = [f"word{number}" for number in range(300)]
    edited = [*words[:150], "edit", *words[151:]]
    other = [f"term{number}" for number in range(300)]
    page, near, far = (simhash(features(" ".join(text), kind=kind)) for text in (words, edited, other))
    assert num_differing_bits(page, near) < 12 < num_differing_bits(page, far)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: simhash(Counter("ab"), bits=16), "bits is 16"),
        (lambda: compute([1], bits=128), "bits is 128"),
        (lambda: shingle(["a"], 0), "a shingle of 0 words"),
        (lambda: features("a", kind="word-shingles", size=0), "a shingle of 0 words"),
        (lambda: features("a", kind="char-shingles", size=0), "a shingle of 0 words"),
        (lambda: features("a", kind="letters"), "kind is 'letters'"),  # type: ignore[arg-type]
    ],
)
def test_arguments_out_of_range(call: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        call()


def test_examples_of_the_documentation() -> None:
    tried = doctest.testmod(classic)
    assert tried.attempted > 0
    assert tried.failed == 0
