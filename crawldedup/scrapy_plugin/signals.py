"""Signals for spiders and extensions, whose handlers can be coroutines that the page waits for.

Also log lines and stats.
"""

import logging
from collections.abc import Callable
from typing import Final
from weakref import WeakKeyDictionary

# What Scrapy's signal manager is made of.
from pydispatch.dispatcher import getAllReceivers, liveReceivers
from scrapy.crawler import Crawler

from crawldedup.text import printable

logger = logging.getLogger("crawldedup")

page_judged = object()
"""Sent for every judged page, with `request`, `response`, `verdict`, `spider` and `dropped`, which
says that the page doesn't pass.
"""
page_deduplicated = object()
"""Sent right after `page_judged`, for near and exact duplicates only, with the same arguments."""
wall_suspected = object()
"""Sent once for an original of many of the last `window` pages, with `original` (its URL), `share`
and `spider`.
"""


_Listener = Callable[..., None]

_listeners: Final[WeakKeyDictionary[Crawler, list[tuple[object, _Listener]]]] = WeakKeyDictionary()


def listen(crawler: Crawler, signal: object, listener: _Listener) -> None:
    """Call a part of this plugin with the arguments of each signal of a kind.

    It's called directly, because a call through Scrapy's signal manager takes far longer.
    """
    _listeners.setdefault(crawler, []).append((signal, listener))


async def send(signal: object, crawler: Crawler, **arguments: object) -> None:
    """Send a signal, and wait for its listeners.

    Sending a signal without listeners takes as long as judging a page.
    """
    for wanted, listener in _listeners.get(crawler, ()):
        if wanted is signal:
            try:
                listener(**arguments)
            # As Scrapy does with the handlers of others.
            except Exception as error:
                say(crawler, logging.ERROR, "a signal handler failed", error)
    if next(liveReceivers(getAllReceivers(crawler.signals.sender, signal)), None) is not None:
        await crawler.signals.send_catch_log_async(signal, **arguments, spider=crawler.spider)


def count(crawler: Crawler, name: str) -> None:
    """Add to Scrapy's stats."""
    assert crawler.stats is not None  # crawlers have theirs before any component is built
    crawler.stats.inc_value(f"crawldedup/{name}")


def say(crawler: Crawler, level: int, message: str, error: Exception | None = None) -> None:
    """Log a message of a crawl, which may contain hostile text."""
    text = printable(message, 2000)
    logger.log(level, "crawldedup: %s", text, extra={"spider": crawler.spider}, exc_info=error)
