"""The flip model: how likely each bit differs between two pages; and the decision: are they similar
enough?

With w_j ~ N(0, 1) the normalised weight of bit j on page A, bit j of a page B at cosine similarity
rho differs with probability

    p_j = Phi(-|w_j| u),   u = rho / sqrt(1 - rho^2),   rho = 2 J / (1 + J)

for sets of equal size and Jaccard similarity J. The user's similarity threshold gives u, and u
gives every p_j; there is nothing to tune. Functions of the normal distribution are read from
tables, which is quicker than numpy could be.

The log likelihood of "the other page has similarity s" is concave in u, so "most likely, it has
theta or more" is

    sum over differing bits of c_j <= C,   c_j = x_j phi(x_j) / (Phi(x_j) Phi(-x_j)),
                                           C   = sum over all bits of x_j phi(x_j) / Phi(x_j),   x_j = |w_j| u

with u at theta. A sum of small costs is cheap in numpy, in SQL and in a Lua script; the classic
rule "at most k bits differ" is the same rule with every cost 1. See also Dong, Charikar and Li,
"Asymmetric distance estimation with sketches", SIGIR 2008.

The crowd rule: an index holds no copies, so several pages that resemble a new one are pages of one
template; and the best of many noisy estimates is too high. Of n pages of one similarity, it lies
m_n standard errors above the truth, with m_n the mean of the largest of n normal numbers. A crowd
of n pages raises the threshold T by as much:

    T_n = min(s, T + sigma(r) m_n)

where s is the wanted similarity, sigma the error of the estimate, and r the similarity whose
estimate reaches T two errors above the truth: pages below r have next to no chance of being
accepted. A page is of the crowd if its cost is at most reach / limit times that of the nearest,
where `limit` and `reach` are the mean costs at T and at r. So a near duplicate that stands out of
its template is accepted as if it were alone.
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

# Above it counts as this: at 1 the model would allow no flip at all.
MAX_SIMILARITY: Final = 0.9995
# Fitted to the default search features of pairs of installation guides; see `search_similarity`.
_SEARCH_SHARE: Final = 0.5
_HALF_OF_IT_AT: Final = 0.04
_ESTIMATE_TOLERANCE: Final = 5e-5
_STEPS: Final = 256  # grid points per unit of x = |w| u
_MAX_X: Final = 37  # Phi(-37) is the last that a double can hold
MAX_CANDIDATES: Final = 128  # records compared with one page
MAX_COST: Final = 255
SCALED_LIMIT: Final = 254  # of every rule by likelihood: its costs are scaled to it
KEY_DEVIATIONS: Final = 6.0
_KEY_SCALE: Final = 8
_DEVIATIONS: Final = 2.0
_LOWEST: Final = 0.01
LEAST_TOLD: Final = 0.6  # the similarity from which on a page is told that is not accepted
_TOLERANCE: Final = 1e-4


class NormalTables(NamedTuple):
    """Functions of x >= 0 on a grid; row i belongs to x = i / 256."""

    log_stay: Doubles  # log Phi(x): the bit is the same.
    log_odds: Doubles  # log(Phi(-x) / Phi(x)): odds of a flip, never positive.
    equal: Doubles  # x phi(x) / Phi(x): an equal bit adds this to the score.
    different: Doubles  # x phi(x) / Phi(-x): a different bit takes this from the score.


@cache
def normal_tables() -> NormalTables:
    """Return the tables, made once in a process."""
    x = np.arange(_MAX_X * _STEPS + 1) / _STEPS
    tail = np.array([0.5 * math.erfc(value / math.sqrt(2)) for value in x.tolist()])
    density = np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    log_stay = np.log1p(-tail)
    return NormalTables(
        log_stay, np.log(tail) - log_stay, x * density / (1 - tail), x * density / tail
    )


def mean_of_largest(count: int) -> float:
    """Return the mean of the largest of `count` standard normal numbers."""
    tables = normal_tables()
    below, above = np.exp(tables.log_stay), np.exp(tables.log_stay + tables.log_odds)
    return float(np.trapezoid(1 - below**count - above**count, dx=1 / _STEPS))


def grid_rows(absolute_weights: Floats, u: float | Floats) -> NDArray[np.intp]:
    """Return the table rows of x = |w| u, same shape as the weights."""
    rows = (absolute_weights * np.multiply(u, _STEPS, dtype=np.float32)).astype(np.intp)
    return np.minimum(rows, _MAX_X * _STEPS, out=rows)


def cosine(similarity: float) -> float:
    """Return the cosine of two sets of equal size with Jaccard similarity `similarity`."""
    return 2 * similarity / (1 + similarity)


def search_similarity(similarity: float) -> float:
    """Return the similarity of two pages' search features, given the Jaccard similarity J of their
    word 3-shingles.

    A dissimilarity m = 1 - J of the shingles corresponds to 0.5 m^2 / (m + 0.04) of the search
    features: to little of a small edit, to half of a large one. An edited word changes three
    shingles, but only one word, which may also stand elsewhere in the page, and two pairs, which
    weigh less. The more is changed, the more of it is whole passages. Both numbers were fitted to
    one corpus, and two others agree.
    """
    missing = 1 - similarity
    return 1 - missing * _SEARCH_SHARE * missing / (missing + _HALF_OF_IT_AT)


@lru_cache(maxsize=4096)
def steepness(similarity: float) -> float:
    """Return u = rho / sqrt(1 - rho^2) of a Jaccard similarity: the steepness of the flip
    probabilities.
    """
    rho = cosine(min(similarity, MAX_SIMILARITY))
    return rho / math.sqrt(1 - rho * rho)


def similarity_of(u: float) -> float:
    """Return the Jaccard similarity of the steepness `u`."""
    rho = u / math.sqrt(1 + u * u)
    return rho / (2 - rho)


def flip_probabilities(weights: Floats, similarity: float) -> Doubles:
    """Return p_j of every bit, shape of `weights`, at the given Jaccard similarity."""
    rows = grid_rows(np.abs(weights), steepness(similarity))
    tables = normal_tables()
    return np.exp(tables.log_odds.take(rows) + tables.log_stay.take(rows))


@cache
def weight_density() -> tuple[Floats, Doubles]:
    """Return sizes |w| of weights w ~ N(0, 1), and the share of weights that each stands for, the
    same shape.
    """
    w = np.arange(1, 8 * _STEPS) / _STEPS
    return w.astype(np.float32), 2 * np.exp(-w * w / 2) / math.sqrt(2 * math.pi) / _STEPS


@cache
def estimate_deviation(similarity: float, bits: int) -> float:
    """Return the standard deviation of the estimated similarity at a true `similarity`, with `bits`
    verify bits.

    It follows from the Fisher information of u, averaged over w ~ N(0, 1), and the slope of J over
    u.
    """
    u, tables, (weights, density) = steepness(similarity), normal_tables(), weight_density()
    rows = grid_rows(weights, u)
    information = (tables.equal.take(rows) / u) * (tables.different.take(rows) / u)
    deviation_of_u = 1 / math.sqrt(bits * float(information @ density))
    slope = (similarity_of(u * 1.001) - similarity_of(u * 0.999)) / (0.002 * u)
    return deviation_of_u * slope


@lru_cache(maxsize=1024)
def accept_threshold(similarity: float, bits: int, recall: float) -> float:
    """Return the estimate from which on a pair of exactly `similarity` is accepted with probability
    `recall`.
    """
    margin = NormalDist().inv_cdf(recall) * estimate_deviation(similarity, bits)
    return min(similarity - margin, MAX_SIMILARITY)


def estimate_similarity(weights: Floats, own: bytes, other: bytes) -> float:
    """Return the most likely Jaccard similarity of a page to another, from the page's weights and
    both signatures.
    """
    # Bisects the derivative of the log likelihood, which is concave.
    differing = np.unpackbits(np.frombuffer(own, np.uint8) ^ np.frombuffer(other, np.uint8)).view(
        np.bool_
    )
    if not differing.any():
        return 1.0
    absolute = np.abs(weights)
    same_first = np.concatenate((absolute[~differing], absolute[differing]))
    same, tables = len(weights) - np.count_nonzero(differing), normal_tables()
    low, high = 0.0, MAX_SIMILARITY
    while high - low > _ESTIMATE_TOLERANCE:
        middle = (low + high) / 2
        # As in `steepness` and `grid_rows`, which would take longer.
        rho = 2 * middle / (1 + middle)
        rows = (same_first * np.float32(rho / math.sqrt(1 - rho * rho) * _STEPS)).astype(np.intp)
        equal = tables.equal.take(rows[:same], mode="clip").sum()
        low, high = (
            (middle, high)
            if equal > tables.different.take(rows[same:], mode="clip").sum()
            else (low, middle)
        )
    return (low + high) / 2


class Bar(NamedTuple):
    """What is accepted: costs up to `limit`, which stands for the similarity `threshold`, beside a
    crowd this large.
    """

    limit: int
    threshold: float | None
    crowd: int


@dataclass(frozen=True, slots=True)
class Crowd:
    """The costs and similarities up to which pages are accepted: alone, in a crowd of two, ..., in
    all larger ones.

    `reach` is the cost up to which pages are counted: the mean cost of a page of the similarity
    `farthest`. Of those that are not accepted, the nearest is told up to the cost `far`.
    """

    reach: int
    farthest: float
    limits: tuple[int, ...]
    thresholds: tuple[float, ...]
    far: int = 0

    def bar(self, costs: Sequence[int]) -> Bar:
        """Count the crowd among pages with these costs, and return the limit that applies in it."""
        nearest = min(costs, default=0)
        # In whole numbers, as the scripts of Redis have them.
        size = sum([cost * self.limits[0] <= nearest * self.reach for cost in costs])
        place = min(max(size, 1), len(self.limits)) - 1
        return Bar(self.limits[place], self.thresholds[place] or None, size)

    def similarity(self, cost: int) -> float:
        """Return about what similarity a cost stands for, in a fraction of the time of an estimate."""
        similarities = (*reversed(self.thresholds), self.farthest, min(self.farthest, LEAST_TOLD))
        return float(np.interp(cost, (*reversed(self.limits), self.reach, self.far), similarities))


@dataclass(frozen=True, slots=True)
class WeightedThreshold:
    """Accepts a signature if the costs of the bits in which it differs sum up to at most `limit`.

    `costs` holds a byte for each bit: whole numbers, so every store comes to the same decision in
    whatever language. `threshold` is the similarity that the limit may stand for. With `crowd`, the
    limit is lower in a crowd.
    """

    costs: bytes
    limit: int
    threshold: float | None = None
    crowd: Crowd | None = None

    @property
    def bounds(self) -> Crowd:
        """Return the costs up to which pages count: those of the crowd rule, or the limit alone."""
        return self.crowd or Crowd(
            self.limit, 0.0, (self.limit,), (self.threshold or 0.0,), self.limit
        )

    def cost(self, own: bytes, other: bytes) -> int:
        """Return the sum of the costs of the bits in which two signatures differ."""
        differing = np.unpackbits(np.frombuffer(own, np.uint8) ^ np.frombuffer(other, np.uint8))
        return int(np.frombuffer(self.costs, np.uint8)[differing.view(np.bool_)].sum())


def likelihood_rule(weights: Floats, threshold: float) -> WeightedThreshold:
    """Make the rule "the most likely similarity is at least `threshold`" from a page's verify
    weights.
    """
    return likelihood_rules(weights[None], [threshold], [None])[0]


def likelihood_rules(
    weights: Floats, thresholds: Sequence[float], crowds: Sequence[Crowd | None]
) -> list[WeightedThreshold]:
    """Make such rules for pages of these verify weights, shape (pages, bits), each with a threshold
    and a crowd.
    """
    slopes = np.array(list(map(steepness, thresholds)), np.float32)
    rows = grid_rows(np.abs(weights), slopes[:, None])
    rules = zip(likelihood_costs(rows), rows.max(axis=1).tolist(), thresholds, crowds, strict=True)
    return [
        WeightedThreshold(own.tobytes(), SCALED_LIMIT, threshold, crowd)
        if differs
        else identity_rule(len(own))
        for own, differs, threshold, crowd in rules
    ]


def likelihood_costs(rows: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the costs of bits from their `grid_rows` at a threshold, same shape, 0 for a page
    without weights.
    """
    tables = normal_tables()
    equal = tables.equal.take(rows)
    sums = np.maximum(equal.sum(axis=-1, keepdims=True), 1e-300)
    costs = (equal + tables.different.take(rows)) * (SCALED_LIMIT / sums)
    return np.minimum(np.rint(costs), MAX_COST).astype(np.uint8)  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class Prefilter:
    """Drops a key that differs from the page's own in bits whose costs sum up to more than `limit`.

    `costs` holds a byte for each search bit: the less likely a near duplicate differs there, the
    higher.
    """

    costs: bytes
    limit: int


