"""Stand-ins for the parts around the plugin: a crawler, and the index that is asked about pages."""

import asyncio
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any, Self, TypeVar

from scrapy import Request, Spider, signals
from scrapy.settings import Settings
from scrapy.signalmanager import SignalManager
from scrapy.statscollectors import StatsCollector

from crawldedup.aio import Judged, Timings
from crawldedup.deduplicator import Deduplicator
from crawldedup.errors import PageError, UnexpectedReadError
from crawldedup.key import NO_KEY
from crawldedup.page import Page
from crawldedup.reading.reader import ReadPage
from crawldedup.urls import HeadLinks
from crawldedup.verdict import Kind, Match, Verdict
from tests.scrapy_plugin.crawling import counts_in

FINGERPRINT = Deduplicator(key=0).fingerprint(text="some words")
T = TypeVar("T")
TRACE = "ZeroDivisionError: bad \x1b[31m page"


class FakeEngine:
    def __init__(self, spider: Spider) -> None:
        self.spider: Spider | None = spider
        self.closed: list[str] = []
        self.crawled: list[Request] = []
        self._slot = SimpleNamespace(inprogress=set())

    def crawl(self, request: Request) -> None:
        self.crawled.append(request)

    async def close_spider_async(self, *, reason: str) -> None:
        self.closed.append(reason)


class FakeCrawler:
    def __init__(self, *, has_item_middleware: bool = False, **settings: Any) -> None:
        self.settings = Settings(settings)
        self.stats: Any = StatsCollector(self)  # type: ignore[arg-type]
        self.signals = SignalManager(self)
        self.spider = Spider("news")
        self.engine = FakeEngine(self.spider)
        self._has_item_middleware = has_item_middleware

    def get_downloader_middleware(self, cls: type) -> None:
        """None is there."""

    def get_spider_middleware(self, cls: type) -> object | None:
        return cls if self._has_item_middleware else None

    def work_for(self, command: str) -> None:
        """Crawl for an interactive command, which puts a `start` of its own into the class of the
        spider.
        """
        self.spider.start = SimpleNamespace(__module__=f"scrapy.commands.{command}")  # type: ignore[assignment]


class FakeDedup:
    """Takes texts that differ in case only for near duplicates, and raises the errors that it is
    given.
    """

    session = None
    key = NO_KEY

    def __init__(self) -> None:
        self.errors: list[Exception | None] = []
        self.calls: list[str] = []
        self.pages_asked: list[Page] = []
        self.delivered: list[str] = []
        self.matches: list[Match] = []
        self.seen: dict[str, list[str]] = {}

    @property
    def pages(self) -> int:
        return len(self.seen)

    async def open(self) -> None:
        self._call("open")

    async def info(self) -> SimpleNamespace:
        self._call("info")
        return SimpleNamespace(pages=len(self.seen), bytes=0)

    async def judge(
        self,
        page: Page,
        prepare: Callable[[Page, ReadPage], Page] = lambda page, _: page,
        *,
        with_text: bool = False,
    ) -> Judged:
        text = page.text or (
            page.html if isinstance(page.html, str) else (page.html or b"").decode()
        )
        if text.startswith("page error"):
            raise PageError("too_deep", "The page is nested too deeply.")
        if text.startswith("unexpected"):
            raise UnexpectedReadError("ZeroDivisionError", TRACE)
        self._call("judge")
        read = ReadPage(FINGERPRINT, HeadLinks())
        page = prepare(page, read)
        self.pages_asked.append(page)
        return Judged(self._verdict(page, text), read, Timings(0.01, 0.001, 0.02))

    async def find(self, **_: Any) -> list[Match]:
        return self.matches

    def deliver(
        self, url: str, *, identity: str | None = None, scope_key: str | None = None
    ) -> None:
        self.delivered.append(url)

    async def close(self) -> None:
        self.calls.append("close")

    def _call(self, name: str) -> None:
        self.calls.append(name)
        if self.errors and (error := self.errors.pop(0)) is not None:
            raise error

    def _verdict(self, page: Page, text: str) -> Verdict:
        urls = self.seen.setdefault(text.lower(), [])
        if page.url in urls:
            # A text that is "hardly" another is one only where texts must be equal.
            changed = text.startswith("changed") or (
                text.startswith("hardly") and page.revisit_similarity is None
            )
            return Verdict(Kind.REVISIT, page.url, changed=changed)
        if page.remember:
            urls.append(page.url)
        else:
            urls = [*urls, page.url]
        if len(urls) == 1:
            return Verdict(Kind.NEW, page.url)
        return Verdict(Kind.NEAR_DUPLICATE, page.url, urls[0], 0.97, 2, copies=len(urls) - 1)


class HandedIn:
    """A crawl, whose pages or items a test hands in one by one, while it is open.

    Its subject is told of that.
    """

    opened: Callable[[], Coroutine[Any, Any, None]]
    closed: Callable[[], Coroutine[Any, Any, None]]

    def __init__(self, **crawler: Any) -> None:
        self.dedup = FakeDedup()
        self.crawler: Any = FakeCrawler(**crawler)
        self._runner = asyncio.Runner()

    def __enter__(self) -> Self:
        self.wait(self.opened())
        self.wait(self.crawler.signals.send_catch_log_async(signals.engine_started))
        return self

    def __exit__(self, *_: object) -> None:
        self.wait(asyncio.sleep(0))  # lets a spider that is being closed get there
        self.wait(self.closed())
        self._runner.close()

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(work)

    @property
    def counts(self) -> dict[str, int]:
        return counts_in(self.crawler.stats.get_stats())
