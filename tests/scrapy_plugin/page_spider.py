"""The spider of the real crawls: asks for the pages of a task and reports what became of each.

A task and a report are plain values, for they come from and go to another process.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Self

from scrapy import Request, Spider
from scrapy import signals as scrapy_signals
from scrapy.crawler import Crawler
from scrapy.exceptions import CloseSpider, IgnoreRequest
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK
from twisted.python.failure import Failure

from crawldedup import Verdict, add_text, add_verdict
from crawldedup.scrapy_plugin import signals

SETTINGS: dict[str, Any] = {
    "ADDONS": {"crawldedup.Addon": 500},
    "CRAWLDEDUP_ACTION": "drop",
    "CONCURRENT_REQUESTS": 1,
    "RETRY_TIMES": 1,
    "RETRY_PRIORITY_ADJUST": 0,
    "REDIRECT_PRIORITY_ADJUST": 0,
    "TELNETCONSOLE_ENABLED": False,
    "REMOTE_CONTROL_ENABLED": False,
    "LOGSTATS_INTERVAL": 0,
}


class PageSpider(Spider):
    """Asks for the pages one after the other, so that the first of two copies is known."""

    name = "pages"
    task: dict[str, Any]
    report: dict[str, Any]

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        spider = super().from_crawler(crawler, *args, **kwargs)
        for name in ("page_judged", "page_deduplicated", "wall_suspected"):
            crawler.signals.connect(getattr(spider, name), signal=getattr(signals, name))
        for name in ("item_scraped", "item_dropped"):
            crawler.signals.connect(getattr(spider, name), signal=getattr(scrapy_signals, name))
        return spider

    async def start(self) -> AsyncIterator[Request]:
        if self.task["items"]:
            # An answer that is no page, for items without pages.
            yield Request("data:image/png,items", callback=self.listed, priority=1)
        for number, page in enumerate(self.task["pages"]):
            options = {
                "dont_filter": True,
                "priority": -number,
                "callback": "parse",
                "errback": self.failed,
                **page,
            }
            # Start requests are never dropped; these stand for pages that links lead to.
            options["meta"] = {"is_start_request": False, **page.get("meta", {})}
            if options["callback"] == "NO_CALLBACK":
                await self.download(
                    Request(**{**options, "callback": NO_CALLBACK, "errback": None})
                )
            else:
                yield Request(**{**options, "callback": getattr(self, options["callback"])})

    async def download(self, request: Request) -> None:
        engine = self.crawler.engine
        assert engine is not None
        response = await engine.download_async(request)
        self.report["passed"].append(self.shown(response.url))

    def parse(self, response: Response) -> Any:
        shown = self.shown(response.url)
        self.report["passed"].append(shown)
        if "crawldedup" in " ".join(response.flags):
            self.report["flags"].append([shown, response.flags])
        item = {"url": shown}
        if self.settings.get("CRAWLDEDUP_ITEM_FIELDS"):
            item["body"] = " ".join(response.css("p::text").getall())
        if self.settings.get("CRAWLDEDUP_TEXT") or self.task["add_text"]:
            add_text(item, response)
        yield add_verdict(item, response)
        if shown in self.task["again"] and "again" not in response.meta:
            assert response.request is not None
            yield response.request.replace(dont_filter=True, meta={**response.meta, "again": True})
        if follow := self.task["follow"].get(shown):
            yield response.follow(follow, errback=self.failed)
        if shown == self.task["close_at"]:
            raise CloseSpider("enough")

    def broken(self, response: Response) -> None:
        self.report["passed"].append(self.shown(response.url))
        raise ValueError("the callback is broken")

    def listed(self, response: Response) -> Any:
        yield from self.task["items"]

    def failed(self, failure: Failure) -> None:
        error = failure.value
        kind = type(error).__name__
        verdict = failure.request.meta.get("crawldedup_verdict")
        if isinstance(error, IgnoreRequest) and verdict is not None:
            assert error.verdict is verdict  # type: ignore[attr-defined]
            kind = str(error).replace(self.task["base"], "")
        self.report["failed"].append([self.shown(failure.request.url), kind])

    def shown(self, value: Any) -> Any:
        """Return a URL of the site as its path, and any other value as it is."""
        return value.removeprefix(self.task["base"]) if isinstance(value, str) else value

    async def page_judged(self, request: Request, verdict: Verdict, dropped: bool) -> None:
        # The page waits for handlers that are coroutines.
        await asyncio.sleep(0.001)
        self.report["signals"].append([self.shown(request.url), str(verdict.kind), dropped])

    def page_deduplicated(self, response: Response, verdict: Verdict, dropped: bool) -> None:
        self.report["duplicates"].append(
            [self.shown(response.url), self.shown(verdict.original), dropped]
        )

    def wall_suspected(self, original: str, share: float, window: int) -> None:
        self.report["walls"].append([self.shown(original), round(share * window), window])

    def item_scraped(self, item: dict[str, Any]) -> None:
        self.report["kept"].append(
            {name: self.shown(value) for name, value in item.items() if name != "body"}
        )

    def item_dropped(self, item: dict[str, Any], exception: Exception) -> None:
        self.report["refused"].append([item["url"], str(exception)])


def new_report() -> dict[str, Any]:
    names = ("passed", "failed", "flags", "signals", "duplicates", "walls", "kept", "refused")
    return {name: [] for name in names}


def stats_of(crawler: Crawler) -> dict[str, Any]:
    """The stats that are plain values."""
    assert crawler.stats is not None
    return {
        name: value
        for name, value in crawler.stats.get_stats().items()
        if isinstance(value, int | str)
    }
