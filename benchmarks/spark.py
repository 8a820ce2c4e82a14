"""Measure `crawldedup.spark` beside the engine of `crawldedup scan`, on the same fingerprints.

    python benchmarks/spark.py --pages 250000,500000,1000000,2000000
    python benchmarks/spark.py --pages 2000000 --memory 6g --codec zstd
    python benchmarks/spark.py --pages 1000000 --shape copies
    python benchmarks/spark.py --pages 250000 --shape template

Fingerprints are made up, so that no text has to be read, which takes the same time in both: see
`benchmarks/shared/made_up_pages.py` for the shapes. Shuffled bytes are those that Spark's stages wrote, as its REST
interface tells. Spark runs on this machine, on two cores.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.request import urlopen

import numpy as np
from rich.console import Console

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.shared.common import make_parser, make_table, numbers, run
from benchmarks.shared.made_up_pages import BLOCK, GOAL, SHAPES, Pages
from crawldedup.scan.engine import find_duplicates

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@dataclass(frozen=True)
class Blocks:
    """Makes the rows of blocks, as `crawldedup.spark` makes them of pages."""

    pages: Pages

    def __call__(self, batches: Any) -> Iterator[Any]:
        from crawldedup.spark.deduplication import batch, of_columns

        for rows in batches:
            for number in rows.column(0).to_pylist():
                made = self.pages.block(number)
                ids = np.arange(len(made)) + number * BLOCK
                yield batch(
                    _crawldedup_id=ids,
                    _crawldedup_url=[f"https://site-{each % 997}.example/page/{each}" for each in ids.tolist()],
                    **of_columns(made),
                    reason=[None] * len(made),
                )


def on_spark(pages: Pages, memory: str, codec: str) -> tuple[float, float, list[Any]]:
    """Return seconds, shuffled bytes a page, and the verdicts."""
    from pyspark import StorageLevel
    from pyspark.sql import SparkSession

    from crawldedup.spark.deduplication import COLUMNS, verdicts_of

    builder = SparkSession.builder.master("local[2]").config("spark.driver.memory", memory)
    builder = builder.config("spark.io.compression.codec", codec)
    spark = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    try:
        made = spark.range(pages.blocks, numPartitions=min(pages.blocks, 16))
        schema = f"_crawldedup_id long, _crawldedup_url string, {COLUMNS}"
        read = made.mapInArrow(Blocks(pages), schema).persist(StorageLevel.MEMORY_AND_DISK)
        read.count()
        start = time.perf_counter()
        rows = verdicts_of(read, GOAL).select("_crawldedup_id", "kind", "similarity").toArrow()
        seconds = time.perf_counter() - start
        address = f"{spark.sparkContext.uiWebUrl}/api/v1/applications/{spark.sparkContext.applicationId}/stages"
        with urlopen(address) as answer:
            stages = json.load(answer)
    finally:
        spark.stop()
    return seconds, sum(stage["shuffleWriteBytes"] for stage in stages) / pages.count, rows.to_pylist()


def main(arguments: Sequence[str]) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--pages", type=numbers, default=[250_000, 500_000, 1_000_000, 2_000_000])
    parser.add_argument("--shape", choices=SHAPES, default="mixed")
    parser.add_argument("--memory", default="4g", help="of Spark's driver (default: 4g)")
    parser.add_argument("--codec", default="lz4", help="with which Spark packs what it shuffles: lz4 or zstd (lz4)")
    args = parser.parse_args(arguments)
    if find_spec("pyspark") is None:
        print("pyspark is not installed: pip install 'pyspark[sql]' pyarrow 'pandas<3'")
        return
    table = make_table(f"{args.shape} pages", "pages", "local s", "Spark s", "shuffled bytes a page", "other verdicts")
    for count in args.pages:
        pages = Pages(count, args.shape)
        columns = pages.columns()
        start = time.perf_counter()
        found = find_duplicates(columns, GOAL)
        local = time.perf_counter() - start
        del columns
        seconds, shuffled, verdicts = on_spark(pages, args.memory, args.codec)
        kinds = np.where(found.kept, "new", np.where(found.exact, "exact_duplicate", "near_duplicate")).astype(object)
        told = np.full(count, "new", object)
        for row in verdicts:
            told[row["_crawldedup_id"]] = row["kind"]
        other = int((told != kinds).sum())
        print(count, round(local, 1), round(seconds, 1), round(shuffled), other, file=sys.stderr, flush=True)
        table.add_row(f"{count:,}", f"{local:.1f}", f"{seconds:.1f}", f"{shuffled:.0f}", f"{other:,}")
    Console(width=100).print(table)


if __name__ == "__main__":
    run(main, "--pages 2000")
