"""Compare pairs of pages by their signatures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from pyspark.sql import functions as F  # noqa: N812

from crawldedup.scan.columns import LAYOUT, Columns
from crawldedup.scan.decision import Resemblances, costs_of, similarities_of
from crawldedup.spark.arrow import batch, matrix, numbers
from crawldedup.spark.kept import kept
from crawldedup.spark.numbering import among
from crawldedup.spark.reading import STEPS, VERIFY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from pyspark.sql import DataFrame

    from crawldedup.scan.decision import Goal, Rows
    from crawldedup.spark import arrow

_MOST_BROADCAST: Final = 1_000_000
"""So many pairs are sent to all executors, in some 100 MB of memory each. More are joined by a shuffle."""


@dataclass(frozen=True, slots=True)
class Costs:
    """Yields pairs with their costs. With `most`, of each page those that count: the nearest, of at most this cost."""

    most: int | None = None

    def __call__(self, pages: Columns, names: Rows, later: Rows, earlier: Rows) -> dict[str, Any]:
        """Return the columns of the pairs, given the rows of their pages; `names` holds the numbers of all rows."""
        costs = costs_of(pages, later, earlier)
        found = Resemblances(names[later], names[earlier], costs)
        if self.most is not None:
            counts = costs <= self.most
            found = Resemblances(names[later[counts]], names[earlier[counts]], costs[counts]).nearest()
        return {"later": found.later, "earlier": found.earlier, "value": found.costs.astype(np.float64)}


@dataclass(frozen=True, slots=True)
class Similarities:
    """Yields the most likely similarities of all pairs."""

    goal: Goal

    def __call__(self, pages: Columns, names: Rows, later: Rows, earlier: Rows) -> dict[str, Any]:
        """Return the columns of the pairs, given the rows of their pages; `names` holds the numbers of all rows."""
        value = similarities_of(pages, later, earlier, self.goal.threshold)
        return {"later": names[later], "earlier": names[earlier], "value": value}


def near(pages: DataFrame, pairs: DataFrame, most_verify: int) -> DataFrame:
    """Return the pairs that differ in at most so many verify bits."""
    others = [f"other_{word}" for word in VERIFY]
    both = pairs.join(_signatures(pages, pairs, "earlier", VERIFY), "earlier")
    both = both.join(_signatures(pages, pairs, "later", others), "later")
    bits = [F.bit_count(F.col(own).bitwiseXOR(F.col(other))) for own, other in zip(VERIFY, others, strict=True)]
    return both.where(sum(bits, F.lit(0)) <= most_verify).select("later", "earlier")


def _signatures(pages: DataFrame, pairs: DataFrame, side: str, names: Sequence[str]) -> DataFrame:
    """Return the verify bits of the pages on one side of pairs."""
    wanted = kept(pairs.select(F.col(side).alias("number")).distinct())
    return among(pages.select("number", *VERIFY), wanted).toDF(side, *names)


def compared(pages: DataFrame, pairs: DataFrame, measure: Costs | Similarities) -> DataFrame:
    """Return `later` and `earlier` of pairs, and the `value` of each. `pages` have `number` and what is compared.

    The pairs of a page come together to its steps, which take more room than all else. A page has a bounded number.
    """
    pairs = kept(pairs)
    signed = pairs.join(_signatures(pages, pairs, "earlier", VERIFY), "earlier")
    others = F.collect_list(F.struct("earlier", *VERIFY)).alias("others")
    grouped = signed.groupBy(F.col("later").alias("number")).agg(others)
    is_small = pairs.count() <= _MOST_BROADCAST
    rows = pages.select("number", *VERIFY, "steps").join(F.broadcast(grouped) if is_small else grouped, "number")
    return rows.mapInArrow(_Comparing(measure), "later long, earlier long, value double")


@dataclass(frozen=True, slots=True)
class _Comparing:
    measure: Costs | Similarities

    def __call__(self, batches: arrow.Batches) -> arrow.Rows:
        for rows in batches:
            groups = rows.column("others")
            others = groups.flatten()
            later = np.repeat(np.arange(len(rows)), numbers(groups.value_lengths()))
            earlier = len(rows) + np.arange(len(others))
            names = np.concatenate((numbers(rows.column("number")), numbers(others.field("earlier"))))
            words = [np.concatenate((numbers(rows.column(word)), numbers(others.field(word)))) for word in VERIFY]
            verify = np.stack(words, axis=1).view(np.uint8)
            pages = _columns(verify, matrix(rows.column("steps"), *STEPS))
            yield batch(**self.measure(pages, names, later, earlier))


def _columns(verify: NDArray[np.uint8], steps: NDArray[np.uint16]) -> Columns:
    """Return columns of pages of which nothing else is compared. Of `steps`, those of the later pages suffice."""
    empty = {name: np.empty((0, *shape), kind) for name, (kind, shape) in LAYOUT.items()}
    return Columns(**{**empty, "verify": verify, "steps": steps})
