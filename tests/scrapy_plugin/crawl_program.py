"""One crawl in a process of its own: reads what to do as JSON from stdin, writes what happened to a file.

There is no ``if __name__ == "__main__"`` guard here, as in many users' scripts: workers must not need one.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy import Request, Spider
from scrapy.crawler import AsyncCrawlerProcess, CrawlerProcess
from scrapy.exceptions import IgnoreRequest, ScrapyDeprecationWarning
from scrapy.http.request import NO_CALLBACK

from crawldedup.scrapy_plugin import signals

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawldedup import Verdict

warnings.simplefilter("error", ScrapyDeprecationWarning)
TASK: dict[str, Any] = json.load(sys.stdin)
REPORT: dict[str, Any] = {"passed": [], "failed": [], "signals": [], "duplicates": [], "items": []}


class PageSpider(Spider):
    """Asks for the pages one after the other, so that the first of two copies is known."""

    name = "pages"

    async def start(self) -> AsyncIterator[Request]:
        for number, page in enumerate(TASK["pages"]):
            options = {"dont_filter": True, "priority": -number, **page}
            if options.get("callback") == "NO_CALLBACK":
                options["callback"] = NO_CALLBACK
                await self.download(Request(**options))
            else:
                yield Request(**options, errback=self.failed)

    async def download(self, request: Request) -> None:
        engine = self.crawler.engine
        response = await engine.download_async(request)
        REPORT["passed"].append(self.shown(response.url))

    def parse(self, response: Response) -> Any:
        verdict = response.meta.get("crawldedup_verdict")
        REPORT["passed"].append(self.shown(response.url))
        if "crawldedup" in " ".join(response.flags):
            REPORT.setdefault("flags", []).append([self.shown(response.url), response.flags])
        yield {"url": self.shown(response.url), "kind": verdict and verdict.kind}
        if self.shown(response.url) in TASK.get("again", []) and "again" not in response.meta:
            yield response.request.replace(dont_filter=True, meta={**response.meta, "again": True})
        if follow := TASK.get("follow", {}).get(self.shown(response.url)):
            yield response.follow(follow, errback=self.failed)

    def failed(self, failure: Failure) -> None:
        error = failure.value
        kind = type(error).__name__
        if isinstance(error, IgnoreRequest) and "crawldedup_verdict" in failure.request.meta:
            kind = str(error).replace(TASK["base"], "")
        REPORT["failed"].append([self.shown(failure.request.url), kind])

    def shown(self, url: str) -> str:
        return url.removeprefix(TASK["base"])


class ItemPipeline:
    def process_item(self, item: Any) -> Any:
        REPORT["items"].append(item["url"])
        return item


def on_page_judged(request: Request, verdict: Verdict, dropped: bool, spider: Spider) -> None:
    REPORT["signals"].append([spider.shown(request.url), str(verdict.kind), dropped])


def on_page_deduplicated(response: Response, verdict: Verdict, dropped: bool, spider: Spider) -> None:
    REPORT["duplicates"].append([spider.shown(response.url), spider.shown(verdict.original), dropped])


def run() -> None:
    settings = {
        "ADDONS": {"crawldedup.Addon": 500},
        "CONCURRENT_REQUESTS": 1,
        "RETRY_TIMES": 1,
        "RETRY_PRIORITY_ADJUST": 0,
        "REDIRECT_PRIORITY_ADJUST": 0,
        "TELNETCONSOLE_ENABLED": False,
        "REMOTE_CONTROL_ENABLED": False,
        "LOGSTATS_INTERVAL": 0,
        "ITEM_PIPELINES": {ItemPipeline: 100},
        **TASK["settings"],
    }
    needs_reactor = settings.get("TWISTED_REACTOR") is not None
    process = CrawlerProcess(settings) if needs_reactor else AsyncCrawlerProcess(settings)
    crawler = process.create_crawler(PageSpider)
    crawler.signals.connect(on_page_judged, signal=signals.page_judged)
    crawler.signals.connect(on_page_deduplicated, signal=signals.page_deduplicated)
    process.crawl(crawler)
    process.start()
    assert crawler.stats is not None
    REPORT["stats"] = {name: value for name, value in crawler.stats.get_stats().items() if isinstance(value, int | str)}
    Path(TASK["report"]).write_text(json.dumps(REPORT))
    sys.exit(int(process.bootstrap_failed))


run()
