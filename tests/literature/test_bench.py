"""The exact comparison, against doing it the long way."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawldedup.literature.bench import (
    LOWEST,
    KeptPages,
    compare_all,
    shingles,
    similar_pairs,
    words,
)
from tests.stories import jaccard

SHORT = st.lists(st.sampled_from("abcde"), max_size=14).map(" ".join)
# Edited copies of one text, in which few shingles are rare.
LONG = st.lists(st.integers(0, 59), max_size=6).map(
    lambda edits: " ".join("edit" if place in edits else f"w{place}" for place in range(60))
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Straße Café", ["strasse", "café"]),
        ("漢字かなカナ abc", ["漢", "字", "か", "な", "カ", "ナ", "abc"]),
        ("don't", ["don", "t"]),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_similarity_is_the_share_of_common_shingles_and_a_short_text_is_one() -> None:
    assert jaccard("a b c d", "a b c d") == 1
    assert jaccard("a b c d", "b c d e") == pytest.approx(1 / 3)
    assert (
        jaccard("one two", "one two"),
        jaccard("one two", "one two three"),
        jaccard("", ""),
    ) == (1, 0, 0)
    assert (shingles(words("Two words")), shingles([])) == ({("two", "words")}, set())


@given(st.lists(SHORT, max_size=14) | st.lists(LONG, max_size=14))
@settings(max_examples=60, deadline=None)
def test_every_similar_pair_is_found(texts: list[str]) -> None:
    pairs = similar_pairs(
        [np.array(sorted(set(map(hash, shingles(words(text))))), np.int64) for text in texts]
    )
    every = {(i, j): jaccard(texts[i], texts[j]) for i, j in combinations(range(len(texts)), 2)}
    expected = {
        pair: pytest.approx(similarity)
        for pair, similarity in every.items()
        if similarity >= LOWEST
    }
    assert {(first, second): similarity for first, second, similarity in pairs} == expected


def test_copies_make_one_group_and_pages_without_a_word_none() -> None:
    texts = [" ".join(f"{name}{number}" for number in range(40)) for name in "abc"]
    truth = compare_all([*texts * 200, "", "…"])
    assert (truth.groups[-2:], set(truth.groups[:600]), truth.near) == ([-1, -1], {0, 1, 2}, {})
    assert truth.words[-3:] == [40, 0, 0]
    index = KeptPages(truth)
    index.add(600)
    assert index.best(601) == (0, None)
