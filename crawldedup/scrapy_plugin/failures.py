"""What happens when a page or an item cannot be judged: it passes, it is counted, and the log says so once."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any

from scrapy.utils.defer import deferred_from_coro

from crawldedup.errors import ConfigurationError, CrawlDedupError, ForeignStoreError, ProfileMismatchError, StoreError
from crawldedup.printable import printable, sentence
from crawldedup.scrapy_plugin.reading.base import UnexpectedReadError, WorkerError
from crawldedup.scrapy_plugin.refusal import CLOSE_REASON, LONGEST_MESSAGE, close_unstarted

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler

    from crawldedup.scrapy_plugin.stats import Tally

logger = logging.getLogger(__name__)

SILENT_SECONDS = 60.0
"""After the log said that the store is down, it says so again no sooner."""


_FAIL = "CRAWLDEDUP_ON_ERROR is 'fail'."


class OverrideError(CrawlDedupError):
    """A request's ``meta["crawldedup"]`` is not allowed."""


class Failures:
    """Counts failures, explains each kind once, and closes the spider where that was asked for.

    A crawl that runs without its index for a while is worth more than one that stops, so everything here lets
    the page pass, unless ``CRAWLDEDUP_ON_ERROR`` is "fail". An index or an extractor that can never be used
    ends the crawl in any case: nothing would be judged. `may_close` False is for pages that a person looks at:
    whatever happens to them, nothing is closed. `noun` is what is judged, for the log: page or item.
    """

    def __init__(
        self,
        crawler: Crawler,
        tally: Tally,
        *,
        close_on_error: bool,
        may_close: bool = True,
        noun: str = "page",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._crawler = crawler
        self._tally = tally
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

    def of_start(self, error: Exception) -> None:
        """The store could not be opened; `fatal` is set if the crawl must not go on."""
        if isinstance(error, ForeignStoreError):
            self.fatal = str(error)
            return
        if isinstance(error, StoreError):
            self._store_failed(error)
        if self._close_on_error or (isinstance(error, CrawlDedupError) and not isinstance(error, StoreError)):
            self.fatal = f"{sentence(error)} {_FAIL}" if isinstance(error, StoreError) else str(error)
        elif not isinstance(error, StoreError):
            self._explain("internal", f"could not open its store; {self._noun}s pass until it can", error)

    def of_page(self, error: Exception) -> None:
        """A page, or an item, was not judged."""
        if isinstance(error, ForeignStoreError):
            self._tally.error(error.reason)
            self.close_spider(str(error))
        elif isinstance(error, StoreError):
            self._tally.error(error.reason)
            self._store_failed(error)
        elif isinstance(error, OverrideError):
            self._tally.error("meta")
            self._explain("meta", f"{sentence(error)} The {self._noun} passes")
        elif isinstance(error, WorkerError):
            self._tally.error("worker")
            self._explain(str(error), f"{sentence(error)} The {self._noun} it was to read passes")
        elif isinstance(error, ProfileMismatchError | ConfigurationError):
            self._tally.error("profile" if isinstance(error, ProfileMismatchError) else "configuration")
            self.close_spider(str(error))
        elif isinstance(error, UnexpectedReadError):
            self._tally.error("internal")
            self._explain(error.kind, f"reading failed, the {self._noun} passes: {error.kind}", error)
        else:
            self._tally.error("internal")
            self._explain(type(error).__name__, f"unexpected error, the {self._noun} passes", error)
        if self._close_on_error:
            self.close_spider(f"{sentence(error)} {_FAIL}")

    def store_answered(self) -> None:
        """The store works; says so if it did not before."""
        if self._store_is_down:
            self._store_is_down = False
            if self._outage_was_said:
                self._log(logging.WARNING, f"the store answers again, {self._noun}s are judged")

    def close_spider(self, message: str) -> None:
        """Close the spider in the background: waiting for it would wait for the page at hand too."""
        if not self._may_close:
            self._log(logging.ERROR, message)
        elif self._closing is None:
            self._log(logging.ERROR, message)
            closing = deferred_from_coro(self._crawler.engine.close_spider_async(reason=CLOSE_REASON))
            closing.addErrback(lambda failure: self._log(logging.ERROR, f"cannot close: {failure.value!r}"))
            self._closing = closing

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
                message = f"{sentence(error)} {self._noun.title()}s pass unjudged until the store answers"
                self._log(logging.WARNING, message)

    def _explain(self, kind: str, message: str, error: Exception | None = None) -> None:
        if kind not in self._explained:
            self._explained.add(kind)
            self._log(logging.ERROR, f"{message} (further ones are only counted)", exc_info=error)

    def _log(self, level: int, message: str, **details: Any) -> None:
        extra = {"spider": self._crawler.spider}
        logger.log(level, "crawldedup: %s", printable(message, LONGEST_MESSAGE), extra=extra, **details)
