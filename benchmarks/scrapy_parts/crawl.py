"""One crawl, with the add-on or without, in a process of its own, and what it cost.

`run_crawl` starts this file as a program: the task comes as JSON on stdin, the outcome leaves as JSON on stdout.
The spider follows no links: it asks for pages whose URLs it knows, and its callback does what most do, a few
selectors and an item.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scrapy import Request, Spider, signals
from scrapy.crawler import AsyncCrawlerProcess

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response

TICK_SECONDS = 0.005
CONCURRENT_REQUESTS = 16
MOST_UNDER_WAY = 4 * CONCURRENT_REQUESTS
_SHOWN_LOG_CHARACTERS = 3000
_STOP_SECONDS = 10.0


class CrawlError(Exception):
    """A crawl did not do what was to be measured; the message holds the end of its log."""


@dataclass(frozen=True)
class Task:
    """What to crawl, and how.

    `addon` False leaves the add-on out, whatever `settings` say of it. `paced` asks for a page when another is done:
    Scrapy would have all requests in memory.
    """

    base: str
    paths: list[str]
    addon: bool
    paced: bool = False
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """What a crawl cost, from the first request to the last item.

    `cpu_seconds`: of the crawl's process, all threads; `loop_seconds`: of them the event loop's thread.
    `worker_seconds`: of the worker processes, their start included. `ticks`: how late the event loop was, in seconds,
    p50, p99 and the latest.
    `resident`: pages and bytes of resident memory of the process, at intervals.
    """

    pages: int
    seconds: float
    cpu_seconds: float
    loop_seconds: float
    worker_seconds: float
    ticks: list[float]
    resident: list[tuple[int, int]]
    judged: int
    duplicates: int

    @property
    def pages_a_second(self) -> float:
        return self.pages / self.seconds


def run_crawl(task: Task, on_pages: Callable[[int], None]) -> Outcome:
    """Crawl, telling how many more pages have arrived now and then.

    Raises CrawlError if a page is missing, or was not judged by an add-on that is on.
    """
    # The crawl leaves its journal where it runs.
    with tempfile.TemporaryFile() as log, tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [sys.executable, __file__], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
        )
        assert process.stdin is not None
        assert process.stdout is not None
        outcome = None
        try:
            with process.stdin:
                json.dump(asdict(task), process.stdin)
            for line in process.stdout:
                message = json.loads(line)
                if isinstance(message, int):
                    on_pages(message)
                else:
                    outcome = Outcome(**message)
        finally:
            process.terminate()
            process.wait(_STOP_SECONDS)
            process.stdout.close()
        log.seek(0)
        tail = log.read().decode(errors="replace")[-_SHOWN_LOG_CHARACTERS:]
    if outcome is None:
        raise CrawlError(f"The crawl's process ended too early. The end of its log:\n{tail}")
    if outcome.pages != len(task.paths):
        raise CrawlError(f"{outcome.pages:,} of {len(task.paths):,} pages arrived. The end of the log:\n{tail}")
    if task.addon and outcome.judged < len(task.paths) * 0.95:
        raise CrawlError(f"{outcome.judged:,} of {len(task.paths):,} pages were judged. The end of the log:\n{tail}")
    return outcome


class PagesSpider(Spider):
    name = "pages"
    base: str
    paths: ClassVar[list[str]]

    paced: bool
    under_way = 0

    @classmethod
    def from_crawler(cls, crawler: Crawler, *arguments: Any, **keywords: Any) -> Self:
        """Hear of requests that are done."""
        spider = super().from_crawler(crawler, *arguments, **keywords)
        crawler.signals.connect(spider.request_left, signals.request_left_downloader)
        return spider

    async def start(self) -> AsyncIterator[Request]:
        for path in self.paths:
            while self.paced and self.under_way >= MOST_UNDER_WAY:
                await asyncio.sleep(TICK_SECONDS)
            self.under_way += 1
            yield Request(self.base + path)

    def request_left(self) -> None:
        """A request is done."""
        self.under_way -= 1

    def parse(self, response: Response) -> Iterator[dict[str, object]]:
        yield {
            "url": response.url,
            "title": response.css("title::text").get(),
            "headings": response.css("h1::text, h2::text").getall(),
            "links": len(response.css("a::attr(href)").getall()),
        }


class Meter:
    """Watches a crawl from within: its clocks, its memory, and how late the event loop is."""

    def __init__(self, pages: int) -> None:
        self._resident_every = max(1, pages // 100)
        self._pages = 0
        self._reported = 0
        self._lateness: list[float] = []
        self._resident: list[tuple[int, int]] = []
        self._at_start: dict[str, float] = {}
        self._figures: dict[str, float] = {}
        self._ticker: asyncio.TimerHandle | None = None

    def engine_started(self) -> None:
        self._at_start = _clocks()
        self._tick(None)

    def item_passed(self) -> None:
        """An item came."""
        self._pages += 1
        if self._pages % self._resident_every == 0:
            self._resident.append((self._pages, _resident_bytes()))
            print(self._pages - self._reported, flush=True)
            self._reported = self._pages

    def page_deduplicated(self, dropped: bool) -> None:
        """A page was found to be a duplicate; if it was dropped, no item will come."""
        if dropped:
            self.item_passed()

    def spider_idle(self) -> None:
        """Nothing is left to do: before the add-on closes its threads and workers."""
        self._figures = {name: clock - self._at_start.get(name, 0.0) for name, clock in _clocks().items()}
        if self._ticker is not None:
            self._ticker.cancel()

    def outcome(self, stats: dict[str, Any]) -> Outcome:
        late = sorted(self._lateness) or [0.0]
        return Outcome(
            pages=self._pages,
            seconds=self._figures["wall"],
            cpu_seconds=self._figures["process"],
            loop_seconds=self._figures["loop"],
            worker_seconds=cpu_seconds(resource.RUSAGE_CHILDREN),
            ticks=[late[int(share * (len(late) - 1))] for share in (0.5, 0.99, 1)],
            resident=self._resident,
            judged=stats.get("crawldedup/checked", 0),
            duplicates=stats.get("crawldedup/duplicate/near", 0) + stats.get("crawldedup/duplicate/exact", 0),
        )

    def _tick(self, due: float | None) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        if due is not None:
            self._lateness.append(now - due)
        self._ticker = loop.call_at(now + TICK_SECONDS, self._tick, now + TICK_SECONDS)


def _clocks() -> dict[str, float]:
    """Seconds by the clock, and of processor time of this process and of the event loop's thread."""
    return {
        "wall": time.perf_counter(),
        "process": cpu_seconds(resource.RUSAGE_SELF),
        "loop": time.thread_time(),
    }


