"""Probe plans: which ranges of which tables to read for a page.

A plan reads the ranges in which a near duplicate most probably lies: prefixes of the page's keys with sets of volatile
bits flipped, best first over all tables at once, until the wanted recall or the probe budget is reached (probabilistic
simhash matching, Sood and Loguinov 2011, generalised to several short tables).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np

from crawldedup.search.limits import PROBE_BUDGET, STORED_BITS
from crawldedup.search.model import grid_rows, normal_tables, steepness
from crawldedup.search.tables import KEY_BITS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from crawldedup.search.tables import Table

MIN_PREFIX_BITS: Final = 8
MAX_PREFIX_BITS: Final = STORED_BITS


@dataclass(frozen=True, slots=True, eq=False)
class ProbePlan:
    """Key ranges to read, best first. All arrays have shape (probes,).

    `tables` numbers the tables; `lows` and `highs` are the first and the last key of each range, both included.
    `recall` is the predicted probability that a page of the planned similarity lies in one of the ranges.
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


def page_plan(
    fingerprint: int,
    weights: NDArray[np.float32],
    tables: tuple[Table, ...],
    *,
    pages: int,
    similarity: float,
    recall: float,
) -> ProbePlan:
    """Plan the probes for a page in an index of about `pages` pages: its own key, then the volatile plan.

    Its own key in the first table, as long as stores keep it, finds exact copies; and while many pages of one template
    may share the plan's prefixes, few share this key.
    """
    plan = volatile_plan(
        fingerprint,
        weights,
        tables,
        prefix=prefix_bits(pages),
        similarity=similarity,
        recall=recall,
        budget=PROBE_BUDGET - 1,
    )
    key = tables[0].key(fingerprint)
    rest = (1 << KEY_BITS - STORED_BITS) - 1
    return ProbePlan(
        tables=np.concatenate((np.zeros(1, np.intp), plan.tables)),
        lows=np.concatenate((np.array([key & ~rest], np.uint64), plan.lows)),
        highs=np.concatenate((np.array([key | rest], np.uint64), plan.highs)),
        recall=plan.recall,
    )


def kept_bits(tables: tuple[Table, ...]) -> NDArray[np.float64]:
    """Return 1 where the stored part of a table's keys holds a bit of the fingerprint, else 0; shape (tables, 64)."""
    kept = np.zeros((len(tables), KEY_BITS))
    for row, table in zip(kept, tables, strict=True):
        row[table.order[:STORED_BITS]] = 1
    return kept


def prefix_bits(pages: int) -> int:
    """Return the prefix length at which it takes four probes or more to meet one unrelated page of `pages` pages.

    Ranges of half the width take a tenth more probes for the same recall and meet nearly half as many unrelated keys.
    """
    return min(max(max(pages - 1, 0).bit_length() + 2, MIN_PREFIX_BITS), MAX_PREFIX_BITS)


