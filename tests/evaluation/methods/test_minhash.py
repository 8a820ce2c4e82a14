"""MinHash: as defined, an estimate as good as theory allows, and bands where the S-curve is wanted."""

from __future__ import annotations

import math
import random
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawldedup.errors import ConfigurationError
from crawldedup.evaluation.methods import signatures as module
from crawldedup.evaluation.methods.signatures import bands_for, collision_probability, estimate, minhash
from crawldedup.text.tokenize import word_hashes
from tests.fingerprinting.definition import MASK, hashes_of, mix

HASHES = st.lists(st.integers(0, MASK), max_size=30)


def defined(hashes: list[int], shingle: int, permutations: int) -> bytes:
    if not hashes:
        return bytes(permutations)
    size = min(shingle, len(hashes))
    members = set()
    for start in range(len(hashes) - size + 1):
        total = 0
        for number in hashes[start : start + size]:
            total = (total * 0xBF58476D1CE4E5B9 + number) & MASK
        members.add(mix(total) % 2**32)
    factors = [mix(permutation) >> 32 | 1 for permutation in range(1, permutations + 1)]
    return bytes(mix(min(factor * member % 2**32 for member in members)) % 256 for factor in factors)


def shingle_set(words: list[str], size: int) -> set[tuple[str, ...]]:
    return {tuple(words[start : start + size]) for start in range(len(words) - size + 1)}


def jaccard(first: list[str], second: list[str], size: int = 3) -> float:
    one, other = shingle_set(first, size), shingle_set(second, size)
    return len(one & other) / len(one | other)


def edited_pair(generator: random.Random, words: int, edits: int) -> tuple[list[str], list[str]]:
    page = [f"word{generator.randrange(5000)}" for _ in range(words)]
    copy = list(page)
    for place in generator.sample(range(words), edits):
        copy[place] = f"edit{generator.randrange(5000)}"
    return page, copy


def signature(words: list[str], **options: int) -> bytes:
    return minhash(word_hashes(" ".join(words)), **options)


@given(HASHES, st.integers(1, 6), st.integers(1, 40))
@settings(max_examples=150, deadline=None)
def test_as_defined(hashes: list[int], shingle: int, permutations: int) -> None:
    made = minhash(np.array(hashes, np.uint64), shingle=shingle, permutations=permutations)
    assert made == defined(hashes, shingle, permutations)


def test_as_defined_for_a_text() -> None:
    text = "The ferries stop when the harbour freezes; then carts cross the ice. 冬の港 "
    assert minhash(word_hashes(text * 3)) == defined(hashes_of(text * 3), 3, 128)


def test_frozen_signature() -> None:
    text = "The ferries stop when the harbour freezes; then carts cross the ice."
    assert minhash(word_hashes(text), permutations=16).hex() == "c7e22e29d8089321e98cc0e7cb1d614f"


