"""The errors that a spider meets, and how a crawl ends that must not go on."""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final
from weakref import WeakKeyDictionary

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem, IgnoreRequest, NotConfigured
from scrapy.utils.asyncio import is_asyncio_available
from scrapy.utils.defer import deferred_from_coro

from crawldedup.errors import ConfigurationError
from crawldedup.scrapy_plugin.settings import CrawlOptions, is_enabled, is_interactive
from crawldedup.scrapy_plugin.signals import say
from crawldedup.verdict import Verdict

CLOSE_REASON: Final = "crawldedup_error"
_GRACE_TURNS: Final = 100


class DuplicatePageError(IgnoreRequest):
    """Raised for a page that is dropped, as a duplicate or as an unchanged revisit. The request's errback receives it.

    Its `verdict` names the original.
    """

    def __init__(self, reason: str, verdict: Verdict) -> None:
        self.verdict = verdict
        super().__init__(reason)


class PredictedDuplicateError(IgnoreRequest):
    """Raised for a request that is not made, because `rules` take it for a copy of the URL `target`.

    The errback of the request receives it. If the rule proves wrong, the request is made after all.
    """

    def __init__(self, target: str, rules: tuple[Any, ...]) -> None:
        self.target = target
        self.rules = rules
        super().__init__(f"predicted to be a copy of {target}")


class DuplicateItemError(DropItem):
    """Raised for an item that is dropped as a duplicate. Its `verdict` names the original."""

    def __init__(self, reason: str, verdict: Verdict) -> None:
        self.verdict = verdict
        super().__init__(reason, log_level="DEBUG")


# Why a crawl does not start: several components may refuse the same settings, or to start at all.
_reasons: WeakKeyDictionary[Crawler, list[str]] = WeakKeyDictionary()
# The event loop alone would let go of what closes a spider.
_closing: WeakKeyDictionary[Crawler, object] = WeakKeyDictionary()


@contextmanager
def crawl_options(crawler: Crawler) -> Iterator[CrawlOptions]:
    """Build a component by the options of its crawl. Raises NotConfigured if crawldedup is disabled, or cannot start.

    What is wrong ends the crawl with the error's message alone. The error itself would come under a traceback, which
    Scrapy writes for whatever is raised at a crawl's start, by an add-on, too.
    """
    try:
        if not is_enabled(crawler.settings):
            raise NotConfigured
        if not is_asyncio_available():
            raise ConfigurationError(
                "crawldedup needs asyncio; leave TWISTED_REACTOR at Scrapy's default, "
                "'twisted.internet.asyncioreactor.AsyncioSelectorReactor'."
            )
        yield CrawlOptions.from_settings(crawler.settings)
    except ConfigurationError as error:
        end_unstarted(crawler, str(error))
        raise NotConfigured from None


def end_unstarted(crawler: Crawler, message: str) -> None:
    """Say why once, and close the spider before its first request: Scrapy cannot before the engine has started.

    The process of `scrapy crawl` ends with the exit status 1. In `scrapy shell`, which opens its spider later, the
    message is all.
    """

    async def engine_started() -> None:
        crawler.signals.disconnect(engine_started, signal=signals.engine_started)
        for reason in dict.fromkeys(reasons):
            say(crawler, logging.ERROR, reason)
        assert crawler.engine is not None
        if crawler.engine.spider is not None:
            await crawler.engine.close_spider_async(reason=CLOSE_REASON)
            # Other components start at the same signal, and may use the spider when they go on.
            for _ in range(_GRACE_TURNS if is_asyncio_available() else 0):
                await asyncio.sleep(0.001)
            # To Scrapy a crawler that is left without a spider is one that could not start.
            crawler.spider = None

    reasons = _reasons.setdefault(crawler, [])
    if not reasons:
        crawler.signals.connect(engine_started, signal=signals.engine_started, weak=False)
    reasons.append(message)


def begin_to_close(crawler: Crawler, reason: str) -> None:
    """Close the spider in the background, once, unless a person looks at pages: to wait would be to wait for a page."""
    if crawler not in _closing and not is_interactive(crawler):
        assert crawler.engine is not None
        _closing[crawler] = deferred_from_coro(crawler.engine.close_spider_async(reason=reason)).addErrback(
            lambda failure: say(crawler, logging.ERROR, f"cannot close: {failure.value!r}")
        )