def volatile_plan(
    fingerprint: int,
    weights: NDArray[np.float32],
    tables: tuple[Table, ...],
    *,
    prefix: int,
    similarity: float,
    recall: float,
    budget: int,
) -> ProbePlan:
    """Plan the most probable prefixes of a page's near duplicates at Jaccard similarity `similarity`.

    `weights` has shape (64,). The plan ends with the probe that brings the predicted probability of meeting such a page
    in at least one table to `recall`, or after `budget` probes.
    """
    leading, place_values = _leading_bits(tables, prefix)
    family, membership = flip_sets(prefix, budget)
    absolute = np.abs(weights).take(leading)
    by_volatility = absolute.argsort(axis=1, kind="stable")
    rows = grid_rows(absolute, steepness(similarity))
    normal = normal_tables()
    odds = np.take_along_axis(normal.log_odds.take(rows), by_volatility, axis=1)
    unflipped = normal.log_stay.take(rows).sum(axis=1)
    scores = odds @ membership + unflipped[:, None]
    flat = scores.ravel()
    best = np.argpartition(-flat, min(budget, len(flat)) - 1)[:budget]
    best = best[(-flat.take(best)).argsort(kind="stable")]
    table_of, set_of = np.divmod(best, len(family))

    missed = np.ones(len(best))
    probabilities = np.exp(flat.take(best))
    for number in range(len(tables)):
        missed *= 1 - np.where(table_of == number, probabilities, 0.0).cumsum()
    probes = min(int(np.searchsorted(-missed, recall - 1)) + 1, len(best))
    table_of, set_of = table_of[:probes], set_of[:probes]

    positions = np.zeros((len(tables), prefix + 1), np.uint64)
    positions[:, :prefix] = place_values.take(by_volatility)
    members = family.take(set_of, axis=0) + table_of[:, None] * (prefix + 1)
    flips = np.bitwise_or.reduce(positions.ravel().take(members), axis=1)
    rest = (1 << KEY_BITS - prefix) - 1
    keys = np.array([table.key(fingerprint) & ~rest for table in tables], np.uint64)
    lows = keys.take(table_of) ^ flips
    return ProbePlan(table_of, lows, lows | np.uint64(rest), recall=1 - float(missed[probes - 1]))


@cache
def _leading_bits(tables: tuple[Table, ...], prefix: int) -> tuple[NDArray[np.intp], NDArray[np.uint64]]:
    """Return the fingerprint bits that lead each table, shape (tables, prefix), and their values within a key."""
    place_values = np.array([1 << KEY_BITS - 1 - place for place in range(prefix)], np.uint64)
    return np.stack([table.order[:prefix] for table in tables]), place_values


@cache
def flip_sets(prefix: int, budget: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return all sets of volatility ranks that can be among the `budget` most probable ones, whatever the weights.

    Shape (sets, largest size), padded with `prefix`; then 1 where a rank belongs to a set, shape (prefix, sets).

    Flipping a less volatile bit, or one bit more, never makes a set more probable. So a set that `budget` others are
    sure to beat can be left out, and the rest is a fixed list: one matrix product scores it for a page, where a
    heap would walk it set by set. The resulting order is that of a heap over the VOSH trees of Sood and Loguinov,
    as the tests check.
    """
    sets: list[tuple[int, ...]] = []
    waiting: list[tuple[int, ...]] = [()]
    seen = set(waiting)
    while waiting:
        current = waiting.pop()
        if _beaten_by(current, budget) >= budget:
            continue
        sets.append(current)
        for successor in _successors(current, prefix):
            if successor not in seen:
                seen.add(successor)
                waiting.append(successor)
    sets.sort(key=lambda ranks: (len(ranks), ranks))
    size = max(map(len, sets))
    members = np.full((len(sets), size), prefix, np.intp)
    membership = np.zeros((prefix, len(sets)))
    for row, ranks in enumerate(sets):
        members[row, : len(ranks)] = ranks
        membership[list(ranks), row] = 1
    return members, membership


def _successors(ranks: tuple[int, ...], prefix: int) -> list[tuple[int, ...]]:
    """Return the sets one step less probable: one rank raised by one, or the most volatile bit added."""
    raised = [
        (*ranks[:place], rank + 1, *ranks[place + 1 :])
        for place, rank in enumerate(ranks)
        if rank + 1 < prefix and rank + 1 not in ranks[place + 1 : place + 2]
    ]
    return raised if ranks[:1] == (0,) else [*raised, (0, *ranks)]


def _beaten_by(ranks: tuple[int, ...], enough: int) -> int:
    """Count the other sets that are at least as probable as `ranks` whatever the weights, up to `enough`.

    They have at most as many ranks, and each is at most the corresponding rank from the top.
    """
    descending = ranks[::-1]

    def count(place: int, below: int) -> int:
        total = 1
        if place < len(descending):
            for rank in range(min(descending[place] + 1, below)):
                total += count(place + 1, rank)
                if total > enough:
                    break
        return total

    return count(0, ranks[-1] + 1 if ranks else 0) - 1
