"""The program of a crawl's process: one Scrapy crawl, told as JSON lines on stdout while it runs."""

from __future__ import annotations

import json
import os
import sys
import traceback
from dataclasses import asdict
from typing import IO, TYPE_CHECKING, Any

from scrapy import signals as scrapy_signals
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.http import HtmlResponse, TextResponse

from crawldedup.demo.crawl import Judged, Kept
from crawldedup.demo.spider import SiteSpider
from crawldedup.errors import CrawlDedupError
from crawldedup.scrapy_plugin import signals

if TYPE_CHECKING:
    import asyncio

    from scrapy.http import Response

    from crawldedup.verdict import Verdict


class Teller:
    """Writes the events of a crawl as lines."""

    def __init__(self, out: IO[str]) -> None:
        self._out = out

    def tell(self, event: str, **values: Any) -> None:
        """Write one line, at once."""
        self._out.write(json.dumps({"event": event, **values}, default=str) + "\n")
        self._out.flush()

    def page_judged(self, response: Response, verdict: Verdict, dropped: bool) -> None:
        """Handle the signal of the same name."""
        judged = Judged(
            url=response.url,
            kind=str(verdict.kind),
            original=verdict.original,
            similarity=verdict.similarity,
            dropped=dropped,
            bytes=len(response.body),
            encoding=response.encoding if isinstance(response, TextResponse) else None,
            is_html=isinstance(response, HtmlResponse),
        )
        self.tell("judged", **asdict(judged))

    def item_scraped(self, item: dict[str, str]) -> None:
        """Handle the signal of the same name: the demo's spider yields one item a page."""
        self.tell("kept", **asdict(Kept(**item)))


def main(task: dict[str, Any]) -> None:
    """Crawl as the task says, and end the process."""
    # Whatever else is printed must not come between the lines.
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    teller = Teller(out)
    process = AsyncCrawlerProcess(task["settings"])
    crawler = process.create_crawler(SiteSpider)
    crawler.signals.connect(teller.page_judged, signal=signals.page_judged)
    crawler.signals.connect(teller.item_scraped, signal=scrapy_signals.item_scraped)
    crawl = process.crawl(crawler, start_urls=task["start_urls"])
    process.start()
    error = _error_of(crawl)
    if isinstance(error, CrawlDedupError):
        teller.tell("refused", message=str(error))
    elif error is not None:
        # Scrapy has not logged it, and the parent shows the end of the log.
        traceback.print_exception(error)
    elif crawler.stats is not None:
        stats = crawler.stats.get_stats()
        teller.tell("end", stats=stats, reason=stats.get("finish_reason", "unknown"))
    out.close()


def _error_of(crawl: asyncio.Future[None]) -> BaseException | None:
    if not crawl.done() or crawl.cancelled():
        return None
    return crawl.exception()
