"""Decisions about pairs of pages are those about one page and records."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from crawldedup import fingerprint
from crawldedup.scan.columns import Columns
from crawldedup.scan.engine import costs_of, similarities_of
from crawldedup.search.model import estimate_similarity
from crawldedup.search.query import TABLES, searches
from tests.scan.pages import GOAL, edited, text


def test_costs_and_similarities_are_those_of_one_page() -> None:
    random = Random(1)
    originals = [text(random, random.randrange(60, 800)) for _ in range(60)]
    pages = [fingerprint(each) for each in originals]
    pages += [fingerprint(edited(each, random, random.randrange(8))) for each in originals]
    later, earlier = np.arange(60, 120), np.arange(60)
    columns = Columns.of([(page, 0) for page in pages], GOAL.threshold)
    keys = np.array([[table.key(page.search) for table in TABLES] for page in pages[60:]], np.uint64)
    rules = [found.rule for found in searches(pages[60:], keys, [0.9] * 60, [1000] * 60, 0.98)]
    pairs = list(zip(pages[60:], pages[:60], strict=True))
    expected = [rule.cost(page.verify, other.verify) for rule, (page, other) in zip(rules, pairs, strict=True)]
    assert costs_of(columns, later, earlier).tolist() == expected
    assert {rule.crowd for rule in rules} == {GOAL.crowd}
    estimates = [estimate_similarity(page.verify_weights, page.verify, other.verify) for page, other in pairs]
    assert similarities_of(columns, later, earlier, GOAL.threshold) == pytest.approx(estimates, abs=5e-4)
    assert any(each == 1 for each in estimates)


def test_no_page_that_counts_differs_in_too_many_bits() -> None:
    """Bits of pages at the edge of what counts, made by the model itself."""
    random = np.random.default_rng(1)
    farthest = GOAL.crowd.farthest
    rho = 2 * farthest / (1 + farthest)
    first = random.standard_normal((20_000, 256))
    second = rho * first + np.sqrt(1 - rho * rho) * random.standard_normal((20_000, 256))
    differing = ((first >= 0) != (second >= 0)).sum(axis=1)
    assert (differing > GOAL.most_verify_bits).mean() < 1e-3
    assert GOAL.most_verify_bits < 90
