"""The crowd rule: what several look-alikes do to the threshold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawldedup.fingerprinting.fingerprint import VERIFY_BITS
from crawldedup.search.decision import SCALED_LIMIT, crowd_rule
from crawldedup.search.model import accept_threshold, mean_of_largest
from crawldedup.search.plan import MAX_CANDIDATES

RULE = crowd_rule(0.9, 0.98, VERIFY_BITS)
SIMILARITIES = st.floats(0.51, 1.0)
RECALLS = st.floats(0.5, 0.9999)
COSTS = st.lists(st.integers(0, 600), max_size=12)


def test_a_page_alone_is_accepted_up_to_the_limit() -> None:
    assert RULE.bar([]) == (SCALED_LIMIT, RULE.thresholds[0], 0)
    assert RULE.bar([200]) == (SCALED_LIMIT, accept_threshold(0.9, VERIFY_BITS, 0.98), 1)


def test_the_more_pages_resemble_it_alike_the_lower_the_limit() -> None:
    bars = [RULE.bar([200] * size) for size in range(1, 10)]
    assert [bar.crowd for bar in bars] == list(range(1, 10))
    limits = [bar.limit for bar in bars]
    assert limits == sorted(limits, reverse=True)
    assert limits[:3] == list(RULE.limits[:3])
    assert len(set(limits[:3])) == 3
    assert bars[-1].threshold == 0.9


def test_a_page_that_stands_out_is_alone() -> None:
    least = 100 * RULE.reach // SCALED_LIMIT
    assert RULE.bar([100, least]).crowd == 2
    assert RULE.bar([100, least + 1, 300, 400]).crowd == 1
    assert RULE.bar([0, 1, 2]) == (SCALED_LIMIT, RULE.thresholds[0], 1)


@given(COSTS, st.integers(0, 600))
def test_another_page_never_makes_a_farther_one_acceptable(costs: list[int], another: int) -> None:
    nearest = min(costs, default=601)
    if another >= nearest:
        assert RULE.bar([*costs, another]).limit <= RULE.bar(costs).limit


@given(COSTS)
def test_pages_beyond_reach_do_not_matter_where_one_is_accepted(costs: list[int]) -> None:
    if costs and min(costs) <= SCALED_LIMIT:
        assert RULE.bar([cost for cost in costs if cost <= RULE.reach]) == RULE.bar(costs)


@given(SIMILARITIES, RECALLS)
@settings(deadline=None)
def test_no_crowd_asks_for_more_than_the_wanted_similarity(similarity: float, recall: float) -> None:
    rule = crowd_rule(similarity, recall, VERIFY_BITS)
    assert rule.limits[0] == SCALED_LIMIT <= rule.reach
    assert list(rule.limits) == sorted(rule.limits, reverse=True)
    assert list(rule.thresholds) == sorted(rule.thresholds)
    assert max(rule.thresholds) <= similarity
    assert len(rule.limits) == len(rule.thresholds) <= MAX_CANDIDATES


@pytest.mark.parametrize("count", [1, 2, 5, 30])
def test_the_mean_of_the_largest_of_normal_numbers(count: int) -> None:
    drawn = np.random.default_rng(1).standard_normal((200_000, count)).max(axis=1).mean()
    assert mean_of_largest(count) == pytest.approx(drawn, abs=0.01)
