"""Run one crawl in a separate process, with or without the add-on, and measure what it costs.

The spider doesn't follow links: it requests pages whose URLs it knows, and its callback does what
most callbacks do, with a few selectors and an item.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scrapy import Request, Spider, signals

from benchmarks.shared.crawling import (
    CONCURRENT_REQUESTS,
    CrawlError,
    cpu_seconds,
    crawl,
    run_apart,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping

    from scrapy.crawler import Crawler
    from scrapy.http import Response

TICK_SECONDS: Final = 0.005
MOST_UNDER_WAY: Final = 4 * CONCURRENT_REQUESTS


@dataclass(frozen=True)
class Task:
    """What to crawl, and how.

    `addon` False leaves the add-on out, whatever `settings` say of it. `text` says where the main
    text of an item comes from: nowhere, "trafilatura", "readability" or the "addon".
    """

    base: str
    paths: list[str]
    addon: bool
    settings: dict[str, Any] = field(default_factory=dict)
    text: str = ""


@dataclass(frozen=True)
class Outcome:
    """What a crawl cost, from the first request to the last item.

    `cpu_seconds`: of the crawl's process, all threads; `worker_seconds`: of the worker processes,
    their start included. `ticks`: how late the event loop was, in seconds, p50, p99 and the latest.
    `resident`: megabytes of resident memory of the process when a tenth of the pages had come, and
    at the end. `texts` items had a main text, with `words_of_texts` together.
    """

    pages: int
    seconds: float
    cpu_seconds: float
    worker_seconds: float
    ticks: list[float]
    resident: list[float]
    judged: int
    duplicates: int
    texts: int
    words_of_texts: int


def run_crawl(task: Task, on_pages: Callable[[int], None]) -> Outcome:
    """Crawl, telling how many more pages have arrived now and then.

    Raises CrawlError if a page is missing, or was not judged by an add-on that is on.
    """
    outcome = Outcome(**run_apart(__file__, asdict(task), on_pages))
    if outcome.pages != len(task.paths):
        raise CrawlError(f"{outcome.pages:,} of {len(task.paths):,} pages arrived")
    if task.addon and outcome.judged < len(task.paths) * 0.95:
        raise CrawlError(f"{outcome.judged:,} of {len(task.paths):,} pages were judged")
    return outcome


class PagesSpider(Spider):
    name = "pages"
    base: str
    paths: ClassVar[list[str]]
    text_of: Callable[[Response], str | None]
    under_way = 0

    @classmethod
    def from_crawler(cls, crawler: Crawler, *arguments: Any, **keywords: Any) -> Self:
        spider = super().from_crawler(crawler, *arguments, **keywords)
        crawler.signals.connect(spider.request_left, signals.request_left_downloader)
        return spider

    async def start(self) -> AsyncIterator[Request]:
        """Ask for a page when another is done: else Scrapy would have all requests in memory."""
        for path in self.paths:
            while self.under_way >= MOST_UNDER_WAY:
                await asyncio.sleep(TICK_SECONDS)
            self.under_way += 1
            yield Request(self.base + path)

    def request_left(self) -> None:
        self.under_way -= 1

    def parse(self, response: Response) -> Iterator[dict[str, object]]:
        yield {
            "url": response.url,
            "title": response.css("title::text").get(),
            "headings": response.css("h1::text, h2::text").getall(),
            "links": len(response.css("a::attr(href)").getall()),
            "text": self.text_of(response),
        }


def no_text(_: Response) -> None:
    """Return nothing, as a spider does that needs no text."""


def text_of_addon(response: Response) -> str | None:
    """Return the text that the add-on has left."""
    text: str | None = response.meta.get("crawldedup_text")
    return text


def by_trafilatura() -> Callable[[Response], str | None]:
    """Return what has trafilatura extract the text of a page, which is imported by now."""
    import trafilatura

    return lambda response: trafilatura.extract(response.text, url=response.url)


def by_readability() -> Callable[[Response], str | None]:
    """Return what has readability-lxml extract the text of a page, which is imported by now.

    It gives HTML, so that the text is taken out of it, as its users do.
    """
    from lxml import html
    from readability import Document

    def text_of(response: Response) -> str | None:
        # It logs each page that it has to read a second time.
        article = html.fromstring(Document(response.text).summary(html_partial=True))
        return str(article.text_content())

    return text_of


TEXTS: Final[dict[str, Callable[[], Callable[[Response], str | None]]]] = {
    "": lambda: no_text,
    "addon": lambda: text_of_addon,
    "trafilatura": by_trafilatura,
    "readability": by_readability,
}
"""Makes what a callback calls for the main text, before the crawl begins."""


class Meter:
    """Watches a crawl from within: its clocks, its memory, and how late the event loop is."""

    def __init__(self, pages: int) -> None:
        self._tenth = max(1, pages // 10)
        self._pages = 0
        self._texts = 0
        self._words = 0
        self._lateness: list[float] = []
        self._resident: list[float] = []
        self._took = (0.0, 0.0)
        self._ticker: asyncio.TimerHandle | None = None

    def engine_started(self) -> None:
        self._started = _clocks()
        self._tick(None)

    def item_passed(self, item: Mapping[str, Any] | None = None) -> None:
        self._pages += 1
        if item is not None and (text := item["text"]):
            self._texts += 1
            self._words += len(text.split())
        if self._pages % self._tenth == 0:
            self._resident.append(_resident_megabytes())
            print(self._tenth, flush=True)

    def page_deduplicated(self, dropped: bool) -> None:
        """Count a page that was dropped, of which no item will come."""
        if dropped:
            self.item_passed()

    def spider_idle(self) -> None:
        """Read the clocks when nothing is left to do, before the add-on closes its threads and
        workers.
        """
        seconds, cpu = (now - before for now, before in zip(_clocks(), self._started, strict=True))
        self._took = seconds, cpu
        if self._ticker is not None:
            self._ticker.cancel()

    def outcome(self, stats: dict[str, Any]) -> Outcome:
        late = sorted(self._lateness) or [0.0]
        return Outcome(
            self._pages,
            *self._took,
            worker_seconds=cpu_seconds(resource.RUSAGE_CHILDREN),
            ticks=[late[int(share * (len(late) - 1))] for share in (0.5, 0.99, 1)],
            resident=[self._resident[0], self._resident[-1]],
            judged=stats.get("crawldedup/checked", 0),
            duplicates=stats.get("crawldedup/duplicate/near", 0)
            + stats.get("crawldedup/duplicate/exact", 0),
            texts=self._texts,
            words_of_texts=self._words,
        )

    def _tick(self, due: float | None) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        if due is not None:
            self._lateness.append(now - due)
        self._ticker = loop.call_at(now + TICK_SECONDS, self._tick, now + TICK_SECONDS)


def _clocks() -> tuple[float, float]:
    return time.perf_counter(), cpu_seconds(resource.RUSAGE_SELF)


def _resident_megabytes() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def main() -> None:
    task = Task(**json.load(sys.stdin))
    meter = Meter(len(task.paths))
    # Among real pages are some that lead elsewhere; here they are pages like others.
    settings: dict[str, Any] = {"METAREFRESH_ENABLED": False, **task.settings}
    handlers: dict[object, Callable[..., Any]] = {
        signals.engine_started: meter.engine_started,
        signals.spider_idle: meter.spider_idle,
        signals.item_scraped: meter.item_passed,
    }
    if task.addon:
        # Not imported by a crawl without: its memory is compared.
        from crawldedup.scrapy_plugin.signals import page_deduplicated

        settings["ADDONS"] = {"crawldedup.Addon": 500}
        handlers[page_deduplicated] = meter.page_deduplicated
    arguments = {"base": task.base, "paths": task.paths, "text_of": TEXTS[task.text]()}
    crawler = crawl(PagesSpider, settings, handlers, **arguments)
    assert crawler.stats is not None
    print(json.dumps(asdict(meter.outcome(crawler.stats.get_stats()))), flush=True)


if __name__ == "__main__":
    main()
