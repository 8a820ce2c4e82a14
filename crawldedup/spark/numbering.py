"""Number pages in their order, and find the first of those with equal texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812

from crawldedup.errors import ConfigurationError
from crawldedup.scan.columns import MOST_PAGES
from crawldedup.spark.kept import kept

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_ROW_BITS: Final = 33
"""Of `monotonically_increasing_id`: the upper bits hold the partition, the lower ones the row."""
_MOST_BROADCAST: Final = 5_000_000
"""So many numbers are sent to all executors, in some 100 MB of memory each. More are joined by a shuffle."""


def numbered(pages: DataFrame) -> tuple[DataFrame, int]:
    """Return pages with a column `number`, which counts them from 0 in their order, and how many there are.

    `pages` must be persisted. Raises ConfigurationError for more than MOST_PAGES.
    """
    counts = pages.groupBy(F.spark_partition_id().alias("part")).count().collect()
    offsets, total = [], 0
    for part, count in sorted((row["part"], row["count"]) for row in counts):
        offsets.append((part, total))
        total += count
    if total > MOST_PAGES:
        raise ConfigurationError(f"there are {total:,} pages, and at most {MOST_PAGES:,} can be compared at once")
    starts = pages.sparkSession.createDataFrame(offsets or [(0, 0)], "part int, start long")
    placed = pages.withColumn("place", F.monotonically_increasing_id())
    placed = placed.withColumn("part", F.shiftright("place", _ROW_BITS).cast("int"))
    row = F.col("place").bitwiseAND(F.lit((1 << _ROW_BITS) - 1))
    found = placed.join(F.broadcast(starts), "part").withColumn("number", F.col("start") + row)
    return found.drop("place", "part", "start"), total


def copies_of(pages: DataFrame) -> DataFrame:
    """Return the `number` of each page that is an exact copy, and the `first` page of its text."""
    texts = pages.select("digest", "number").groupBy("digest")
    shared = kept(texts.agg(F.min("number").alias("first"), F.count("*").alias("pages")).where("pages > 1"))
    copies = pages.select("digest", "number").join(_hinted(shared), "digest").where("number != first")
    return copies.select("number", "first")


def among(pages: DataFrame, wanted: DataFrame, how: str = "left_semi") -> DataFrame:
    """Return the pages whose `number` is among those wanted, or with `left_anti` the others.

    `wanted` must be kept. What is left out is not shuffled, if the numbers are few enough.
    """
    return pages.join(_hinted(wanted), "number", how)


def _hinted(wanted: DataFrame) -> DataFrame:
    return F.broadcast(wanted) if wanted.count() <= _MOST_BROADCAST else wanted
