"""Stand-ins for the parts around the plugin: a crawler, and the service that checks pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy import Spider
from scrapy.settings import Settings
from scrapy.signalmanager import SignalManager
from scrapy.statscollectors import StatsCollector

from crawldedup.errors import PageError
from crawldedup.scrapy_plugin.reading.messages import Judged
from crawldedup.verdict import Kind, Verdict
from crawldedup.workers.framing import UnexpectedReadError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy import Request

    from crawldedup.scrapy_plugin.reading.messages import Job, Name


TRACE = "ZeroDivisionError: bad \x1b[31m page"


class Clock:
    """Shows what it is set to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


class Stats(StatsCollector):
    """Needs no crawler."""

    def __init__(self) -> None:
        self._stats = {}


class Slot:
    """The requests that Scrapy's engine is not done with."""

    def __init__(self) -> None:
        self.inprogress: set[Request] = set()


class FakeEngine:
    def __init__(self, spider: Spider) -> None:
        self.spider: Spider | None = spider
        self.closed: list[str] = []
        self._slot = Slot()

    async def close_spider_async(self, *, reason: str) -> None:
        self.closed.append(reason)


class FakeCrawler:
    def __init__(self, *, has_item_middleware: bool = False, **settings: Any) -> None:
        self.settings = Settings(settings)
        self.stats = Stats()
        self.signals = SignalManager(self)
        self.spider = Spider("news")
        self.engine = FakeEngine(self.spider)
        self._has_item_middleware = has_item_middleware

    def get_spider_middleware(self, cls: type) -> object | None:
        return cls if self._has_item_middleware else None


class FakePool:
    """Takes texts that differ in case only for near duplicates, and raises the errors that it is given."""

    def __init__(self) -> None:
        self.index_bytes = None
        self.errors: list[Exception | None] = []
        self.calls: list[str] = []
        self.jobs: list[Job] = []
        self.repeats = False
        self.seen: dict[str, list[str]] = {}

    def start(self) -> None:
        self._call("start")

    async def open(self, *, read_only: bool = False) -> int:
        self._call("look" if read_only else "open")
        self._raise()
        return len(self.seen)

    async def check(self, job: Job) -> Judged:
        self._call("check")
        text = job.body.decode()
        if text.startswith("page error"):
            raise PageError("too_deep", "The page is nested too deeply.")
        if text.startswith("unexpected"):
            raise UnexpectedReadError("ZeroDivisionError", TRACE)
        self._raise()
        self.jobs.append(job)
        return Judged(self._verdict(job, text), is_repeated=self.repeats)

    async def forget(self, url: str, *, identity: str | None, scope_key: str | None) -> None:
        self._call(f"forget {url} {identity} {scope_key}")
        self._raise()

    async def close(self, delivered: Sequence[Name] = ()) -> None:
        self._call("close")

    def _call(self, name: str) -> None:
        self.calls.append(name)

    def _raise(self) -> None:
        if self.errors and (error := self.errors.pop(0)) is not None:
            raise error

    def _verdict(self, job: Job, text: str) -> Verdict:
        urls = self.seen.setdefault(text.lower(), [])
        if job.url in urls:
            # A text that is "hardly" another is one only where texts must be equal.
            changed = text.startswith("changed") or (text.startswith("hardly") and job.revisit_similarity is None)
            return Verdict(Kind.REVISIT, job.url, changed=changed)
        if job.remember:
            urls.append(job.url)
        else:
            urls = [*urls, job.url]
        if len(urls) == 1:
            return Verdict(Kind.NEW, job.url)
        return Verdict(Kind.NEAR_DUPLICATE, job.url, urls[0], 0.97, 2, copies=len(urls) - 1)
