"""Tell which pages are kept: one task decides about pages in their order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Final

import numpy as np

from crawldedup.scan.decision import ROUNDS, Order, Resemblances
from crawldedup.scan.pairs import earlier_of, later_of
from crawldedup.spark.arrow import batch, numbers
from crawldedup.spark.kept import kept
from crawldedup.spark.resemblance import Costs, compared

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray
    from pyspark.sql import DataFrame

    from crawldedup.scan.decision import Goal
    from crawldedup.search.decision import Crowd
    from crawldedup.spark.arrow import Batches, Rows

_PAIRS_AT_ONCE: Final = 1 << 19


def decided(pages: DataFrame, total: int, pairs: DataFrame, goal: Goal) -> DataFrame:
    """Return the pages that are near duplicates, `later`, each with the page that is kept, `earlier`.

    Pairs that turn out to be wanted are compared, too.
    """
    found = kept(compared(pages, pairs, Costs(goal.crowd.reach)))
    for _ in range(ROUNDS):
        told = kept(_ordered(found, Ordering(total, goal.crowd)))
        wanted = told.where("is_wanted").select("later", "earlier")
        if wanted.isEmpty():
            break
        found = kept(found.union(compared(pages, wanted, Costs())))
    else:
        told = _ordered(found, Ordering(total, goal.crowd, presumes=False))
    return told.where("not is_wanted").select("later", "earlier")


def _ordered(found: DataFrame, task: Ordering) -> DataFrame:
    rows = found.repartition(1).sortWithinPartitions("later")
    return rows.mapInArrow(task, "later long, earlier long, is_wanted boolean")


@dataclass(frozen=True, slots=True)
class Ordering:
    """Decides about the pages of sorted pairs. Memory holds the verdicts of all pages, and some of the pairs."""

    pages: int
    crowd: Crowd
    presumes: bool = True

    def __call__(self, batches: Batches) -> Rows:
        """Yield the pairs that are wanted, and the near duplicates with the pages that are kept."""
        order = Order(self.pages, self.crowd)
        for found in _blocks(batches):
            wanted = order.decide(found, presumes=self.presumes)
            yield batch(later=later_of(wanted), earlier=earlier_of(wanted), is_wanted=np.ones(len(wanted), np.bool_))
        near = np.flatnonzero(order.original != np.arange(self.pages))
        yield batch(later=near, earlier=order.original[near], is_wanted=np.zeros(len(near), np.bool_))


def _blocks(batches: Batches) -> Iterator[Resemblances]:
    """Yield the pairs of some pages at once, all those of a page together."""
    waiting: list[Resemblances] = []
    for rows in batches:
        columns = [numbers(rows.column(name)) for name in ("later", "earlier", "value")]
        waiting.append(Resemblances(columns[0], columns[1], columns[2].astype(np.int64)))
        if sum(map(len, waiting)) < _PAIRS_AT_ONCE:
            continue
        found = reduce(Resemblances.joined, waiting)
        # The pairs of the last page may go on.
        is_whole = found.later < found.later[-1]
        yield _part(found, is_whole)
        waiting = [_part(found, ~is_whole)]
    if waiting:
        yield reduce(Resemblances.joined, waiting)


def _part(found: Resemblances, which: NDArray[np.bool_]) -> Resemblances:
    return Resemblances(found.later[which], found.earlier[which], found.costs[which])
