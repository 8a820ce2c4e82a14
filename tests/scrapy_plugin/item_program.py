"""One crawl in a process of its own that yields the items it is told to, and writes what became of them to a file."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy import Request, Spider, signals
from scrapy.crawler import AsyncCrawlerProcess, CrawlerProcess
from scrapy.exceptions import ScrapyDeprecationWarning

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy.http import Response

warnings.simplefilter("error", ScrapyDeprecationWarning)
TASK: dict[str, Any] = json.load(sys.stdin)
REPORT: dict[str, Any] = {"kept": [], "dropped": []}


class ItemSpider(Spider):
    """Yields its items, and asks for its pages one after the other."""

    name = "items"

    async def start(self) -> AsyncIterator[Any]:
        # An answer that is no page, for items without pages.
        yield Request("data:image/png,items", callback=self.items, priority=1)
        for number, url in enumerate(TASK["pages"]):
            yield Request(url, dont_filter=True, priority=-number)

    def items(self, response: Response) -> Any:
        yield from TASK["items"]

    def parse(self, response: Response) -> Any:
        yield {"url": response.url, "body": " ".join(response.css("p::text").getall())}


def on_item_scraped(item: dict[str, Any]) -> None:
    REPORT["kept"].append(item)


def on_item_dropped(item: dict[str, Any], exception: Exception) -> None:
    REPORT["dropped"].append([item["url"], str(exception)])


def run() -> None:
    settings = {
        "CONCURRENT_REQUESTS": 1,
        "TELNETCONSOLE_ENABLED": False,
        "REMOTE_CONTROL_ENABLED": False,
        "LOGSTATS_INTERVAL": 0,
        "ITEM_PIPELINES": {"crawldedup.scrapy_plugin.pipeline.DedupItemPipeline": 100},
        **TASK["settings"],
    }
    needs_reactor = settings.get("TWISTED_REACTOR") is not None
    process = CrawlerProcess(settings) if needs_reactor else AsyncCrawlerProcess(settings)
    crawler = process.create_crawler(ItemSpider)
    crawler.signals.connect(on_item_scraped, signal=signals.item_scraped)
    crawler.signals.connect(on_item_dropped, signal=signals.item_dropped)
    process.crawl(crawler)
    process.start()
    assert crawler.stats is not None
    REPORT["stats"] = {name: value for name, value in crawler.stats.get_stats().items() if isinstance(value, int | str)}
    Path(TASK["report"]).write_text(json.dumps(REPORT))
    sys.exit(int(process.bootstrap_failed))


run()
