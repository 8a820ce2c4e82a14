"""Signals for spiders and extensions. Handlers may be coroutines; the page waits for them."""

# What Scrapy's signal manager is made of.
from pydispatch.dispatcher import getAllReceivers, liveReceivers
from scrapy.crawler import Crawler

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


async def send(signal: object, crawler: Crawler, **arguments: object) -> None:
    """Send a signal, and wait for those who listen. To send one to nobody takes as long as to judge a page."""
    if next(liveReceivers(getAllReceivers(crawler.signals.sender, signal)), None) is not None:
        await crawler.signals.send_catch_log_async(signal, **arguments, spider=crawler.spider)
