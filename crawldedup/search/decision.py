"""Decide from their bits whether two pages are similar enough: the flip model.

The model says how likely each bit is to differ (to flip) between two pages of a given similarity.

Let w_j ~ N(0, 1) be the normalized weight of bit j on page A. Bit j of a page B whose cosine
similarity to A is rho differs with probability

    p_j = Phi(-|w_j| u),   u = rho / sqrt(1 - rho^2),   rho = 2 J / (1 + J)

for sets of equal size with Jaccard similarity J. The user's similarity threshold determines u, and
u determines every p_j; there is nothing to tune. Functions of the normal distribution are looked up
in tables, because computing them in numpy would take longer.

The log likelihood of "the other page has similarity s" is concave in u. Therefore "the most likely
similarity is theta or more" is equivalent to

    sum over differing bits of c_j <= C

    c_j = x_j phi(x_j) / (Phi(x_j) Phi(-x_j))
    C   = sum over all bits of x_j phi(x_j) / Phi(x_j)
    x_j = |w_j| u

with the u of theta. A sum of small costs is cheap to compute in numpy, in SQL and in a Lua script.
The classic rule "at most k bits differ" is this rule with every cost equal to 1. See also Dong,
Charikar and Li, "Asymmetric distance estimation with sketches", SIGIR 2008.

The crowd rule: because an index holds no copies, several pages that resemble a new one are usually
pages that share a template, and the best of many noisy estimates is too high. Among n pages of the
same similarity, the best estimate lies m_n standard errors above the truth on average, where m_n is
the mean of the largest of n normal numbers. A crowd of n pages raises the threshold T accordingly:

    T_n = min(s, T + sigma(r) m_n)

Here s is the similarity that the user asked for, sigma the error of the estimate, and r the
similarity whose estimate is still two errors below T, so that pages below r have next to no chance
of being accepted. A page belongs to the crowd if its cost is at most reach / limit times that of
the nearest page, where `limit` and `reach` are the mean costs at T and at r. A near duplicate that
stands out among the pages of its template is therefore accepted as if it were alone.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from statistics import NormalDist
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]

#: Higher similarities count as this one: at 1, the model would allow no flip at all.
MAX_SIMILARITY: Final = 0.9995
#: The maximum number of records that are compared with one page.
MAX_CANDIDATES: Final = 128
#: The highest cost of a bit: it must fit in a byte.
MAX_COST: Final = 255
#: The limit of every rule by likelihood, to which the costs of its bits are scaled.
SCALED_LIMIT: Final = 254
#: How far the limit of a prefilter lies above the mean cost of a near duplicate's key, in standard
#: deviations.
KEY_DEVIATIONS: Final = 6.0
#: The lowest similarity at which a page that was not accepted is still reported.
LEAST_TOLD: Final = 0.6
#: The least similarity of copies at the same address, if it is certain that their addresses only
#: differ in a view.
VIEW_SIMILARITY: Final = 0.5

# Fitted to the default search features of pairs of installation guides; see `search_similarity`.
_SEARCH_SHARE: Final = 0.5
_HALF_OF_IT_AT: Final = 0.04
# The precision with which `estimate_similarity` finds the most likely similarity.
_ESTIMATE_TOLERANCE: Final = 5e-5
_STEPS: Final = 256  # grid points per unit of x = |w| u
_MAX_X: Final = 37  # Phi(-37) is about the smallest that a double can hold
_KEY_SCALE: Final = 8  # costs of a prefilter are in eighths
# The steps in which `crowd_rule` searches for the similarity r of the module's docstring.
_DEVIATIONS: Final = 2.0
_LOWEST: Final = 0.01
_TOLERANCE: Final = 1e-4


class NormalTables(NamedTuple):
    """Tables of functions of the normal distribution, for x >= 0. Row i belongs to x = i / 256."""

    #: log Phi(x): the log probability that a bit is equal.
    log_stay: Doubles
    #: log(Phi(-x) / Phi(x)): the log odds of a flip, which are never positive.
    log_odds: Doubles
    #: x phi(x) / Phi(x): what an equal bit adds to the score.
    equal: Doubles
    #: x phi(x) / Phi(-x): what a different bit subtracts from the score.
    different: Doubles


@cache
def normal_tables() -> NormalTables:
    """Return the tables of the normal distribution, which are computed once per process."""
    x = np.arange(_MAX_X * _STEPS + 1) / _STEPS
    tail = np.array([0.5 * math.erfc(value / math.sqrt(2)) for value in x.tolist()])
    density = np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    log_stay = np.log1p(-tail)
    return NormalTables(
        log_stay=log_stay,
        log_odds=np.log(tail) - log_stay,
        equal=x * density / (1 - tail),
        different=x * density / tail,
    )


def mean_of_largest(count: int) -> float:
    """Return how large the largest of `count` standard normal numbers is on average."""
    tables = normal_tables()
    below = np.exp(tables.log_stay)
    above = np.exp(tables.log_stay + tables.log_odds)
    return float(np.trapezoid(1 - below**count - above**count, dx=1 / _STEPS))


def grid_rows(absolute_weights: Floats, u: float | Floats) -> NDArray[np.intp]:
    """Return the rows in which the tables have the values for x = |w| u, one for each weight."""
    rows = (absolute_weights * np.multiply(u, _STEPS, dtype=np.float32)).astype(np.intp)
    return np.minimum(rows, _MAX_X * _STEPS, out=rows)


def cosine(similarity: float) -> float:
    """Convert the Jaccard similarity of two sets of equal size to their cosine."""
    return 2 * similarity / (1 + similarity)


def search_similarity(similarity: float) -> float:
    """Convert the similarity of two pages' word 3-shingles to that of their search features.

    If the shingles differ by m = 1 - J, with J their Jaccard similarity, the search features differ
    by 0.5 m^2 / (m + 0.04): very little after a small edit, and half as much as the shingles after
    a large one. An edited word changes three shingles but only one word, which may also occur
    elsewhere on the page, and two pairs of words, which have less weight. The more text is changed,
    the more of it is whole passages. Both numbers were fitted to one corpus, and two others agree.
    """
    missing = 1 - similarity
    return 1 - missing * _SEARCH_SHARE * missing / (missing + _HALF_OF_IT_AT)


@lru_cache(maxsize=4096)
def steepness(similarity: float) -> float:
    """Convert a Jaccard similarity to the steepness u = rho / sqrt(1 - rho^2) of the flip model."""
    rho = cosine(min(similarity, MAX_SIMILARITY))
    return rho / math.sqrt(1 - rho * rho)


def similarity_of(u: float) -> float:
    """Convert a steepness `u` of the flip model to a Jaccard similarity."""
    rho = u / math.sqrt(1 + u * u)
    return rho / (2 - rho)


def flip_probabilities(weights: Floats, similarity: float) -> Doubles:
    """Return how likely each bit is to flip (p_j), in the shape of the weights."""
    rows = grid_rows(np.abs(weights), steepness(similarity))
    tables = normal_tables()
    return np.exp(tables.log_odds.take(rows) + tables.log_stay.take(rows))


@cache
def weight_density() -> tuple[Floats, Doubles]:
    """Return a grid of absolute weights |w| with w ~ N(0, 1), and the share of weights at each."""
    w = np.arange(1, 8 * _STEPS) / _STEPS
    return w.astype(np.float32), 2 * np.exp(-w * w / 2) / math.sqrt(2 * math.pi) / _STEPS


@cache
def estimate_deviation(similarity: float, bits: int) -> float:
    """Return the standard deviation of the estimated similarity of two pages.

    It follows from the Fisher information of u, averaged over w ~ N(0, 1), and from the slope of J
    over u.

    Args:
        similarity: The true similarity.
        bits: The number of verify bits.
    """
    u = steepness(similarity)
    tables = normal_tables()
    weights, density = weight_density()
    rows = grid_rows(weights, u)
    information = (tables.equal.take(rows) / u) * (tables.different.take(rows) / u)
    deviation_of_u = 1 / math.sqrt(bits * float(information @ density))
    slope = (similarity_of(u * 1.001) - similarity_of(u * 0.999)) / (0.002 * u)
    return deviation_of_u * slope


@lru_cache(maxsize=1024)
def accept_threshold(similarity: float, bits: int, recall: float) -> float:
    """Return the lowest estimated similarity at which a page is accepted.

    A pair of pages whose true similarity is exactly `similarity` reaches it with probability
    `recall`.
    """
    margin = NormalDist().inv_cdf(recall) * estimate_deviation(similarity, bits)
    return min(similarity - margin, MAX_SIMILARITY)


def estimate_similarity(weights: Floats, signature: bytes, other: bytes) -> float:
    """Estimate the Jaccard similarity of two pages: the most likely one, given their bits.

    Args:
        weights: The verify weights of the page.
        signature: The signature of the page.
        other: The signature of the other page.
    """
    # The log likelihood is concave, so its derivative is bisected.
    differing = _differing_bits(signature, other)
    if not differing.any():
        return 1.0
    absolute = np.abs(weights)
    same_first = np.concatenate((absolute[~differing], absolute[differing]))
    same = len(weights) - np.count_nonzero(differing)
    tables = normal_tables()
    low = 0.0
    high = MAX_SIMILARITY
    while high - low > _ESTIMATE_TOLERANCE:
        middle = (low + high) / 2
        # The same as `steepness` and `grid_rows`, which would take longer.
        rho = 2 * middle / (1 + middle)
        rows = (same_first * np.float32(rho / math.sqrt(1 - rho * rho) * _STEPS)).astype(np.intp)
        equal = tables.equal.take(rows[:same], mode="clip").sum()
        different = tables.different.take(rows[same:], mode="clip").sum()
        if equal > different:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _differing_bits(signature: bytes, other: bytes) -> NDArray[np.bool_]:
    """Return which bits of two signatures differ; shape (bits,)."""
    differing = np.frombuffer(signature, np.uint8) ^ np.frombuffer(other, np.uint8)
    return np.unpackbits(differing).view(np.bool_)


class Bar(NamedTuple):
    """The limit that pages have to meet in order to be accepted."""

    #: The highest cost that is accepted.
    limit: int
    #: The similarity that the limit stands for, if it stands for one.
    threshold: float | None
    #: The number of pages in the crowd that decided about the limit.
    crowd: int


@dataclass(frozen=True, slots=True)
class Crowd:
    """The crowd rule: if several pages are about equally near, the limit for them is stricter."""

    #: The cost up to which pages are counted, which is the mean cost at the similarity `farthest`.
    reach: int
    #: The similarity r of the module's docstring.
    farthest: float
    #: The highest costs that are accepted, for a page alone, in a crowd of two, and so on. The last
    #: one applies in all larger crowds.
    limits: tuple[int, ...]
    #: The similarities that the limits stand for.
    thresholds: tuple[float, ...]
    #: The cost up to which the nearest page is reported if it is not accepted.
    far: int = 0
    #: The cost up to which certain views of a page are copies: see `VIEW_SIMILARITY`.
    of_views: int = 0

    def bar(self, costs: Sequence[int]) -> Bar:
        """Count the crowd among pages with these costs, and return the limit that applies."""
        nearest = min(costs, default=0)
        # Whole numbers, so the scripts in Redis come to the same result.
        size = sum([cost * self.limits[0] <= nearest * self.reach for cost in costs])
        place = min(max(size, 1), len(self.limits)) - 1
        return Bar(self.limits[place], self.thresholds[place] or None, size)

    def similarity(self, cost: int) -> float:
        """Return the approximate similarity for a cost, much faster than an estimate."""
        similarities = (*reversed(self.thresholds), self.farthest, min(self.farthest, LEAST_TOLD))
        return float(np.interp(cost, (*reversed(self.limits), self.reach, self.far), similarities))


@dataclass(frozen=True, slots=True)
class WeightedThreshold:
    """The rule that accepts a page if its differing bits cost at most `limit` in all."""

    #: The cost of each bit, one byte per bit. They are whole numbers, so every store comes to the
    #: same decision, whatever its language.
    costs: bytes
    #: The highest sum of costs that is accepted by a page alone.
    limit: int
    #: The similarity that the limit stands for, if it stands for one.
    threshold: float | None = None
    #: The crowd rule, which lowers the limit if several pages are about as near.
    crowd: Crowd | None = None

    @property
    def bounds(self) -> Crowd:
        """The crowd rule. Without one, the limit of a single page, in the same form."""
        if self.crowd:
            return self.crowd
        return Crowd(
            reach=self.limit,
            farthest=0.0,
            limits=(self.limit,),
            thresholds=(self.threshold or 0.0,),
            far=self.limit,
            of_views=self.limit,
        )

    def cost(self, signature: bytes, other: bytes) -> int:
        """Return how much two signatures differ: the sum of the costs of the bits that do."""
        differing = _differing_bits(signature, other)
        return int(np.frombuffer(self.costs, np.uint8)[differing].sum())


def likelihood_rule(weights: Floats, threshold: float) -> WeightedThreshold:
    """Make the rule that accepts pages whose most likely similarity is at least `threshold`.

    Args:
        weights: The verify weights of the page, shape (bits,).
        threshold: The lowest similarity that is accepted.
    """
    return likelihood_rules(weights[None], [threshold], [None])[0]


def likelihood_rules(
    weights: Floats, thresholds: Sequence[float], crowds: Sequence[Crowd | None]
) -> list[WeightedThreshold]:
    """Make the rule "the most likely similarity is high enough" for each of several pages.

    A page without weights gets the `identity_rule`.

    Args:
        weights: The verify weights of the pages, shape (pages, bits).
        thresholds: The lowest similarity that is accepted, for each page.
        crowds: The crowd rule of each page, or None.
    """
    slopes = np.array([steepness(threshold) for threshold in thresholds], np.float32)
    rows = grid_rows(np.abs(weights), slopes[:, None])
    costs_of_pages = likelihood_costs(rows)
    have_weights = (rows.max(axis=1) > 0).tolist()
    rules = []
    for costs, has_weights, threshold, crowd in zip(
        costs_of_pages, have_weights, thresholds, crowds, strict=True
    ):
        if has_weights:
            rules.append(WeightedThreshold(costs.tobytes(), SCALED_LIMIT, threshold, crowd))
        else:
            rules.append(identity_rule(len(costs)))
    return rules


def likelihood_costs(rows: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the cost of each bit, in the shape of the rows, or 0 on a page without weights.

    Args:
        rows: The `grid_rows` of the weights at the threshold.
    """
    tables = normal_tables()
    equal = tables.equal.take(rows)
    sums = np.maximum(equal.sum(axis=-1, keepdims=True), 1e-300)
    costs = (equal + tables.different.take(rows)) * (SCALED_LIMIT / sums)
    return np.minimum(np.rint(costs), MAX_COST).astype(np.uint8)  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class Prefilter:
    """A quick test on search keys: those that differ too much from the page's key are dropped.

    The costs of the differing bits may add up to `limit`.
    """

    #: The cost of each search bit, one byte per bit. The less likely a near duplicate is to differ
    #: in a bit, the higher its cost.
    costs: bytes
    #: The highest sum of costs that passes.
    limit: int


