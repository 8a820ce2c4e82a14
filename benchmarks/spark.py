"""Measure `crawldedup.spark` beside the engine of `crawldedup scan`, on the same fingerprints.

    python benchmarks/spark.py --pages 250000,500000,1000000,2000000
    python benchmarks/spark.py --pages 1000000 --shape copies
    python benchmarks/spark.py --pages 250000 --shape template

Fingerprints are made of normal numbers, so that no text has to be read: reading takes the same time in both. Of
`mixed` pages, one in ten is an exact copy, and one in five a near copy of similarity 0.5 to 1. `copies` are one page.
Of `template` pages, half resemble each other with J = 0.6. Shuffled bytes are those that Spark's stages wrote, as its
REST interface tells. Spark runs in this process's machine, on two cores.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.request import urlopen

import numpy as np
from rich.console import Console

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.shared.common import make_parser, make_table, numbers, run
from crawldedup.batch.columns import LAYOUT, VOLATILITY_UNIT, Columns
from crawldedup.batch.decision import Goal
from crawldedup.batch.engine import find_duplicates
from crawldedup.fingerprinting.fingerprint import SEARCH_BITS, VERIFY_BITS
from crawldedup.search.decision import threshold_rows
from crawldedup.search.model import search_similarity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

GOAL: Final = Goal(0.9, 0.98)
BLOCK: Final = 1 << 13
"""Pages are made so many at once, each block from its number."""
SHAPES: Final = ("mixed", "copies", "template")
_TEMPLATE: Final = 0.6
_SIMILARITIES: tuple[Callable[[float], float], ...] = (search_similarity, float)
"""How similar the features of the search bits and of the verify bits of two pages are, given their similarity."""


@dataclass(frozen=True)
class Pages:
    """Makes the fingerprints of so many pages, a block at a time."""

    count: int
    shape: str

    @property
    def blocks(self) -> int:
        return -(-self.count // BLOCK)

    def block(self, number: int) -> Columns:
        size = min(BLOCK, self.count - number * BLOCK)
        rng = np.random.default_rng([number if self.shape != "copies" else 0, 1])
        weights = [rng.standard_normal((BLOCK, bits), np.float32) for bits in (SEARCH_BITS, VERIFY_BITS)]
        digests = rng.integers(0, 1 << 63, BLOCK, np.uint64)
        source = np.arange(BLOCK)
        if self.shape == "copies":
            source[:] = 0
        elif self.shape == "template":
            odd = source % 2 == 1
            template = np.random.default_rng(0)
            for each, kind in zip(weights, _SIMILARITIES, strict=True):
                shared = template.standard_normal((1, each.shape[1]), np.float32)
                each[odd] = _near(shared, each[odd], np.full(odd.sum(), kind(_TEMPLATE)))
        else:
            half = BLOCK // 2
            later = np.arange(half, BLOCK)
            copy, near = later[later % 5 == 0], later[later % 5 < 3]
            source[copy] = rng.integers(0, half, len(copy))
            near = near[near % 5 > 0]
            other, similarity = rng.integers(0, half, len(near)), rng.uniform(0.5, 1, len(near))
            for each, kind in zip(weights, _SIMILARITIES, strict=True):
                each[near] = _near(each[other], each[near], np.array([kind(value) for value in similarity]))
        search, verify = (each[source[:size]] for each in weights)
        return _columns(search, verify, digests[source[:size]])

    def columns(self) -> Columns:
        parts = [self.block(number).by_name() for number in range(self.blocks)]
        return Columns(**{name: np.concatenate([part[name] for part in parts]) for name in LAYOUT})


def _near(first: Floats, second: Floats, similarity: NDArray[np.float64]) -> Floats:
    """Return weights that are as near to the first ones as those of pages of this similarity."""
    rho = (2 * similarity / (1 + similarity)).astype(np.float32)[:, None]
    found: Floats = rho * first + np.sqrt(1 - rho * rho) * second
    return found


def _columns(search: Floats, verify: Floats, digest: NDArray[np.uint64]) -> Columns:
    return Columns(
        search=np.packbits(search >= 0, axis=1).view(">u8").ravel().astype(np.uint64),
        verify=np.packbits(verify >= 0, axis=1),
        digest=digest,
        volatility=np.minimum(np.abs(search) * VOLATILITY_UNIT, 255).astype(np.uint8),
        steps=threshold_rows(verify, GOAL.threshold).astype(np.uint16),
        words=np.full(len(search), 100, np.int32),
        thin=np.zeros(len(search), np.bool_),
        rank=np.zeros(len(search), np.uint8),
    )


@dataclass(frozen=True)
class Blocks:
    """Makes the rows of blocks, as `crawldedup.spark.reading` makes them of pages."""

    pages: Pages

    def __call__(self, batches: Any) -> Iterator[Any]:
        from crawldedup.spark.arrow import batch
        from crawldedup.spark.reading import of_columns

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


def on_spark(pages: Pages, memory: str) -> tuple[float, float, list[Any]]:
    """Return seconds, shuffled bytes a page, and the verdicts."""
    from pyspark import StorageLevel
    from pyspark.sql import SparkSession

    from crawldedup.spark.deduplication import verdicts_of
    from crawldedup.spark.reading import COLUMNS

    builder = SparkSession.builder.master("local[2]").config("spark.driver.memory", memory)
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
    args = parser.parse_args(arguments)
    if find_spec("pyspark") is None:
        print("pyspark is not installed: pip install 'crawldedup[spark]'")
        return
    table = make_table(f"{args.shape} pages", "pages", "local s", "Spark s", "shuffled bytes a page", "other verdicts")
    for count in args.pages:
        pages = Pages(count, args.shape)
        columns = pages.columns()
        start = time.perf_counter()
        found = find_duplicates(columns, GOAL)
        local = time.perf_counter() - start
        del columns
        seconds, shuffled, verdicts = on_spark(pages, args.memory)
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
