"""The pages of a crawl that are on their way: through the callback, and with its items through the pipelines."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from crawldedup.scrapy_plugin.reading.messages import Name


class Deliveries:
    """Pages that passed, until Scrapy's engine is done with their requests."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._on_their_way: dict[Request, Name] = {}
        self._untold: tuple[Name, ...] = ()

    def set_out(self, request: Request, name: Name) -> None:
        """Note that a page has passed."""
        self._on_their_way[request] = name

    def take_delivered(self) -> tuple[Name, ...]:
        """Return the names of pages that were delivered since the last call.

        A page that a callback downloaded by itself counts as delivered when the callback has it.
        """
        slot = getattr(self._crawler.engine, "_slot", None)
        # Without Scrapy's word on it none counts as delivered, which costs a second delivery at most.
        in_progress = self._on_their_way if slot is None else slot.inprogress
        delivered = [request for request in self._on_their_way if request not in in_progress]
        untold = (*self._untold, *(self._on_their_way.pop(request) for request in delivered))
        # Of a page that was asked for twice, the second answer may be another.
        expected = set(self._on_their_way.values()) if untold else ()
        self._untold = tuple(name for name in untold if name in expected)
        return tuple(name for name in untold if name not in expected)

    def put_back(self, names: tuple[Name, ...]) -> None:
        """Note that the store was not told of these."""
        self._untold += names
