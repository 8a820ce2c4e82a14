"""Measure what the add-on costs a Scrapy crawl: pages a second, processor time, a late event loop, memory.

    python benchmarks/scrapy_throughput.py throughput                 # Debian documentation, downloaded
    python benchmarks/scrapy_throughput.py throughput --html FOLDER   # pages of your own
    python benchmarks/scrapy_throughput.py throughput --delay 0.02    # a crawl that waits, as most do
    python benchmarks/scrapy_throughput.py memory

Each crawl is a process of its own: a spider gets pages from a web server on this machine, 16 at a time and without
a delay, takes a title, headings and links out of each by selectors, and yields an item. The server is another
process, answers from memory, and its processor time is in the tables, for it is taken from the crawl's where cores are
few. Crawls with and without the add-on alternate, so that both see the same moods of the machine; a ratio is that
of two neighbours.

A crawl like this one is the hardest case: no network to wait for, so that Scrapy takes a whole core and everything
that the add-on does in its process is taken from the crawl. The action is "mark", unless told otherwise: dropped
pages would spare the callback, and so flatter the add-on.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import redis
from rich.console import Console

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))


from benchmarks.scrapy_parts.crawl import CrawlError, Task, run_crawl
from benchmarks.scrapy_parts.figures import (
    Crawl,
    Pair,
    Setup,
    part_rows,
    resident_at,
    show_lateness,
    show_parts,
    show_throughput,
)
from benchmarks.scrapy_parts.site import Folder, Generated, choose_pages, documentation, serving
from benchmarks.shared.common import count, make_parser, make_table, one_of, progress, run
from crawldedup.errors import CrawlDedupError, PageError
from crawldedup.fingerprinting.fingerprint import MIN_WORDS
from crawldedup.options import Options
from crawldedup.page import Page, PageContent, PageReader
from crawldedup.reading.extract import extract_page, get_extractor
from crawldedup.reading.facts.page_facts import page_facts
from crawldedup.scrapy_plugin.settings import default_workers
from tests.servers import RedisServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from benchmarks.scrapy_parts.site import Server
    from crawldedup.reading.extract import Extractor

    Advance = Callable[[int], None]

EXTRACTORS = ("blocks", "trafilatura")
STORES = ("memory", "sqlite", "redis")
PREFIX = "CRAWLDEDUP_"


WITHOUT = Setup(None)


def crawl(server: Server, setup: Setup, options: argparse.Namespace, advance: Advance) -> Crawl:
    """One crawl. Raises CrawlError."""
    with contextlib.ExitStack() as stack:
        url, store_seconds = "memory://", _no_seconds
        if setup.store == "sqlite":
            url = f"sqlite:///{stack.enter_context(tempfile.TemporaryDirectory())}/index.sqlite"
        elif setup.store == "redis" and setup.extractor:
            redis_server = stack.enter_context(RedisServer())
            url, store_seconds = redis_server.url, lambda: _redis_seconds(redis_server)
        settings = {f"{PREFIX}{name}": value for name, value in options.set}
        settings |= {
            f"{PREFIX}STORE": url,
            f"{PREFIX}EXTRACTOR": setup.extractor,
            f"{PREFIX}WORKERS": setup.workers,
            f"{PREFIX}ACTION": options.action,
            "DOWNLOAD_DELAY": options.delay,
        }
        task = Task(
            server.base,
            list(server.paths),
            addon=bool(setup.extractor),
            paced=options.command == memory.__name__,
            settings=settings,
        )
        before, store_before = server.cpu_seconds(), store_seconds()
        outcome = run_crawl(task, advance)
        return Crawl(setup, outcome, server.cpu_seconds() - before, store_seconds() - store_before)


def _no_seconds() -> float:
    return 0.0


def _redis_seconds(server: RedisServer) -> float:
    info: dict[str, Any] = redis.Redis.from_url(server.url).info("cpu")
    return float(info["used_cpu_user"] + info["used_cpu_sys"])


def pairs(server: Server, setups: Sequence[Setup], options: argparse.Namespace, what: str) -> dict[Setup, list[Pair]]:
    """Pairs of crawls for each setup, `options.repeat` of each."""
    measured: dict[Setup, list[Pair]] = {setup: [] for setup in setups}
    total = 2 * options.repeat * len(setups) * len(server.paths)
    with progress(what, total) as advance:
        for number in range(options.repeat):
            for setup in setups:
                # Whichever comes second may find the machine warmer, or busier.
                order = (WITHOUT, setup) if number % 2 == 0 else (setup, WITHOUT)
                done = {one.extractor: crawl(server, one, options, advance) for one in order}
                measured[setup].append(Pair(done[None], done[setup.extractor]))
    return measured


def setups_of(options: argparse.Namespace, stores: Sequence[str]) -> list[Setup]:
    return [
        Setup(extractor, store, default_workers(extractor) if options.workers is None else options.workers)
        for extractor in options.extractors
        for store in stores
    ]


def throughput(options: argparse.Namespace, console: Console) -> Any:
    """Pages a second with the add-on and without, processor time by part, and how late the event loop is."""
    with real_site(options) as server:
        measured = pairs(server, setups_of(options, options.stores), options, "throughput")
        reading = {extractor: reading_times(server, extractor) for extractor in options.extractors}
    show_throughput(console, options, measured)
    show_lateness(console, options, measured)
    figures = []
    for setup, of_setup in measured.items():
        assert setup.extractor is not None
        rows = part_rows(reading[setup.extractor], of_setup)
        show_parts(console, setup, rows, of_setup)
        parts = [asdict(row) for row in rows]
        figures.append({"setup": asdict(setup), "pairs": [asdict(pair) for pair in of_setup], "parts": parts})
    return figures


def reading_times(server: Server, extractor: str) -> tuple[float, float]:
    """Processor milliseconds a page of extracting the text and of the fingerprint, in this process."""
    bodies = [body for path in server.paths if (body := server.site.body(path))]
    read, reader = get_extractor(extractor), PageReader(Options(extractor=extractor))
    reader.read_page(Page("", html=bodies[0]))
    started = time.thread_time()
    texts = [_text_of(body, read) for body in bodies]
    extracted = time.thread_time()
    for main, whole, facts in filter(None, texts):
        reader.fingerprints([PageContent(main, facts, whole)])
    return (extracted - started) * 1e3 / len(bodies), (time.thread_time() - extracted) * 1e3 / len(bodies)


def _text_of(body: bytes, extractor: Extractor) -> tuple[str, str | None, str | None] | None:
    """The main text of a page, the whole of a thin one, and its facts."""
    try:
        text = extract_page(body, None, extractor, min_words=MIN_WORDS)
        return text.main, text.whole, page_facts(text, "products")
    except PageError:
        return None


def memory(options: argparse.Namespace, console: Console) -> Any:
    """Resident memory of the crawl's process at so many generated pages, with the add-on and without."""
    setups = [WITHOUT, *setups_of(options, options.stores)]
    with (
        serving(Generated(options.pages)) as server,
        progress("memory", len(setups) * options.pages) as advance,
    ):
        crawls = [crawl(server, setup, options, advance) for setup in setups]
    marks = [options.pages // 100, options.pages // 10, options.pages // 2, options.pages]
    table = make_table(
        "resident memory of the crawl's process, MB, and how much more than without the add-on",
        *("extractor", "store", "workers", *(f"{mark:,} pages" for mark in marks), "growth", "growth by the add-on"),
    )
    without = [resident_at(crawls[0].outcome, mark) for mark in marks]
    for one in crawls:
        megabytes = [resident_at(one.outcome, mark) for mark in marks]
        growth, growth_without = megabytes[-1] - megabytes[0], without[-1] - without[0]
        cells = [f"{own:.0f} (+{own - other:.0f})" for own, other in zip(megabytes, without, strict=True)]
        table.add_row(*one.setup.label, *cells, f"{growth:.0f}", f"{growth - growth_without:.0f}")
    console.print(table)
    return [asdict(one) for one in crawls]


@contextlib.contextmanager
def real_site(options: argparse.Namespace) -> Iterator[Server]:
    """Serve the pages that the options name."""
    with contextlib.ExitStack() as stack:
        folder: Path | None = options.html
        if folder is None:
            folder = documentation(options.data or Path(stack.enter_context(tempfile.TemporaryDirectory())))
        yield stack.enter_context(serving(Folder(choose_pages(folder, options.pages))))


def setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or name.startswith(PREFIX):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE, with NAME as in {PREFIX}NAME")
    return name, value


def parse(given: Sequence[str]) -> argparse.Namespace:
    parser = make_parser(__doc__)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument(
        "--workers", type=int, metavar="N", help="CRAWLDEDUP_WORKERS (default: the add-on's own choice)"
    )
    common.add_argument(
        "--action", default="mark", choices=("drop", "drop-items", "mark"), help="CRAWLDEDUP_ACTION (default: mark)"
    )
    common.add_argument(
        "--set",
        type=setting,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="another setting, CRAWLDEDUP_NAME",
    )
    common.add_argument("--json", action="store_true", help="print JSON instead of tables")
    real = argparse.ArgumentParser(add_help=False)
    real.add_argument(
        "--html", type=Path, metavar="FOLDER", help="a folder of HTML files (default: Debian documentation)"
    )
    real.add_argument("--data", type=Path, metavar="FOLDER", help="where to keep the documentation (default: nowhere)")
    real.add_argument("--pages", type=count, default=5_000)
    real.add_argument("--repeat", type=count, default=3, metavar="N", help="pairs of crawls of each kind")
    commands = parser.add_subparsers(dest="command", required=True)

    def add(command: Callable[..., Any], *parents: argparse.ArgumentParser, extractors: str, stores: str) -> None:
        help_ = (command.__doc__ or "").split("\n")[0]
        added = commands.add_parser(command.__name__, parents=[common, *parents], help=help_)
        added.add_argument("--delay", type=float, default=0.0, metavar="SECONDS", help="between requests (0)")
        added.add_argument("--extractors", type=one_of(*EXTRACTORS), default=extractors, metavar="NAME,...")
        added.add_argument("--stores", type=one_of(*STORES), default=stores, metavar="NAME,...")
        if command is memory:
            added.add_argument("--pages", type=count, default=100_000)

    add(throughput, real, extractors=",".join(EXTRACTORS), stores=",".join(STORES))
    add(memory, extractors="blocks", stores="memory,sqlite")
    return parser.parse_args(given)


COMMANDS: dict[str, Callable[[argparse.Namespace, Console], Any]] = {
    "throughput": throughput,
    "memory": memory,
}


def main(given: Sequence[str]) -> int:
    options = parse(given)
    # With --json, tables are for whoever watches.
    console = Console(markup=False, highlight=False, width=190, stderr=options.json)
    busy, _, _ = os.getloadavg()
    try:
        for extractor in options.extractors:
            get_extractor(extractor)  # says what to install, before anything is crawled
        figures = COMMANDS[options.command](options, console)
    except (CrawlError, CrawlDedupError) as error:
        print(error, file=sys.stderr)
        return 2
    cores = len(os.sched_getaffinity(0))
    console.print(f"{cores} cores; other programs on the machine, before: load average {busy:.1f}")
    if options.json:
        print(json.dumps({"cores": cores, "load_average": busy, options.command: figures}))
    return 0


if __name__ == "__main__":
    run(
        main,
        "throughput --html HTML --pages 10 --repeat 1 --extractors blocks --stores sqlite",
        "memory --pages 10 --stores memory",
    )