def likelihood_prefilters(weights: Floats, slopes: Floats, kept: Doubles) -> list[Prefilter]:
    """Make a prefilter for each page from its search weights, shape (pages, 64).

    `slopes` holds a `steepness` a page.

    A bit costs minus the log odds of its flip, in eighths. The limit, the highest of any table, is
    KEY_DEVIATIONS standard deviations above the mean cost of a near duplicate, so next to none is
    lost. Of keys met by chance, 7 in 100 pass. `kept` is 1 where a table's keys hold a bit, shape
    (tables, 64).
    """
    rows = grid_rows(np.abs(weights), slopes[:, None])
    cost, mean, variance = _key_moments()
    deviations = np.sqrt(variance.take(rows) @ kept.T)
    limits = (
        (mean.take(rows) @ kept.T + KEY_DEVIATIONS * deviations).max(axis=1).clip(max=SCALED_LIMIT)
    )
    pairs = zip(cost.take(rows), limits.astype(int).tolist(), strict=True)
    return [Prefilter(own.tobytes(), limit) for own, limit in pairs]


@cache
def _key_moments() -> tuple[NDArray[np.uint8], Doubles, Doubles]:
    """Return a key bit's cost, and its mean and variance among near duplicates; row i belongs to x
    = i / 256.
    """
    normal = normal_tables()
    cost = np.minimum(np.rint(normal.log_odds * -_KEY_SCALE), MAX_COST)
    flip = np.exp(normal.log_odds + normal.log_stay)
    return cost.astype(np.uint8), cost * flip, cost * cost * flip * (1 - flip)


