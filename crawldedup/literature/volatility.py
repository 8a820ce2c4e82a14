"""Probabilistic simhash matching: flip the bits first that are most likely to differ.

The source is Sood & Loguinov, CIKM 2011. The weight of a bit shows how volatile it is: the smaller
it is, the more likely the bit differs in a near duplicate. Bits are numbered 1..b by volatility,
most volatile first. A set of h flipped bits is a sorted tuple. The sets of size h form a binary
tree (VOSH, section 4 of the paper) with the root (1, 2, .., h), in which no child is more probable
than its parent. A max-heap M over all trees yields the sets by decreasing probability. The search
stops at the required recall.
"""

import heapq
import math
from array import array
from bisect import insort
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from crawldedup import checks
from crawldedup.literature.simhash_py import near_keys
from crawldedup.search.decision import steepness

Floats = NDArray[np.float64]
FlipSet = tuple[int, ...]  # Volatility ranks 1..b of the bits to flip, ascending.

_BITS: Final = 64
_check_share: Final = checks.number("above 0 and at most 1", lambda share: 0 < share <= 1)


def children(flips: FlipSet, bits: int) -> list[FlipSet]:
    """Return the children of a set in its tree: at most a left and a right one.

    The left child adds 1 to the last rank. For the right child, walk from the second to last rank
    to the first one, and look at the gap between each rank and the next one. With a gap of 1,
    continue. With a gap of 2, raise this rank by 1. With a wider gap, there is no right child.
    """
    below = []
    if flips and flips[-1] < bits:
        below.append((*flips[:-1], flips[-1] + 1))
    for place in range(len(flips) - 2, -1, -1):
        gap = flips[place + 1] - flips[place]
        if gap == 2:
            below.append((*flips[:place], flips[place] + 1, *flips[place + 1 :]))
        if gap >= 2:
            break
    return below


def flip_sets(
    probabilities: Sequence[float], max_flips: int | None = None
) -> Iterator[tuple[FlipSet, float]]:
    """Yield sets of bits to flip with their probabilities, most probable first.

    The probability of a set S is p(u, S) = prod over S of p_i x prod over the rest of (1 - p_j).
    `probabilities` are the flip probabilities of bits 1..b in order of volatility: 0.5 >= p_1 >=
    p_2 >= .. > 0. `max_flips` limits the size of the sets (all sizes by default).

    Example:
        >>> from itertools import islice
        >>> [flips for flips, _ in islice(flip_sets([0.4, 0.3, 0.1]), 5)]
        [(), (1,), (2,), (1, 2), (3,)]
    """
    bits = len(probabilities)
    odds = [p / (1 - p) for p in probabilities]
    unflipped = math.prod(1 - p for p in probabilities)
    sizes = range((bits if max_flips is None else min(max_flips, bits)) + 1)

    def entry(flips: FlipSet) -> tuple[float, FlipSet]:
        return -unflipped * math.prod(odds[rank - 1] for rank in flips), flips

    heap = [entry(tuple(range(1, size + 1))) for size in sizes]
    heapq.heapify(heap)
    while heap:
        negative, flips = heapq.heappop(heap)
        yield flips, -negative
        for child in children(flips, bits):
            heapq.heappush(heap, entry(child))


def flip_probabilities(weights: Floats, similarity: float) -> Floats:
    """Return the probability that each bit differs in a document of this Jaccard similarity.

    The shape is that of the weights, which come from `features.bit_weights`. With a normal Y, it is
    p_j = P(Y > abs(w_j)) = Phi(-abs(w_j) u), where u = rho / sqrt(1 - rho^2) and the cosine
    rho = 2 J / (1 + J). Raises ConfigurationError unless 0 < J <= 1.
    """
    u = steepness(_check_share("similarity", similarity))
    return np.array(
        [max(math.erfc(abs(weight) * u / math.sqrt(2)) / 2, 1e-300) for weight in weights]
    )


def share_within(probabilities: Iterable[float], max_flips: int) -> float:
    """Return the probability that at most this many bits differ."""
    counts = np.eye(1, max_flips + 1)[0]
    for p in probabilities:
        counts = np.convolve(counts, [1 - p, p])[: max_flips + 1]
    return float(counts.sum())


def recall_by_probes(probabilities: Sequence[float], max_flips: int) -> tuple[Floats, Floats]:
    """Return the recall after each probe for documents with at most `max_flips` different bits.

    This is figure 5 of the paper. The first array is for the volatile order, and the second one is
    the mean of random orders. The arguments are those of `flip_sets`.
    """
    recall = np.cumsum([probability for _, probability in flip_sets(probabilities, max_flips)])
    return recall / recall[-1], np.arange(1, len(recall) + 1) / len(recall)


class VolatilitySearch:
    """A sorted table of 64-bit hashes, searched with the most likely flips first (PSM).

    A probe reads the hashes with the same leading bits and keeps those within `distance` bits. The
    number of leading bits is that of the bits in the number of hashes. The search stops when it has
    found a share of `recall` on average; with 1, it stops after trying all flips. `similarity` is
    the Jaccard similarity of features to search for, which determines how volatile bits are.

    Raises ConfigurationError for an argument out of range.

    Example:
        >>> from crawldedup.literature.features import bit_weights, features, simhash
        >>> search = VolatilitySearch(distance=8)
        >>> search.insert(simhash(features("The quick brown fox jumps over the lazy dog")))
        >>> new = features("The quick brown fox leaps over the lazy dog")
        >>> len(search.find_all(simhash(new), bit_weights(new)))
        1
    """

    def __init__(self, distance: int = 3, *, similarity: float = 0.9, recall: float = 0.98) -> None:
        self.distance = checks.whole(0, _BITS - 1)("distance", distance)
        self.recall = _check_share("recall", recall)
        self.similarity = _check_share("similarity", similarity)
        self.probes = 0  #: The number of probes in all searches so far.
        self._hashes = array("Q")

    def insert(self, number: int) -> None:
        """Add a hash."""
        insort(self._hashes, number)

    def find_first(self, number: int, weights: Floats) -> int | None:
        """Return a stored hash that differs in few enough bits, or None.

        `weights` are the bit weights of `number`.
        """
        return next(self._near(number, weights), None)

    def find_all(self, number: int, weights: Floats) -> list[int]:
        """Return all stored hashes that differ in few enough bits, most likely flips first."""
        return list(dict.fromkeys(self._near(number, weights)))

    def _near(self, number: int, weights: Floats) -> Iterator[int]:
        """Yield the stored hashes that probes find, perhaps repeatedly, and count the probes."""
        prefix = min(max(len(self._hashes).bit_length(), 8), _BITS)
        probabilities = flip_probabilities(weights[:prefix], self.similarity)
        order = np.argsort(-probabilities, kind="stable").tolist()
        ordered = probabilities[order].tolist()
        # With recall 1, rounding must not end the search before the last set of flips.
        wanted = self.recall * share_within(ordered, self.distance) if self.recall < 1 else math.inf
        mask = (1 << _BITS) - (1 << _BITS - prefix)
        for flips, probability in flip_sets(ordered, self.distance):
            self.probes += 1
            flipped = number ^ sum(1 << _BITS - 1 - order[rank - 1] for rank in flips)
            yield from near_keys(self._hashes, flipped, mask, number, self.distance)
            wanted -= probability
            if wanted <= 0:
                return
