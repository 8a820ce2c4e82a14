"""Follow pages through the spider's callbacks and pipelines, until they are delivered."""

from collections.abc import Iterator

from scrapy import Request
from scrapy.crawler import Crawler

from crawldedup.page import Page, PageId


class Deliveries:
    """Pages on their way through callbacks, and with their items through pipelines, until the
    engine is done.

    Those that fail there are never delivered. When the crawl has ended they count as abandoned, and
    come again.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._on_their_way: dict[PageId, set[Request]] = {}

    def passed(self, request: Request, page: Page) -> None:
        self._on_their_way.setdefault(page.id, set()).add(request)

    def failed(self, request: Request | None) -> None:
        """Note that the callback of a request, or an item of its page, has failed."""
        self._on_their_way = {
            page: asked for page, asked in self._on_their_way.items() if request not in asked
        }

    def pop_delivered(self) -> Iterator[PageId]:
        """Yield the pages that were delivered since the last call.

        A page that a callback downloaded by itself counts as delivered when the callback has it.
        """
        slot = getattr(self._crawler.engine, "_slot", None)
        # Without Scrapy's word on it none counts as delivered, which costs a second delivery at
        # most.
        if slot is not None:
            # Of a page that was asked for twice, the second answer may be another.
            done = [
                page
                for page, asked in self._on_their_way.items()
                if asked.isdisjoint(slot.inprogress)
            ]
            for page in done:
                del self._on_their_way[page]
                yield page
