"""The decision: are two pages similar enough, given which bits differ?

The log likelihood of "the other page has similarity s" is concave in u (see `model`), so "the most likely
similarity is at least theta" is exactly

    sum over differing bits of c_j <= C,   c_j = x_j phi(x_j) / (Phi(x_j) Phi(-x_j)),
                                           C   = sum over all bits of x_j phi(x_j) / Phi(x_j),   x_j = |w_j| u

with u at theta. A sum of small costs is cheap in numpy, in SQL and in a Lua script; the classic rule "at most k bits
differ" is the same rule with every cost 1. See also Dong, Charikar and Li, "Asymmetric distance
estimation with sketches", SIGIR 2008.

The crowd rule: an index holds no copies, so several pages that resemble a new one are pages of one template; and the
best of many noisy estimates is too high. Of n pages of one similarity, it lies m_n standard errors above the truth,
with m_n the mean of the largest of n normal numbers. A crowd of n pages raises the threshold T by as much:

    T_n = min(s, T + sigma(r) m_n)

where s is the wanted similarity, sigma the error of the estimate, and r the similarity whose estimate reaches T two
errors above the truth: pages below r have next to no chance of being accepted. A page is of the crowd if its cost is at
most reach / limit times that of the nearest, where `limit` and `reach` are the mean costs at T and at r. So a near
duplicate that stands out of its template is accepted as if it were alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crawldedup.search import model
from crawldedup.search.model import grid_rows, normal_tables, steepness
from crawldedup.search.plan import MAX_CANDIDATES

Floats = NDArray[np.float32]

MAX_COST: Final = 255
SCALED_LIMIT: Final = 254  # of every rule by likelihood: its costs are scaled to it
KEY_DEVIATIONS: Final = 6.0
_KEY_SCALE: Final = 8
_DEVIATIONS: Final = 2.0
_LOWEST: Final = 0.01
LEAST_TOLD: Final = 0.6  # the similarity from which on a page is told that is not accepted
_TOLERANCE: Final = 1e-4


class Bar(NamedTuple):
    """What is accepted: costs up to `limit`, which stands for the similarity `threshold`, beside a crowd this large."""

    limit: int
    threshold: float | None
    crowd: int


@dataclass(frozen=True, slots=True)
class Crowd:
    """The costs and similarities up to which pages are accepted: alone, in a crowd of two, ..., in all larger ones.

    `reach` is the cost up to which pages are counted: the mean cost of a page of the similarity `farthest`. Of those
    that are not accepted, the nearest is told up to the cost `far`.
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

    `costs` holds a byte for each bit: whole numbers, so every store comes to the same decision in whatever language.
    `threshold` is the similarity that the limit may stand for. With `crowd`, the limit is lower in a crowd.
    """

    costs: bytes
    limit: int
    threshold: float | None = None
    crowd: Crowd | None = None

    @property
    def bounds(self) -> Crowd:
        """Return the costs up to which pages count: those of the crowd rule, or the limit alone."""
        return self.crowd or Crowd(self.limit, 0.0, (self.limit,), (self.threshold or 0.0,), self.limit)

    def cost(self, own: bytes, other: bytes) -> int:
        """Return the sum of the costs of the bits in which two signatures differ."""
        differing = np.unpackbits(np.frombuffer(own, np.uint8) ^ np.frombuffer(other, np.uint8))
        return int(np.frombuffer(self.costs, np.uint8)[differing.view(np.bool_)].sum())


def likelihood_rule(weights: Floats, threshold: float) -> WeightedThreshold:
    """Make the rule "the most likely similarity is at least `threshold`" from a page's verify weights."""
    return likelihood_rules(weights[None], [threshold], [None])[0]


def likelihood_rules(
    weights: Floats, thresholds: Sequence[float], crowds: Sequence[Crowd | None]
) -> list[WeightedThreshold]:
    """Make such rules for pages of these verify weights, shape (pages, bits), each with a threshold and a crowd."""
    slopes = np.array(list(map(steepness, thresholds)), np.float32)
    rows = grid_rows(np.abs(weights), slopes[:, None])
    rules = zip(likelihood_costs(rows), rows.max(axis=1).tolist(), thresholds, crowds, strict=True)
    return [
        WeightedThreshold(own.tobytes(), SCALED_LIMIT, threshold, crowd) if differs else identity_rule(len(own))
        for own, differs, threshold, crowd in rules
    ]


