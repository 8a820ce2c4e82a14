"""Permuted block tables, and probe plans: which ranges of which tables to read for a page.

Bits are counted from the left: bit 0 is the most significant one. A table is an order of blocks of
bits, and the key of a fingerprint in a table is the fingerprint with its blocks in that order
(Manku, Jain and Das Sarma 2007).

       0 ------- 12 -------- 25 -------- 38 -------- 51 ------- 63
       |    A     |     B     |     C     |     D     |    E     |    the fingerprint
       |     C     |    D     |     E     |     A     |    B     |    its key in the table of C

A plan reads the ranges in which a near duplicate is most likely to lie. A range has a prefix of one
of the page's keys in which a set of volatile bits is flipped. The plan takes the best ranges first,
over all tables at once, until it reaches the requested recall or the probe budget (probabilistic
simhash matching, Sood and Loguinov 2011, generalized to several short tables).
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crawldedup.search.decision import grid_rows, normal_tables

KEY_BITS: Final = 64
#: The leading bits of a key, which every store keeps.
STORED_BITS: Final = 34
MIN_PREFIX_BITS: Final = 8
MAX_PREFIX_BITS: Final = STORED_BITS
#: The most ranges that are read for one page. In an index of ten million pages on Redis, a check
#: with at most 192, 224 or 256 ranges takes 1.26, 1.30 or 1.34 times as long on the server as one
#: with 64 ranges of twice the width (measured in turns).
PROBE_BUDGET: Final = 224
#: The maximum number of keys read for one page, best ranges first. If they belong to more than
#: MAX_CANDIDATES pages of one template, the pages with the most likely keys are compared.
MAX_KEYS: Final = 512
#: How many times as many keys are read, and records compared, under a hot prefix, where texts share
#: a template. Pages with marks don't need more than usual there, because pages with the same name,
#: address or text are found by exact keys.
HOT_EFFORT: Final = 4
# This few probes are enough for most pages in an index of 100,000, and take a fifth of the time.
_FEW_PROBES: Final = 24
# The arrays of more pages don't fit into the processor's cache.
_PAGES_A_PASS: Final = 16


@dataclass(frozen=True)
class Table:
    """One of the tables in which an index sorts fingerprints: an order of their blocks of bits."""

    #: The bit of the fingerprint with which keys begin. The bits before it come last.
    first: int

    @cached_property
    def order(self) -> NDArray[np.intp]:
        """The bit of the fingerprint at each position of a key, from the left; shape (64,)."""
        return np.roll(np.arange(KEY_BITS), -self.first)

    def key(self, fingerprint: int) -> int:
        """Return the key of a fingerprint: its blocks in the order of this table."""
        rotated = fingerprint << self.first | fingerprint >> KEY_BITS - self.first
        return rotated & (1 << KEY_BITS) - 1

    def keys(self, fingerprints: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return the keys of many fingerprints, in an array of the same shape."""
        leading = fingerprints << np.uint64(self.first)
        last = fingerprints >> np.uint64(-self.first % KEY_BITS)
        return leading | last


@dataclass(frozen=True, slots=True, eq=False)
class ProbePlan:
    """The ranges of keys to read in order to find near duplicates of a page, best first.

    All arrays have shape (probes,).
    """

    #: The table of each range.
    tables: NDArray[np.intp]
    #: The first key of each range.
    lows: NDArray[np.uint64]
    #: The last key of each range.
    highs: NDArray[np.uint64]
    #: The predicted probability that a page of the planned similarity lies in one of the ranges.
    recall: float

    def __len__(self) -> int:
        return len(self.tables)


def single_plan(key: int) -> ProbePlan:
    """Plan to look up one key of the first table, which only finds equal fingerprints."""
    bound = np.array([key], np.uint64)
    return ProbePlan(np.zeros(1, np.intp), bound, bound, 1.0)


def page_plans(
    keys: NDArray[np.uint64],
    weights: NDArray[np.float32],
    tables: tuple[Table, ...],
    *,
    sizes: Sequence[int],
    slopes: NDArray[np.float32],
    recall: float,
) -> list[ProbePlan]:
    """Plan which ranges of keys to read in order to find the near duplicates of each page.

    The first probe of a plan is the page's own key in the first table: it finds exact copies, and
    few pages of the same template. The last probe is the one that raises the predicted probability
    of finding a near duplicate to `recall`, or the last of `PROBE_BUDGET`.

    Args:
        keys: The keys of the pages, shape (pages, tables).
        weights: The search weights of the pages, shape (pages, 64).
        tables: The tables of the index.
        sizes: For each page, roughly how many pages of the index it may meet.
        slopes: The `steepness` at each page's similarity, shape (pages,).
        recall: The share of near duplicates that the probes should find.
    """
    plans: dict[int, ProbePlan] = {}
    for budget in (min(_FEW_PROBES, PROBE_BUDGET), PROBE_BUDGET):
        by_prefix: dict[int, list[int]] = {}
        for place, size in enumerate(sizes):
            if place not in plans or plans[place].recall < recall:
                by_prefix.setdefault(prefix_bits(size), []).append(place)
        for prefix, places in by_prefix.items():
            limits = PlanLimits(prefix, recall, budget - 1)
            for start in range(0, len(places), _PAGES_A_PASS):
                some = places[start : start + _PAGES_A_PASS]
                made = volatile_plans(keys[some], weights[some], tables, slopes[some], limits)
                plans.update(zip(some, made, strict=True))
    return [plans[place] for place in range(len(sizes))]


def prefix_bits(pages: int) -> int:
    """Return how many leading bits the keys in a range have in common, by the size of the index.

    With prefixes of this length, it takes at least four probes to come across one unrelated page.
    """
    bits = max(pages - 1, 0).bit_length() + 2
    return min(max(bits, MIN_PREFIX_BITS), MAX_PREFIX_BITS)