def identity_rule(bits: int) -> WeightedThreshold:
    """Make the rule that accepts an equal signature only."""
    return WeightedThreshold(bytes([MAX_COST]) * bits, 0)


@cache
def crowd_rule(similarity: float, recall: float, bits: int) -> Crowd:
    """Return the rule for pages from `similarity` on.

    Alone, a page is accepted up to SCALED_LIMIT.
    """
    alone = accept_threshold(similarity, bits, recall)
    reach, high = _LOWEST, alone
    while high - reach > _TOLERANCE:
        middle = (reach + high) / 2
        is_below = middle + _DEVIATIONS * estimate_deviation(middle, bits) < alone
        reach, high = (middle, high) if is_below else (reach, middle)
    error = estimate_deviation(reach, bits)
    thresholds = [alone]
    while thresholds[-1] < similarity and len(thresholds) < MAX_CANDIDATES:
        thresholds.append(min(similarity, alone + error * mean_of_largest(len(thresholds) + 1)))
    unit = SCALED_LIMIT / _mean_cost(alone, alone)
    limits = (round(unit * _mean_cost(alone, threshold)) for threshold in thresholds)
    counted, far = (
        round(unit * _mean_cost(alone, similarity))
        for similarity in (reach, min(reach, LEAST_TOLD))
    )
    return Crowd(counted, reach, tuple(limits), tuple(thresholds), far)


def _mean_cost(threshold: float, similarity: float) -> float:
    """Return the mean cost of a bit, by the rule for `threshold`, between pages of `similarity`."""
    tables, (weights, density) = normal_tables(), weight_density()
    rows = grid_rows(weights, steepness(threshold))
    costs = tables.equal.take(rows) + tables.different.take(rows)
    return float(costs * flip_probabilities(weights, similarity) @ density)
