"""Measure what the journal of a crawl costs: its share of the crawl's processor time.

    python benchmarks/journal.py                    # 2,000 generated pages, the journal in a file and in Redis

The crawls are those of `scrapy_throughput.py`, with one worker, each a process of its own. The calls that write the
journal, and the thread that sends it to Redis, are timed within the crawl: two crawls on one machine differ by more
than a journal costs. The whole is Scrapy's process and its worker, user and system.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.scrapy_parts.crawl import Task, run_crawl
from benchmarks.scrapy_parts.journal_meter import STAT, JournalMeter
from benchmarks.scrapy_parts.site import Generated, serving
from benchmarks.shared.common import count, make_parser, make_table, progress, run
from crawldedup.journal import journals
from crawldedup.journal.files import end_of
from tests.servers import RedisServer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.scrapy_parts.site import Server


def crawl(server: Server, place: str, advance: Callable[[int], None]) -> tuple[float, float, float]:
    """Processor milliseconds a page of a crawl, and of its journal; and the journal's bytes a page."""
    settings = {
        "CRAWLDEDUP_JOURNAL": place,
        "CRAWLDEDUP_EXTRACTOR": "blocks",
        "CRAWLDEDUP_WORKERS": 1,
        "CRAWLDEDUP_ACTION": "mark",
        "EXTENSIONS": {f"{JournalMeter.__module__}.{JournalMeter.__name__}": 0},
    }
    outcome = run_crawl(Task(server.base, list(server.paths), addon=True, settings=settings), advance)
    with journals(place) as paths:
        end = end_of(paths[0])
        assert end is not None
        figures = outcome.cpu_seconds + outcome.worker_seconds, end["stats"][STAT], paths[0].stat().st_size / 1e3
    whole, journal, kilobytes = (figure * 1e3 / outcome.pages for figure in figures)
    return whole, journal, kilobytes


def main(given: Sequence[str]) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--pages", type=count, default=2_000)
    parser.add_argument("--repeat", type=count, default=3, metavar="N", help="crawls of each kind")
    options = parser.parse_args(given)
    table = make_table(
        f"processor ms a page, medians of {options.repeat} crawls of {options.pages:,} pages",
        *("journal", "crawl", "its journal", "share", "highest share", "bytes a page"),
    )
    with (
        tempfile.TemporaryDirectory() as folder,
        RedisServer() as redis,
        serving(Generated(options.pages)) as server,
        progress("crawls", 2 * options.repeat * options.pages) as advance,
    ):
        for name, place in (("file", folder), ("Redis", redis.url)):
            crawls = [crawl(server, place, advance) for _ in range(options.repeat)]
            whole, journal, size = (statistics.median(side) for side in zip(*crawls, strict=True))
            shares = [own / all_of_it for all_of_it, own, _ in crawls]
            cells = f"{statistics.median(shares):.1%}", f"{max(shares):.1%}", f"{size:.0f}"
            table.add_row(name, f"{whole:.2f}", f"{journal:.3f}", *cells)
    Console(markup=False, highlight=False, width=120).print(table)


if __name__ == "__main__":
    run(main, "--pages 10 --repeat 1")
