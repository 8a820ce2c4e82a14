"""Fetch single pages as a crawl of the project would, without starting its crawl.

The project's downloader, downloader middlewares, user agent, cookies, proxies, cache and robots.txt policy are used.
Its spiders' code, scheduler (whose queue belongs to real crawls), pipelines and feeds are not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from scrapy import Request, Spider

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from scrapy.crawler import CrawlerProcessBase
    from scrapy.http import Response
    from scrapy.settings import Settings

_APART: Final[dict[str, Any]] = {
    "CRAWLDEDUP_ENABLED": False,
    "JOBDIR": "",
    "SCHEDULER": "scrapy.core.scheduler.Scheduler",
    "DUPEFILTER_CLASS": "scrapy.dupefilters.RFPDupeFilter",
    "ITEM_PIPELINES": {},
    "FEEDS": {},
    "TELNETCONSOLE_ENABLED": False,
    # These limits are for crawls.
    **{f"CLOSESPIDER_{limit}": 0 for limit in ("PAGECOUNT", "PAGECOUNT_NO_ITEM", "TIMEOUT", "TIMEOUT_NO_ITEM")},
}


@dataclass(frozen=True, slots=True)
class Fetched:
    """The request for a URL and its response, or the error instead."""

    url: str
    answered: tuple[Request, Response] | None = None
    error: str = ""


def fetch(urls: Sequence[str], *, name: str, settings: Settings, process: CrawlerProcessBase) -> list[Fetched]:
    """Fetch URLs one after the other, with the redirects and retries of the project.

    `name` is that of the spider, by which caches keep pages. Changes `settings`, which are the process's; the process
    cannot be used again.
    """
    settings.setdict(_APART, priority="cmdline")
    fetched: list[Fetched] = []
    process.crawl(_Fetcher, name=name, urls=urls, fetched=fetched)
    process.start()
    known = {page.url for page in fetched}
    missing = (url for url in urls if url not in known)
    return fetched + [Fetched(url, error="the crawl did not start; -L INFO shows why") for url in missing]


class _Fetcher(Spider):
    urls: Sequence[str]
    fetched: list[Fetched]

    async def start(self) -> AsyncIterator[Request]:
        for url in self.urls:
            self.fetched.append(await self._fetch(url))
        return
        yield  # Scrapy wants a generator

    async def _fetch(self, url: str) -> Fetched:
        engine = self.crawler.engine
        assert engine is not None
        try:
            # A text that looks like a URL may still be no URL.
            request = Request(url, dont_filter=True)
            response = await engine.download_async(request)
        except Exception as error:
            return Fetched(url, error=f"{type(error).__name__}: {error}")
        return Fetched(url, (response.request or request, response))
