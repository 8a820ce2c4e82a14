"""The decision: are two pages similar enough, given which bits differ, and how similar are they?

The log likelihood of "the other page has similarity s" is concave in u (see `model`), so "the most likely
similarity is at least theta" is exactly

    sum over differing bits of c_j <= C,   c_j = x_j phi(x_j) / (Phi(x_j) Phi(-x_j)),
                                           C   = sum over all bits of x_j phi(x_j) / Phi(x_j),   x_j = |w_j| u

with u at theta. A sum of small costs is cheap in numpy, in SQL and in a Lua script; the classic rule "at most k bits
differ" is the same rule with every cost 1. See also Dong, Charikar and Li, "Asymmetric distance
estimation with sketches", SIGIR 2008.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from crawldedup.search.crowd import Bar, Crowd
from crawldedup.search.model import MAX_SIMILARITY, grid_rows, normal_tables, similarity_of, steepness

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

MAX_COST: Final = 255
SCALED_LIMIT: Final = 254
"""The limit of every rule by likelihood: its costs are scaled to it."""
_ESTIMATE_TOLERANCE: Final = 5e-5


@dataclass(frozen=True, slots=True)
class WeightedThreshold:
    """Accepts a signature if the costs of the bits in which it differs sum up to at most `limit`.

    `costs` holds one byte for each bit of the signature; or one for each byte of it, if bytes are compared as a whole.
    Costs are whole numbers, so that every store comes to the same decision, whatever language it sums them in.
    `threshold` is the similarity that the limit stands for, if it stands for one. With `crowd`, the limit is lower
    where several pages resemble the page alike.
    """

    costs: bytes
    limit: int
    threshold: float | None = None
    crowd: Crowd | None = None

    @property
    def reach(self) -> int:
        """Return the cost up to which pages count for the decision."""
        return self.crowd.reach if self.crowd else self.limit

    def bar(self, costs: Sequence[int]) -> Bar:
        """Return what is accepted of pages with these costs."""
        return self.crowd.bar(costs) if self.crowd else Bar(self.limit, self.threshold, min(len(costs), 1))

    def cost(self, own: bytes, other: bytes) -> int:
        """Return the sum of the costs of the bits in which two signatures differ."""
        return int(self.costs_of(own, np.frombuffer(other, np.uint8).reshape(1, -1))[0])

    def costs_of(self, own: bytes, others: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Return the costs of many signatures, shape (signatures, bytes of a signature)."""
        differing = others ^ np.frombuffer(own, np.uint8)
        differing = differing != 0 if len(self.costs) == len(own) else np.unpackbits(differing, axis=1)
        return differing.astype(np.int64) @ np.frombuffer(self.costs, np.uint8).astype(np.int64)


def likelihood_rule(weights: Floats, threshold: float) -> WeightedThreshold:
    """Make the rule "the most likely similarity is at least `threshold`" from a page's verify weights."""
    rows = threshold_rows(weights, threshold)
    if not rows.any():
        return identity_rule(len(weights))
    return WeightedThreshold(likelihood_costs(rows).tobytes(), SCALED_LIMIT, threshold)


def threshold_rows(weights: Floats, threshold: float) -> NDArray[np.intp]:
    """Return the rows of verify weights in the tables of the normal distribution, same shape, at a threshold."""
    return grid_rows(np.abs(weights), steepness(threshold))


def likelihood_costs(rows: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the costs of bits from their `threshold_rows`, same shape: of one page, or of several, one a row.

    They are scaled so that SCALED_LIMIT is the limit of each page. A page needs a weight that is not 0.
    """
    tables = normal_tables()
    equal = tables.equal.take(rows)
    costs = (equal + tables.different.take(rows)) * (SCALED_LIMIT / equal.sum(axis=-1, keepdims=True))
    scaled: NDArray[np.uint8] = np.minimum(np.rint(costs), MAX_COST).astype(np.uint8)
    return scaled


@dataclass(frozen=True, slots=True)
class Prefilter:
    """Drops a key that differs from the page's own in bits whose costs sum up to more than `limit`.

    `costs` holds one byte for each search bit: the less likely a near duplicate differs there, the higher. Where there
    are too many keys, those of the lowest costs are the likeliest.
    """

    costs: bytes
    limit: int


KEY_DEVIATIONS: Final = 6.0
_KEY_SCALE: Final = 8


def likelihood_prefilter(weights: Floats, similarity: float, kept: NDArray[np.float64]) -> Prefilter:
    """Make the prefilter for keys of pages of this similarity to a page with these search weights.

    A bit costs minus the log odds of its flip, in eighths. The limit lies KEY_DEVIATIONS standard deviations above the
    mean cost of a near duplicate, so next to none is lost. `kept` is 1 where a table's keys hold a bit, shape
    (tables, 64). Of the keys that lie in a page's ranges by chance, 7 in 100 pass.
    """
    rows = grid_rows(np.abs(weights), steepness(similarity))
    costs, means, variances = (moment.take(rows) for moment in _key_moments())
    limits = kept @ means + KEY_DEVIATIONS * np.sqrt(kept @ variances)
    return Prefilter(costs.tobytes(), min(int(limits.max()), SCALED_LIMIT))


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


def estimate_similarity(weights: Floats, own: bytes, other: bytes) -> float:
    """Return the most likely Jaccard similarity of a page to another, from the page's weights and both signatures.

    Bisects the derivative of the log likelihood, which is concave. Equal signatures give 1.0.
    """
    differing = np.unpackbits(np.frombuffer(own, np.uint8) ^ np.frombuffer(other, np.uint8)).view(np.bool_)
    if not differing.any():
        return 1.0
    absolute = np.abs(weights)
    same, flipped = absolute[~differing], absolute[differing]
    tables = normal_tables()
    low, high = 0.0, MAX_SIMILARITY
    while high - low > _ESTIMATE_TOLERANCE:
        middle = (low + high) / 2
        u = steepness(middle)
        equal = tables.equal.take(grid_rows(same, u)).sum()
        different = tables.different.take(grid_rows(flipped, u)).sum()
        if equal > different:
            low = middle
        else:
            high = middle
    return similarity_of(steepness((low + high) / 2))
