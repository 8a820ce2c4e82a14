"""Errors of a crawl, pages and items that cannot be checked (they pass and are counted), and wrong settings."""

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final
from weakref import WeakKeyDictionary

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem, IgnoreRequest, NotConfigured
from scrapy.utils.asyncio import is_asyncio_available
from scrapy.utils.defer import deferred_from_coro

from crawldedup.errors import ConfigurationError, CrawlDedupError, PageError, StoreError, UnexpectedReadError
from crawldedup.printable import sentence
from crawldedup.scrapy_plugin.settings import is_enabled
from crawldedup.scrapy_plugin.signals import say
from crawldedup.scrapy_plugin.stats import CrawlStats
from crawldedup.verdict import Verdict

CLOSE_REASON: Final = "crawldedup_error"
SILENT_SECONDS: Final = 60.0
"""After the log said that the store is down, it says so again no sooner."""

_FAIL: Final = "CRAWLDEDUP_ON_ERROR is 'fail'."
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


class Failures:
    """Counts failures, explains each kind once, and closes the spider where that was asked for.

    A crawl without its index for a while is worth more than one that stops. But after a fatal error nothing would be
    checked. `may_close` is False for commands that show a page to a person.
    """

    def __init__(
        self,
        crawler: Crawler,
        stats: CrawlStats,
        *,
        close_on_error: bool,
        may_close: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._crawler = crawler
        self._stats = stats
        self._noun = stats.noun
        self._close_on_error = close_on_error
        self._may_close = may_close
        self._clock = clock
        self._explained: set[str] = set()
        self._outage_was_said = False
        self._silent_until = float("-inf")
        self._closing: object | None = None
        self.fatal: str | None = None

    def at_start(self, error: Exception) -> None:
        """Take note that the store could not be opened. Ends the crawl if it must not go on."""
        self.fatal = self._closing = self._reason_to_end(error)
        if self.fatal is not None:
            end_unstarted(self._crawler, self.fatal)

    def passed(self, name: str, error: Exception) -> tuple[str, str]:
        """Count a page or an item that passes, because nothing could be read from it, or something failed.

        Returns as what: "skipped" or "error", and the reason or the kind.
        """
        if isinstance(error, PageError):
            message = f"cannot read {name}: {error}"
            # An extractor with a mistake in it fails for every page, and then no page is checked.
            if error.reason == "broken":
                self.explain("broken", f"{message}; {self._noun}s like this pass", level=logging.WARNING)
            say(self._crawler, logging.DEBUG, message)
            counter = "skipped", error.reason
        else:
            counter = "error", error.counter if isinstance(error, CrawlDedupError) else "internal"
            reason = self._reason_to_end(error)
            if reason is not None and self._closing is None:
                say(self._crawler, logging.ERROR, reason)
                if self._may_close:
                    self._closing = begin_to_close(self._crawler, CLOSE_REASON)
        self._stats.count("/".join(counter))
        return counter

    def store_answered(self) -> None:
        """Take note that the store works. Logs it if the log said that it did not."""
        if self._outage_was_said:
            say(self._crawler, logging.WARNING, f"the store answers again, {self._noun}s are checked")
        self._outage_was_said = False

    def _reason_to_end(self, error: Exception) -> str | None:
        """Explain a failure once, and return why the crawl must end, if it must."""
        if isinstance(error, CrawlDedupError) and error.is_fatal:
            return str(error)
        if isinstance(error, StoreError):
            # Where it closes the spider, that is said and nothing passes. A full store still answers for what it knows:
            # page by page it would be down and up again.
            closes = self._close_on_error and self._may_close
            if not (closes or self._outage_was_said) and self._clock() >= self._silent_until:
                self._outage_was_said, self._silent_until = True, self._clock() + SILENT_SECONDS
                message = f"{sentence(error)} {self._noun.title()}s pass unchecked until the store answers"
                say(self._crawler, logging.WARNING, message)
        elif isinstance(error, CrawlDedupError) and not isinstance(error, UnexpectedReadError):
            self.explain(str(error), f"{sentence(error)} The {self._noun} passes")
        else:
            kind = error.kind if isinstance(error, UnexpectedReadError) else type(error).__name__
            self.explain(kind, f"unexpected error, the {self._noun} passes: {kind}", error)
        return f"{sentence(error)} {_FAIL}" if self._close_on_error else None

    def explain(self, kind: str, message: str, error: Exception | None = None, level: int = logging.ERROR) -> None:
        """Log the first failure of a kind."""
        if kind not in self._explained:
            self._explained.add(kind)
            say(self._crawler, level, f"{message} (further ones are only counted)", error)


# Why a crawl does not start: several components may refuse the same settings, or to start at all.
_reasons: WeakKeyDictionary[Crawler, list[str]] = WeakKeyDictionary()


@contextmanager
def refusing(crawler: Crawler) -> Iterator[None]:
    """Build a component: raise NotConfigured if crawldedup is disabled, or if its settings are wrong.

    They end the crawl with the error's message alone. The error itself would come under a traceback, which Scrapy
    writes for whatever is raised at a crawl's start, by an add-on, too.
    """
    try:
        if not is_enabled(crawler.settings):
            raise NotConfigured
        if not is_asyncio_available():
            raise ConfigurationError(
                "crawldedup needs asyncio; leave TWISTED_REACTOR at Scrapy's default, "
                "'twisted.internet.asyncioreactor.AsyncioSelectorReactor'."
            )
        yield
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


def begin_to_close(crawler: Crawler, reason: str) -> object:
    """Close the spider in the background, and return what the caller keeps: waiting for it would wait for a page."""
    assert crawler.engine is not None
    closing = deferred_from_coro(crawler.engine.close_spider_async(reason=reason))
    closing.addErrback(lambda failure: say(crawler, logging.ERROR, f"cannot close: {failure.value!r}"))
    return closing
