"""Deciding: the sum of costs says the same as the estimate, and the classic rules are special cases."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from crawldedup.search.decision import (
    MAX_COST,
    identity_rule,
    likelihood_rule,
    likelihood_rules,
)
from crawldedup.search.model import estimate_similarity, flip_probabilities, steepness
from tests.search.sets import signature_of


def page_and_other(seed: int, similarity: float, bits: int = 256) -> tuple[np.ndarray, bytes, bytes]:
    """Weights and signature of a page, and the signature of another drawn by the flip model."""
    generator = np.random.default_rng(seed)
    weights = generator.standard_normal(bits).astype(np.float32)
    other = (weights >= 0) ^ (generator.random(bits) < flip_probabilities(weights, similarity))
    return weights, signature_of(weights), np.packbits(other).tobytes()


def log_likelihood(weights: np.ndarray, own: bytes, other: bytes, similarity: float) -> float:
    differing = np.unpackbits(np.frombuffer(own, np.uint8) ^ np.frombuffer(other, np.uint8)).tolist()
    u = steepness(similarity)
    total = 0.0
    for w, differs in zip(np.abs(weights).tolist(), differing, strict=True):
        total += math.log(0.5 * math.erfc((w if differs else -w) * u / math.sqrt(2)))
    return total


SEEDS = st.integers(0, 1 << 32)
SIMILARITIES = st.floats(0.3, 0.98)


@given(SEEDS, SIMILARITIES)
@settings(max_examples=60, deadline=None)
def test_estimate_is_the_most_likely_similarity(seed: int, similarity: float) -> None:
    weights, own, other = page_and_other(seed, similarity)
    estimate = estimate_similarity(weights, own, other)
    best = log_likelihood(weights, own, other, estimate)
    for step in (0.005, 0.02, 0.1):
        for moved in (estimate - step, estimate + step):
            if 0.01 < moved < 0.995:
                assert log_likelihood(weights, own, other, moved) < best + 1e-3


@given(SEEDS, SIMILARITIES, SIMILARITIES)
@settings(max_examples=400, deadline=None)
def test_rule_accepts_exactly_when_the_estimate_reaches_the_threshold(
    seed: int, similarity: float, threshold: float
) -> None:
    weights, own, other = page_and_other(seed, similarity)
    x = np.abs(weights).astype(float) * steepness(threshold)
    density = np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    tail = np.array([0.5 * math.erfc(value / math.sqrt(2)) for value in x.tolist()])
    costs = x * density / (tail * (1 - tail))
    limit = float((x * density / (1 - tail)).sum())
    differing = np.unpackbits(np.frombuffer(own, np.uint8) ^ np.frombuffer(other, np.uint8)).astype(bool)
    cost = float(costs[differing].sum())

    estimate = estimate_similarity(weights, own, other)
    if abs(estimate - threshold) > 0.002:
        assert (cost <= limit) == (estimate >= threshold)

    rule = likelihood_rule(weights, threshold)
    # Whole numbers: each cost is off by a half at most, and by what the grid of the tables adds.
    rounding = 0.5 * float(differing.sum()) + 0.01 * rule.limit
    if abs(cost / limit * rule.limit - rule.limit) > rounding:
        assert (rule.cost(own, other) <= rule.limit) == (cost <= limit)
    if abs(estimate - threshold) > 0.02:
        assert (rule.cost(own, other) <= rule.limit) == (estimate >= threshold)


@given(SEEDS, SIMILARITIES)
@settings(max_examples=100, deadline=None)
def test_a_bit_more_that_differs_never_helps(seed: int, threshold: float) -> None:
    weights, own, other = page_and_other(seed, threshold)
    rule = likelihood_rule(weights, threshold)
    assert len(rule.costs) == 256
    assert rule.cost(own, own) == 0 <= rule.limit
    differing = np.unpackbits(np.frombuffer(own, np.uint8) ^ np.frombuffer(other, np.uint8)).astype(bool)
    same = np.flatnonzero(~differing)
    if len(same):
        differing[same[seed % len(same)]] = True
        worse = np.packbits(np.unpackbits(np.frombuffer(own, np.uint8)) ^ differing).tobytes()
        assert rule.cost(own, worse) >= rule.cost(own, other)
        assert estimate_similarity(weights, own, worse) <= estimate_similarity(weights, own, other)


def test_rules_of_many_pages_are_those_of_each() -> None:
    weights = np.random.default_rng(1).standard_normal((5, 256)).astype(np.float32)
    thresholds = [0.8, 0.85, 0.9, 0.8, 0.95]
    alone = [likelihood_rule(own, threshold) for own, threshold in zip(weights, thresholds, strict=True)]
    assert likelihood_rules(weights, thresholds, [None] * 5) == alone


def test_identity_rule_accepts_equal_signatures_only() -> None:
    rule = identity_rule(256)
    own = bytes(range(32))
    assert rule.cost(own, own) <= rule.limit
    for bit in range(256):
        other = (int.from_bytes(own, "big") ^ 1 << bit).to_bytes(32, "big")
        assert rule.cost(own, other) > rule.limit


def test_weights_that_say_nothing_leave_identity() -> None:
    """A thin page has no weights."""
    assert likelihood_rule(np.zeros(256, np.float32), 0.86) == identity_rule(256)


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
    opposite = bytes(byte ^ 255 for byte in own)
    assert estimate_similarity(weights, own, opposite) < 0.01
    unrelated = [estimate_similarity(weights, own, generator.bytes(32)) for _ in range(100)]
    assert max(unrelated) < 0.35
