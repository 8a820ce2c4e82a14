"""Decide about pairs of pages: as a crawl does, by the likelihood of the bits in which their signatures differ, or by
the shingles that they have in common.

Then one pass over the pages in their order tells which are kept: those that are no duplicates of a kept one.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from crawldedup.fingerprinting.fingerprint import VERIFY_BITS
from crawldedup.scan.columns import Columns, Lists
from crawldedup.scan.pairs import Keys, distinct, pair
from crawldedup.search.decision import Crowd, crowd_rule, likelihood_costs
from crawldedup.search.model import (
    MAX_SIMILARITY,
    accept_threshold,
    flip_probabilities,
    normal_tables,
    steepness,
    weight_density,
)

Rows = NDArray[np.int64]

MOST_SEARCH_BITS: Final = 16
"""Pages that differ in more search bits are no candidates. Of near duplicates with J = .8, one in 10,000 does; of
unrelated pages, all but one in 25,000."""
_PAIRS_AT_ONCE: Final = 1 << 13
_TOLERANCE: Final = 5e-5
_EXACT_UNIT: Final = 10**9
ROUNDS: Final = 3
"""Pages that resemble dropped pages alone are compared so many times with what those were dropped for."""
MOST_RESEMBLING: Final = 64
"""So many of the pages that resemble a page are looked at, the nearest ones."""


@dataclass(frozen=True)
class Goal:
    """Pages to find: those from `similarity` on, with probability `recall`. See `Options`."""

    similarity: float
    recall: float

    @cached_property
    def threshold(self) -> float:
        """The estimate from which on a page is accepted that resembles one page alone."""
        return accept_threshold(self.similarity, VERIFY_BITS, self.recall)

    @cached_property
    def crowd(self) -> Crowd:
        """What is accepted where several pages resemble a page."""
        return crowd_rule(self.similarity, self.recall, VERIFY_BITS)

    @cached_property
    def most_verify_bits(self) -> int:
        """In more verify bits differs one in 30,000 of the pages that count for a decision."""
        weights, density = weight_density()
        share = float(flip_probabilities(weights, self.crowd.farthest) @ density)
        return round(VERIFY_BITS * share + 4 * math.sqrt(VERIFY_BITS * share * (1 - share)))


def costs_of(pages: Columns, later: Rows, earlier: Rows) -> NDArray[np.int64]:
    """Return the costs of pairs of pages, given their rows, shape (pairs,). It is quickest with equal rows together."""
    totals = np.zeros(len(later), np.int64)
    for start in range(0, len(later), _PAIRS_AT_ONCE):
        part = slice(start, start + _PAIRS_AT_ONCE)
        rows, places = np.unique(later[part], return_inverse=True)
        costs = likelihood_costs(pages.steps[rows])[places]
        differing = _differing(pages, later[part], earlier[part])
        totals[part] = np.multiply(costs, differing, out=costs).sum(axis=1, dtype=np.uint32)
    return totals


def similarities_of(pages: Columns, later: Rows, earlier: Rows, threshold: float) -> NDArray[np.float64]:
    """Return the most likely similarities of pairs of pages, given their rows, as `estimate_similarity` does."""
    similarities = np.ones(len(later))
    for start in range(0, len(later), _PAIRS_AT_ONCE):
        part = slice(start, start + _PAIRS_AT_ONCE)
        differing = _differing(pages, later[part], earlier[part])
        estimates = _estimates(pages.steps[later[part]], differing, threshold)
        similarities[part] = np.where(differing.any(axis=1), estimates, 1.0)
    return similarities


def _differing(pages: Columns, later: Rows, earlier: Rows) -> NDArray[np.uint8]:
    """Return 1 where signatures differ, shape (pairs, VERIFY_BITS)."""
    return np.unpackbits(pages.verify[later] ^ pages.verify[earlier], axis=1)


def _estimates(steps: NDArray[np.uint16], differing: NDArray[np.uint8], threshold: float) -> NDArray[np.float64]:
    """Bisect the derivative of the log likelihood, which is concave, for all pairs at once."""
    tables = normal_tables()
    last = len(tables.equal) - 1
    # A bit that differs counts against the pair: two tables in one.
    both = np.concatenate((tables.equal, -tables.different))
    offsets = differing * np.int32(last + 1)
    sizes = steps.astype(np.float32) + np.float32(0.5)
    low, high = np.zeros(len(steps)), np.full(len(steps), MAX_SIMILARITY)
    steepness_then = steepness(threshold)
    while (high - low).max(initial=0) > _TOLERANCE:
        middle = (low + high) / 2
        rho = 2 * middle / (1 + middle)
        scale = rho / np.sqrt(1 - rho * rho) / steepness_then
        rows = np.minimum((sizes * scale[:, None].astype(np.float32)).astype(np.int32), last)
        rises = both.take(rows + offsets).sum(axis=1) > 0
        low, high = np.where(rises, middle, low), np.where(rises, high, middle)
    return np.asarray((low + high) / 2)


def exact_similarities(shingles: Lists, later: Rows, earlier: Rows) -> NDArray[np.float64]:
    """Return the Jaccard similarities of the shingles of pairs of pages, given their rows."""
    similarities = np.ones(len(later))
    for place, (one, other) in enumerate(zip(later.tolist(), earlier.tolist(), strict=True)):
        both = np.concatenate((shingles[one], shingles[other]))
        both.sort()
        common = np.count_nonzero(both[1:] == both[:-1])
        similarities[place] = common / (len(both) - common)
    return similarities


def exact_costs(similarities: NDArray[np.float64]) -> Rows:
    """Return what is missing to 1, as whole numbers that decide as the costs of bits do."""
    return np.rint((1 - similarities) * _EXACT_UNIT).astype(np.int64)


def exact_rule(similarity: float) -> Crowd:
    """Return the rule that accepts pairs from `similarity` on by their exact costs, however many others there are."""
    limit = int(exact_costs(np.array(similarity)))
    return Crowd(limit, similarity, (limit,), (similarity,))


class Resemblances:
    """Pairs of pages that resemble each other, ordered by the later page, then by cost, then by the earlier page."""

    def __init__(self, later: Rows, earlier: Rows, costs: Rows) -> None:
        order = np.lexsort((earlier, costs, later))
        self.later, self.earlier, self.costs = later[order], earlier[order], costs[order]

    def __len__(self) -> int:
        return len(self.later)

    def those(self, which: NDArray[np.bool_]) -> Self:
        """Return some of the pairs."""
        return type(self)(self.later[which], self.earlier[which], self.costs[which])

    def nearest(self) -> Self:
        """Return the pairs of each later page with the pages that it resembles most, at most MOST_RESEMBLING."""
        first = np.flatnonzero(np.diff(self.later, prepend=-1))
        place = np.arange(len(self)) - np.repeat(first, np.diff(first, append=len(self)))
        return self.those(place < MOST_RESEMBLING)

    def joined(self, other: Self) -> Self:
        """Return the pairs of both."""
        names = ("later", "earlier", "costs")
        return type(self)(*(np.concatenate((getattr(self, name), getattr(other, name))) for name in names))


class Order:
    """What has been decided of the pages 0, 1, .. of an order. `original` holds the page itself where it is kept."""

    def __init__(self, pages: int, crowd: Crowd) -> None:
        self.original = np.arange(pages)
        self._crowd = crowd

    def decide(self, pairs: Resemblances, *, presumes: bool = True) -> Keys:
        """Decide about the later pages of pairs; all earlier pages, but for those among them, must be decided.

        As in a crawl, a page is compared with kept pages alone. One that resembles dropped pages alone may be a copy of
        what these were dropped for. It is presumed to be one, if `presumes`; return the pairs, packed, that tell
        whether it is. Decide again with these, whatever their costs, among the others.
        """
        original, limit, reach = self.original, self._crowd.limits[0], self._crowd.reach
        starts = np.flatnonzero(np.diff(pairs.later, prepend=-1))
        later, earlier, costs = pairs.later[starts].tolist(), pairs.earlier.tolist(), pairs.costs.tolist()
        bounds = [*starts.tolist(), len(pairs)]
        wanted = []
        for page, start, end in zip(later, bounds[:-1], bounds[1:], strict=True):
            places = [place for place in range(start, end) if original[earlier[place]] == earlier[place]]
            kept = [costs[place] for place in places if costs[place] <= reach]
            original[page] = page
            if kept and kept[0] <= self._crowd.bar(kept).limit:
                original[page] = earlier[places[0]]
                continue
            near = [place for place in range(start, end) if costs[place] <= limit]
            unknown = {int(original[earlier[place]]) for place in near}.difference(earlier[start:end])
            wanted += [(page, other) for other in unknown]
            if presumes and unknown:
                original[page] = min(unknown)
        numbers = np.array(wanted, np.uint64).reshape(-1, 2)
        return distinct(pair(numbers[:, 0], numbers[:, 1]))
