"""Probe plans read the ranges that VOSH would read, in its order."""

from __future__ import annotations

import heapq
import math
from itertools import islice
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawldedup.literature.volatility import flip_sets
from crawldedup.search.decision import flip_probabilities, steepness
from crawldedup.search.plan import (
    KEY_BITS,
    MAX_PREFIX_BITS,
    MIN_PREFIX_BITS,
    STORED_BITS,
    PlanLimits,
    ProbePlan,
    Table,
    page_plans,
    prefix_bits,
    volatile_plans,
)

FINGERPRINTS = st.integers(0, (1 << 64) - 1)
SEEDS = st.integers(0, 1 << 32)


def rotated_tables(count: int) -> tuple[Table, ...]:
    return tuple(Table(lead * 64 // count) for lead in range(count))


def weights_from(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(64).astype(np.float32)


class LongWay:
    """The probes of a page by the heap over the trees of every table."""

    def __init__(
        self,
        fingerprint: int,
        weights: np.ndarray,
        tables: tuple[Table, ...],
        prefix: int,
        similarity: float,
    ) -> None:
        self.prefix = prefix
        self.starts = [table.key(fingerprint) >> 64 - prefix << 64 - prefix for table in tables]
        # Of the leading bits of each table, in the order of the key.
        self.flips = [
            flip_probabilities(weights[table.order[:prefix]], similarity).tolist()
            for table in tables
        ]

    def probabilities(self, count: int) -> list[float]:
        """Of the best `count` probes, best first."""
        trees = (
            islice((p for _, p in flip_sets(sorted(probabilities, reverse=True))), count)
            for probabilities in self.flips
        )
        return list(islice(heapq.merge(*trees, reverse=True), count))

    def probability(self, table: int, low: int) -> float:
        """That the keys from `low` on are those of a near duplicate."""
        flipped = f"{(low ^ self.starts[table]) >> 64 - self.prefix:0{self.prefix}b}"
        product = 1.0
        for flip, p in zip(flipped, self.flips[table], strict=True):
            product *= p if flip == "1" else 1 - p
        return product


def volatile_plan(
    fingerprint: int,
    weights: np.ndarray,
    tables: tuple[Table, ...],
    prefix: int,
    similarity: float,
    **limits: Any,
) -> ProbePlan:
    """Return the plan without its first probe, the page's own key."""
    keys = np.array([[table.key(fingerprint) for table in tables]], np.uint64)
    slopes = np.array([steepness(similarity)], np.float32)
    (plan,) = volatile_plans(keys, weights[None], tables, slopes, PlanLimits(prefix, **limits))
    key, rest = int(keys[0, 0]), (1 << KEY_BITS - STORED_BITS) - 1
    assert (plan.tables[0], plan.lows[0], plan.highs[0]) == (0, key & ~rest, key | rest)
    return ProbePlan(plan.tables[1:], plan.lows[1:], plan.highs[1:], plan.recall)


@pytest.mark.parametrize("number_of_tables", [1, 2, 3])
@given(
    fingerprint=FINGERPRINTS,
    seed=SEEDS,
    prefix=st.sampled_from([1, 2, 5, 10, 17, 21]),
    similarity=st.floats(0.5, 0.99),
    budget=st.sampled_from([1, 2, 7, 32, 64, 200]),
)
@settings(max_examples=60, deadline=None)
def test_volatile_plan_is_the_beginning_of_the_order_of_vosh(
    number_of_tables: int, fingerprint: int, seed: int, prefix: int, similarity: float, budget: int
) -> None:
    tables = rotated_tables(number_of_tables)
    weights = weights_from(seed)
    plan = volatile_plan(
        fingerprint, weights, tables, prefix, similarity, recall=1.0, budget=budget
    )
    long_way = LongWay(fingerprint, weights, tables, prefix, similarity)
    assert len(plan) == min(budget, number_of_tables << prefix) or plan.recall > 1 - 1e-9

    probes = list(zip(plan.tables.tolist(), plan.lows.tolist(), strict=True))
    probabilities = [long_way.probability(*probe) for probe in probes]
    # Different probes with the probabilities of the best: the best, in their order, up to ties.
    assert len(set(probes)) == len(probes)
    assert probabilities == pytest.approx(long_way.probabilities(len(plan)), rel=1e-7)

    assert (plan.highs ^ plan.lows == (1 << 64 - prefix) - 1).all()
    missed = math.prod(
        1
        - math.fsum(
            p for (table, _), p in zip(probes, probabilities, strict=True) if table == number
        )
        for number in range(number_of_tables)
    )
    assert plan.recall == pytest.approx(1 - missed, rel=1e-7)


@given(st.lists(st.tuples(SEEDS, st.sampled_from([10, 10**4, 10**9])), min_size=1, max_size=40))
@settings(max_examples=20, deadline=None)
def test_a_plan_is_the_same_alone_and_among_others(pages: list[tuple[int, int]]) -> None:
    weights = np.stack([weights_from(seed) for seed, _ in pages])
    keys = np.array(
        [[table.key(seed) for table in rotated_tables(2)] for seed, _ in pages], np.uint64
    )
    slopes = np.array([steepness(0.9 + place % 3 / 50) for place in range(len(pages))], np.float32)

    def planned(places: list[int]) -> list[ProbePlan]:
        own = {
            "sizes": [pages[place][1] for place in places],
            "slopes": slopes[places],
            "recall": 0.99,
        }
        return page_plans(keys[places], weights[places], rotated_tables(2), **own)

    for place, plan in enumerate(planned([*range(len(pages))])):
        (alone,) = planned([place])
        for name in ("recall", "lows", "highs", "tables"):
            assert np.array_equal(getattr(plan, name), getattr(alone, name))


def test_prefix_grows_with_the_index() -> None:
    """So that a probe meets an unrelated page now and then only, however many pages there are."""
    pages = [0, 1, *(1 << bits for bits in range(1, 70)), 10**6, 10**7]
    prefixes = [prefix_bits(number) for number in sorted(pages)]
    assert prefixes == sorted(prefixes)
    assert prefixes[0] == MIN_PREFIX_BITS
    assert prefixes[-1] == MAX_PREFIX_BITS
    for number, prefix in zip(sorted(pages), prefixes, strict=True):
        assert prefix == MAX_PREFIX_BITS or number <= 1 << prefix - 2


@pytest.mark.parametrize("count", [1, 2, 3, 8])
def test_keys_are_permutations_that_lead_with_different_bits(count: int) -> None:
    tables = rotated_tables(count)
    leading = {bit for table in tables for bit in table.order[: 64 // count].tolist()}
    assert (len(tables), len(leading)) == (count, 64 // count * count)
    for table in tables:
        assert sorted(table.order.tolist()) == list(range(64))
        for place, bit in enumerate(table.order.tolist()):
            key = table.key(1 << 63 - bit)
            assert key == 1 << 63 - place
            assert table.keys(np.array([1 << 63 - bit], np.uint64)).tolist() == [key]
