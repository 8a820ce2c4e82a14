"""Deal with pages and items that cannot be checked, which pass and are counted, and with wrong settings."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary, WeakSet

from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import is_asyncio_available
from scrapy.utils.defer import deferred_from_coro

from crawldedup.errors import CrawlDedupError, PageError, StoreError
from crawldedup.printable import printable, sentence
from crawldedup.workers.framing import UnexpectedReadError

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler

    from crawldedup.errors import ConfigurationError
    from crawldedup.scrapy_plugin.stats import CrawlStats

logger = logging.getLogger(__name__)

CLOSE_REASON: Final = "crawldedup_error"
LONGEST_MESSAGE: Final = 2000
SILENT_SECONDS: Final = 60.0
"""After the log said that the store is down, it says so again no sooner."""

_FAIL: Final = "CRAWLDEDUP_ON_ERROR is 'fail'."

_GRACE_TURNS: Final = 100

# Components that read the same settings refuse them with the same words, which need to be said once only.
_said: WeakKeyDictionary[Crawler, set[str]] = WeakKeyDictionary()

# Several components may refuse to start, and the first one waits until the spider is closed.
_closed_unstarted: WeakSet[Crawler] = WeakSet()


class Failures:
    """Counts failures, explains each kind once, and closes the spider where that was asked for.

    A crawl that runs without its index for a while is worth more than one that stops, so that pages pass, unless
    ``CRAWLDEDUP_ON_ERROR`` is "fail". A fatal error ends the crawl in any case: nothing would be checked.
    `may_close` is False for commands that show a page to a person. `noun` is what is checked: page or item.
    """

    def __init__(
        self,
        crawler: Crawler,
        stats: CrawlStats,
        *,
        close_on_error: bool,
        may_close: bool = True,
        noun: str = "page",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._crawler = crawler
        self._stats = stats
        self._close_on_error = close_on_error
        self._may_close = may_close
        self._noun = noun
        self._explained: set[str] = set()
        self._store_is_down = False
        self._outage_was_said = False
        self._silent_until = float("-inf")
        self._clock = clock
        self._closing: object | None = None
        self.fatal: str | None = None

    def at_start(self, error: Exception) -> None:
        """Take note that the store could not be opened. Sets `fatal` if the crawl must not go on."""
        if isinstance(error, CrawlDedupError) and error.is_fatal:
            self.fatal = str(error)
            return
        if isinstance(error, StoreError):
            self._store_failed(error)
        else:
            self._explain("internal", f"could not open its store; {self._noun}s pass until it can", error)
        if self._close_on_error:
            self.fatal = f"{sentence(error)} {_FAIL}"

    def at_response(self, url: str, error: Exception) -> None:
        """Take note that a response was not checked: because nothing could be read from it, or of a failure."""
        if isinstance(error, PageError):
            self._stats.skipped(error.reason)
            self.at_reading(url, error)
        else:
            self.at_page(error)

    def at_page(self, error: Exception) -> None:
        """Take note that a page, or an item, was not checked."""
        self._stats.error(error.counter if isinstance(error, CrawlDedupError) else "internal")
        if isinstance(error, CrawlDedupError) and error.is_fatal:
            self.close_spider(str(error))
        elif isinstance(error, StoreError):
            self._store_failed(error)
        elif isinstance(error, UnexpectedReadError):
            self._explain(error.kind, f"reading failed, the {self._noun} passes: {error.kind}", error)
        elif isinstance(error, CrawlDedupError):
            self._explain(str(error), f"{sentence(error)} The {self._noun} passes")
        else:
            self._explain(type(error).__name__, f"unexpected error, the {self._noun} passes", error)
        if self._close_on_error:
            self.close_spider(f"{sentence(error)} {_FAIL}")

    def at_reading(self, url: str, error: PageError) -> None:
        """Take note that nothing could be read from a page. The first failure of an extractor is told."""
        message = f"cannot read {url}: {error}"
        if error.reason == "broken" and error.reason not in self._explained:
            # An extractor with a mistake in it fails for every page, and then no page is checked.
            self._explained.add(error.reason)
            self._log(logging.WARNING, f"{message} ({self._noun}s like this pass; further ones are only counted)")
        else:
            self._log(logging.DEBUG, message)

    def store_answered(self) -> None:
        """Take note that the store works. Logs it if it did not before."""
        if self._store_is_down:
            self._store_is_down = False
            if self._outage_was_said:
                self._log(logging.WARNING, f"the store answers again, {self._noun}s are checked")

    def close_spider(self, message: str) -> None:
        """Say why, and close the spider in the background."""
        if not self._may_close:
            self._log(logging.ERROR, message)
        elif self._closing is None:
            self._log(logging.ERROR, message)
            self._closing = begin_to_close(self._crawler, CLOSE_REASON)

    async def close_before_start(self) -> None:
        """Close the spider before its first request, if `fatal` says so."""
        if self.fatal is not None:
            self._closing = self.fatal
            await close_unstarted(self._crawler, self.fatal)

    def _store_failed(self, error: StoreError) -> None:
        if not self._store_is_down:
            self._store_is_down = True
            # A full store still answers for what it knows: page by page it would be down and up again.
            # Where it closes the spider, that is said and nothing passes.
            closes = self._close_on_error and self._may_close
            self._outage_was_said = not closes and self._clock() >= self._silent_until
            if self._outage_was_said:
                self._silent_until = self._clock() + SILENT_SECONDS
                message = f"{sentence(error)} {self._noun.title()}s pass unchecked until the store answers"
                self._log(logging.WARNING, message)

    def _explain(self, kind: str, message: str, error: Exception | None = None) -> None:
        if kind not in self._explained:
            self._explained.add(kind)
            self._log(logging.ERROR, f"{message} (further ones are only counted)", exc_info=error)

    def _log(self, level: int, message: str, **details: Any) -> None:
        extra = {"spider": self._crawler.spider}
        logger.log(level, "crawldedup: %s", printable(message, LONGEST_MESSAGE), extra=extra, **details)


def refuse(crawler: Crawler, error: ConfigurationError) -> NotConfigured:
    """Return what a component raises that cannot be built, and end the crawl with the error's message alone.

    The error itself would come under a traceback, which Scrapy writes for whatever is raised at a crawl's start.
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

    The process of `scrapy crawl` ends with the exit status 1. In `scrapy shell`, which opens its spider later, the
    message is all.
    """
    logger.error("crawldedup: %s", printable(message, LONGEST_MESSAGE), extra={"spider": crawler.spider})
    assert crawler.engine is not None
    if crawler.engine.spider is not None and crawler not in _closed_unstarted:
        _closed_unstarted.add(crawler)
        await crawler.engine.close_spider_async(reason=CLOSE_REASON)
        # Other components start at the same signal, and may use the spider when they go on.
        for _ in range(_GRACE_TURNS if is_asyncio_available() else 0):
            await asyncio.sleep(0.001)
        # To Scrapy a crawler that is left without a spider is one that could not start.
        crawler.spider = None


def begin_to_close(crawler: Crawler, reason: str) -> object:
    """Close the spider in the background, and return what the caller keeps meanwhile.

    Whoever holds up a page and waits for the spider to be closed waits for that page, too.
    """
    assert crawler.engine is not None
    closing = deferred_from_coro(crawler.engine.close_spider_async(reason=reason))
    closing.addErrback(lambda failure: logger.error("crawldedup: cannot close: %r", failure.value))
    return closing
