from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import pytest
from scrapy import Request

from crawldedup.scrapy_plugin import signals
from crawldedup.scrapy_plugin.runtime.guard import WallGuard
from crawldedup.scrapy_plugin.stats import CrawlStats
from crawldedup.verdict import Kind, Verdict
from tests.scrapy_plugin.fakes import FakeCrawler

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

LOGIN = "https://e.com/login\x1b[2J"


class Guarded:
    """A crawl that gets a login form in place of each page."""

    def __init__(self, action: str, **settings: Any) -> None:
        self.crawler = FakeCrawler(**settings)
        self.crawler.spider.crawler = self.crawler  # type: ignore[assignment]
        self.guard = WallGuard(self.crawler, CrawlStats(self.crawler.stats), action)  # type: ignore[arg-type]
        self.told: list[dict[str, Any]] = []
        self.crawler.signals.connect(self.suspected, signal=signals.wall_suspected)

    def suspected(self, original: str, share: float, window: int, spider: object) -> None:
        assert spider is self.crawler.spider
        self.told.append({"original": original, "share": share, "window": window})

    def run(self, work: Callable[[Guarded], Awaitable[None]]) -> Guarded:
        async def whole() -> None:
            await work(self)
            await asyncio.sleep(0)  # lets a spider that is being closed get there

        asyncio.run(whole())
        return self

    async def page(self, number: int, **request: Any) -> Request | None:
        url = f"https://e.com/{number}"
        verdict = Verdict(Kind.NEAR_DUPLICATE, url, LOGIN, 0.95)
        return await self.guard.judged(Request(url, **request), verdict)

    def stat(self, name: str) -> Any:
        return self.crawler.stats.get_value(name)


async def hundred_pages(guarded: Guarded) -> None:
    for number in range(100):
        assert await guarded.page(number) is None


@pytest.mark.parametrize(("action", "reasons"), [("warn", []), ("close", ["crawldedup_wall"]), ("ignore", None)])
def test_a_wall_is_told_once(action: str, reasons: list[str] | None, caplog: pytest.LogCaptureFixture) -> None:
    guarded = Guarded(action).run(hundred_pages)
    assert guarded.crawler.engine.closed == (reasons or [])
    if reasons is None:
        assert (guarded.told, caplog.messages, guarded.stat("crawldedup/walls/suspected")) == ([], [], None)
        return
    assert guarded.told == [{"original": LOGIN, "share": 1.0, "window": 60}]
    assert guarded.stat("crawldedup/walls/suspected") == 1
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert record.getMessage().startswith(
        r"crawldedup: 60 of the last 60 pages are copies of https://e.com/login\x1b[2J. Is it a login form, a ban, "
    )
    assert f"CRAWLDEDUP_WALL is '{action}': the crawl " in record.getMessage()


def test_copies_of_a_wall_are_asked_for_again_later_and_not_for_ever() -> None:
    async def work(guarded: Guarded) -> None:
        for number in range(59):
            assert await guarded.page(number) is None
        again = await guarded.page(59, priority=5, meta={"a": 1})
        assert again is not None
        assert (again.url, again.priority, again.dont_filter) == ("https://e.com/59", 4, True)
        assert again.meta == {"a": 1, "retry_times": 1}
        assert await guarded.page(60, meta={"retry_times": 2}) is None
        assert await guarded.page(61, meta={"dont_retry": True}) is None
        assert await guarded.guard.judged(Request("https://e.com/x"), Verdict(Kind.NEW, "https://e.com/x")) is None

    guarded = Guarded("retry").run(work)
    assert guarded.stat("crawldedup/walls/retried") == 1
    assert guarded.stat("retry/reason_count/crawldedup_wall") == 1
    assert guarded.stat("retry/max_reached") == 1


def test_the_browsers_tab_of_a_page_that_is_asked_for_again_is_closed() -> None:
    closed = []

    class Tab:
        async def close(self) -> None:
            closed.append(self)

    async def work(guarded: Guarded) -> None:
        for number in range(59):
            await guarded.page(number, meta={"playwright_page": Tab()})
        assert closed == []
        await guarded.page(59, meta={"playwright_page": Tab()}, errback=print)

    Guarded("retry").run(work)
    assert len(closed) == 1
