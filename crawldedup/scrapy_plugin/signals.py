"""Signals that spiders and extensions can connect to, as they do to Scrapy's own; and how they are sent.

`page_judged` is sent once for every judged page, and right after it, for duplicates only, `page_deduplicated`. Both
come with `request`, `response`, `verdict` (a `crawldedup.Verdict`), `dropped` (True if the spider will not see the
page) and `spider`. `wall_suspected` is sent once for every original that attracts a great share of the last pages, with
`original` (its URL), `share`, `window` (the number of those pages) and `spider`.

Handlers may be coroutines; the page waits for them.
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
page_deduplicated = object()
wall_suspected = object()


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
