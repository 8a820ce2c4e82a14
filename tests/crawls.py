"""Run a crawl in a process of its own, which leaves no reactor behind in the caller's, and follow it page by page."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sys
import tempfile
import traceback
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from scrapy import Request, Spider, signals
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.http import HtmlResponse, Response, TextResponse
from scrapy.linkextractors import LinkExtractor

from crawldedup.scrapy_plugin.signals import page_judged
from crawldedup.verdict import Verdict

_END_LIMIT_SECONDS: Final = 10.0


class CrawlError(Exception):
    """Raised when the crawl's process died, or the plugin could not work; the message ends with the crawl's log."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A page was judged."""

    url: str
    kind: str
    original: str | None
    similarity: float | None
    dropped: bool


@dataclass(slots=True)
class CrawlOutcome:
    """What happened in a crawl: `kept` are the URLs that reached the spider, `log` is its log."""

    judged: list[Judged] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    stats: dict[str, Any] = field(default_factory=dict)
    reason: str = ""
    log: str = ""


def crawl_settings(store: str, namespace: str | None = None, **changes: Any) -> dict[str, Any]:
    """Return Scrapy's settings for a crawl of the demo site; an index without a namespace is one of its own."""
    return {
        "ADDONS": {"crawldedup.Addon": 500},
        "CONCURRENT_REQUESTS": 8,
        "HTTPPROXY_ENABLED": False,
        "TELNETCONSOLE_ENABLED": False,
        "LOG_LEVEL": "WARNING",
        # The calendar has no end.
        "DEPTH_LIMIT": 12,
        # Breadth first, so that an article usually comes before its copies.
        "DEPTH_PRIORITY": 1,
        "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
        "CRAWLDEDUP_ACTION": "drop",
        "CRAWLDEDUP_PREFER": [],
        "CRAWLDEDUP_JOURNAL": False,
        "CRAWLDEDUP_STORE": store,
        "CRAWLDEDUP_NAMESPACE": namespace or f"crawl-{uuid.uuid4().hex[:12]}",
        **changes,
    }


def run_crawl(
    start_urls: Sequence[str],
    settings: Mapping[str, Any],
    *,
    on_event: Callable[[Judged | str], None] = lambda _: None,
) -> CrawlOutcome:
    """Crawl from these URLs, and call `on_event` with each page that was judged, and each URL that reached the spider.

    Raises CrawlError.
    """
    outcome = CrawlOutcome()
    with tempfile.TemporaryDirectory(prefix="crawldedup-crawl-") as folder:
        path = Path(folder, "log")
        _follow_process([list(start_urls), dict(settings), path], outcome, on_event)
        if path.exists():
            outcome.log = path.read_text(encoding="utf-8", errors="replace").strip()
    # "crawldedup_error" is the plugin's reason for ending a crawl whose pages it cannot check.
    if outcome.reason in ("", "crawldedup_error"):
        raise CrawlError(f"the crawl ended too early ({outcome.reason}):\n{outcome.log}")
    return outcome


def _follow_process(task: list[Any], outcome: CrawlOutcome, on_event: Callable[[Judged | str], None]) -> None:
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=crawl, args=(sender, *task))
    process.start()
    # The pipe ends with the process: nothing else may hold its other end.
    sender.close()
    try:
        with contextlib.suppress(EOFError):
            while not outcome.reason:
                event = receiver.recv()
                if isinstance(event, dict):
                    outcome.stats, outcome.reason = event, str(event.get("finish_reason", "unknown"))
                else:
                    (outcome.judged if isinstance(event, Judged) else outcome.kept).append(event)
                    on_event(event)
        process.join(_END_LIMIT_SECONDS)
    finally:
        process.terminate()
        process.join(_END_LIMIT_SECONDS)
        process.kill()
        receiver.close()


class SiteSpider(Spider):
    """Follows every link of a site and yields one item a page."""

    name = "demo"

    def __init__(self, start_urls: list[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_urls = start_urls
        # Scrapy's filter of foreign hosts looks at the name without the port.
        self.allowed_domains = sorted({urlsplit(url).hostname or "" for url in start_urls})
        self._links = LinkExtractor()

    async def start(self) -> AsyncIterator[Request]:
        for url in self.start_urls:
            # Start requests are never dropped; here they may be all there is.
            yield Request(url, meta={"is_start_request": False})

    def parse(self, response: Response) -> Iterator[dict[str, str] | Request]:
        if isinstance(response, TextResponse):
            yield {"url": response.url}
        if isinstance(response, HtmlResponse):
            yield from (Request(link.url) for link in self._links.extract_links(response))


def crawl(sender: Connection, start_urls: list[str], settings: dict[str, Any], log: Path) -> None:
    """Crawl, and send the pages judged, the URLs kept, and at last the stats."""
    with log.open("wb") as file:
        os.dup2(file.fileno(), sys.stderr.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

    def send_judged(response: Response, verdict: Verdict, dropped: bool) -> None:
        sender.send(Judged(response.url, str(verdict.kind), verdict.original, verdict.similarity, dropped))

    def send_kept(item: dict[str, str]) -> None:
        sender.send(item["url"])

    process = AsyncCrawlerProcess(settings)
    crawler = process.create_crawler(SiteSpider)
    crawler.signals.connect(send_judged, signal=page_judged)
    crawler.signals.connect(send_kept, signal=signals.item_scraped)
    task = process.crawl(crawler, start_urls=start_urls)
    process.start()
    error = task.exception() if task.done() and not task.cancelled() else None
    if error is not None:
        # Scrapy has not logged it, and the caller shows the log.
        traceback.print_exception(error)
    elif crawler.stats is not None:
        stats = crawler.stats.get_stats().items()
        sender.send({name: value if isinstance(value, int | float) else str(value) for name, value in stats})
