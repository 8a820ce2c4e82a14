"""Check the pages of all requests with one AsyncDeduplicator; count and log what comes of it."""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Final, TypeVar

from crawldedup import wire
from crawldedup.aio import BATCH, AsyncDeduplicator
from crawldedup.deduplicator import Deduplicator
from crawldedup.errors import ConfigurationError, CrawlDedupError, PageError, StoreError, WorkerError
from crawldedup.explain import Comparison, Explanation
from crawldedup.page import Page
from crawldedup.service import metrics
from crawldedup.service.problems import busy
from crawldedup.service.settings import ServiceSettings
from crawldedup.verdict import Verdict

GROUP: Final = BATCH

_MOST_WAITING: Final = 2_000
_TELLING_SECONDS: Final = 10.0
_log: Final = logging.getLogger(__name__)
_T = TypeVar("_T")


class Checker:
    """Checks pages for one process of the service. All calls belong to the event loop's thread."""

    def __init__(self, settings: ServiceSettings) -> None:
        self._session = settings.session
        self._dedup = AsyncDeduplicator.from_options(
            settings.options, workers=settings.readers, page_seconds=settings.page_seconds
        )
        self._dedup.on_batch = self._measure
        self._next_telling = 0.0

    async def check(self, pages: Sequence[Page]) -> list[Verdict | Exception]:
        """Return a verdict or an error for each of at most `GROUP` pages. Raises ProblemError if too many wait."""
        if self._dedup.waiting + len(pages) > _MOST_WAITING:
            raise busy(f"{_MOST_WAITING:,} pages wait")
        results: list[Verdict | Exception] = []
        try:
            await self.open()
            async for verdict in self._dedup.check_many(pages, on_error=lambda _, error: results.append(error)):
                results.append(verdict)  # noqa: PERF401
        except CrawlDedupError as error:
            results = [error] * len(pages)
        metrics.count(results)
        for result in results:
            self._log(result)
        return results

    async def explain(self, page: Page) -> Explanation:
        """Explain the verdict that a page would get now. Raises as `check` does."""
        await self.open()
        rules = {each.name: getattr(page, each.name) for each in fields(page) if each.name not in ("url", "remember")}
        return await self._dedup.explain(page.url, **rules)

    async def compare(self, first: Page, second: Page) -> Comparison:
        """Return how two pages compare; the store is not asked. Raises PageError and the like."""
        return wire.from_plain(Comparison, await self._dedup.compare(first, second))

    async def ask(self, call: Callable[[Deduplicator], _T]) -> _T:
        """Return what the Deduplicator returns, between two groups. Raises StoreError and the like."""
        await self.open()
        return await self._dedup.ask(call)

    async def open(self) -> None:
        """Open the index unless it is. Raises as `Deduplicator.open` does; later calls try again."""
        if self._dedup.session is None:
            await self._dedup.open(self._session)

    async def close(self) -> None:
        """Answer what waits, and disconnect. Other processes of the service may go on."""
        await self._dedup.close(leave=False)

    def _measure(self, pages: int, seconds: float) -> None:
        metrics.GROUP_PAGES.observe(pages)
        metrics.GROUP_SECONDS.observe(seconds)
        metrics.INDEX_PAGES.set(self._dedup.pages)

    def _log(self, result: Verdict | Exception) -> None:
        """Log what nobody foresaw, and what the store refuses, now and then: a full one refuses each page."""
        match result:
            case Verdict() | PageError():
                pass
            case StoreError():
                if time.monotonic() >= self._next_telling:
                    self._next_telling = time.monotonic() + _TELLING_SECONDS
                    _log.warning("the store fails", extra={"fields": {"error": str(result)}})
            case WorkerError() | ConfigurationError():
                _log.warning("a page was not checked", extra={"fields": {"error": str(result)}})
            case _:
                _log.error("a page was not checked for a reason that nobody foresaw", exc_info=result)
