"""VOSH gives every set of bits once, the most probable first; searches by it find what they promise."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from crawldedup.literature.features import bit_weights, features, simhash
from crawldedup.literature.simhash_py import num_differing_bits
from crawldedup.literature.volatility import (
    FlipSet,
    VolatilitySearch,
    children,
    find_all,
    flip_probabilities,
    flip_sets,
    recall_by_probes,
    share_within,
)

PROBABILITIES = st.lists(st.floats(1e-6, 0.5), max_size=10).map(lambda values: sorted(values, reverse=True))


def all_sets(bits: int) -> list[FlipSet]:
    return [flips for size in range(bits + 1) for flips in combinations(range(1, bits + 1), size)]


def probability(flips: FlipSet, probabilities: list[float]) -> float:
    return math.prod(p if rank in flips else 1 - p for rank, p in enumerate(probabilities, start=1))


@pytest.mark.nightly
@given(PROBABILITIES)
@settings(max_examples=60, deadline=None)
def test_sets_come_in_the_order_of_brute_force(probabilities: list[float]) -> None:
    bits = len(probabilities)
    found = list(flip_sets(probabilities))
    assert sorted(flips for flips, _ in found) == sorted(all_sets(bits))
    assert [p for _, p in found] == pytest.approx([probability(flips, probabilities) for flips, _ in found], rel=1e-9)
    ordered = sorted((probability(flips, probabilities) for flips in all_sets(bits)), reverse=True)
    # Equal sequences of probabilities: the same order but for ties.
    assert [p for _, p in found] == pytest.approx(ordered, rel=1e-9)
    assert sum(p for _, p in found) == pytest.approx(1)


@pytest.mark.parametrize("bits", range(1, 11))
def test_trees_hold_every_set_once(bits: int) -> None:
    for size in range(bits + 1):
        waiting: list[FlipSet] = [tuple(range(1, size + 1))]
        seen = []
        while waiting:
            flips = waiting.pop()
            seen.append(flips)
            below = children(flips, bits)
            assert len(below) <= 2
            waiting += below
        assert len(seen) == math.comb(bits, size)
        assert sorted(seen) == list(combinations(range(1, bits + 1), size))


@given(PROBABILITIES)
@settings(max_examples=40, deadline=None)
def test_no_child_is_more_probable_than_its_parent(probabilities: list[float]) -> None:
    for flips in all_sets(len(probabilities)):
        for child in children(flips, len(probabilities)):
            assert len(child) == len(flips)
            assert probability(child, probabilities) <= probability(flips, probabilities) * (1 + 1e-12)


def test_children_of_the_published_example() -> None:
    assert children((1, 2, 3), 6) == [(1, 2, 4)]
    assert children((1, 2, 4), 6) == [(1, 2, 5), (1, 3, 4)]
    assert children((1, 3, 4), 6) == [(1, 3, 5), (2, 3, 4)]
    assert children((1, 2, 5), 6) == [(1, 2, 6)]
    assert children((4, 5, 6), 6) == []
    assert children((), 6) == []


def noisy_pairs(number: int, similarity: float = 0.9) -> list[tuple[int, NDArray[np.float64], int]]:
    """Hashes, their weights, and a hash in which each bit is flipped by the model."""
    generator = np.random.default_rng(11)
    pairs = []
    for _ in range(number):
        weights = generator.standard_normal(64)
        flipped = generator.random(64) < flip_probabilities(weights, similarity)
        one, other = (
            int("".join("01"[int(bit)] for bit in bits), 2) for bits in (weights > 0, (weights > 0) ^ flipped)
        )
        pairs.append((one, weights, other))
    return pairs


def test_probabilities_are_those_of_the_normal_model() -> None:
    assert flip_probabilities(np.array([0.0, 1.0, -1.0]), 1 / 3) == pytest.approx([0.5, 0.28185143, 0.28185143])
    assert flip_probabilities(np.array([0.5, 50.0]), 1.0).tolist() == sorted(
        flip_probabilities(np.array([0.5, 50.0]), 1.0).tolist(), reverse=True
    )


@pytest.mark.parametrize("recall", [0.5, 0.9, 0.98])
def test_the_search_meets_the_share_it_is_told_to(recall: float) -> None:
    pairs = [pair for pair in noisy_pairs(2000, 0.95) if 0 < num_differing_bits(pair[0], pair[2]) <= 3]
    search = VolatilitySearch(similarity=0.95, recall=recall)
    for _, _, other in pairs:
        search.insert(other)
    met = sum(other in search.find_all(one, weights) for one, weights, other in pairs)
    assert len(pairs) > 300
    # Of few flips in all, fewer lie in the prefix than of any number, so more are met.
    assert recall - 0.02 <= met / len(pairs) <= 1


def test_a_lower_recall_takes_fewer_probes() -> None:
    probes = []
    for recall in (0.5, 0.9, 0.98, 1.0):
        search = VolatilitySearch(recall=recall)
        for one, _, _ in noisy_pairs(300):
            search.insert(one)
        for _, weights, other in noisy_pairs(20):
            search.find_all(other, weights)
        probes.append(search.probes)
    assert probes == sorted(probes)
    assert probes[0] * 10 < probes[-1] == 20 * sum(math.comb(9, flips) for flips in range(4))


@given(st.integers(0, 4))
@settings(max_examples=10, deadline=None)
def test_with_recall_1_everything_within_the_distance_is_found(distance: int) -> None:
    pairs = noisy_pairs(200, similarity=0.97)
    search = VolatilitySearch(distance, recall=1.0)
    for _, _, other in pairs:
        search.insert(other)
    for one, weights, _ in pairs:
        near = sorted({other for *_, other in pairs if num_differing_bits(one, other) <= distance})
        assert sorted(search.find_all(one, weights)) == near
        assert search.find_first(one, weights) in (near or [None])


def test_pairs_of_a_collection() -> None:
    pairs = noisy_pairs(200, similarity=0.98)
    hashes, weights = [one for one, _, _ in pairs], [own for _, own, _ in pairs]
    found = find_all(hashes + [other for *_, other in pairs], weights * 2, recall=1.0)
    expected = {tuple(sorted((one, other))) for one, _, other in pairs if 0 < num_differing_bits(one, other) <= 3}
    assert found == sorted(expected)


def test_texts_with_an_edited_word_are_found() -> None:
    search = VolatilitySearch(distance=8)
    old = " ".join(f"word{number}" for number in range(200))
    search.insert(simhash(features(old)))
    new = features(old.replace("word7 ", "edit "))
    assert search.find_first(simhash(new), bit_weights(new)) == simhash(features(old))


def test_recall_by_probes_as_published() -> None:
    """The paper's figure 5: flips in the order of volatility need far fewer probes than random ones."""
    probabilities = sorted(flip_probabilities(np.random.default_rng(3).standard_normal(64), 0.9), reverse=True)
    volatile, random = recall_by_probes(probabilities, 3)
    assert len(volatile) == len(random) == sum(math.comb(64, flips) for flips in range(4))
    assert volatile[-1] == random[-1] == 1
    assert (volatile >= random - 1e-9).all()
    assert np.searchsorted(volatile, 0.95) * 8 < np.searchsorted(random, 0.95)
    assert share_within(probabilities, 3) == pytest.approx(sum(p for _, p in flip_sets(probabilities, 3)))