@pytest.mark.parametrize("cells", [1, 7, 128, 1000])
def test_blocks_change_nothing(cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    words = word_hashes(" ".join(f"word{number * number % 700}" for number in range(900)))
    whole = minhash(words, permutations=64)
    monkeypatch.setattr(module, "_CELLS_A_BLOCK", cells)
    assert minhash(words, permutations=64) == whole


def test_the_input_is_left_alone() -> None:
    words = word_hashes("one two three four five")
    before = words.copy()
    minhash(words, shingle=2)
    assert (words == before).all()


@pytest.mark.exhaustive
def test_a_long_page_takes_little_memory() -> None:
    words = np.arange(1_000_000, dtype=np.uint64)
    minhash(words[:10], permutations=1024)
    tracemalloc.start()
    minhash(words, permutations=1024)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # 1,024 products for each word would be 4 GB.
    assert peak < 60e6


@pytest.mark.parametrize("permutations", [1, 16, 128, 500])
def test_one_byte_a_permutation(permutations: int) -> None:
    words = word_hashes("the quick brown fox jumps over the lazy dog")
    made = minhash(words, permutations=permutations)
    assert isinstance(made, bytes)
    assert len(made) == permutations
    assert minhash(words, permutations=module.MAX_PERMUTATIONS).startswith(made)


def test_repetitions_and_their_order_do_not_count() -> None:
    once = "a b c d e f "
    assert signature((once * 2).split()) == signature((once * 50).split())
    assert signature(["a", "b", "c"], shingle=1) == signature(["c", "b", "a", "b", "b"], shingle=1)


def test_the_order_of_words_counts_within_shingles() -> None:
    words = [f"word{number}" for number in range(400)]
    assert estimate(signature(words), signature(words[::-1])) < 0.1
    assert signature(words, shingle=1) == signature(words[::-1], shingle=1)


def test_pages_shorter_than_a_shingle() -> None:
    assert signature([]) == bytes(128)
    assert signature(["one"]) != signature(["two"])
    assert signature(["one", "two"]) == signature(["one", "two"])
    assert estimate(signature(["one"]), signature(["two"])) < 0.1


@given(
    st.integers(0, 10_000),
    st.integers(20, 400),
    st.floats(0, 0.5),
    st.sampled_from([64, 128, 256]),
    st.integers(1, 5),
)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_estimate_is_within_the_binomial_bound(
    seed: int, words: int, share: float, permutations: int, shingle: int
) -> None:
    page, copy = edited_pair(random.Random(seed), words, int(share * words))
    exact = jaccard(page, copy, shingle)
    agreeing = exact + (1 - exact) / 256
    deviation = math.sqrt(agreeing * (1 - agreeing) / permutations) * 256 / 255
    estimated = estimate(*(signature(text, shingle=shingle, permutations=permutations) for text in (page, copy)))
    assert abs(estimated - exact) <= 4.5 * deviation + 1e-9


@pytest.mark.parametrize(("edits", "least", "most"), [(2, 0.95, 1), (12, 0.77, 0.93), (60, 0.25, 0.5), (300, 0, 0)])
def test_errors_are_those_of_independent_permutations(edits: int, least: float, most: float) -> None:
    generator = random.Random(edits)
    standardised = []
    for _ in range(400):
        page, copy = edited_pair(generator, 300, edits)
        exact = jaccard(page, copy)
        assert least <= exact <= most
        ours, theirs = signature(page), signature(copy)
        agreeing = exact + (1 - exact) / 256
        share = sum(one == other for one, other in zip(ours, theirs, strict=True)) / len(ours)
        standardised.append((share - agreeing) / math.sqrt(agreeing * (1 - agreeing) / len(ours)))
    # Mean and variance of 400 standard normal numbers, four standard errors either way.
    assert abs(np.mean(standardised)) < 0.2
    assert abs(np.var(standardised) - 1) < 0.3


def test_every_permutation_is_another() -> None:
    factors = module._multipliers(module.MAX_PERMUTATIONS)
    assert len(np.unique(factors)) == len(factors)
    assert (factors % 2 == 1).all()


@pytest.mark.parametrize(
    ("own", "other", "expected"),
    [
        (b"abcd", b"abcd", 1.0),
        (b"abcd", b"abxx", (0.5 - 1 / 256) * 256 / 255),
        (b"abcd", b"wxyz", 0.0),
        (bytes(256), b"\0" + b"\1" * 255, 0.0),
        (bytes(256), b"\0\0" + b"\1" * 254, 1 / 255),
    ],
)
def test_estimates(own: bytes, other: bytes, expected: float) -> None:
    assert estimate(own, other) == pytest.approx(expected, abs=1e-12)
    assert estimate(other, own) == estimate(own, other)


@pytest.mark.parametrize("similarity", [0.0, 0.3, 0.8, 0.9])
@pytest.mark.parametrize(("bands", "rows"), [(1, 1), (1, 4), (16, 8), (32, 4)])
def test_collision_probability_is_what_happens(similarity: float, bands: int, rows: int) -> None:
    generator = np.random.default_rng(7)
    trials = 20_000
    agree = generator.random((trials, bands, rows)) < similarity
    agree |= generator.integers(0, 256, (trials, bands, rows)) == 0
    seen = float(np.logical_or.reduce(agree.all(axis=2), axis=1).mean())
    expected = collision_probability(similarity, bands, rows)
    assert abs(seen - expected) < 4.5 * math.sqrt(max(expected, 1e-4) / trials)


@pytest.mark.parametrize(
    ("permutations", "threshold"),
    [
        (1, 0.5),
        (16, 0.8),
        *(pytest.param(*each, marks=pytest.mark.exhaustive) for each in ((128, 0.5), (128, 0.9), (200, 0.7))),
    ],
)
def test_bands_are_the_best_there_are(permutations: int, threshold: float) -> None:
    bands, rows = bands_for(threshold, permutations)
    assert bands * rows <= permutations
    best = total_error(threshold, bands, rows)
    for other_rows in range(1, permutations + 1):
        for other_bands in {1, 2, bands - 1, bands, bands + 1, permutations // other_rows}:
            if 1 <= other_bands <= permutations // other_rows:
                assert total_error(threshold, other_bands, other_rows) >= best - 1e-4


def total_error(threshold: float, bands: int, rows: int) -> float:
    similarities = (np.arange(400) + 0.5) / 400
    curve = np.array([collision_probability(float(similarity), bands, rows) for similarity in similarities])
    return float(np.where(similarities < threshold, curve, 1 - curve).mean() / 2)


def test_bands_by_what_is_worse() -> None:
    even, careful = bands_for(0.8, 128), bands_for(0.8, 128, false_negative_weight=0.95)
    assert collision_probability(0.8, *careful) > 0.9 > collision_probability(0.8, *even)
    assert collision_probability(0.5, *careful) > collision_probability(0.5, *even)


@pytest.mark.parametrize("max_bands", [1, 4, 20])
def test_no_more_bands_than_allowed(max_bands: int) -> None:
    assert bands_for(0.5, 512)[0] > 20
    bands, rows = bands_for(0.5, 512, max_bands=max_bands)
    assert bands <= max_bands
    assert bands * rows <= 512


WORDS = np.arange(9, dtype=np.uint64)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: minhash(WORDS, shingle=0), "shingle is 0; it must be a whole number at least 1"),
        (lambda: minhash(WORDS, permutations=0), "permutations is 0; it must be a whole number from 1 to 4096"),
        (lambda: minhash(WORDS, permutations=5000), "permutations is 5000"),
        (lambda: minhash(WORDS, permutations=1.5), "permutations is 1.5"),  # type: ignore[arg-type]
        (lambda: estimate(b"", b""), "signatures of 0 and 0 bytes"),
        (lambda: estimate(b"abc", b"ab"), "signatures of 3 and 2 bytes"),
        (lambda: collision_probability(1.1, 4, 4), "similarity is 1.1"),
        (lambda: collision_probability(math.nan, 4, 4), "similarity is nan"),
        (lambda: collision_probability(0.5, 0, 4), "bands is 0"),
        (lambda: collision_probability(0.5, 4, 0), "rows is 0"),
        (lambda: bands_for(1.0, 128), "threshold is 1.0"),
        (lambda: bands_for(0.5, 0), "permutations is 0"),
        (lambda: bands_for(0.5, 128, false_negative_weight=1), "false_negative_weight is 1"),
        (lambda: bands_for(0.5, 128, max_bands=0), "max_bands is 0"),
    ],
)
def test_arguments_out_of_range(call: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        call()