def likelihood_prefilters(weights: Floats, slopes: Floats, stored: Doubles) -> list[Prefilter]:
    """Make a prefilter for each page, which drops most keys that match by chance.

    The cost of a bit is minus the log odds of its flip, in eighths. The limit is `KEY_DEVIATIONS`
    standard deviations above the mean cost of a near duplicate, in the table where this is highest,
    so almost no near duplicates are lost. Of the keys that match by chance, 7 in 100 pass.

    Args:
        weights: The search weights of the pages, shape (pages, 64).
        slopes: The `steepness` at each page's similarity, shape (pages,).
        stored: 1 for each bit that the keys of a table hold, 0 for the others; shape (tables, 64).
    """
    rows = grid_rows(np.abs(weights), slopes[:, None])
    moments = _key_moments()
    means = moments.mean.take(rows) @ stored.T
    deviations = np.sqrt(moments.variance.take(rows) @ stored.T)
    limits = (means + KEY_DEVIATIONS * deviations).max(axis=1).clip(max=SCALED_LIMIT)
    costs_of_pages = moments.cost.take(rows)
    return [
        Prefilter(costs.tobytes(), limit)
        for costs, limit in zip(costs_of_pages, limits.astype(int).tolist(), strict=True)
    ]


class _KeyMoments(NamedTuple):
    """The mean and variance of what a key bit costs, by its scaled weight: see `grid_rows`."""

    #: The cost of a flip of the bit.
    cost: NDArray[np.uint8]
    #: The mean cost of the bit among near duplicates.
    mean: Doubles
    #: The variance of the cost of the bit among near duplicates.
    variance: Doubles