def cpu_seconds(who: int) -> float:
    """Processor time of this process, or of its children that have ended: resource.RUSAGE_SELF or _CHILDREN."""
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    task = Task(**json.load(sys.stdin))
    settings: dict[str, Any] = {
        "CONCURRENT_REQUESTS": CONCURRENT_REQUESTS,
        "CONCURRENT_REQUESTS_PER_DOMAIN": CONCURRENT_REQUESTS,
        "DOWNLOAD_DELAY": 0,
        # Among real pages are some that lead elsewhere; here they are pages like others.
        "METAREFRESH_ENABLED": False,
        "LOG_LEVEL": "INFO",
        "TELNETCONSOLE_ENABLED": False,
        **task.settings,
    }
    if task.addon:
        settings["ADDONS"] = {"crawldedup.Addon": 500}
    process = AsyncCrawlerProcess(settings)
    crawler = process.create_crawler(PagesSpider)
    meter = Meter(len(task.paths))
    crawler.signals.connect(meter.engine_started, signals.engine_started)
    crawler.signals.connect(meter.spider_idle, signals.spider_idle)
    crawler.signals.connect(meter.item_passed, signals.item_scraped)
    if task.addon:
        # Not imported by a crawl without: its memory is compared.
        from crawldedup.scrapy_plugin.signals import page_deduplicated

        crawler.signals.connect(meter.page_deduplicated, page_deduplicated)
    process.crawl(crawler, base=task.base, paths=task.paths, paced=task.paced)
    process.start()
    assert crawler.stats is not None
    print(json.dumps(asdict(meter.outcome(crawler.stats.get_stats()))), flush=True)


if __name__ == "__main__":
    main()
