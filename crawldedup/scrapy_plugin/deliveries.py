"""Find out which pages reach the user: their callbacks and pipelines have to succeed."""

from collections.abc import Iterator
from typing import Final

from scrapy import Request
from scrapy.crawler import Crawler

from crawldedup.crawling.outcomes import key_of
from crawldedup.page import Page, PageId
from crawldedup.recent import put_last
from crawldedup.scope import page_key
from crawldedup.scrapy_plugin.responses import is_exempt

# The number of pages requested with `dont_filter` whose delivery is remembered.
_MOST_UNFILTERED: Final = 10_000
_MOST_CALLBACKS: Final = 8


class Deliveries:
    """Tracks pages through callbacks, and their items through pipelines, until they are delivered.

    A page that fails there is never delivered. When the crawl ends, it counts as abandoned, so a
    later crawl delivers it.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._on_their_way: dict[PageId, set[Request]] = {}
        # The callbacks that received pages whose requests Scrapy's filter has not seen.
        self._unfiltered: dict[int, list[object]] = {}

    def passed(self, request: Request, page: Page) -> None:
        self._on_their_way.setdefault(page.id, set()).add(request)

    def failed(self, request: Request | None) -> None:
        """Note that the callback of a request, or an item of its page, failed."""
        self._on_their_way = {
            page: asked for page, asked in self._on_their_way.items() if request not in asked
        }

    def pop_delivered(self) -> Iterator[PageId]:
        """Yield the pages that were delivered since the last call.

        A page that a callback downloads itself counts as delivered when the callback receives it.
        """
        slot = getattr(self._crawler.engine, "_slot", None)
        # If Scrapy doesn't say what is still in progress, no page counts as delivered. At worst,
        # pages are delivered twice.
        if slot is not None:
            # If a page was requested twice, the second response may be a different one.
            done = [
                page
                for page, asked in self._on_their_way.items()
                if asked.isdisjoint(slot.inprogress)
            ]
            for page in done:
                for request in self._on_their_way.pop(page):
                    self._note_unfiltered(request, page)
                yield page

    def has_delivered(self, request: Request, page: Page) -> bool:
        """Return whether a callback is about to receive a page that it has already received.

        Scrapy's filter of seen requests ignores requests with `dont_filter`, such as start
        requests, so the first link to a start page is followed. The same callback would yield the
        same items again.
        """
        if is_exempt(request) or request.cb_kwargs:
            return False
        return self._callback_of(request) in self._unfiltered.get(key_of(page), ())

    def _note_unfiltered(self, request: Request, page: PageId) -> None:
        if not request.dont_filter or request.cb_kwargs:
            return
        key = page_key(page.scope_key or "", page.url, page.identity)
        callbacks = [*self._unfiltered.get(key, ()), self._callback_of(request)]
        put_last(self._unfiltered, key, callbacks[-_MOST_CALLBACKS:], _MOST_UNFILTERED)

    def _callback_of(self, request: Request) -> object:
        """Return what turns the page into items: the callback and, in a CrawlSpider, the rule."""
        callback = request.callback or getattr(self._crawler.spider, "parse", None)
        return callback, request.meta.get("rule")
