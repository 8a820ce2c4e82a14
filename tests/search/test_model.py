"""The flip model against the normal distribution and against simulation."""

from __future__ import annotations

import math
from functools import cache
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawldedup.demo.site import all_articles
from crawldedup.fingerprinting.shingles import pair_hashes, shingle_hashes
from crawldedup.fingerprinting.tokenize import mix, word_hashes
from crawldedup.search.decision import (
    MAX_SIMILARITY,
    accept_threshold,
    cosine,
    estimate_deviation,
    estimate_similarity,
    flip_probabilities,
    grid_rows,
    normal_tables,
    search_similarity,
    similarity_of,
    steepness,
)
from tests.search.sets import pairs_of_similarity, signature_of

NORMAL = NormalDist()


@pytest.mark.parametrize("x", [0.0, 0.25, 0.5, 1.0, 2.0, 5.0, 8.0])
def test_tables_hold_the_normal_distribution(x: float) -> None:
    row = int(grid_rows(np.array([x], np.float32), 1.0)[0])
    tables = normal_tables()
    stay, flip, density = NORMAL.cdf(x), 0.5 * math.erfc(x / math.sqrt(2)), NORMAL.pdf(x)
    assert tables.log_stay[row] == pytest.approx(math.log(stay), rel=1e-9, abs=1e-15)
    assert tables.log_odds[row] == pytest.approx(math.log(flip / stay), rel=1e-9, abs=1e-12)
    assert tables.equal[row] == pytest.approx(x * density / stay, rel=1e-9)
    assert tables.different[row] == pytest.approx(x * density / flip, rel=1e-9)


def test_tables_are_finite_and_monotonous() -> None:
    tables = normal_tables()
    assert all(np.isfinite(column).all() for column in tables)
    assert (np.diff(tables.log_odds) < 0).all()
    assert (np.diff(tables.different) > 0).all()
    assert (
        grid_rows(np.array([1e9, 37.5], np.float32), 100.0).tolist() == [len(tables.equal) - 1] * 2
    )


@given(st.floats(0.01, MAX_SIMILARITY))
def test_steepness_and_similarity_are_inverse(similarity: float) -> None:
    assert similarity_of(steepness(similarity)) == pytest.approx(similarity, rel=1e-9)
    assert cosine(similarity) >= similarity


def test_search_features_show_less_of_an_edit_than_shingles() -> None:
    text = "\n".join(article.text for article in all_articles() if article.language == "en")
    words = text.split()[:3000]
    for edits, seed in [(15, 1), (50, 2), (120, 3)]:
        edited = list(words)
        for place in np.random.default_rng(seed).choice(len(words), edits, replace=False):
            edited[place] = f"other{place}"
        shingles, searched = similarities(" ".join(words), " ".join(edited))
        assert 0.5 < shingles < 0.99
        # Scattered edits arrive least of all, so the model must not expect more likeness than they
        # leave.
        assert shingles < search_similarity(shingles) < searched + 0.02


def weights_of(words: np.ndarray) -> dict[int, float]:
    """The weights of the search features of a text: of its words, twice, and of its pairs of words."""
    weights: dict[int, float] = {}
    for features, factor in ((words, 2), (mix(pair_hashes(words)), 1)):
        distinct, counts = np.unique(features, return_counts=True)
        weights |= dict(
            zip(distinct.tolist(), (factor * np.rint(8 * counts**0.75)).tolist(), strict=True)
        )
    return weights


def similarities(first: str, second: str) -> tuple[float, float]:
    """Of the 3-shingles, and of the default search features: the similarity that has their cosine."""
    hashes = [word_hashes(text) for text in (first, second)]
    one, other = (set(shingle_hashes(words, pair_hashes(words)).tolist()) for words in hashes)
    mine, theirs = map(weights_of, hashes)
    product = sum(weight * theirs.get(feature, 0) for feature, weight in mine.items())
    rho = product / math.sqrt(
        sum(w * w for w in mine.values()) * sum(w * w for w in theirs.values())
    )
    return len(one & other) / len(one | other), rho / (2 - rho)


def test_flip_probabilities_follow_the_formula() -> None:
    weights = np.array([0, 0.1, -0.1, 0.7, -2.5], np.float32)
    for similarity in (0.5, 0.8, 0.95):
        expected = [
            0.5 * math.erfc(abs(float(w)) * steepness(similarity) / math.sqrt(2)) for w in weights
        ]
        assert flip_probabilities(weights, similarity).tolist() == pytest.approx(
            expected, abs=0.002
        )


@cache
def estimates(similarity: float, size: int) -> np.ndarray:
    """Return the estimates of 500 pairs of that similarity."""
    pairs = pairs_of_similarity(similarity, size, 500, seed=2)
    return np.array(
        [estimate_similarity(first, *map(signature_of, (first, second))) for first, second in pairs]
    )


@pytest.mark.parametrize(("similarity", "size"), [(0.6, 800), (0.9, 950)])
def test_estimates_are_unbiased_within_their_predicted_deviation(
    similarity: float, size: int
) -> None:
    found, deviation = estimates(similarity, size), estimate_deviation(similarity, 256)
    assert abs(float(found.mean()) - similarity) < 4 * deviation / math.sqrt(500) + 0.1 * deviation
    assert float(found.std()) == pytest.approx(deviation, rel=0.15)


@pytest.mark.parametrize("recall", [0.8, 0.98])
def test_accept_threshold_accepts_the_promised_share(recall: float) -> None:
    accepted = float((estimates(0.9, 950) >= accept_threshold(0.9, 256, recall)).mean())
    # The distribution of the estimate is a little skewed: a hundredth is left to that.
    assert accepted == pytest.approx(recall, abs=4 * math.sqrt(recall * (1 - recall) / 500) + 0.01)


@pytest.mark.parametrize(("similarity", "size"), [(0.9, 19), (0.8, 18), (0.9, 57)])
def test_short_pages_get_the_promised_share_too(similarity: float, size: int) -> None:
    """Their sums are few and far between, where the model thinks of a continuum."""
    assert abs(float(estimates(similarity, size).mean()) - similarity) < 0.01
    assert (estimates(similarity, size) >= accept_threshold(similarity, 256, 0.98)).mean() > 0.955


@pytest.mark.parametrize("bits", [64, 256])
def test_thresholds_and_deviations_are_in_order(bits: int) -> None:
    similarities = np.linspace(0.3, 0.99, 30).tolist()
    thresholds = [accept_threshold(similarity, bits, 0.98) for similarity in similarities]
    assert thresholds == sorted(thresholds)
    assert all(
        threshold < similarity
        for threshold, similarity in zip(thresholds, similarities, strict=True)
    )
    assert accept_threshold(0.9, bits, 0.5) == pytest.approx(0.9)
    assert accept_threshold(0.9, bits, 0.99) < accept_threshold(0.9, bits, 0.9)
    assert accept_threshold(1.0, bits, 0.5) <= MAX_SIMILARITY
    deviations = [
        estimate_deviation(similarity, bits) for similarity in similarities if similarity > 0.5
    ]
    assert deviations == sorted(deviations, reverse=True)
    assert estimate_deviation(0.9, bits) == pytest.approx(2 * estimate_deviation(0.9, 4 * bits))
