"""Check the pages of all requests with one AsyncDeduplicator; count and log what comes of it."""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any, Final, TypeVar

from crawldedup.aio import AsyncDeduplicator
from crawldedup.deduplicator import Deduplicator
from crawldedup.errors import ConfigurationError, PageError, StoreError, WorkerError
from crawldedup.explain import Explanation
from crawldedup.page import Page
from crawldedup.service import metrics
from crawldedup.service.command import ServiceSettings
from crawldedup.service.problems import busy
from crawldedup.stores.base import CrawlSession
from crawldedup.verdict import Match, Verdict

T = TypeVar("T")

_MOST_WAITING: Final = 2_000
_LOG_SECONDS: Final = 10.0
_GATHERING_SECONDS: Final = 0.015
"""Three pages of HTML that one reader gives back: clients go on meanwhile, as a crawl would not."""
_log: Final = logging.getLogger(__name__)


class Checker:
    """Asks the index for one process of the service. All calls belong to the event loop's thread."""

    def __init__(self, settings: ServiceSettings) -> None:
        self.settings = settings
        self._dedup = AsyncDeduplicator.from_options(settings.options, workers=settings.readers)
        self._dedup.on_batch = self._measure
        self._dedup.gathering_seconds = _GATHERING_SECONDS
        self._next_log = 0.0

    async def check(self, page: Page) -> Verdict:
        """Decide about a page. Raises what `AsyncDeduplicator.check` does, and ProblemError if too many wait."""
        await self._begin()
        try:
            verdict = await self._dedup.check_page(page)
        except Exception as error:
            self._count(error)
            raise
        self._count(verdict)
        return verdict

    async def check_many(self, pages: Sequence[Page]) -> list[Verdict | Exception]:
        """Return a verdict or an error for each page. Raises StoreError, and ProblemError if too many wait."""
        await self._begin()
        results: list[Verdict | Exception] = []
        async for verdict in self._dedup.check_many(pages, on_error=lambda _, error: results.append(error)):
            results.append(verdict)  # noqa: PERF401
        for result in results:
            self._count(result)
        return results

    async def _begin(self) -> None:
        if self._dedup.waiting >= _MOST_WAITING:
            raise busy(f"{_MOST_WAITING:,} pages wait")
        await self._open()

    async def explain(self, page: Page) -> Explanation:
        """Explain the verdict that a page would get now. Raises as `AsyncDeduplicator.explain` does."""
        await self._open()
        return await self._dedup.explain(**_values_of(page))

    async def find(self, page: Page) -> list[Match]:
        """Return remembered pages that resemble one. Raises as `AsyncDeduplicator.find` does."""
        await self._open()
        return await self._dedup.find(**_values_of(page))

    async def compare(self, first: Page, second: Page) -> dict[str, Any]:
        """Return how two pages compare, ready for JSON; the store is not asked. Raises PageError and the like."""
        return await self._dedup.compare(first, second)

    async def ask(self, call: Callable[[Deduplicator], T]) -> T:
        """Return what the Deduplicator returns, between two batches. Raises StoreError and the like."""
        await self._open()
        return await self._dedup.ask(call)

    async def close(self) -> None:
        """Answer what waits, and disconnect. Other processes of the service may go on."""
        await self._dedup.close(leave=self.settings.workers == 1)

    async def _open(self) -> None:
        if self._dedup.session is None:
            await self._dedup.open(CrawlSession(*self.settings.present_session()))

    def _measure(self, pages: int, seconds: float) -> None:
        metrics.GROUP_PAGES.observe(pages)
        metrics.GROUP_SECONDS.observe(seconds)
        metrics.INDEX_PAGES.set(self._dedup.pages)

    def _count(self, result: Verdict | Exception) -> None:
        """Count what became of a page. Log what nobody foresaw, and now and then that a store fails for each page."""
        metrics.count(result)
        match result:
            case Verdict() | PageError():
                pass
            case StoreError():
                if time.monotonic() >= self._next_log:
                    self._next_log = time.monotonic() + _LOG_SECONDS
                    _log.warning("the store fails", extra={"fields": {"error": str(result)}})
            case WorkerError() | ConfigurationError():
                _log.warning("a page was not checked", extra={"fields": {"error": str(result)}})
            case _:
                _log.error("a page was not checked for a reason that nobody foresaw", exc_info=result)


def _values_of(page: Page) -> dict[str, Any]:
    return {each.name: getattr(page, each.name) for each in fields(page)}
