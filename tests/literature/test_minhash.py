"""MinHash: the published examples, and an estimate as good as theory allows."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import numpy as np
import pytest

from crawldedup.errors import ConfigurationError
from crawldedup.literature.minhash import (
    bands_for,
    brute_force,
    estimate,
    jaccard_of_sets,
    minhash,
    shingles,
    similar_pairs,
)

LOREM = (
    "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt ut "
    "labore et dolore "
    "magna aliqua. Ut enim ad minim veniam, quis nostrud exercitation ullamco laboris nisi ut "
    "aliquip ex ea commodo "
    "consequat. Duis aute irure dolor in reprehenderit in voluptate velit esse cillum dolore eu "
    "fugiat nulla pariatur. "
    "Excepteur sint occaecat cupidatat non proident"
)
DOC, DOC2 = (
    f"{LOREM}, sunt in culpa qui officia deserunt mollit anim id est laborum.",
    f"{LOREM} bla bla bla.",
)
PIZZA = {
    " xd 1111@ ", "herita! xd", "izza margh", "e pizza ma", "rgherita! ", "ta! xd 111", "ita! xd 11", " pizza mar",
    "argherita!", "rita! xd 1", "zza marghe", "a! xd 1111", "a margheri", " love pizz", "erita! xd ", "love pizza",
    "za margher", "margherita", "gherita! x", " margherit", "i love piz", "pizza marg", "ve pizza m", "ove pizza ",
    "! xd 1111@",
}  # fmt: skip
# The signatures that the article prints, in another order; its hash functions are random. They
# differ in three places.
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
    signatures = [minhash(each, 100) for each in sets]
    assert similar_pairs(signatures, bands=10, threshold=0.7) == {(0, 1)}
    assert similar_pairs(signatures, bands=50, threshold=0.95) == set()
    assert brute_force(sets, 0.7) == {(0, 1)}


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


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: estimate(minhash({"a"}, 3), minhash({"a"}, 2)), "signatures of 3 and 2 numbers"),
        (lambda: bands_for(1.0, 128), "threshold is 1.0"),
    ],
)
def test_arguments_out_of_range(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        call()
