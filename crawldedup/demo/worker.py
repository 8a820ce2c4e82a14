"""Crawl a site in the process that `crawldedup.demo.crawl` starts, and report what happens."""

from __future__ import annotations

import os
import sys
import traceback
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy import Request, Spider, signals
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.http import HtmlResponse, TextResponse
from scrapy.linkextractors import LinkExtractor

from crawldedup.demo.crawl import Judged
from crawldedup.scrapy_plugin.signals import page_judged

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from multiprocessing.connection import Connection
    from pathlib import Path

    from scrapy.http import Response

    from crawldedup.verdict import Verdict


class SiteSpider(Spider):
    """Follows every link of a site and yields one item a page. It knows nothing of duplicates: none arrives here."""

    name = "demo"

    def __init__(self, start_urls: list[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_urls = start_urls
        # Scrapy's filter of foreign hosts looks at the name without the port.
        self.allowed_domains = sorted({urlsplit(url).hostname or "" for url in start_urls})
        self._links = LinkExtractor()

    async def start(self) -> AsyncIterator[Request]:
        """Request the start URLs, each once."""
        for url in self.start_urls:
            # Start requests are never dropped; here they may be all there is.
            yield Request(url, meta={"is_start_request": False})

    def parse(self, response: Response) -> Iterator[dict[str, str] | Request]:
        """Yield the page, and follow its links."""
        if isinstance(response, TextResponse):
            yield {"url": response.url}
        if isinstance(response, HtmlResponse):
            yield from (Request(link.url) for link in self._links.extract_links(response))


def crawl(sender: Connection, start_urls: list[str], settings: dict[str, Any], log: Path | None) -> None:
    """Crawl, and send the pages judged, the URLs kept, and at last the stats. Without a file `log`, log to stderr."""
    if log is not None:
        with log.open("wb") as file:
            os.dup2(file.fileno(), sys.stderr.fileno())
    # The caller's stdout is for its result.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

    def send_judged(response: Response, verdict: Verdict, dropped: bool) -> None:
        encoding = response.encoding if isinstance(response, TextResponse) else None
        answer = str(verdict.kind), verdict.original, verdict.similarity, dropped
        sender.send(Judged(response.url, *answer, len(response.body), encoding, isinstance(response, HtmlResponse)))

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
        # Scrapy has not logged it, and the caller shows the end of the log.
        traceback.print_exception(error)
    elif crawler.stats is not None:
        stats = crawler.stats.get_stats().items()
        sender.send({name: value if isinstance(value, int | float) else str(value) for name, value in stats})