@cache
def _key_moments() -> _KeyMoments:
    """Return the table of these figures, which is computed once per process."""
    normal = normal_tables()
    cost = np.minimum(np.rint(normal.log_odds * -_KEY_SCALE), MAX_COST)
    flip = np.exp(normal.log_odds + normal.log_stay)
    return _KeyMoments(
        cost=cost.astype(np.uint8), mean=cost * flip, variance=cost * cost * flip * (1 - flip)
    )


def identity_rule(bits: int) -> WeightedThreshold:
    """Make the rule for pages without weights, which only accepts an equal signature.

    The similarity of their views is unknown, so all certain views are accepted.
    """
    alone = Crowd(reach=0, farthest=0.0, limits=(0,), thresholds=(0.0,), of_views=MAX_COST * bits)
    return WeightedThreshold(bytes([MAX_COST]) * bits, 0, crowd=alone)


@cache
def crowd_rule(similarity: float, recall: float, bits: int) -> Crowd:
    """Make the crowd rule for accepting pages with `similarity` or more.

    Its limit for a page alone is `SCALED_LIMIT`.

    Args:
        similarity: The similarity that the user asked for.
        recall: The share of pages of exactly this similarity that should be accepted.
        bits: The number of verify bits.
    """
    alone = accept_threshold(similarity, bits, recall)
    farthest = _farthest_similarity(alone, bits)
    error = estimate_deviation(farthest, bits)
    thresholds = [alone]
    while thresholds[-1] < similarity and len(thresholds) < MAX_CANDIDATES:
        thresholds.append(min(similarity, alone + error * mean_of_largest(len(thresholds) + 1)))
    unit = SCALED_LIMIT / _mean_cost(alone, alone)

    def scaled_cost(similarity: float) -> int:
        return round(unit * _mean_cost(alone, similarity))

    return Crowd(
        reach=scaled_cost(farthest),
        farthest=farthest,
        limits=tuple(scaled_cost(threshold) for threshold in thresholds),
        thresholds=tuple(thresholds),
        far=scaled_cost(min(farthest, LEAST_TOLD)),
        of_views=scaled_cost(min(farthest, VIEW_SIMILARITY)),
    )


def _farthest_similarity(threshold: float, bits: int) -> float:
    """Return the similarity whose estimate is `_DEVIATIONS` standard errors below a threshold."""
    low = _LOWEST
    high = threshold
    while high - low > _TOLERANCE:
        middle = (low + high) / 2
        if middle + _DEVIATIONS * estimate_deviation(middle, bits) < threshold:
            low = middle
        else:
            high = middle
    return low


def _mean_cost(threshold: float, similarity: float) -> float:
    """Return the mean cost of a bit by the rule for `threshold`, for pages of a similarity."""
    tables = normal_tables()
    weights, density = weight_density()
    rows = grid_rows(weights, steepness(threshold))
    costs = tables.equal.take(rows) + tables.different.take(rows)
    return float(costs * flip_probabilities(weights, similarity) @ density)
