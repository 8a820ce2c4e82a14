"""Measure what the main text of each page costs a crawl: from the add-on, and from trafilatura or
readability in the callback.

    python benchmarks/main_text.py                      # Debian documentation, downloaded
    python benchmarks/main_text.py --html FOLDER        # pages of your own
    python benchmarks/main_text.py --pages 5000         # the start of the workers counts less

Each crawl is a separate process. The same spider fetches the same pages from a web server on this
machine, 16 at a time, and yields an item with the title, headings and links of each page:

- plain: without the add-on, and without a text
- trafilatura: without the add-on, with trafilatura in the callback
- readability: the same with readability-lxml, which is left out if it isn't installed
- add-on: with the add-on and its defaults, without a text
- add-on, text: with `CRAWLDEDUP_TEXT`, whose text goes into the item

The action is "mark", so all crawls yield an item for each page. The crawls alternate. The processor
time is the time of Scrapy's process, from the first request to the last item, together with the
time of the workers, including their start. A ratio compares two crawls of the same round.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rich.console import Console

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.scrapy_parts.crawl import Outcome, Task, run_crawl
from benchmarks.scrapy_parts.site import Pages, add_page_options, choose_pages, documentation
from benchmarks.shared.common import count, make_parser, make_table, progress, run
from benchmarks.shared.crawling import CrawlError
from benchmarks.shared.serving import serving_apart
from crawldedup.errors import CrawlDedupError

if TYPE_CHECKING:
    from collections.abc import Sequence


class Kind(NamedTuple):
    """A kind of crawl: with the add-on or without, and where the text comes from."""

    name: str
    addon: bool
    text: str  # one of TEXTS


_RIVAL: Final = Kind("trafilatura", addon=False, text="trafilatura")
_READABILITY: Final = Kind("readability", addon=False, text="readability")
KINDS: Final = (
    Kind("plain", addon=False, text=""),
    _RIVAL,
    *([_READABILITY] if find_spec("readability") else []),
    Kind("add-on", addon=True, text=""),
    Kind("add-on, text", addon=True, text="addon"),
)
Round = dict[Kind, Outcome]
"""One crawl of each kind."""


def crawl(pages: Pages, port: int, kind: Kind, advance: Any) -> Outcome:
    """Crawl once. Raises CrawlError, also if most items lack the text that they should have."""
    settings = {"CRAWLDEDUP_ACTION": "mark", "CRAWLDEDUP_TEXT": kind.text == "addon"}
    task = Task(f"http://127.0.0.1:{port}", pages.paths, kind.addon, settings, kind.text)
    outcome = run_crawl(task, advance)
    if kind.text and outcome.texts < 0.8 * outcome.pages:
        raise CrawlError(f"{outcome.texts:,} of {outcome.pages:,} items have a text")
    return outcome


def measure(pages: Pages, rounds: int) -> list[Round]:
    """Crawl in rounds. Raises CrawlError."""
    measured: list[Round] = []
    total = rounds * len(KINDS) * len(pages.paths)
    with serving_apart(pages) as port, progress("crawling", total) as advance:
        for number in range(rounds):
            # Whichever comes last may find the machine warmer, or busier.
            order = KINDS if number % 2 == 0 else KINDS[::-1]
            measured.append({kind: crawl(pages, port, kind, advance) for kind in order})
    return measured


def processor_seconds(outcome: Outcome) -> float:
    return outcome.cpu_seconds + outcome.worker_seconds


def show(console: Console, given: argparse.Namespace, measured: Sequence[Round]) -> None:
    table = make_table(
        f"{given.pages:,} pages, {len(measured)} rounds; medians, and processor ms a page",
        "crawl",
        *(
            "pages/s",
            "Scrapy",
            "workers",
            "together",
            "relative to trafilatura",
            "lowest",
            "highest",
        ),
        *("items with text", "words a text"),
    )
    for kind in KINDS:
        crawls = [crawls[kind] for crawls in measured]
        ratios = [
            processor_seconds(crawls[kind]) / processor_seconds(crawls[_RIVAL])
            for crawls in measured
        ]
        table.add_row(
            kind.name,
            f"{median(each.pages / each.seconds for each in crawls):.0f}",
            f"{median(each.cpu_seconds * 1e3 / each.pages for each in crawls):.2f}",
            f"{median(each.worker_seconds * 1e3 / each.pages for each in crawls):.2f}",
            f"{median(processor_seconds(each) * 1e3 / each.pages for each in crawls):.2f}",
            *(f"{ratio:.2f}" for ratio in (median(ratios), min(ratios), max(ratios))),
            f"{median(each.texts for each in crawls):,.0f}" if kind.text else "",
            f"{crawls[0].words_of_texts / max(1, crawls[0].texts):,.0f}" if kind.text else "",
        )
    console.print(table)


def main(words: Sequence[str]) -> int:
    parser = make_parser(__doc__)
    add_page_options(parser)
    parser.add_argument("--pages", type=count, default=1_000, help="(1000)")
    parser.add_argument(
        "--repeat", type=count, default=3, metavar="N", help="rounds, of a crawl of each kind (3)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    given = parser.parse_args(words)
    with tempfile.TemporaryDirectory() as temporary:
        try:
            folder = given.html or documentation(given.data or Path(temporary))
            pages = Pages(given.pages, choose_pages(folder, given.pages))
            measured = measure(pages, given.repeat)
        except (CrawlError, CrawlDedupError) as error:
            print(error, file=sys.stderr)
            return 2
    if given.json:
        rounds = [{kind.name: asdict(crawls[kind]) for kind in KINDS} for crawls in measured]
        print(json.dumps({"cores": len(os.sched_getaffinity(0)), "rounds": rounds}))
    else:
        console = Console(markup=False, highlight=False, width=150)
        show(console, given, measured)
        console.print(f"{len(os.sched_getaffinity(0))} cores")
    return 0


if __name__ == "__main__":
    run(main, "--html HTML --pages 10 --repeat 1")
