"""The flip model: how likely each bit differs between two pages of a given similarity.

With w_j ~ N(0, 1) the normalised weight of bit j on page A, bit j of a page B at cosine similarity rho differs
with probability

    p_j = Phi(-|w_j| u),   u = rho / sqrt(1 - rho^2),   rho = 2 J / (1 + J)

for sets of equal size and Jaccard similarity J. The user's similarity threshold gives u, and u gives every p_j; there
is nothing to tune. Functions of the normal distribution are read from tables: numpy has no error function, and a
look-up is quicker than one.
"""

import math
from functools import cache, lru_cache
from statistics import NormalDist
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]

MAX_SIMILARITY: Final = 0.9995  # Above it counts as this: at 1 the model would allow no flip at all.
# Fitted to the default search features of pairs of installation guides; see `search_similarity`.
_SEARCH_SHARE: Final = 0.5
_HALF_OF_IT_AT: Final = 0.04
_ESTIMATE_TOLERANCE: Final = 5e-5
_STEPS: Final = 256  # grid points per unit of x = |w| u
_MAX_X: Final = 37  # Phi(-37) is the last that a double can hold


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
    return NormalTables(log_stay, np.log(tail) - log_stay, x * density / (1 - tail), x * density / tail)


def mean_of_largest(count: int) -> float:
    """Return the mean of the largest of `count` standard normal numbers."""
    tables = normal_tables()
    below, above = np.exp(tables.log_stay), np.exp(tables.log_stay + tables.log_odds)
    return float(np.trapezoid(1 - below**count - above**count, dx=1 / _STEPS))


def grid_rows(absolute_weights: NDArray[np.float32], u: float | NDArray[np.float32]) -> NDArray[np.intp]:
    """Return the table rows of x = |w| u, same shape as the weights."""
    rows = (absolute_weights * np.multiply(u, _STEPS, dtype=np.float32)).astype(np.intp)
    return np.minimum(rows, _MAX_X * _STEPS, out=rows)


def cosine(similarity: float) -> float:
    """Return the cosine of two sets of equal size with Jaccard similarity `similarity`."""
    return 2 * similarity / (1 + similarity)


def search_similarity(similarity: float) -> float:
    """Return the similarity of two pages' search features, given the Jaccard similarity J of their word 3-shingles.

    A dissimilarity m = 1 - J of the shingles corresponds to 0.5 m^2 / (m + 0.04) of the search features: to little of a
    small edit, to half of a large one. An edited word changes three shingles, but only one word, which may also stand
    elsewhere in the page, and two pairs, which weigh less. The more is changed, the more of it is whole passages. Both
    numbers were fitted to one corpus, and two others agree.
    """
    missing = 1 - similarity
    return 1 - missing * _SEARCH_SHARE * missing / (missing + _HALF_OF_IT_AT)


@lru_cache(maxsize=4096)
def steepness(similarity: float) -> float:
    """Return u = rho / sqrt(1 - rho^2) of a Jaccard similarity: the steepness of the flip probabilities."""
    rho = cosine(min(similarity, MAX_SIMILARITY))
    return rho / math.sqrt(1 - rho * rho)


def similarity_of(u: float) -> float:
    """Return the Jaccard similarity of the steepness `u`."""
    rho = u / math.sqrt(1 + u * u)
    return rho / (2 - rho)


def flip_probabilities(weights: NDArray[np.float32], similarity: float) -> Doubles:
    """Return p_j of every bit, shape of `weights`, at the given Jaccard similarity."""
    rows = grid_rows(np.abs(weights), steepness(similarity))
    tables = normal_tables()
    return np.exp(tables.log_odds.take(rows) + tables.log_stay.take(rows))


@cache
def weight_density() -> tuple[NDArray[np.float32], Doubles]:
    """Return sizes |w| of weights w ~ N(0, 1), and the share of weights that each stands for, the same shape."""
    w = np.arange(1, 8 * _STEPS) / _STEPS
    return w.astype(np.float32), 2 * np.exp(-w * w / 2) / math.sqrt(2 * math.pi) / _STEPS


@cache
def estimate_deviation(similarity: float, bits: int) -> float:
    """Return the standard deviation of the estimated similarity at a true `similarity`, with `bits` verify bits.

    It follows from the Fisher information of u, averaged over w ~ N(0, 1), and the slope of J over u.
    """
    u, tables, (weights, density) = steepness(similarity), normal_tables(), weight_density()
    rows = grid_rows(weights, u)
    information = (tables.equal.take(rows) / u) * (tables.different.take(rows) / u)
    deviation_of_u = 1 / math.sqrt(bits * float(information @ density))
    slope = (similarity_of(u * 1.001) - similarity_of(u * 0.999)) / (0.002 * u)
    return deviation_of_u * slope


@lru_cache(maxsize=1024)
def accept_threshold(similarity: float, bits: int, recall: float) -> float:
    """Return the estimate from which on a pair of exactly `similarity` is accepted with probability `recall`."""
    margin = NormalDist().inv_cdf(recall) * estimate_deviation(similarity, bits)
    return min(similarity - margin, MAX_SIMILARITY)


def estimate_similarity(weights: NDArray[np.float32], own: bytes, other: bytes) -> float:
    """Return the most likely Jaccard similarity of a page to another, from the page's weights and both signatures."""
    # Bisects the derivative of the log likelihood, which is concave.
    differing = np.unpackbits(np.frombuffer(own, np.uint8) ^ np.frombuffer(other, np.uint8)).view(np.bool_)
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
        low, high = (middle, high) if equal > tables.different.take(rows[same:], mode="clip").sum() else (low, middle)
    return (low + high) / 2
