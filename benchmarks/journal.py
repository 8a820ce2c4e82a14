"""Measure what the journal of a crawl costs: processor time of crawls with it and without, in pairs.

    python benchmarks/journal.py                    # 2,000 generated pages, the journal in a file and in Redis

Processor time is that of Scrapy's process and of its worker, user and system. Each crawl is a process of its own, as
in `scrapy_throughput.py`. Whichever of a pair comes first changes from pair to pair. Other programs can only add to
the processor time of a crawl, so the lowest of each kind are compared. A line is timed alone, too.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.scrapy_parts.crawl import Task, run_crawl
from benchmarks.scrapy_parts.site import Generated, serving
from benchmarks.shared.common import count, make_parser, make_table, progress, run
from crawldedup.journal.files import FileJournal, end_of
from crawldedup.journal.records import line_of, record_in
from tests.servers import RedisServer

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from benchmarks.scrapy_parts.site import Server


def crawl(server: Server, place: str | bool, advance: Callable[[int], None]) -> float:
    """Processor milliseconds a page of a crawl whose journal is written there."""
    settings = {
        "CRAWLDEDUP_JOURNAL": place,
        "CRAWLDEDUP_EXTRACTOR": "resiliparse",
        "CRAWLDEDUP_WORKERS": 1,
        "CRAWLDEDUP_ACTION": "mark",
    }
    outcome = run_crawl(Task(server.base, list(server.paths), addon=True, settings=settings), advance)
    return (outcome.cpu_seconds + outcome.worker_seconds) * 1e3 / outcome.pages


def milliseconds_a_line(journal: Path) -> float:
    """Processor milliseconds of making and writing a line, alone, of lines as a crawl has written them."""
    lines = [record for line in journal.read_bytes().splitlines()[1:-1] if (record := record_in(line)) is not None]
    with tempfile.TemporaryDirectory() as folder:
        header = {"crawl": "lines", "started": 0}
        sink = FileJournal(Path(folder), header, "alone", keep=1)
        begun = time.process_time()
        for line in lines:
            sink.write(line_of(line))
        seconds = time.process_time() - begun
        sink.close()
    return seconds * 1e3 / len(lines)


def parse(given: Sequence[str]) -> argparse.Namespace:
    parser = make_parser(__doc__)
    parser.add_argument("--pages", type=count, default=2_000)
    parser.add_argument("--repeat", type=count, default=6, metavar="N", help="pairs of crawls of each kind")
    return parser.parse_args(given)


def main(given: Sequence[str]) -> None:
    options = parse(given)
    table = make_table(
        f"processor ms a page, Scrapy and worker; {options.repeat} pairs of crawls of {options.pages:,} pages",
        *("journal", "median without", "with", "lowest without", "with", "ratio of the lowest", "bytes a page"),
    )
    with (
        tempfile.TemporaryDirectory() as folder,
        RedisServer() as redis,
        serving(Generated(options.pages)) as server,
        progress("crawls", 4 * options.repeat * options.pages) as advance,
    ):
        for name, place in (("file", folder), ("Redis", redis.url)):
            pairs = []
            for number in range(options.repeat):
                order = (False, place) if number % 2 == 0 else (place, False)
                measured = {one: crawl(server, one, advance) for one in order}
                pairs.append((measured[False], measured[place]))
            without, with_it = zip(*pairs, strict=True)
            files = sorted(Path(folder).glob("*.jsonl"))
            table.add_row(
                name,
                *(f"{measure(side):.2f}" for measure in (statistics.median, min) for side in (without, with_it)),
                f"{min(with_it) / min(without):.3f}",
                f"{files[-1].stat().st_size / options.pages:.0f}" if name == "file" else "",
            )
        assert end_of(files[-1]) is not None
        alone = milliseconds_a_line(files[-1])
    console = Console(markup=False, highlight=False, width=120)
    console.print(table)
    console.print(f"a line alone: {alone:.4f} ms")


if __name__ == "__main__":
    run(main, "--pages 10 --repeat 1")
