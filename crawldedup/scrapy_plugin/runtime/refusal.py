"""What a wrong setting does: one line in the log, and the crawl ends before its first request."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from scrapy import signals
from scrapy.exceptions import NotConfigured

from crawldedup.printable import printable

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from crawldedup.errors import ConfigurationError

logger = logging.getLogger(__name__)

CLOSE_REASON = "crawldedup_error"
LONGEST_MESSAGE = 2000

# Components that read the same settings refuse them with the same words, which need to be said once only.
_said: WeakKeyDictionary[Crawler, set[str]] = WeakKeyDictionary()


def refuse(crawler: Crawler, error: ConfigurationError) -> NotConfigured:
    """What a component raises that cannot be built, for the crawl to end with the error's message alone.

    The error itself would come under a traceback, which Scrapy writes for whatever is raised at a crawl's start. The
    price is the exit status: Scrapy has none for a spider that was closed.
    """
    message = str(error)

    async def engine_started() -> None:
        crawler.signals.disconnect(engine_started, signal=signals.engine_started)
        await close_unstarted(crawler, message)

    said = _said.setdefault(crawler, set())
    if message not in said:
        said.add(message)
        crawler.signals.connect(engine_started, signal=signals.engine_started, weak=False)
    return NotConfigured()


async def close_unstarted(crawler: Crawler, message: str) -> None:
    """Say why, and close the spider before its first request; called when the engine has started.

    In `scrapy shell`, which opens its spider later, the message is all.
    """
    logger.error("crawldedup: %s", printable(message, LONGEST_MESSAGE), extra={"spider": crawler.spider})
    assert crawler.engine is not None
    if crawler.engine.spider is not None:
        await crawler.engine.close_spider_async(reason=CLOSE_REASON)
