"""Measure what the add-on costs a Scrapy crawl: pages per second, processor time, delays of the
event loop, and memory.

    python benchmarks/scrapy_throughput.py                      # Debian documentation, downloaded
    python benchmarks/scrapy_throughput.py --html FOLDER        # your own pages
    python benchmarks/scrapy_throughput.py --latency 0.05       # a site that is 50 ms away
    python benchmarks/scrapy_throughput.py --delay 0.02         # a crawl that waits, as most do
    python benchmarks/scrapy_throughput.py --generated --pages 100000 --repeat 1 --stores memory,sqlite

Each crawl is a separate process. A spider gets pages from a web server on this machine, 16 at a time
and without a delay, takes a title, headings and links from each with selectors, and yields an item.
The server is another process and answers from memory. Its processor time is in the tables, because
the crawl has to do without it if there are few cores. Crawls with and without the add-on alternate,
so that both see the machine in the same state, and a ratio compares two neighboring crawls. Memory is
the memory of Scrapy's process, after a tenth of the pages and at the end.

This is the hardest case: there is no network to wait for, so Scrapy takes a whole core, and the crawl
has to do without everything that the add-on does in its process. Unless you set another action, it's
"mark", because dropped pages would save the callback and make the add-on look better.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import redis
from rich.console import Console

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.scrapy_parts.crawl import TICK_SECONDS, Outcome, Task, run_crawl
from benchmarks.scrapy_parts.site import Pages, add_page_options, choose_pages, documentation
from benchmarks.shared.common import count, make_parser, make_table, one_of, progress, run
from benchmarks.shared.crawling import CrawlError
from benchmarks.shared.serving import cpu_seconds, serving_apart
from crawldedup.errors import CrawlDedupError
from crawldedup.reading.extract import get_extractor
from crawldedup.scrapy_plugin.settings import default_workers
from tests.servers import RedisServer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

EXTRACTORS: Final = ("blocks", "trafilatura")
STORES: Final = ("memory", "sqlite", "redis")
PREFIX: Final = "CRAWLDEDUP_"


class Setup(NamedTuple):
    """How the add-on is set."""

    extractor: str
    store: str
    workers: int


@dataclass(frozen=True)
class Crawl:
    """A crawl, and the processor seconds that the two servers took meanwhile."""

    outcome: Outcome
    site_seconds: float
    store_seconds: float


Pair = tuple[Crawl, Crawl]
"""A crawl without the add-on and one with it, one after the other."""


def crawl(
    pages: Pages, port: int, setup: Setup | None, given: argparse.Namespace, advance: Any
) -> Crawl:
    """Crawl once, without the add-on if it has no setup. Raises CrawlError."""
    with contextlib.ExitStack() as stack:
        url, server = "memory://", None
        if setup and setup.store == "sqlite":
            url = f"sqlite:///{stack.enter_context(tempfile.TemporaryDirectory())}/index.sqlite"
        elif setup and setup.store == "redis":
            server = stack.enter_context(RedisServer())
            url = server.url
        settings = {f"{PREFIX}{name}": value for name, value in given.set} | {
            "DOWNLOAD_DELAY": given.delay
        }
        if setup:
            own = {
                "STORE": url,
                "EXTRACTOR": setup.extractor,
                "WORKERS": setup.workers,
                "ACTION": given.action,
            }
            settings |= {f"{PREFIX}{name}": value for name, value in own.items()}
        before, store_before = cpu_seconds(port), redis_seconds(server)
        outcome = run_crawl(
            Task(f"http://127.0.0.1:{port}", pages.paths, bool(setup), settings), advance
        )
        return Crawl(outcome, cpu_seconds(port) - before, redis_seconds(server) - store_before)


def redis_seconds(server: RedisServer | None) -> float:
    info: dict[str, Any] = redis.Redis.from_url(server.url).info("cpu") if server else {}
    return float(info.get("used_cpu_user", 0) + info.get("used_cpu_sys", 0))


def measure(
    pages: Pages, setups: Sequence[Setup], given: argparse.Namespace
) -> dict[Setup, list[Pair]]:
    """Crawl in pairs, `given.repeat` of each setup."""
    measured: dict[Setup, list[Pair]] = {setup: [] for setup in setups}
    total = 2 * given.repeat * len(setups) * len(pages.paths)
    with (
        serving_apart(pages, latency=given.latency) as port,
        progress("crawling", total) as advance,
    ):
        for number in range(given.repeat):
            for setup in setups:
                # Whichever comes second may find the machine warmer, or busier.
                order = (None, setup) if number % 2 == 0 else (setup, None)
                done = {one: crawl(pages, port, one, given, advance) for one in order}
                measured[setup].append((done[None], done[setup]))
    return measured


def show(console: Console, given: argparse.Namespace, measured: dict[Setup, list[Pair]]) -> None:
    names = ("extractor", "store", "workers")
    crawls = (
        f"{given.pages:,} pages, {given.repeat} pairs of crawls, {given.delay:g} s between "
        f"requests, answers after {given.latency:g} s; medians"
    )
    throughput = make_table(
        f"{crawls}, and processor ms a page",
        *(
            *names,
            "pages/s off",
            "pages/s on",
            "on / off",
            "lowest",
            "highest",
            "Scrapy off",
            "Scrapy on",
            "workers",
        ),
        *("store server", "web server", "duplicates"),
    )
    others = make_table(
        f"{crawls}; MB at a tenth and at the end, and ms by which a tick each "
        f"{TICK_SECONDS * 1e3:.0f} ms comes late",
        *(
            *names,
            "MB off",
            "MB on",
            "p50 off",
            "p50 on",
            "p99 off",
            "p99 on",
            "latest off",
            "latest on",
        ),
    )
    for setup, pairs in measured.items():
        off, on = zip(*pairs, strict=True)

        def a_page(crawls: Sequence[Crawl], seconds: Callable[[Crawl], float]) -> str:
            return f"{median(seconds(one) * 1e3 / one.outcome.pages for one in crawls):.2f}"

        def a_second(one: Crawl) -> float:
            return one.outcome.pages / one.outcome.seconds

        ratios = [a_second(with_it) / a_second(without) for without, with_it in pairs]
        label = (setup.extractor, setup.store, str(setup.workers))
        throughput.add_row(
            *label,
            *(f"{median(map(a_second, side)):.0f}" for side in (off, on)),
            *(f"{ratio:.2f}" for ratio in (median(ratios), min(ratios), max(ratios))),
            *(a_page(side, lambda one: one.outcome.cpu_seconds) for side in (off, on)),
            a_page(on, lambda one: one.outcome.worker_seconds),
            a_page(on, lambda one: one.store_seconds),
            a_page(on, lambda one: one.site_seconds),
            f"{median(one.outcome.duplicates / one.outcome.pages for one in on):.0%}",
        )
        others.add_row(
            *label,
            *(
                ", ".join(
                    f"{median(one.outcome.resident[at] for one in side):.0f}" for at in (0, 1)
                )
                for side in (off, on)
            ),
            *(
                f"{median(one.outcome.ticks[place] for one in side) * 1e3:.1f}"
                for place in range(3)
                for side in (off, on)
            ),
        )
    console.print(throughput, others)


def setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or name.startswith(PREFIX):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not NAME=VALUE, with NAME as in {PREFIX}NAME"
        )
    return name, value


def main(words: Sequence[str]) -> int:
    parser = make_parser(__doc__)
    add_page_options(parser)
    parser.add_argument("--generated", action="store_true", help="pages of random words")
    parser.add_argument("--pages", type=count, default=5_000)
    parser.add_argument(
        "--repeat", type=count, default=3, metavar="N", help="pairs of crawls of each kind"
    )
    parser.add_argument(
        "--delay", type=float, default=0.0, metavar="SECONDS", help="between requests (0)"
    )
    parser.add_argument(
        "--latency", type=float, default=0.0, metavar="SECONDS", help="until the site answers (0)"
    )
    parser.add_argument(
        "--extractors", type=one_of(*EXTRACTORS), default=list(EXTRACTORS), metavar="NAME,..."
    )
    parser.add_argument("--stores", type=one_of(*STORES), default=list(STORES), metavar="NAME,...")
    parser.add_argument(
        "--workers", type=int, metavar="N", help=f"{PREFIX}WORKERS (default: the add-on's choice)"
    )
    parser.add_argument(
        "--action", default="mark", choices=("drop", "drop-items", "mark"), help=f"{PREFIX}ACTION"
    )
    parser.add_argument(
        "--set",
        type=setting,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help=f"another setting, {PREFIX}NAME",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    given = parser.parse_args(words)
    busy, _, _ = os.getloadavg()
    with tempfile.TemporaryDirectory() as temporary:
        try:
            for extractor in given.extractors:
                get_extractor(extractor)  # says what to install, before anything is crawled
            files: Sequence[Path] = ()
            if not given.generated:
                files = choose_pages(
                    given.html or documentation(given.data or Path(temporary)), given.pages
                )
            setups = [
                Setup(
                    extractor,
                    store,
                    default_workers(extractor) if given.workers is None else given.workers,
                )
                for extractor in given.extractors
                for store in given.stores
            ]
            measured = measure(Pages(given.pages, files), setups, given)
        except (CrawlError, CrawlDedupError) as error:
            print(error, file=sys.stderr)
            return 2
    cores = len(os.sched_getaffinity(0))
    if given.json:
        rows = [
            {**setup._asdict(), "pairs": [list(map(asdict, pair)) for pair in measured[setup]]}
            for setup in setups
        ]
        print(json.dumps({"cores": cores, "load_average": busy, "throughput": rows}))
    else:
        console = Console(markup=False, highlight=False, width=190)
        show(console, given, measured)
        console.print(
            f"{cores} cores; other programs on the machine, before: load average {busy:.1f}"
        )
    return 0


if __name__ == "__main__":
    run(
        main,
        "--html HTML --pages 10 --repeat 1 --extractors blocks --stores sqlite",
        "--generated --pages 10 --repeat 1 --extractors blocks --stores memory",
    )
