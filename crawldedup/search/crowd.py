"""The crowd rule: what several remembered pages that all resemble a new one say of the nearest.

An index holds no copies. So several pages that resemble a new one are no copies of one text, but pages of one template;
and the best of many noisy estimates is too high. Of n pages of one similarity, it lies m_n standard errors above the
truth, with m_n the mean of the largest of n normal numbers. A crowd of n pages raises the threshold T by as much:

    T_n = min(s, T + sigma(r) m_n)

where s is the wanted similarity, sigma the error of the estimate, and r the similarity whose estimate reaches T two
errors above the truth: pages below r have next to no chance of being accepted. A page is of the crowd if its cost is at
most reach / limit times that of the nearest, where `limit` and `reach` are the mean costs at T and at r. So a near
duplicate that stands out of its template is accepted as if it were alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from crawldedup.search.limits import MAX_CANDIDATES
from crawldedup.search.model import (
    accept_threshold,
    estimate_deviation,
    flip_probabilities,
    grid_rows,
    mean_of_largest,
    normal_tables,
    steepness,
    weight_density,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_DEVIATIONS: Final = 2.0
_LOWEST: Final = 0.01
_TOLERANCE: Final = 1e-4


class Bar(NamedTuple):
    """What is accepted: costs up to `limit`, which stands for the similarity `threshold`, beside a crowd this large."""

    limit: int
    threshold: float | None
    crowd: int


@dataclass(frozen=True, slots=True)
class Crowd:
    """The costs and similarities from which on pages are accepted, by the size of the crowd.

    The first item is for one page, the last for all larger crowds. `reach` is the cost up to which pages are counted:
    the mean cost of a page of the similarity `farthest`.
    """

    reach: int
    farthest: float
    limits: tuple[int, ...]
    thresholds: tuple[float, ...]

    def bar(self, costs: Sequence[int]) -> Bar:
        """Return what is accepted of pages with these costs."""
        nearest = min(costs, default=0)
        # In whole numbers, as the scripts of Redis have them.
        size = sum(cost * self.limits[0] <= nearest * self.reach for cost in costs)
        place = min(max(size, 1), len(self.limits)) - 1
        return Bar(self.limits[place], self.thresholds[place], size)


@cache
def crowd_rule(similarity: float, recall: float, bits: int, limit: int) -> Crowd:
    """Return the rule for pages from `similarity` on; `limit` is the cost that stands for the threshold of one page."""
    alone = accept_threshold(similarity, bits, recall)
    reach = _bisect(lambda other: other + _DEVIATIONS * estimate_deviation(other, bits) < alone, _LOWEST, alone)
    error = estimate_deviation(reach, bits)
    thresholds = [alone]
    while thresholds[-1] < similarity and len(thresholds) < MAX_CANDIDATES:
        thresholds.append(min(similarity, alone + error * mean_of_largest(len(thresholds) + 1)))
    unit = limit / _mean_cost(alone, alone)
    limits = (round(unit * _mean_cost(alone, threshold)) for threshold in thresholds)
    return Crowd(round(unit * _mean_cost(alone, reach)), reach, tuple(limits), tuple(thresholds))


def _mean_cost(threshold: float, similarity: float) -> float:
    """Return the mean cost of a bit, by the rule for `threshold`, between pages of `similarity`."""
    tables, (weights, density) = normal_tables(), weight_density()
    rows = grid_rows(weights, steepness(threshold))
    costs = tables.equal.take(rows) + tables.different.take(rows)
    return float(costs * flip_probabilities(weights, similarity) @ density)


def _bisect(is_below: Callable[[float], bool], low: float, high: float) -> float:
    """Return where a rising function crosses."""
    while high - low > _TOLERANCE:
        middle = (low + high) / 2
        low, high = (middle, high) if is_below(middle) else (low, middle)
    return low
