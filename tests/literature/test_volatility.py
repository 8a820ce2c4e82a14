"""VOSH gives every set of bits once, the most probable first; searches by it find what they
promise.
"""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from crawldedup.literature.simhash_py import num_differing_bits
from crawldedup.literature.volatility import (
    FlipSet,
    VolatilitySearch,
    flip_probabilities,
    flip_sets,
    recall_by_probes,
    share_within,
)


@given(st.lists(st.floats(1e-6, 0.5), max_size=8).map(lambda values: sorted(values, reverse=True)))
@settings(max_examples=40, deadline=None)
def test_sets_come_in_the_order_of_brute_force(probabilities: list[float]) -> None:
    def probability(flips: FlipSet) -> float:
        return math.prod(
            p if rank in flips else 1 - p for rank, p in enumerate(probabilities, start=1)
        )

    bits = range(1, len(probabilities) + 1)
    every = [flips for size in range(len(bits) + 1) for flips in combinations(bits, size)]
    found = list(flip_sets(probabilities))
    assert sorted(flips for flips, _ in found) == sorted(every)
    assert [p for _, p in found] == pytest.approx(
        [probability(flips) for flips, _ in found], rel=1e-9
    )
    # Equal sequences of probabilities: the same order but for ties.
    assert [p for _, p in found] == pytest.approx(
        sorted(map(probability, every), reverse=True), rel=1e-9
    )


def noisy_pairs(number: int, similarity: float = 0.9) -> list[tuple[int, NDArray[np.float64], int]]:
    """Hashes, their weights, and a hash in which each bit is flipped by the model."""
    generator = np.random.default_rng(11)
    pairs = []
    for _ in range(number):
        weights = generator.standard_normal(64)
        flipped = generator.random(64) < flip_probabilities(weights, similarity)
        one, other = (
            int("".join("01"[int(bit)] for bit in bits), 2)
            for bits in (weights > 0, (weights > 0) ^ flipped)
        )
        pairs.append((one, weights, other))
    return pairs


@pytest.mark.parametrize("recall", [0.5, 0.9, 1.0])
def test_the_search_meets_the_share_it_is_told_to_by_as_few_probes(recall: float) -> None:
    pairs = [
        pair for pair in noisy_pairs(1200, 0.95) if 0 < num_differing_bits(pair[0], pair[2]) <= 3
    ]
    search = VolatilitySearch(similarity=0.95, recall=recall)
    for _, _, other in pairs:
        search.insert(other)
    met = sum(other in search.find_all(one, weights) for one, weights, other in pairs)
    assert len(pairs) > 180
    # Of few flips in all, fewer lie in the prefix than of any number, so more are met.
    assert recall - 0.02 <= met / len(pairs) <= 1
    every = len(pairs) * sum(math.comb(9, flips) for flips in range(4))
    assert search.probes == every if recall == 1 else search.probes * 3 < every


@pytest.mark.parametrize("distance", range(5))
def test_with_recall_1_everything_within_the_distance_is_found(distance: int) -> None:
    pairs = noisy_pairs(100, similarity=0.97)
    search = VolatilitySearch(distance, recall=1.0)
    for _, _, other in pairs:
        search.insert(other)
    for one, weights, _ in pairs:
        near = sorted({other for *_, other in pairs if num_differing_bits(one, other) <= distance})
        assert sorted(search.find_all(one, weights)) == near
        assert search.find_first(one, weights) in (near or [None])


def test_recall_by_probes_as_published() -> None:
    """The paper's figure 5: flips in the order of volatility need far fewer probes than random
    ones.
    """
    probabilities = sorted(
        flip_probabilities(np.random.default_rng(3).standard_normal(64), 0.9), reverse=True
    )
    volatile, random = recall_by_probes(probabilities, 3)
    assert len(volatile) == len(random) == sum(math.comb(64, flips) for flips in range(4))
    assert volatile[-1] == random[-1] == 1
    assert (volatile >= random - 1e-9).all()
    assert np.searchsorted(volatile, 0.95) * 8 < np.searchsorted(random, 0.95)
    assert share_within(probabilities, 3) == pytest.approx(
        sum(p for _, p in flip_sets(probabilities, 3))
    )
