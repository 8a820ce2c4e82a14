"""VOSH: the heap over its trees gives every set of bits once, the most probable first."""

from __future__ import annotations

import math
from itertools import combinations, islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawldedup.evaluation.methods.vosh import FlipSet, children, flip_sets

PROBABILITIES = st.lists(st.floats(1e-6, 0.5), max_size=10).map(lambda values: sorted(values, reverse=True))


def all_sets(bits: int) -> list[FlipSet]:
    return [flips for size in range(bits + 1) for flips in combinations(range(1, bits + 1), size)]


def probability(flips: FlipSet, probabilities: list[float]) -> float:
    return math.prod(p if rank in flips else 1 - p for rank, p in enumerate(probabilities, start=1))


@pytest.mark.exhaustive
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


@given(PROBABILITIES, st.integers(0, 10))
@settings(max_examples=60, deadline=None)
def test_number_of_flips_can_be_limited(probabilities: list[float], most: int) -> None:
    every = [entry for entry in flip_sets(probabilities) if len(entry[0]) <= most]
    limited = list(flip_sets(probabilities, max_flips=most))
    assert sorted(limited) == sorted(every)
    assert [p for _, p in limited] == [p for _, p in every]


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


def test_first_sets_of_many_bits_come_at_once() -> None:
    first = list(islice(flip_sets([0.45 / rank for rank in range(1, 65)]), 500))
    assert first[0][0] == ()
    assert len({flips for flips, _ in first}) == 500
    assert [p for _, p in first] == sorted((p for _, p in first), reverse=True)
