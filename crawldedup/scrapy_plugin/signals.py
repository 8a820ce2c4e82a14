"""Signals that spiders and extensions can connect to, as they do to Scrapy's own; and how they are sent.

Handlers may be coroutines; the page waits for them.

Example:
    .. code-block:: python

        from crawldedup.scrapy_plugin import signals


        class DuplicateCounter:
            @classmethod
            def from_crawler(cls, crawler):
                extension = cls()
                duplicates = signals.page_deduplicated
                crawler.signals.connect(extension.count, signal=duplicates)
                return extension

            def count(self, verdict, dropped):
                print(verdict.url, verdict.original, dropped)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

# What Scrapy's signal manager is made of.
from pydispatch.dispatcher import getAllReceivers, liveReceivers
from scrapy import signals as scrapy_signals

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.signalmanager import SignalManager

page_judged = object()
"""Sent once for every judged page, with `request`, `response`, `verdict`, `dropped` and `spider`.

`verdict` is a `crawldedup.Verdict`. `dropped` is True if the spider will not see the page.
"""
page_deduplicated = object()
"""Sent right after `page_judged`, for near and exact duplicates only, with the same arguments."""
wall_suspected = object()
"""Sent once for each original that attracts a great share of the last pages.

It comes with `original` (its URL), `share` (from 0 to 1), `window` (the number of those pages) and `spider`.
"""


def has_receivers(signal: object, manager: SignalManager) -> bool:
    """Whether anybody listens. To send a signal to nobody takes as long as to judge a page."""
    return next(liveReceivers(getAllReceivers(manager.sender, signal)), None) is not None


async def send(signal: object, crawler: Crawler, **arguments: object) -> None:
    """Send a signal to those who listen, and wait for them."""
    if has_receivers(signal, crawler.signals):
        await crawler.signals.send_catch_log_async(signal, **arguments, spider=crawler.spider)


def count_as_received(crawler: Crawler, request: Request, response: Response) -> None:
    """Send Scrapy's own signal for a response that is dropped.

    The engine sends it for what passes all middlewares. ``response_received_count``, the pages a minute in the log and
    ``CLOSESPIDER_PAGECOUNT`` count by it.
    """
    if response.request is None:
        response.request = request
    crawler.signals.send_catch_log(
        scrapy_signals.response_received, response=response, request=response.request, spider=crawler.spider
    )
