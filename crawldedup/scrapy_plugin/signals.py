"""Signals that spiders and extensions can connect to, as they do to Scrapy's own.

`page_judged` is sent once for every judged page, and right after it, for duplicates only, `page_deduplicated`. Both
come with `request`, `response`, `verdict` (a `crawldedup.Verdict`), `dropped` (True if the spider will not see the
page) and `spider`. Handlers may be coroutines; the page waits for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

# What Scrapy's signal manager is made of.
from pydispatch.dispatcher import getAllReceivers, liveReceivers

if TYPE_CHECKING:
    from scrapy.signalmanager import SignalManager

page_judged = object()
page_deduplicated = object()


def has_receivers(signal: object, manager: SignalManager) -> bool:
    """Whether anybody listens. To send a signal to nobody takes as long as to judge a page."""
    return next(liveReceivers(getAllReceivers(manager.sender, signal)), None) is not None
