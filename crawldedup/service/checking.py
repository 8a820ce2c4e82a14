"""Check the pages of all requests with one AsyncDeduplicator; count and log what comes of it."""

import logging
import time
from collections.abc import Sequence
from typing import Final

from crawldedup.aio import AsyncDeduplicator
from crawldedup.errors import ConfigurationError, PageError, StoreError, WorkerError
from crawldedup.page import Page
from crawldedup.service import metrics
from crawldedup.service.command import ServiceSettings
from crawldedup.service.problems import busy
from crawldedup.verdict import Verdict

_MOST_WAITING: Final = 2_000
_LOG_SECONDS: Final = 10.0
_GATHERING_SECONDS: Final = 0.015
"""Three pages of HTML that one reader gives back: clients go on meanwhile, as a crawl would not."""
_log: Final = logging.getLogger(__name__)


class Checker:
    """Asks the index for one process of the service. All calls belong to the event loop's thread."""

    def __init__(self, settings: ServiceSettings) -> None:
        self.settings = settings
        self.dedup = AsyncDeduplicator.from_options(settings, workers=settings.readers)
        self.dedup.on_batch = self._measure
        self.dedup.gathering_seconds = _GATHERING_SECONDS
        self._next_log = 0.0

    async def check(self, page: Page) -> Verdict:
        """Decide about a page. Raises what `AsyncDeduplicator.check` does, and ProblemError if too many wait."""
        await self._begin()
        try:
            verdict = await self.dedup.check_page(page)
        except Exception as error:
            self._count(error)
            raise
        self._count(verdict)
        return verdict

    async def check_many(self, pages: Sequence[Page]) -> list[Verdict | Exception]:
        """Return a verdict or an error for each page. Raises StoreError, and ProblemError if too many wait."""
        await self._begin()
        results: list[Verdict | Exception] = []
        async for verdict in self.dedup.check_many(pages, on_error=lambda _, error: results.append(error)):
            results.append(verdict)  # noqa: PERF401
        for result in results:
            self._count(result)
        return results

    async def _begin(self) -> None:
        if self.dedup.waiting >= _MOST_WAITING:
            raise busy(f"{_MOST_WAITING:,} pages wait")
        await self.index()

    async def index(self) -> AsyncDeduplicator:
        """Return what asks the index, open. Raises StoreError and the like."""
        if self.dedup.session is None:
            await self.dedup.open(self.settings.session())
        return self.dedup

    async def close(self) -> None:
        """Answer what waits, and disconnect. The process that shares a session leaves when all are done."""
        await self.dedup.close(leave=not self.settings.session_file)

    def _measure(self, pages: int, seconds: float) -> None:
        metrics.GROUP_PAGES.observe(pages)
        metrics.GROUP_SECONDS.observe(seconds)
        metrics.INDEX_PAGES.set(self.dedup.pages)

    def _count(self, result: Verdict | Exception) -> None:
        """Count what became of a page. Log what nobody foresaw, and now and then that a store fails for each page."""
        if isinstance(result, Verdict):
            metrics.VERDICTS.labels(result.kind).inc()
            return
        reason = getattr(result, "reason", None) or getattr(result, "counter", "internal")
        metrics.FAILURES.labels(reason).inc()
        match result:
            case PageError():
                pass
            case StoreError():
                if time.monotonic() >= self._next_log:
                    self._next_log = time.monotonic() + _LOG_SECONDS
                    _log.warning("the store fails", extra={"fields": {"error": str(result)}})
            case WorkerError() | ConfigurationError():
                _log.warning("a page was not checked", extra={"fields": {"error": str(result)}})
            case _:
                _log.error("a page was not checked for a reason that nobody foresaw", exc_info=result)