def likelihood_costs(rows: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the costs of bits from their `grid_rows` at a threshold, same shape, 0 for a page without weights."""
    tables = normal_tables()
    equal = tables.equal.take(rows)
    sums = np.maximum(equal.sum(axis=-1, keepdims=True), 1e-300)
    costs = (equal + tables.different.take(rows)) * (SCALED_LIMIT / sums)
    return np.minimum(np.rint(costs), MAX_COST).astype(np.uint8)  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class Prefilter:
    """Drops a key that differs from the page's own in bits whose costs sum up to more than `limit`.

    `costs` holds a byte for each search bit: the less likely a near duplicate differs there, the higher.
    """

    costs: bytes
    limit: int


def likelihood_prefilters(weights: Floats, slopes: Floats, kept: NDArray[np.float64]) -> list[Prefilter]:
    """Make a prefilter for each page from its search weights, shape (pages, 64). `slopes` holds a `steepness` a page.

    A bit costs minus the log odds of its flip, in eighths. The limit, the highest of any table, is KEY_DEVIATIONS
    standard deviations above the mean cost of a near duplicate, so next to none is lost. Of keys met by chance, 7 in
    100 pass. `kept` is 1 where a table's keys hold a bit, shape (tables, 64).
    """
    rows = grid_rows(np.abs(weights), slopes[:, None])
    cost, mean, variance = _key_moments()
    deviations = np.sqrt(variance.take(rows) @ kept.T)
    limits = (mean.take(rows) @ kept.T + KEY_DEVIATIONS * deviations).max(axis=1).clip(max=SCALED_LIMIT)
    pairs = zip(cost.take(rows), limits.astype(int).tolist(), strict=True)
    return [Prefilter(own.tobytes(), limit) for own, limit in pairs]


@cache
def _key_moments() -> tuple[NDArray[np.uint8], NDArray[np.float64], NDArray[np.float64]]:
    """Return a key bit's cost, and its mean and variance among near duplicates; row i belongs to x = i / 256."""
    normal = normal_tables()
    cost = np.minimum(np.rint(normal.log_odds * -_KEY_SCALE), MAX_COST)
    flip = np.exp(normal.log_odds + normal.log_stay)
    return cost.astype(np.uint8), cost * flip, cost * cost * flip * (1 - flip)


def identity_rule(bits: int) -> WeightedThreshold:
    """Make the rule that accepts an equal signature only."""
    return WeightedThreshold(bytes([MAX_COST]) * bits, 0)


@cache
def crowd_rule(similarity: float, recall: float, bits: int) -> Crowd:
    """Return the rule for pages from `similarity` on. Alone, a page is accepted up to SCALED_LIMIT."""
    alone = model.accept_threshold(similarity, bits, recall)
    reach, high = _LOWEST, alone
    while high - reach > _TOLERANCE:
        middle = (reach + high) / 2
        is_below = middle + _DEVIATIONS * model.estimate_deviation(middle, bits) < alone
        reach, high = (middle, high) if is_below else (reach, middle)
    error = model.estimate_deviation(reach, bits)
    thresholds = [alone]
    while thresholds[-1] < similarity and len(thresholds) < MAX_CANDIDATES:
        thresholds.append(min(similarity, alone + error * model.mean_of_largest(len(thresholds) + 1)))
    unit = SCALED_LIMIT / _mean_cost(alone, alone)
    limits = (round(unit * _mean_cost(alone, threshold)) for threshold in thresholds)
    counted, far = (round(unit * _mean_cost(alone, similarity)) for similarity in (reach, min(reach, LEAST_TOLD)))
    return Crowd(counted, reach, tuple(limits), tuple(thresholds), far)


def _mean_cost(threshold: float, similarity: float) -> float:
    """Return the mean cost of a bit, by the rule for `threshold`, between pages of `similarity`."""
    tables, (weights, density) = normal_tables(), model.weight_density()
    rows = grid_rows(weights, steepness(threshold))
    costs = tables.equal.take(rows) + tables.different.take(rows)
    return float(costs * model.flip_probabilities(weights, similarity) @ density)
