"""MinHash: the published examples, an estimate as good as theory allows, and bands where the S-curve is wanted."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawldedup.demo.site import all_articles
from crawldedup.errors import ConfigurationError
from crawldedup.literature.minhash import (
    BandedIndex,
    bands_for,
    brute_force,
    collision_probability,
    estimate,
    jaccard_of_sets,
    minhash,
    shingles,
    similar_pairs,
)

LOREM = (
    "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt ut labore et dolore "
    "magna aliqua. Ut enim ad minim veniam, quis nostrud exercitation ullamco laboris nisi ut aliquip ex ea commodo "
    "consequat. Duis aute irure dolor in reprehenderit in voluptate velit esse cillum dolore eu fugiat nulla pariatur. "
    "Excepteur sint occaecat cupidatat non proident"
)
DOC, DOC2 = f"{LOREM}, sunt in culpa qui officia deserunt mollit anim id est laborum.", f"{LOREM} bla bla bla."
PIZZA = {
    " xd 1111@ ", "herita! xd", "izza margh", "e pizza ma", "rgherita! ", "ta! xd 111", "ita! xd 11", " pizza mar",
    "argherita!", "rita! xd 1", "zza marghe", "a! xd 1111", "a margheri", " love pizz", "erita! xd ", "love pizza",
    "za margher", "margherita", "gherita! x", " margherit", "i love piz", "pizza marg", "ve pizza m", "ove pizza ",
    "! xd 1111@",
}  # fmt: skip
# The signatures that the article prints, in another order; its hash functions are random. They differ in three places.
SHARED = (
    1783860, 4845898, 3935831, 198103, 8061377, 4526224, 8467452, 7766250, 15505788, 825368, 12316643, 6403903, 9259449,
    8533874, 31889076, 940623, 278359,
)  # fmt: skip
PUBLISHED = [(4502308, 5303198, 5887007, *SHARED), (6122847, 20203690, 12350289, *SHARED)]


def test_what_is_published() -> None:
    assert shingles("I love pizza Margherita! xd 1111@\n\n\n\n\n\n\n\n\n\n\n\n\n\n", 10) == PIZZA
    assert shingles("short", 10) == set()
    sets = [shingles(DOC), shingles(DOC2), shingles("I love pizza Margherita")]
    assert jaccard_of_sets(sets[0], sets[1]) == 0.8285077951002228
    assert jaccard_of_sets(set(PUBLISHED[0]), set(PUBLISHED[1])) == 0.7391304347826086
    assert estimate(*(np.array(signature, np.uint32) for signature in PUBLISHED)) == 17 / 20
    assert jaccard_of_sets(set(), set()) == 0
    assert similar_pairs([minhash(each, 100) for each in sets], bands=10, threshold=0.7) == {(0, 1)}
    assert brute_force(sets, 0.7) == {(0, 1)}


@given(st.sets(st.text(max_size=4), max_size=30), st.sets(st.text(max_size=4), max_size=30), st.integers(1, 300))
@settings(max_examples=60, deadline=None)
def test_the_signature_of_a_union_is_the_smaller_of_both(one: set[str], other: set[str], permutations: int) -> None:
    first, second = minhash(one, permutations), minhash(other, permutations)
    assert (minhash(one | other, permutations) == np.minimum(first, second)).all()
    assert (minhash(one, 300)[:permutations] == first).all()
    assert estimate(first, first) == 1


@pytest.mark.parametrize("shared", [60, 150, 270])
def test_errors_are_those_of_independent_permutations(shared: int) -> None:
    generator, standardised = random.Random(shared), []
    for _ in range(400):
        members = [f"member{number}" for number in generator.sample(range(10**9), 600 - shared)]
        one, other = set(members[:300]), set(members[300 - shared :])
        exact = jaccard_of_sets(one, other)
        share = estimate(minhash(one), minhash(other))
        standardised.append((share - exact) / math.sqrt(exact * (1 - exact) / 128))
    # Mean and variance of 400 standard normal numbers, four standard errors either way.
    assert abs(np.mean(standardised)) < 0.2
    assert abs(np.var(standardised) - 1) < 0.3


@pytest.mark.parametrize(("permutations", "threshold"), [(1, 0.5), (16, 0.8), (64, 0.9)])
def test_bands_are_the_best_there_are(permutations: int, threshold: float) -> None:
    similarities = (np.arange(400) + 0.5) / 400

    def total_error(bands: int, rows: int) -> float:
        curve = 1 - (1 - similarities**rows) ** bands
        assert (collision_probability(similarities, bands, rows) == curve).all()
        return float(np.where(similarities < threshold, curve, 1 - curve).mean() / 2)

    choices = [(bands, rows) for rows in range(1, permutations + 1) for bands in range(1, permutations // rows + 1)]
    best = bands_for(threshold, permutations)
    assert best in choices
    assert total_error(*best) <= min(total_error(*choice) for choice in choices) + 1e-4


def test_banding_finds_what_brute_force_finds() -> None:
    """The article's comparison, on the articles of the demo site and an edition of each with a word less."""
    texts = [text for article in all_articles() for text in (article.text, article.text.replace(" ", "  ", 1)[:-9])]
    sets = [shingles(text) for text in texts]
    expected = {(number, number + 1) for number in range(0, len(texts), 2)}
    assert similar_pairs([minhash(each) for each in sets], bands=16, threshold=0.9) == expected
    assert brute_force(sets, 0.9) == expected


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: shingles("text", 0), "size is 0; it must be a whole number from 1"),
        (lambda: minhash({"a"}, 0), "permutations is 0"),
        (lambda: estimate(minhash({"a"}, 3), minhash({"a"}, 2)), "signatures of 3 and 2 numbers"),
        (lambda: bands_for(1.0, 128), "threshold is 1.0"),
        (lambda: bands_for(0.5, 128, false_negative_weight=1), "false_negative_weight is 1"),
        (lambda: BandedIndex(9).add(minhash({"a"}, 8)), "9 bands of a signature of 8 numbers"),
    ],
)
def test_arguments_out_of_range(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        call()
