"""Permuted block tables, and probe plans: which ranges of which tables to read for a page.

Bits are counted from the left: bit 0 is the most significant. A table is an order of blocks of
bits; a fingerprint's key in a table is the fingerprint with its blocks in that order (Manku, Jain
and Das Sarma 2007).

       0 ------- 12 -------- 25 -------- 38 -------- 51 ------- 63
       |    A     |     B     |     C     |     D     |    E     |    the fingerprint
       |     C     |    D     |     E     |     A     |    B     |    its key in the table that leads with C

A plan reads the ranges in which a near duplicate most probably lies: prefixes of the page's keys
with sets of volatile bits flipped, best first over all tables at once, until the wanted recall or
the probe budget is reached (probabilistic simhash matching, Sood and Loguinov 2011, generalised to
several short tables).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from crawldedup.search.decision import grid_rows, normal_tables

KEY_BITS: Final = 64
STORED_BITS: Final = 34  # Leading bits of a key that every store keeps.
MIN_PREFIX_BITS: Final = 8
MAX_PREFIX_BITS: Final = STORED_BITS
# In an index of ten million pages on Redis, a check with at most 192, 224 or 256 ranges takes 1.26,
# 1.30 or 1.34 times the server's time of one with 64 ranges of twice the width, measured in turns.
PROBE_BUDGET: Final = 224  # ranges read for one page
# Where they belong to more than MAX_CANDIDATES pages of one template, those with the most likely
# keys are compared.
MAX_KEYS: Final = 512  # keys read for one page, best ranges first
# Of 60,000 pages of seven templates (`benchmarks/templated_site.py` of commit 1edea29), this finds
# 97 instead of 91 % of near duplicates of J .9 to .95.
HOT_EFFORT: Final = 4  # times as many keys are read, and records compared, under a hot prefix
# For most pages of an index of 100,000 they suffice, and take a fifth of the time.
_FEW_PROBES: Final = 24
_PAGES_A_PASS: Final = 16  # The arrays of more pages leave the processor's cache.


@dataclass(frozen=True)
class Table:
    """One order of the blocks of a fingerprint: that from bit `first` on leads, and those before it
    come last.
    """

    first: int

    @cached_property
    def order(self) -> NDArray[np.intp]:
        """Return the bit of the fingerprint behind each bit of the key, from the left; shape (64,)."""
        return np.roll(np.arange(KEY_BITS), -self.first)

    def key(self, fingerprint: int) -> int:
        """Return the fingerprint with its blocks in this table's order."""
        return (fingerprint << self.first | fingerprint >> KEY_BITS - self.first) & (
            1 << KEY_BITS
        ) - 1

    def keys(self, fingerprints: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return the keys of many fingerprints, same shape."""
        return fingerprints << np.uint64(self.first) | fingerprints >> np.uint64(
            -self.first % KEY_BITS
        )


@dataclass(frozen=True, slots=True, eq=False)
class ProbePlan:
    """Key ranges to read, best first. All arrays have shape (probes,).

    `lows` and `highs` are the first and the last key of each range. `recall` is the predicted
    probability that a page of the planned similarity lies in one of the ranges.
    """

    tables: NDArray[np.intp]
    lows: NDArray[np.uint64]
    highs: NDArray[np.uint64]
    recall: float

    def __len__(self) -> int:
        return len(self.tables)


def single_plan(key: int) -> ProbePlan:
    """Plan to read one key of the first table, which finds equal fingerprints only."""
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
    """Plan the probes of pages with these keys, shape (pages, tables), and search weights, shape
    (pages, 64).

    `sizes` are about the pages of the index for each page, `slopes` the `steepness` of the wanted
    similarities. A plan ends with the probe that brings the predicted probability of meeting such a
    page to `recall`, or after PROBE_BUDGET. Its first probe is the page's own key in the first
    table, which finds exact copies, and few pages of one template.
    """
    plans: dict[int, ProbePlan] = {}
    for most in (min(_FEW_PROBES, PROBE_BUDGET), PROBE_BUDGET):
        by_prefix: dict[int, list[int]] = {}
        for place, size in enumerate(sizes):
            if place not in plans or plans[place].recall < recall:
                by_prefix.setdefault(prefix_bits(size), []).append(place)
        for prefix, places in by_prefix.items():
            for start in range(0, len(places), _PAGES_A_PASS):
                some = places[start : start + _PAGES_A_PASS]
                made = volatile_plans(
                    keys[some], weights[some], tables, prefix, slopes[some], recall, most - 1
                )
                plans.update(zip(some, made, strict=True))
    return list(map(plans.__getitem__, range(len(sizes))))


def prefix_bits(pages: int) -> int:
    """Return the prefix length at which it takes four probes or more to meet one unrelated page of
    `pages` pages.
    """
    return min(max(max(pages - 1, 0).bit_length() + 2, MIN_PREFIX_BITS), MAX_PREFIX_BITS)


def volatile_plans(
    keys: NDArray[np.uint64],
    weights: NDArray[np.float32],
    tables: tuple[Table, ...],
    prefix: int,
    slopes: NDArray[np.float32],
    recall: float,
    budget: int,
) -> list[ProbePlan]:
    """Plan for pages of one prefix length: for each its own key, then at most `budget` probes."""
    pages = np.arange(len(keys))[:, None]
    leading, place_values = _leading_bits(tables, prefix)
    family, membership = flip_sets(prefix, budget)
    absolute = np.abs(weights).take(leading, axis=1)
    by_volatility = absolute.argsort(axis=2, kind="stable")
    rows = grid_rows(absolute, slopes[:, None, None])
    normal = normal_tables()
    odds = np.take_along_axis(normal.log_odds.take(rows), by_volatility, axis=2)
    # One product a page: so its plan is the same to the last bit alone and among others.
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
    table_of, set_of = table_of[:, : probes.max()], set_of[:, : probes.max()]

    positions = np.zeros((len(keys), len(tables), prefix + 1), np.uint64)
    positions[:, :, :prefix] = place_values.take(by_volatility)
    flipped = positions[pages[:, :, None], table_of[:, :, None], family.take(set_of, axis=0)]
    rest, rest_of_own = (
        np.uint64((1 << KEY_BITS - prefix) - 1),
        np.uint64((1 << KEY_BITS - STORED_BITS) - 1),
    )
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
    """Return the fingerprint bits that lead each table, shape (tables, prefix), and their values
    within a key.
    """
    place_values = np.array([1 << KEY_BITS - 1 - place for place in range(prefix)], np.uint64)
    return np.stack([table.order[:prefix] for table in tables]), place_values


@cache
def flip_sets(prefix: int, budget: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """List every set of flips that could be among the `budget` most probable ones, whatever the
    weights of a page.

    Shape (sets, largest size), padded with `prefix`; then 1 where a rank belongs to a set, shape
    (prefix, sets). A set that `budget` others are sure to beat is left out: flipping a less
    volatile bit, or one bit more, is never more probable. So one matrix product scores all, in the
    order of a heap over the VOSH trees of Sood and Loguinov.
    """
    sets: list[tuple[int, ...]] = [()]
    for (
        ranks
    ) in sets:  # which grows: each set with a bit more that is less volatile than all of its own
        for rank in range(ranks[-1] + 1 if ranks else 0, prefix):
            if _sets_within((*ranks, rank), prefix) > budget:
                break  # further ranks are beaten by as many
            sets.append((*ranks, rank))
    size = max(map(len, sets))
    members = np.full((len(sets), size), prefix, np.intp)
    membership = np.zeros((prefix, len(sets)))
    for row, ranks in enumerate(sets):
        members[row, : len(ranks)] = ranks
        membership[list(ranks), row] = 1
    return members, membership


@cache
def _sets_within(ranks: tuple[int, ...], below: int) -> int:
    """Count the sets of ranks below this one that are as probable as `ranks` or more, whatever the
    weights.

    Rank by rank from the top, none of theirs is higher.
    """
    if not ranks or not below:
        return 1
    if below > ranks[-1] + 1:
        return _sets_within(ranks, ranks[-1] + 1)
    return _sets_within(ranks, below - 1) + _sets_within(ranks[:-1], below - 1)
