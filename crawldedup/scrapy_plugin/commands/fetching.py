"""Fetch single pages as a crawl of the project would, without starting its crawl.

The project's downloader, downloader middlewares, user agent, cookies, proxies, cache and robots.txt policy are used.
Its spiders' code, scheduler (whose queue belongs to real crawls), pipelines and feeds are not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from scrapy import Request, Spider

from crawldedup.errors import PageError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from scrapy.crawler import CrawlerProcessBase
    from scrapy.http import Response
    from scrapy.settings import Settings

    Fetched = dict[str, tuple[Request, Response] | PageError]

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


def fetch(urls: Sequence[str], *, name: str, settings: Settings, process: CrawlerProcessBase) -> Fetched:
    """Fetch URLs one after the other, with the redirects and retries of the project.

    Return each URL's request and response, or the error instead. `name` is that of the spider, by which caches keep
    pages. Changes `settings`, which are the process's; the process cannot be used again.
    """
    settings.setdict(_APART, priority="cmdline")
    fetched: Fetched = {url: _unreachable(url, "the crawl did not start; -L INFO shows why") for url in urls}
    process.crawl(_Fetcher, name=name, fetched=fetched)
    process.start()
    return fetched


class _Fetcher(Spider):
    fetched: Fetched

    async def start(self) -> AsyncIterator[Request]:
        engine = self.crawler.engine
        assert engine is not None
        for url in self.fetched:
            try:
                # A text that looks like a URL may still be no URL.
                request = Request(url, dont_filter=True)
                response = await engine.download_async(request)
            except Exception as error:
                self.fetched[url] = _unreachable(url, f"{type(error).__name__}: {error}")
            else:
                self.fetched[url] = response.request or request, response
        return
        yield  # Scrapy wants a generator


def _unreachable(url: str, reason: str) -> PageError:
    return PageError("unreachable", f"{url} cannot be fetched: {reason}")
