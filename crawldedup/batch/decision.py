"""Decide about pairs of pages as a crawl does: by the likelihood of the bits in which their signatures differ."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from crawldedup.fingerprinting.fingerprint import VERIFY_BITS
from crawldedup.search.decision import crowd_rule
from crawldedup.search.decision import SCALED_LIMIT, likelihood_costs
from crawldedup.search.model import (
    MAX_SIMILARITY,
    accept_threshold,
    flip_probabilities,
    normal_tables,
    steepness,
    weight_density,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from crawldedup.batch.columns import Columns
    from crawldedup.search.decision import Crowd

    Rows = NDArray[np.int64]

MOST_SEARCH_BITS: Final = 16
"""Pages that differ in more search bits are no candidates. Of near duplicates with J = .8, one in 10,000 does; of
unrelated pages, all but one in 25,000."""
_PAIRS_AT_ONCE: Final = 1 << 13
_TOLERANCE: Final = 5e-5


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
        return crowd_rule(self.similarity, self.recall, VERIFY_BITS, SCALED_LIMIT)

    @cached_property
    def most_verify_bits(self) -> int:
        """In more verify bits differs one in 30,000 of the pages that count for a decision."""
        weights, density = weight_density()
        share = float(flip_probabilities(weights, self.crowd.farthest) @ density)
        return round(VERIFY_BITS * share + 4 * math.sqrt(VERIFY_BITS * share * (1 - share)))


def costs_of(pages: Columns, later: Rows, earlier: Rows) -> NDArray[np.int64]:
    """Return the costs of pairs of pages, given their rows, shape (pairs,). It is quickest with equal rows together."""
    found = np.zeros(len(later), np.int64)
    for start in range(0, len(later), _PAIRS_AT_ONCE):
        part = slice(start, start + _PAIRS_AT_ONCE)
        rows, places = np.unique(later[part], return_inverse=True)
        costs = likelihood_costs(pages.steps[rows])[places]
        differing = _differing(pages, later[part], earlier[part])
        found[part] = np.multiply(costs, differing, out=costs).sum(axis=1, dtype=np.uint32)
    return found


def similarities_of(pages: Columns, later: Rows, earlier: Rows, threshold: float) -> NDArray[np.float64]:
    """Return the most likely similarities of pairs of pages, given their rows, as `estimate_similarity` does."""
    found = np.ones(len(later))
    for start in range(0, len(later), _PAIRS_AT_ONCE):
        part = slice(start, start + _PAIRS_AT_ONCE)
        differing = _differing(pages, later[part], earlier[part])
        estimates = _estimates(pages.steps[later[part]], differing, threshold)
        found[part] = np.where(differing.any(axis=1), estimates, 1.0)
    return found


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
    found: NDArray[np.float64] = (low + high) / 2
    return found
