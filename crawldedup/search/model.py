"""The flip model: how likely each bit differs between two pages of a given similarity.

With w_j ~ N(0, 1) the normalised weight of bit j on page A, bit j of a page B at cosine similarity rho differs
with probability

    p_j = Phi(-|w_j| u),   u = rho / sqrt(1 - rho^2),   rho = 2 J / (1 + J)

for sets of equal size and Jaccard similarity J. The user's similarity threshold gives u, u gives every p_j; there
is nothing to tune. Functions of the normal distribution are read from a table: numpy has no error function,
and a look-up is quicker than one.
"""

from __future__ import annotations

import math
from functools import cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Doubles = NDArray[np.float64]

MAX_SIMILARITY: Final = 0.9995
"""Similarities above this are treated as this: at 1 the model would allow no flip at all."""

# Of the default search features, fitted to pairs of installation guides; see `search_similarity`.
_SEARCH_SHARE: Final = 0.5
_HALF_OF_IT_AT: Final = 0.04

_STEPS: Final = 256  # grid points per unit of x = |w| u
_MAX_X: Final = 37  # Phi(-37) is the last that a double can hold


class NormalTables(NamedTuple):
    """Functions of x >= 0 on a grid; row i belongs to x = i / 256."""

    log_stay: Doubles
    """log Phi(x): the bit is the same."""
    log_odds: Doubles
    """log(Phi(-x) / Phi(x)): odds of a flip, never positive."""
    pull: Doubles
    """x phi(x) / Phi(x): what a bit that is the same adds to the score."""
    push: Doubles
    """x phi(x) / Phi(-x): what a bit that differs takes from the score."""


@cache
def normal_tables() -> NormalTables:
    """The tables, made once a process."""
    x = np.arange(_MAX_X * _STEPS + 1) / _STEPS
    tail = np.array([0.5 * math.erfc(value / math.sqrt(2)) for value in x.tolist()])
    density = np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    log_stay = np.log1p(-tail)
    return NormalTables(
        log_stay=log_stay,
        log_odds=np.log(tail) - log_stay,
        pull=x * density / (1 - tail),
        push=x * density / tail,
    )


def grid_rows(absolute_weights: NDArray[np.float32], u: float) -> NDArray[np.intp]:
    """The table rows of x = |w| u, same shape as the weights."""
    rows = (absolute_weights * np.float32(u * _STEPS)).astype(np.intp)
    return np.minimum(rows, _MAX_X * _STEPS, out=rows)


def cosine(similarity: float) -> float:
    """Cosine of two sets of equal size with Jaccard similarity `similarity`."""
    return 2 * similarity / (1 + similarity)


def search_similarity(similarity: float) -> float:
    """The similarity of two pages' search features, given the Jaccard similarity J of their word 3-shingles.

    Less dissimilarity arrives than the shingles show: an edited word changes three shingles, but one word, which
    other places of the page may hold as well, and two pairs, which weigh less. The more is changed, the more of it
    is whole passages, and of those more arrives. Of m = 1 - J there arrives

        0.5 m / (m + 0.04)    of m: little of small edits, half at most.

    Both numbers belong to the default search features and were fitted to one corpus; two others, not used for it,
    agree (`benchmarks/probe_plan.py` holds the recall that follows against the recall seen).
    """
    missing = 1 - similarity
    return 1 - missing * _SEARCH_SHARE * missing / (missing + _HALF_OF_IT_AT)


def steepness(similarity: float) -> float:
    """u = rho / sqrt(1 - rho^2) for a Jaccard similarity: the steepness of the flip probabilities."""
    rho = cosine(min(similarity, MAX_SIMILARITY))
    return rho / math.sqrt(1 - rho * rho)


def similarity_of(u: float) -> float:
    """The Jaccard similarity that has the steepness `u`."""
    rho = u / math.sqrt(1 + u * u)
    return rho / (2 - rho)


def flip_probabilities(weights: NDArray[np.float32], similarity: float) -> Doubles:
    """p_j of every bit, shape of `weights`, at the given Jaccard similarity."""
    rows = grid_rows(np.abs(weights), steepness(similarity))
    tables = normal_tables()
    return np.exp(tables.log_odds.take(rows) + tables.log_stay.take(rows))


@cache
def estimate_deviation(similarity: float, bits: int) -> float:
    """Standard deviation of the estimated similarity at a true `similarity`, with `bits` verify bits.

    From the Fisher information of u, averaged over w ~ N(0, 1), and the slope of J over u.
    """
    u = steepness(similarity)
    tables = normal_tables()
    w = np.arange(1, 8 * _STEPS) / _STEPS
    rows = grid_rows(w.astype(np.float32), u)
    information = (tables.pull.take(rows) / u) * (tables.push.take(rows) / u)
    density = 2 * np.exp(-w * w / 2) / math.sqrt(2 * math.pi) / _STEPS
    deviation_of_u = 1 / math.sqrt(bits * float(information @ density))
    slope = (similarity_of(u * 1.001) - similarity_of(u * 0.999)) / (0.002 * u)
    return deviation_of_u * slope


def accept_threshold(similarity: float, bits: int, recall: float) -> float:
    """The estimate from which on a page is accepted as similar.

    Below `similarity` by so much that a pair of exactly that similarity is accepted with probability `recall`.
    """
    margin = NormalDist().inv_cdf(recall) * estimate_deviation(similarity, bits)
    return min(similarity - margin, MAX_SIMILARITY)
