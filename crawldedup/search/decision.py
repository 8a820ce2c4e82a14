"""Deciding: are two pages similar enough, given which bits differ, and how similar are they?

The log likelihood of "the other page has similarity s" is concave in u (see `model`), so "the most likely
similarity is at least theta" is exactly

    sum over differing bits of c_j <= C,   c_j = x_j phi(x_j) / (Phi(x_j) Phi(-x_j)),
                                           C   = sum over all bits of x_j phi(x_j) / Phi(x_j),   x_j = |w_j| u

with u at theta. A sum of small costs is cheap in numpy, in SQL and in a Lua script, and the classic rule
"at most k bits differ" is the same rule with every cost 1. See also Dong, Charikar and Li, "Asymmetric distance
estimation with sketches", SIGIR 2008.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from crawldedup.search.model import (
    MAX_SIMILARITY,
    grid_rows,
    normal_tables,
    similarity_of,
    steepness,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

MAX_COST: Final = 255
_SCALED_LIMIT: Final = 254
_ESTIMATE_TOLERANCE: Final = 5e-5


@dataclass(frozen=True, slots=True)
class CostRule:
    """Accept a signature when the costs of the bits in which it differs sum up to at most `limit`.

    `costs` holds one byte for each bit of the signature, or one for each byte of it: then bytes are compared as
    a whole. Costs are whole numbers so that every store, in whatever
    language it sums them, comes to the same decision.
    """

    costs: bytes
    limit: int

    def cost(self, own: bytes, other: bytes) -> int:
        """Sum of the costs of the bits in which two signatures differ."""
        return int(self.costs_of(own, np.frombuffer(other, np.uint8).reshape(1, -1))[0])

    def costs_of(self, own: bytes, others: NDArray[np.uint8]) -> NDArray[np.int64]:
        """The same for many signatures, shape (signatures, bytes of a signature)."""
        differing = others ^ np.frombuffer(own, np.uint8)
        differing = differing != 0 if len(self.costs) == len(own) else np.unpackbits(differing, axis=1)
        return differing.astype(np.int64) @ np.frombuffer(self.costs, np.uint8).astype(np.int64)


def likelihood_rule(weights: Floats, threshold: float) -> CostRule:
    """The rule "the most likely similarity is at least `threshold`" for a page's verify weights."""
    rows = grid_rows(np.abs(weights), steepness(threshold))
    tables = normal_tables()
    pulls = tables.pull.take(rows)
    limit = float(pulls.sum())
    if limit <= 0:
        return identity_rule(len(weights))
    costs = (pulls + tables.push.take(rows)) * (_SCALED_LIMIT / limit)
    scaled = np.minimum(np.rint(costs), MAX_COST).astype(np.uint8)
    return CostRule(scaled.tobytes(), _SCALED_LIMIT)


def flip_costs(weights: Floats, similarity: float) -> bytes:
    """How unlikely each bit flips in a page of this similarity: minus the log odds in eighths, one byte a bit."""
    odds = normal_tables().log_odds.take(grid_rows(np.abs(weights), steepness(similarity)))
    return np.minimum(np.rint(odds * -8), MAX_COST).astype(np.uint8).tobytes()


def hamming_rule(bits: int, distance: int) -> CostRule:
    """The classic rule "at most `distance` bits differ"."""
    return CostRule(bytes([1]) * bits, distance)


def byte_rule(size: int, distance: int) -> CostRule:
    """The rule "at most `distance` of `size` bytes differ"."""
    return CostRule(bytes([1]) * size, distance)


def identity_rule(bits: int) -> CostRule:
    """The rule that accepts an equal signature only."""
    return CostRule(bytes([MAX_COST]) * bits, 0)


def estimate_similarity(weights: Floats, own: bytes, other: bytes) -> float:
    """The most likely Jaccard similarity of a page to another, from the page's weights and both signatures.

    Bisects the derivative of the log likelihood, which is concave. Returns 1.0 for equal signatures.
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
        pull = tables.pull.take(grid_rows(same, u)).sum()
        push = tables.push.take(grid_rows(flipped, u)).sum()
        if pull > push:
            low = middle
        else:
            high = middle
    return similarity_of(steepness((low + high) / 2))
