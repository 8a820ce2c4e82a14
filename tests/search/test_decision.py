"""Deciding: the sum of costs says the same as the estimate, and look-alikes lower what is accepted."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawldedup.fingerprinting.bits import VERIFY_BITS
from crawldedup.index.queries import KEPT
from crawldedup.search.decision import (
    MAX_CANDIDATES,
    MAX_COST,
    SCALED_LIMIT,
    accept_threshold,
    crowd_rule,
    estimate_similarity,
    flip_probabilities,
    identity_rule,
    likelihood_prefilters,
    likelihood_rule,
    likelihood_rules,
    mean_of_largest,
    search_similarity,
    steepness,
)
from tests.search.sets import bits_of, signature_of

SEEDS = st.integers(0, 1 << 32)
SIMILARITIES = st.floats(0.3, 0.98)


def page_and_other(
    seed: int, similarity: float, bits: int = 256
) -> tuple[np.ndarray, bytes, bytes]:
    """Return weights and signature of a page, and the signature of another drawn by the flip model."""
    generator = np.random.default_rng(seed)
    weights = generator.standard_normal(bits).astype(np.float32)
    other = (weights >= 0) ^ (generator.random(bits) < flip_probabilities(weights, similarity))
    return weights, signature_of(weights), np.packbits(other).tobytes()


def differing_bits(own: bytes, other: bytes) -> np.ndarray:
    return bits_of(own) != bits_of(other)


def log_likelihood(weights: np.ndarray, own: bytes, other: bytes, similarity: float) -> float:
    signed = np.where(differing_bits(own, other), np.abs(weights), -np.abs(weights)) * steepness(
        similarity
    )
    return math.fsum(math.log(0.5 * math.erfc(value / math.sqrt(2))) for value in signed.tolist())


@given(SEEDS, SIMILARITIES)
@settings(max_examples=60, deadline=None)
def test_estimate_is_the_most_likely_similarity(seed: int, similarity: float) -> None:
    weights, own, other = page_and_other(seed, similarity)
    estimate = estimate_similarity(weights, own, other)
    best = log_likelihood(weights, own, other, estimate)
    for step in (0.005, 0.02, 0.1, -0.005, -0.02, -0.1):
        if 0.01 < estimate + step < 0.995:
            assert log_likelihood(weights, own, other, estimate + step) < best + 1e-3


@given(SEEDS, SIMILARITIES, SIMILARITIES)
@settings(max_examples=300, deadline=None)
def test_rule_accepts_exactly_when_the_estimate_reaches_the_threshold(
    seed: int, similarity: float, threshold: float
) -> None:
    weights, own, other = page_and_other(seed, similarity)
    x = np.abs(weights).astype(float) * steepness(threshold)
    density = np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    tail = np.array([0.5 * math.erfc(value / math.sqrt(2)) for value in x.tolist()])
    limit = float((x * density / (1 - tail)).sum())
    differing = differing_bits(own, other)
    cost = float((x * density / (tail * (1 - tail)))[differing].sum())
    estimate = estimate_similarity(weights, own, other)
    if abs(estimate - threshold) > 0.002:
        assert (cost <= limit) == (estimate >= threshold)

    rule = likelihood_rule(weights, threshold)
    is_accepted = rule.cost(own, other) <= rule.limit
    # Whole numbers: each cost is off by a half at most, and by what the grid of the tables adds.
    rounding = 0.5 * float(differing.sum()) + 0.01 * rule.limit
    if abs(cost / limit * rule.limit - rule.limit) > rounding:
        assert is_accepted == (cost <= limit)
    if abs(estimate - threshold) > 0.02:
        assert is_accepted == (estimate >= threshold)


@given(SEEDS, SIMILARITIES)
@settings(max_examples=100, deadline=None)
def test_a_bit_more_that_differs_never_helps(seed: int, threshold: float) -> None:
    weights, own, other = page_and_other(seed, threshold)
    rule = likelihood_rule(weights, threshold)
    assert len(rule.costs) == 256
    assert rule.cost(own, own) == 0 <= rule.limit
    differing = differing_bits(own, other)
    same = np.flatnonzero(~differing)
    if len(same):
        differing[same[seed % len(same)]] = True
        worse = np.packbits(bits_of(own) ^ differing).tobytes()
        assert rule.cost(own, worse) >= rule.cost(own, other)
        assert estimate_similarity(weights, own, worse) <= estimate_similarity(weights, own, other)


def test_rules_of_many_pages_are_those_of_each() -> None:
    weights = np.random.default_rng(1).standard_normal((5, 256)).astype(np.float32)
    thresholds = [0.8, 0.85, 0.9, 0.8, 0.95]
    alone = [
        likelihood_rule(own, threshold) for own, threshold in zip(weights, thresholds, strict=True)
    ]
    assert likelihood_rules(weights, thresholds, [None] * 5) == alone


def test_identity_rule_accepts_equal_signatures_only_and_is_what_weights_leave_that_say_nothing() -> (
    None
):
    rule, own = identity_rule(256), bytes(range(32))
    assert rule.cost(own, own) <= rule.limit
    others = [(int.from_bytes(own, "big") ^ 1 << bit).to_bytes(32, "big") for bit in range(256)]
    assert all(rule.cost(own, other) > rule.limit for other in others)
    assert likelihood_rule(np.zeros(256, np.float32), 0.86) == rule


def test_a_bit_that_is_sure_costs_more_than_the_limit() -> None:
    weights = np.full(256, 0.05, np.float32)
    weights[0] = 6
    rule = likelihood_rule(weights, 0.9)
    assert rule.costs[0] == MAX_COST > rule.limit


def test_estimate_of_equal_and_of_unrelated_signatures() -> None:
    generator = np.random.default_rng(4)
    weights = generator.standard_normal(256).astype(np.float32)
    own = signature_of(weights)
    assert estimate_similarity(weights, own, own) == 1.0
    assert estimate_similarity(weights, own, signature_of(-weights)) < 0.01
    assert max(estimate_similarity(weights, own, generator.bytes(32)) for _ in range(100)) < 0.35


def test_prefilters_keep_near_duplicates_and_few_others() -> None:
    rng = np.random.default_rng(3)
    weights = rng.standard_normal((500, 64)).astype(np.float32)
    similarity = search_similarity(0.9)
    slopes = np.full(500, steepness(similarity), np.float32)
    near = rng.random((500, 64)) < flip_probabilities(weights, similarity)
    kept = KEPT[0].astype(bool)
    passed = [
        [
            np.frombuffer(rule.costs, np.uint8)[flips & kept].sum() <= rule.limit
            for flips in (own, chance)
        ]
        for rule, own, chance in zip(
            likelihood_prefilters(weights, slopes, KEPT),
            near,
            rng.random((500, 64)) < 0.5,
            strict=True,
        )
    ]
    near_share, other_share = np.mean(passed, axis=0).tolist()
    assert near_share > 0.995
    assert other_share < 0.15


class TestCrowds:
    """What several look-alikes do to the threshold."""

    RULE = crowd_rule(0.9, 0.98, VERIFY_BITS)
    COSTS = st.lists(st.integers(0, 600), max_size=12)

    def test_a_page_alone_is_accepted_up_to_the_limit(self) -> None:
        assert self.RULE.bar([]) == (SCALED_LIMIT, self.RULE.thresholds[0], 0)
        assert self.RULE.bar([200]) == (SCALED_LIMIT, accept_threshold(0.9, VERIFY_BITS, 0.98), 1)

    def test_the_more_pages_resemble_it_alike_the_lower_the_limit(self) -> None:
        bars = [self.RULE.bar([200] * size) for size in range(1, 10)]
        assert [bar.crowd for bar in bars] == list(range(1, 10))
        limits = [bar.limit for bar in bars]
        assert limits == sorted(limits, reverse=True)
        assert limits[:3] == list(self.RULE.limits[:3])
        assert len(set(limits[:3])) == 3
        assert bars[-1].threshold == 0.9

    def test_a_page_that_stands_out_is_alone(self) -> None:
        least = 100 * self.RULE.reach // SCALED_LIMIT
        assert self.RULE.bar([100, least]).crowd == 2
        assert self.RULE.bar([100, least + 1, 300, 400]).crowd == 1
        assert self.RULE.bar([0, 1, 2]) == (SCALED_LIMIT, self.RULE.thresholds[0], 1)

    @given(COSTS, st.integers(0, 600))
    def test_another_page_never_makes_a_farther_one_acceptable(
        self, costs: list[int], another: int
    ) -> None:
        if another >= min(costs, default=601):
            assert self.RULE.bar([*costs, another]).limit <= self.RULE.bar(costs).limit
        if costs and min(costs) <= SCALED_LIMIT:
            # Pages beyond reach do not matter where one is accepted.
            assert self.RULE.bar(
                [cost for cost in costs if cost <= self.RULE.reach]
            ) == self.RULE.bar(costs)

    @given(st.floats(0.51, 1.0), st.floats(0.5, 0.9999))
    @settings(deadline=None, max_examples=50)
    def test_no_query_requires_more_than_the_given_similarity(
        self, similarity: float, recall: float
    ) -> None:
        rule = crowd_rule(similarity, recall, VERIFY_BITS)
        assert rule.limits[0] == SCALED_LIMIT <= rule.reach
        assert list(rule.limits) == sorted(rule.limits, reverse=True)
        assert list(rule.thresholds) == sorted(rule.thresholds)
        assert max(rule.thresholds) <= similarity
        assert len(rule.limits) == len(rule.thresholds) <= MAX_CANDIDATES

    @pytest.mark.parametrize("count", [1, 2, 5, 30])
    def test_the_mean_of_the_largest_of_normal_numbers(self, count: int) -> None:
        drawn = np.random.default_rng(1).standard_normal((200_000, count)).max(axis=1).mean()
        assert mean_of_largest(count) == pytest.approx(drawn, abs=0.01)
