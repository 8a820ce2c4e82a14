"""The signals that the plugin sends to spiders and extensions, and helpers for logs and stats.

A handler may be a coroutine, in which case the page waits for it.
"""

import logging
from collections.abc import Callable
from typing import Final
from weakref import WeakKeyDictionary

# The library that Scrapy's signal manager is built on.
from pydispatch.dispatcher import getAllReceivers, liveReceivers
from scrapy.crawler import Crawler

from crawldedup.text import printable

logger = logging.getLogger("crawldedup")

page_judged = object()
"""Sent for every judged page, with `request`, `response`, `verdict`, `spider` and `dropped`.

`dropped` is True if the page doesn't pass.
"""
page_deduplicated = object()
"""Sent right after `page_judged`, for near and exact duplicates only, with the same arguments."""
wall_suspected = object()
"""Sent once for a page that many of the last `window` pages are copies of: a suspected wall.

It comes with `original` (the URL of that page), `share`, `window` and `spider`.
"""


_Listener = Callable[..., None]

_listeners: Final[WeakKeyDictionary[Crawler, list[tuple[object, _Listener]]]] = WeakKeyDictionary()


def listen(crawler: Crawler, signal: object, listener: _Listener) -> None:
    """Have another part of this plugin called whenever a signal is sent.

    It's called directly, because a call through Scrapy's signal manager takes far longer.
    """
    _listeners.setdefault(crawler, []).append((signal, listener))


async def send(signal: object, crawler: Crawler, **arguments: object) -> None:
    """Send a signal, and wait for its handlers.

    Without handlers, Scrapy isn't asked to send it, because that takes as long as judging a page.
    """
    for wanted, listener in _listeners.get(crawler, ()):
        if wanted is signal:
            try:
                listener(**arguments)
            # This is what Scrapy does with other signal handlers.
            except Exception as error:
                say(crawler, logging.ERROR, "a signal handler failed", error)
    if next(liveReceivers(getAllReceivers(crawler.signals.sender, signal)), None) is not None:
        await crawler.signals.send_catch_log_async(signal, **arguments, spider=crawler.spider)


def count(crawler: Crawler, name: str) -> None:
    """Add one to a counter in Scrapy's stats."""
    assert crawler.stats is not None  # a crawler has stats before any component is built
    crawler.stats.inc_value(f"crawldedup/{name}")


def say(crawler: Crawler, level: int, message: str, error: Exception | None = None) -> None:
    """Write a message to the log of a crawl. The message may contain hostile text."""
    text = printable(message, 2000)
    logger.log(level, "crawldedup: %s", text, extra={"spider": crawler.spider}, exc_info=error)
