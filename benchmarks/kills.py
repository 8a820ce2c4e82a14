"""Kill crawlers over and over, and read hostile pages: what is lost, what comes twice, and what
ends a reader?

    python benchmarks/kills.py                       # fleets of crawlers, on three kinds of stores
    python benchmarks/kills.py --what crawls,workers,server --kills 100
    python benchmarks/kills.py --what set-aside,restore --kills 100
    python benchmarks/kills.py --what pages --html FOLDER --seconds 300

sqlite, redis, cluster   a fleet of eight crawlers shares an index. Each of them checks the pages of
                         its queue before they are delivered, and delivers those that pass. Every
                         second crawler checks twenty pages at once. Each piece of content has five
                         URLs. Now and then a crawler is killed (SIGKILL), and another one continues
                         with its queue.
crawls, workers, server  a Scrapy crawl is killed and started again with the same index; or its
                         worker processes are killed; or its Redis server, which syncs every write.
                         Each piece of content has three URLs.
set-aside                such a crawl saves the items that it drops in a file.
restore                  a command that restores items from such a file is killed and started again.
pages                    pages of a folder, or of the demo, are damaged in several ways at random.
                         Every extractor reads them, in a process that is restarted if it dies.

    lost             pieces of content without a page that was delivered; or items that were neither
                     delivered nor set aside, that are missing from the file, or that a restore has
                     cut off
    unanswered       pages that no crawler of a fleet got a verdict on
    delivered twice  how often a piece of content was delivered once more than necessary; for a
                     fleet, this only counts exact copies
    needless         such deliveries that no kill explains, because the store knew about the first
                     one before its crawler died

The SQLite file and the server learn about a delivery with the next check, and the cluster learns
about fifty at once. A hostile page counts if it ends in an error other than PageError, kills its
process, or takes more than 2 s of processor time or 500 MB.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from lxml.html.defs import tags
from rich.console import Console

from benchmarks.kills_parts.items import (
    DELIVERED,
    restore_items,
    rounds,
    set_items_aside,
    wait_for_an_item,
)
from benchmarks.shared.common import count, make_parser, make_table, one_of, progress, run
from crawldedup.demo.site import DemoSite
from crawldedup.errors import PageError
from crawldedup.options import Options
from crawldedup.page import Page
from crawldedup.reading.reader import PageReader
from tests.attacks.fleet import BATCH, Fleet, Outcome
from tests.scrapy_plugin.crawling import start
from tests.scrapy_plugin.website import Answer, Site, article
from tests.servers import ClusterSetup, RedisServer

if TYPE_CHECKING:
    import subprocess
    from argparse import Namespace
    from collections.abc import Iterator, Sequence

FLEETS: Final = ("sqlite", "redis", "cluster")
CRAWLS: Final = {"crawls": ("sqlite", "redis"), "workers": ("sqlite",), "server": ("redis",)}
"""What is killed of a crawl, and the stores of the crawls, in turn."""
SET_ASIDE: Final = "set-aside"
RESTORE: Final = "restore"
PAGES: Final = "pages"
SEED: Final = 1
UNTOLD_TO_A_CLUSTER: Final = 50
KILLS_A_CRAWL: Final = 25
FOLDERS_OF_A_CONTENT: Final = ("a", "b", "near")
"""Where each content of a crawl stands; in the last folder, one word is changed. In one folder, it
would be a sibling.
"""
PAUSES: Final = {"crawls": (0.0, 0.5), "workers": (4.0, 9.0), "server": (0.05, 0.5)}
"""The least and the longest time between two kills, in seconds. A worker that is killed
while it starts is not replaced for a while, and all pages pass."""
SETTINGS: Final[dict[str, Any]] = {
    "spider_class": "recording_spider.RecordingSpider",
    "ITEM_PIPELINES": {"recording_spider.RecordingPipeline": 100},
    # By default, a crawl that begins again delivers every page again.
    "CRAWLDEDUP_REVISIT": "drop",
    "CONCURRENT_REQUESTS": 16,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
    "LOG_LEVEL": "ERROR",
}

MOST_SECONDS: Final = 2.0
MOST_MEGABYTES: Final = 500
MOST_BYTES: Final = 9_000_000
EXTRACTORS: Final = ("blocks", "trafilatura", "text")
ELEMENTS: Final = sorted(
    tags | {"bdi", "dialog", "nobr", "noembed", "plaintext", "slot", "template", "xmp"}
)
PIECES: Final = (
    *(f"<{name}>".encode() for name in ELEMENTS), b"</p>", b"</div></body></html>", b"<!--", b"-->", b"<![CDATA[",
    b"]]>", b"\0", b"&#0;", b"&notit;", b"&#xD800;", "\u202e\u2066".encode(), b"\xff\xfe", b"\xed\xa0\x80", b'"', b"'",
    b"<form><button>Add to cart</button>", b"<span class=price>$1,234.56</span>", b"&" * 50, b"<" * 50,
    b"<a " + b" a=1" * 60 + b">", b"<a " + b"".join(b" a%d='%d'" % (n, n) for n in range(3000)) + b">", b'<x-y a="',
    b'<script type="application/ld+json">' + b"[" * 3000 + b"</script>", b"<meta charset=utf-16>",
    "e\u0301\u0301\u0301".encode(), "\u00df\ufb01\u1100\u1161\ufdfa".encode(),
)  # fmt: skip
ENCODINGS: Final = (
    None, None, None, "utf-8", "utf-16", "utf-7", "iso-2022-jp", "shift_jis", "gb18030", "koi8-r", "cp1252", "hz",
    "x\0y", "nonsense",
)  # fmt: skip


@contextlib.contextmanager
def store_of(kind: str, folder: Path) -> Iterator[tuple[str, RedisServer | None]]:
    """Yield the URL of an empty store, and the server, if it is one that can be killed."""
    if kind == "sqlite":
        yield f"sqlite:///{folder}/index.sqlite", None
    elif kind == "redis":
        with RedisServer(
            "--appendonly", "yes", "--appendfsync", "always", "--dir", str(folder)
        ) as server:
            yield server.url, server
    else:
        with ClusterSetup(has_replicas=False) as cluster:
            yield cluster.url, None


def run_fleets(kind: str, given: Namespace) -> list[Outcome]:
    """Let fleets crawl, all on one index, until so many crawlers were killed or time is up."""
    outcomes: list[Outcome] = []
    untold = UNTOLD_TO_A_CLUSTER + BATCH if kind == "cluster" else 1
    with tempfile.TemporaryDirectory() as name, store_of(kind, Path(name)) as (url, _):
        fleet = Fleet(url, Path(name), random.Random(SEED), untold=untold)
        deadline = time.monotonic() + given.seconds
        with progress(kind, given.kills) as advance:
            while (
                left := given.kills - sum(outcome.kills for outcome in outcomes)
            ) and time.monotonic() < deadline:
                first = len(outcomes) * given.contents
                outcomes.append(
                    fleet.crawl(range(first, first + given.contents), kills=left, every=given.every)
                )
                advance(outcomes[-1].kills)
    return outcomes


def run_crawls(what: str, given: Namespace) -> list[Outcome]:
    """Crawl sites, each to its end, until so much was killed or time is up."""
    outcomes: list[Outcome] = []
    dice, deadline = random.Random(SEED), time.monotonic() + given.seconds
    with progress(what, given.kills) as advance:
        while (
            left := given.kills - sum(outcome.kills for outcome in outcomes)
        ) and time.monotonic() < deadline:
            kind = CRAWLS[what][len(outcomes) % len(CRAWLS[what])]
            outcomes.append(
                crawl_to_the_end(what, kind, given.contents, min(left, KILLS_A_CRAWL), dice)
            )
            advance(outcomes[-1].kills)
    return outcomes


def run_on_items(what: str, given: Namespace) -> list[Outcome]:
    """Set items aside, or restore them, until so much was killed or time is up."""
    dice = random.Random(SEED)

    def once(left: int) -> Outcome:
        if what == RESTORE:
            return restore_items(given.contents, left, dice)
        answers = site_of(given.contents)
        return set_items_aside(answers, SETTINGS, min(left, KILLS_A_CRAWL), dice)

    with progress(what, given.kills) as advance:
        return rounds(once, given.kills, given.seconds, advance)


def site_of(contents: int) -> dict[str, Answer]:
    """Return a site of so many contents, each at three URLs."""
    return {
        f"/{folder}/{content}": article(content, words=120, changed_words=int(folder == "near"))
        for content in range(contents)
        for folder in FOLDERS_OF_A_CONTENT
    }


def crawl_to_the_end(
    what: str, kind: str, contents: int, kills: int, dice: random.Random
) -> Outcome:
    """Crawl a site once, and kill so often on the way, at most."""
    answers = site_of(contents)
    paths, killed = dice.sample(list(answers), len(answers)), 0
    with (
        tempfile.TemporaryDirectory() as name,
        store_of(kind, Path(name)) as (url, server),
        Site(answers) as site,
    ):
        folder = Path(name)
        crawl = start(site, folder, paths, CRAWLDEDUP_STORE=url, **SETTINGS)
        while crawl.poll() is None:
            if what == "crawls":
                wait_for_an_item(crawl, folder / DELIVERED)
            time.sleep(dice.uniform(*PAUSES[what]))
            if killed < kills and crawl.poll() is None:
                killed += kill_one(what, crawl, server, dice)
                if crawl.poll() is not None:
                    crawl = start(site, folder, paths, CRAWLDEDUP_STORE=url, **SETTINGS)
        _, log = crawl.communicate()
        if crawl.returncode:
            sys.exit(f"a crawl ended with {crawl.returncode}:\n{log[-2000:]}")
        delivered = [line.split("/")[2] for line in (folder / DELIVERED).read_text().split()]
    came = len(set(delivered))
    return Outcome(contents, killed, contents - came, 0, len(delivered) - came, 0)


def kill_one(
    what: str, crawl: subprocess.Popen[str], server: RedisServer | None, dice: random.Random
) -> bool:
    """Kill a crawl, its server for a moment, or one of its workers, if it has any."""
    if what == "crawls":
        crawl.kill()
        crawl.communicate()
    elif server is not None:
        server.stop()
        time.sleep(dice.uniform(0, 0.3))
        server.start()
    else:
        workers = Path(f"/proc/{crawl.pid}/task/{crawl.pid}/children").read_text().split()
        if not workers:
            return False
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(dice.choice(workers)), signal.SIGKILL)
    return True


class Read(NamedTuple):
    """What came of reading a page: "read", the reason of a PageError, or the name of another error."""

    what: str
    is_foreign: bool
    seconds: float
    megabytes: int


def broken(pages: Sequence[bytes], number: int) -> tuple[bytes, str | None]:
    """Return a page that is broken in a few places, and its declared encoding: the same for the
    same number.
    """
    rng = random.Random(number)
    page = rng.choice(pages)
    for _ in range(rng.choice((1, 1, 2, 3, 5))):
        start = rng.randrange(len(page) + 1)
        end = min(len(page), start + int(rng.paretovariate(0.5) * 5))
        before, part, after, piece = page[:start], page[start:end], page[end:], rng.choice(PIECES)
        match rng.randrange(7):
            case 0:
                damaged = bytearray(page)
                for _ in range(min(len(page), rng.choice((1, 20, 500)))):
                    damaged[rng.randrange(len(page))] = rng.randrange(256)
                page = bytes(damaged)
            case 1:
                page = before + after
            case 2:
                page = before + part[:20_000] * rng.choice((2, 20, 200)) + part + after
            case 3:
                page = before + piece * rng.choice((1, 3, 100, 3000, 20_000)) + part + after
            case 4:
                page = page.replace(f"</{rng.choice(('div', 'p', *ELEMENTS))}>".encode(), b"")
            case 5:
                page = (
                    before + (piece + rng.choice(PIECES)) * rng.choice((10, 1000, 10_000)) + after
                )
            case _:
                page = before
        page = page[:MOST_BYTES]
    return page, rng.choice(ENCODINGS)


_readers: dict[str, PageReader] = {}


def read(page: bytes, encoding: str | None, extractor: str) -> Read:
    """Read a page in this process, whose peak of memory only grows."""
    if extractor not in _readers:
        _readers[extractor] = PageReader(Options(extractor=extractor))
        _readers[extractor].read_page(Page("", html="<p>The first page pays for the imports.</p>"))
    started = time.process_time()
    what, is_foreign = "read", False
    try:
        _readers[extractor].read_page(Page("", html=page, encoding=encoding))
    except PageError as error:
        what, is_foreign = error.reason, error.reason == "broken"
    except BaseException as error:
        what, is_foreign = type(error).__name__, True
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    return Read(what, is_foreign, time.process_time() - started, peak)


def read_broken_pages(given: Namespace) -> tuple[Counter[str], list[str]]:
    """Read broken pages for a while; return what came of them, and a line for each read beyond the
    bounds.
    """
    site = DemoSite()
    files = sorted(given.html.rglob("*.htm*")) if given.html else ()
    pages = [path.read_bytes() for path in files] or [
        site.reply(path).body for path in sorted(site.manifest())
    ]
    counts, beyond, slowest, largest = Counter[str](), list[str](), 0.0, 0
    workers, deadline = ProcessPoolExecutor(1), time.monotonic() + given.seconds
    for number in range(given.first, given.first + given.pages):
        if time.monotonic() > deadline:
            break
        page, encoding = broken(pages, number)
        for extractor in EXTRACTORS:
            try:
                outcome = workers.submit(read, page, encoding, extractor).result()
            except BrokenProcessPool:
                outcome = Read("death", True, 0.0, 0)
            counts[outcome.what] += 1
            slowest, largest = max(slowest, outcome.seconds), max(largest, outcome.megabytes)
            if (
                outcome.is_foreign
                or outcome.seconds > MOST_SECONDS
                or outcome.megabytes > MOST_MEGABYTES
            ):
                beyond.append(f"page {number}, {extractor}: {outcome}")
                workers.shutdown()
                workers = ProcessPoolExecutor(1)
    workers.shutdown()
    print(f"reading took at most {slowest:.2f} s and {largest} MB", file=sys.stderr)
    return counts, beyond


def main(words: Sequence[str]) -> int:
    parser = make_parser(__doc__)
    known = (*FLEETS, *CRAWLS, SET_ASIDE, RESTORE, PAGES)
    parser.add_argument(
        "--what",
        type=one_of(*known),
        default=list(FLEETS),
        help=f"of {', '.join(known)}, with commas",
    )
    parser.add_argument("--kills", type=count, default=1000, help="kills of each (default: 1000)")
    parser.add_argument(
        "--contents", type=count, default=600, help="contents of one fleet or crawl (default: 600)"
    )
    parser.add_argument(
        "--every",
        type=float,
        default=0.05,
        help="seconds between two kills of a fleet (default: .05)",
    )
    parser.add_argument("--seconds", type=float, default=900, help="for each, about (default: 900)")
    parser.add_argument(
        "--html", type=Path, help="the folder of the pages to break (default: the demo site)"
    )
    parser.add_argument(
        "--pages", type=count, default=34_000, help="broken pages, each for three extractors"
    )
    parser.add_argument("--first", type=int, default=0, help="number of the first broken page")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    given = parser.parse_args(words)
    rows: list[dict[str, Any]] = []
    for what in given.what:
        if what != PAGES:
            started = time.monotonic()
            run_kind = run_fleets if what in FLEETS else run_crawls
            if what in (SET_ASIDE, RESTORE):
                run_kind = run_on_items
            outcomes = run_kind(what, given)
            total = Outcome(*map(sum, zip(*outcomes, strict=True)))
            rows.append(
                {"what": what, **total._asdict(), "seconds": round(time.monotonic() - started)}
            )
    counts, beyond = read_broken_pages(given) if PAGES in given.what else (Counter[str](), [])
    if given.json:
        print(
            json.dumps({"cores": os.cpu_count(), "rows": rows, "reads": counts, "beyond": beyond})
        )
    else:
        console = Console(markup=False, width=120)
        if rows:
            table = make_table(
                "Crawlers with kills",
                *(name.replace("twice", "delivered twice") for name in rows[0]),
            )
            for row in rows:
                table.add_row(
                    *(f"{value:,}" if isinstance(value, int) else value for value in row.values())
                )
            console.print(table)
        if counts:
            table = make_table(f"{counts.total():,} reads of broken pages", "outcome", "reads")
            for what, times in counts.most_common():
                table.add_row(what, f"{times:,}")
            console.print(table)
        for line in beyond:
            console.print(line)
    return int(
        bool(beyond) or any(row["lost"] or row["unanswered"] or row["needless"] for row in rows)
    )


if __name__ == "__main__":
    run(
        main,
        "--kills 3 --contents 16",
        "--what crawls,server --kills 1 --contents 10",
        "--what set-aside,restore --kills 1 --contents 10",
        # The crawl must live longer than until its first kill.
        "--what workers --kills 1 --contents 400",
        "--what pages --html HTML --pages 8",
    )
