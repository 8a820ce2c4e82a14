"""Time the batch engine, from fingerprints to clusters, and tell what memory it takes.

    python benchmarks/batch_engine.py --pages 1000000,10000000
    python benchmarks/batch_engine.py --pages 1000000 --shape copies
    python benchmarks/batch_engine.py --pages 1000000 --shape template

Fingerprints are made up and written to disk, as those of a scan are: see `benchmarks/shared/made_up_pages.py`. Each
number of pages has a process of its own. Its memory is told in two parts: its own, and mapped files, whose pages the
system takes back when it needs them.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.shared.common import make_parser, make_table, numbers, run
from benchmarks.shared.made_up_pages import GOAL, SHAPES, Pages
from crawldedup.scan.engine import find_duplicates

if TYPE_CHECKING:
    from collections.abc import Sequence

LOOK_EVERY = 0.1
"""Seconds."""


def measure(count: int, shape: str, folder: str) -> tuple[float, float, float, int, int]:
    """Return seconds, the peaks of own memory and of mapped files in MiB, and the numbers of exact and near copies."""
    columns = Pages(count, shape).columns_in(Path(folder))
    peaks = np.zeros(2)
    is_done = threading.Event()

    def watch() -> None:
        while not is_done.wait(LOOK_EVERY):
            np.maximum(peaks, memory(), out=peaks)

    watcher = threading.Thread(target=watch)
    watcher.start()
    started = time.perf_counter()
    found = find_duplicates(columns, GOAL, folder=Path(folder))
    seconds = time.perf_counter() - started
    is_done.set()
    watcher.join()
    exact = int(found.exact.sum())
    return seconds, float(peaks[0]), float(peaks[1]), exact, int((~found.kept).sum()) - exact


def memory() -> list[float]:
    """Return the memory of this process that is its own, and that of mapped files, in MiB."""
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    told = dict(line.split(":", 1) for line in lines)
    return [int(told[name].split()[0]) / 1024 for name in ("RssAnon", "RssFile")]


def main(given: Sequence[str]) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--pages", type=numbers, default=[1_000_000])
    parser.add_argument("--shape", choices=SHAPES, default="mixed")
    arguments = parser.parse_args(given)
    table = make_table(f"{arguments.shape} pages", "pages", "seconds", "own MiB", "mapped MiB", "exact", "near")
    for count in arguments.pages:
        with tempfile.TemporaryDirectory() as folder, get_context("spawn").Pool(1) as pool:
            seconds, *figures = pool.apply(measure, (count, arguments.shape, folder))
        table.add_row(f"{count:,}", f"{seconds:.1f}", *(f"{figure:,.0f}" for figure in figures))
    Console(markup=False).print(table)


if __name__ == "__main__":
    run(main, "--pages 2000")
