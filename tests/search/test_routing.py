"""Homes are fixed for ever, and near duplicates have homes that the flip model foretells."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawldedup.demo.site import all_articles
from crawldedup.fingerprinting.fingerprint import Fingerprint, fingerprint, thin_fingerprint
from crawldedup.search import routing
from crawldedup.search.model import cosine, search_similarity
from crawldedup.search.routing import (
    MAX_PARTITIONS,
    chances_to_be_largest,
    home_of,
    likely_partitions,
    partition_of,
    partitions_to_ask,
)
from tests.fingerprinting.golden import TEXTS

PAGES = {name: fingerprint(text, min_words=8) for name, text in TEXTS.items()}
PARTITIONS = [1, 2, 4, 8, 16, 32, 64, 128, 256]
# A change here puts the pages of every partitioned index elsewhere.
GOLDEN = {
    "english": 100,
    "german": 18,
    "french": 207,
    "vietnamese": 65,
    "russian": 226,
    "greek": 113,
    "arabic": 242,
    "hindi": 69,
    "thai": 91,
    "khmer": 7,
    "japanese": 5,
    "chinese": 103,
    "korean": 55,
    "mixed": 81,
    "repeated": 140,
    "eight": 41,
}


def page_of(weights: np.ndarray) -> Fingerprint:
    return replace(PAGES["english"], search_weights=weights.astype(np.float32))


def random_pages(count: int, seed: int) -> list[Fingerprint]:
    return [page_of(weights) for weights in np.random.default_rng(seed).standard_normal((count, 64))]


def near_duplicate(page: Fingerprint, similarity: float, generator: np.random.Generator) -> Fingerprint:
    """Return a page whose weights are as those of a page of this similarity, by the flip model."""
    rho = cosine(search_similarity(similarity))
    noise = generator.standard_normal(64)
    return page_of(rho * page.search_weights + np.sqrt(1 - rho * rho) * noise)


@pytest.mark.parametrize("name", TEXTS)
def test_homes_stay_for_ever(name: str) -> None:
    assert home_of(PAGES[name]) == GOLDEN[name]


def test_no_machine_adds_the_scores_of_a_page_differently() -> None:
    """Whatever the order in which a machine adds: the sums are exact."""
    columns = routing._projections()
    for article in all_articles():
        weights = np.rint(fingerprint(article.text).search_weights.astype(np.float64) * routing._WEIGHT_UNIT)
        order = np.random.default_rng(1).permutation(64)
        one_by_one = np.add.accumulate(weights[order, None] * columns[order])[-1]
        assert np.array_equal(weights @ columns, one_by_one)
        assert np.abs(weights).max() * routing._PROJECTION_UNIT * 64 < 2**53


def test_projections_are_whole_and_blind_to_frequent_words() -> None:
    columns = routing._projections()
    assert np.array_equal(columns, np.rint(columns))
    assert np.linalg.norm(columns, axis=0) == pytest.approx(routing._PROJECTION_UNIT, rel=0.01)
    directions = routing._directions()
    left = columns.T @ directions / (np.linalg.norm(columns, axis=0)[:, None] * np.linalg.norm(directions, axis=0))
    assert np.abs(left).max() < 0.01


def test_every_home_is_taken_equally_often() -> None:
    count = 20_000
    for part in (slice(4, 8), slice(0, 4)):
        digits = [format(home_of(page), "08b")[part] for page in random_pages(count, 3)]
        _, shares = np.unique(digits, return_counts=True)
        assert len(shares) == 16
        assert shares / count == pytest.approx(np.full(16, 1 / 16), rel=0.2)


@pytest.mark.parametrize("partitions", PARTITIONS)
def test_partitions_divide_the_homes_evenly_and_are_nested(partitions: int) -> None:
    shares = np.bincount([partition_of(home, partitions) for home in range(MAX_PARTITIONS)])
    assert shares.tolist() == [MAX_PARTITIONS // partitions] * partitions
    for home in range(MAX_PARTITIONS):
        assert partition_of(home, partitions) == partition_of(home, MAX_PARTITIONS) * partitions // MAX_PARTITIONS


@pytest.mark.parametrize("partitions", PARTITIONS)
@pytest.mark.parametrize("name", TEXTS)
def test_exact_copies_are_found_at_home(name: str, partitions: int) -> None:
    copy = fingerprint(TEXTS[name], min_words=8)
    assert home_of(copy) == home_of(PAGES[name])
    asked = partitions_to_ask(copy, partitions, similarity=0.9, recall=0.97)
    assert asked[0] == partition_of(home_of(PAGES[name]), partitions)
    assert len(set(asked)) == len(asked)


@pytest.mark.parametrize("partitions", PARTITIONS)
def test_thin_pages_live_where_their_digest_says_and_ask_nowhere_else(partitions: int) -> None:
    homes = set()
    for digest in range(1, 1 << 32, (1 << 24) + 1):
        page = thin_fingerprint(digest, 3)
        homes.add(home_of(page))
        assert home_of(page) == home_of(thin_fingerprint(digest, 3))
        own = partition_of(home_of(page), partitions)
        assert partitions_to_ask(page, partitions, similarity=0.9, recall=1) == (own,)
        assert likely_partitions(page, partitions, 0.9)[own] == 1
    assert len(homes) == MAX_PARTITIONS


@given(st.lists(st.floats(-30, 30), min_size=2, max_size=16))
def test_chances_are_a_distribution(scores: list[float]) -> None:
    chances = chances_to_be_largest(np.array(scores))
    assert (chances >= 0).all()
    assert chances.sum() == pytest.approx(1, abs=0.01)
    assert chances[np.argmax(scores)] >= chances.max() - 0.001


def test_chances_agree_with_simulation() -> None:
    generator = np.random.default_rng(5)
    for spread in (0.5, 2, 5):
        scores = spread * generator.standard_normal(16)
        simulated = (scores + generator.standard_normal((40_000, 16))).argmax(axis=1)
        assert chances_to_be_largest(scores) == pytest.approx(np.bincount(simulated, minlength=16) / 40_000, abs=0.012)


@pytest.mark.parametrize(("partitions", "similarity"), [(8, 0.9), (16, 0.9), (32, 0.95), (256, 0.95)])
def test_homes_of_near_duplicates_are_as_likely_as_told(partitions: int, similarity: float) -> None:
    generator = np.random.default_rng(6)
    told = np.zeros(3)
    seen = np.zeros(3)
    pages = random_pages(2000, 7)
    for page in pages:
        likely = likely_partitions(page, partitions, similarity)
        assert likely.shape == (partitions,)
        assert likely.sum() == pytest.approx(1, abs=0.01)
        other = partition_of(home_of(near_duplicate(page, similarity, generator)), partitions)
        best = (-likely).argsort(kind="stable")[:3]
        told += likely[best]
        seen += best == other
    assert seen / len(pages) == pytest.approx(told / len(pages), abs=0.035)


@pytest.mark.parametrize("recall", [0.9, 0.97])
def test_the_wanted_recall_is_reached_by_few_partitions(recall: float) -> None:
    generator = np.random.default_rng(8)
    pages = random_pages(2000, 9)
    asked = [partitions_to_ask(page, 16, similarity=0.9, recall=recall) for page in pages]
    found = [
        partition_of(home_of(near_duplicate(page, 0.9, generator)), 16) in partitions
        for page, partitions in zip(pages, asked, strict=True)
    ]
    assert np.mean(found) > recall
    assert np.mean([len(partitions) for partitions in asked]) < 2.3


def test_more_recall_asks_more() -> None:
    for page in random_pages(50, 10):
        asked = [partitions_to_ask(page, 16, similarity=0.9, recall=recall) for recall in (0, 0.5, 0.9, 0.99, 1)]
        assert asked[0] == (partition_of(home_of(page), 16),)
        for fewer, more in pairwise(asked):
            assert more[: len(fewer)] == fewer


@pytest.mark.parametrize("partitions", [4, 16, 256])
def test_product_attributes_spread_the_pages_of_a_template(partitions: int) -> None:
    pages = [fingerprint(TEXTS["english"], min_words=8, facts=f"colour {number}") for number in range(2000)]
    homes = [partition_of(home_of(page), partitions) for page in pages]
    assert np.bincount(homes, minlength=partitions).max() < 2000 / partitions * 1.3 + 12
    for page, home in zip(pages[:50], homes, strict=False):
        same = fingerprint(TEXTS["english"] + " More.", min_words=8, facts=page_facts(page, pages))
        assert home in partitions_to_ask(same, partitions, similarity=0.9, recall=0.97)


def page_facts(page: Fingerprint, pages: list[Fingerprint]) -> str:
    return f"colour {pages.index(page)}"