class PlanLimits(NamedTuple):
    """The width of the ranges in a plan, and when the plan ends."""

    #: The length of prefixes in bits: the longer, the narrower the ranges.
    prefix: int
    #: The predicted recall at which a plan ends.
    recall: float
    #: The maximum number of probes in a plan, without the one for the page's own key.
    budget: int


def volatile_plans(
    keys: NDArray[np.uint64],
    weights: NDArray[np.float32],
    tables: tuple[Table, ...],
    slopes: NDArray[np.float32],
    limits: PlanLimits,
) -> list[ProbePlan]:
    """Plan the probes of pages for which the same limits apply.

    The arrays are described at `page_plans`.
    """
    prefix, recall, budget = limits
    pages = np.arange(len(keys))[:, None]
    leading, place_values = _leading_bits(tables, prefix)
    family, membership = flip_sets(prefix, budget)
    absolute = np.abs(weights).take(leading, axis=1)
    by_volatility = absolute.argsort(axis=2, kind="stable")
    rows = grid_rows(absolute, slopes[:, None, None])
    normal = normal_tables()
    odds = np.take_along_axis(normal.log_odds.take(rows), by_volatility, axis=2)
    # One product per page, so a page's plan is the same to the last bit, alone or in a batch.
    scores = odds @ membership
    scores += normal.log_stay.take(rows).sum(axis=2)[:, :, None]
    costs = np.negative(scores, out=scores).reshape(len(keys), -1)
    best = costs.argpartition(min(budget, costs.shape[1]) - 1, axis=1)[:, :budget]
    best = best[pages, costs[pages, best].argsort(axis=1, kind="stable")]
    table_of, set_of = np.divmod(best, len(family))

    probabilities = np.exp(-costs[pages, best])
    missed = np.ones_like(probabilities)
    for number in range(len(tables)):
        missed *= 1 - np.where(table_of == number, probabilities, 0.0).cumsum(axis=1)
    probes = np.minimum((missed > 1 - recall).sum(axis=1) + 1, best.shape[1])
    found = 1 - missed[pages[:, 0], probes - 1]
    table_of = table_of[:, : probes.max()]
    set_of = set_of[:, : probes.max()]

    positions = np.zeros((len(keys), len(tables), prefix + 1), np.uint64)
    positions[:, :, :prefix] = place_values.take(by_volatility)
    flipped = positions[pages[:, :, None], table_of[:, :, None], family.take(set_of, axis=0)]
    rest = np.uint64((1 << KEY_BITS - prefix) - 1)
    rest_of_own = np.uint64((1 << KEY_BITS - STORED_BITS) - 1)
    probed = keys[pages, table_of] & ~rest ^ np.bitwise_or.reduce(flipped, axis=2)
    lows = np.concatenate((keys[:, :1] & ~rest_of_own, probed), axis=1)
    highs = lows | rest
    highs[:, 0] = lows[:, 0] | rest_of_own
    table_of = np.concatenate((np.zeros_like(pages), table_of), axis=1)
    plans = zip(table_of, lows, highs, (probes + 1).tolist(), found.tolist(), strict=True)
    return [
        ProbePlan(table[:end], low[:end], high[:end], share)
        for table, low, high, end, share in plans
    ]


@cache
def _leading_bits(
    tables: tuple[Table, ...], prefix: int
) -> tuple[NDArray[np.intp], NDArray[np.uint64]]:
    """Return the first bits of the keys in each table: which bits they are, and their values.

    Both arrays have the shape (tables, prefix).
    """
    place_values = np.array([1 << KEY_BITS - 1 - place for place in range(prefix)], np.uint64)
    return np.stack([table.order[:prefix] for table in tables]), place_values


@cache
def flip_sets(prefix: int, budget: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """List the sets of flipped bits that can be among the `budget` most probable ones of some page.

    Bits are numbered by rank: the most volatile bit of a page has rank 0. It is never more probable
    that a less volatile bit flips instead, or one bit more, so a set is left out if `budget` others
    are at least as probable whatever the weights of the page. A single matrix product then scores
    all sets, where Sood and Loguinov take them off a heap over their VOSH trees.

    Returns:
        The ranks of each set, shape (sets, largest size), padded with `prefix`; and 1 where a rank
        belongs to a set, shape (prefix, sets).
    """
    sets: list[tuple[int, ...]] = []
    waiting: deque[tuple[int, ...]] = deque([()])
    while waiting:
        ranks = waiting.popleft()
        sets.append(ranks)
        # Add a bit that is less volatile than all bits of the set.
        for rank in range(ranks[-1] + 1 if ranks else 0, prefix):
            larger = (*ranks, rank)
            if _sets_within(larger, prefix) > budget:
                break  # at least as many sets beat those with an even less volatile bit
            waiting.append(larger)
    size = max(len(ranks) for ranks in sets)
    members = np.full((len(sets), size), prefix, np.intp)
    membership = np.zeros((prefix, len(sets)))
    for row, ranks in enumerate(sets):
        members[row, : len(ranks)] = ranks
        membership[list(ranks), row] = 1
    return members, membership


@cache
def _sets_within(ranks: tuple[int, ...], below: int) -> int:
    """Count the sets of flips that are at least as probable as `ranks`, whatever a page's weights.

    Sort the ranks of each set from the highest to the lowest: a set counts if none of its ranks is
    higher than the one of `ranks` in the same place. Only ranks below `below` are considered.
    """
    if not ranks or not below:
        return 1
    if below > ranks[-1] + 1:
        return _sets_within(ranks, ranks[-1] + 1)
    return _sets_within(ranks, below - 1) + _sets_within(ranks[:-1], below - 1)
