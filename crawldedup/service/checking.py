"""Ask the store about all pages together that wait at the same time: a group takes one round trip.

While one group is with the store the next one gathers, so groups grow with the load, and a lone page waits for nobody.
One thread asks, so verdicts come in the order of the questions.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from crawldedup.batches import take_results
from crawldedup.deduplicator import Deduplicator
from crawldedup.errors import (
    ConfigurationError,
    CrawlDedupError,
    KeyMismatchError,
    StoreError,
    StoreUnavailableError,
)
from crawldedup.index import HEARTBEAT_SECONDS
from crawldedup.service import metrics
from crawldedup.service.problems import busy, problem_of
from crawldedup.service.readers import ReaderPool
from crawldedup.workers.breaker import Breaker

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from crawldedup.explanation.comparison import Comparison
    from crawldedup.explanation.explained import Explanation
    from crawldedup.fingerprinting.fingerprint import Fingerprint
    from crawldedup.page import Page
    from crawldedup.service.settings import ServiceSettings
    from crawldedup.stores.contents import Cluster
    from crawldedup.text.keys import Key
    from crawldedup.verdict import Coverage, Verdict

    Result = Verdict | Exception

_log: Final = logging.getLogger(__name__)

GROUP: Final = 32
"""So many pages are asked about together; more make the others wait."""

_MOST_WAITING: Final = 2_000
_TELLING_SECONDS: Final = 10.0
_LONG_TEXT: Final = 50_000
"""A text of so many letters takes milliseconds to fingerprint, in which nobody else's page is decided."""

_T = TypeVar("_T")


class _Unit(NamedTuple):
    """At most `GROUP` pages of one request."""

    pages: Sequence[Page]
    results: asyncio.Future[list[Result]]


class Checker:
    """Checks pages with one Deduplicator. All calls belong to the event loop's thread."""

    def __init__(self, settings: ServiceSettings) -> None:
        self._session = settings.session
        self._dedup = Deduplicator.from_options(settings.options)
        self._readers = ReaderPool(settings.options, readers=settings.readers, page_seconds=settings.page_seconds)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="crawldedup-store")
        self._breaker = Breaker()
        self._units: deque[_Unit] = deque()
        self._waiting = 0
        self._wake = asyncio.Event()
        self._looking = asyncio.Lock()
        self._is_open = self._is_closing = False
        self._next_telling = 0.0
        self._grouping = asyncio.get_running_loop().create_task(self._group())

    async def check(self, pages: Sequence[Page]) -> list[Result]:
        """Return a verdict or an error for each of at most `GROUP` pages. Raises ProblemError if too many wait."""
        self._waiting += len(pages)
        try:
            if self._waiting > _MOST_WAITING:
                raise busy(f"{_MOST_WAITING:,} pages wait")
            results = await self._check(pages)
            # The index was begun again with another key, which is known by now.
            stale = [
                place
                for place, result in enumerate(results)
                if isinstance(result, KeyMismatchError) and pages[place].fingerprint is None
            ]
            if stale:
                for place, again in zip(stale, await self._check([pages[place] for place in stale]), strict=True):
                    results[place] = again
        finally:
            self._waiting -= len(pages)
        metrics.count(results)
        return results

    async def read(self, page: Page) -> Page:
        """Return a page that is read by itself with its fingerprint in place of its content. Raises as `check` does."""
        if not _is_slow(page):
            return page
        return _as_read(page, await self._readers.read(page, await self._key()))

    async def explain(self, page: Page) -> Explanation:
        """Explain the verdict that a page would get now. Raises as `check` does."""
        return await self._with_key(page, self._explained)

    async def paragraphs(self, page: Page, *, remember: bool) -> Coverage:
        """Return how much of a page stands on earlier pages. Raises as `check` does."""
        if self._dedup.options.paragraphs is None:
            raise ConfigurationError("this service compares no paragraphs: start it with --paragraphs mark")

        async def covered(page: Page) -> Coverage:
            read = await self.read(page)
            return await self.ask(
                lambda dedup: dedup.check_paragraphs(
                    read.url,
                    text=read.text,
                    fingerprint=read.fingerprint,
                    identity=read.identity,
                    scope_key=read.scope_key,
                    remember=remember,
                )
            )

        return await self._with_key(page, covered)

    async def compare(self, first: Page, second: Page) -> Comparison:
        """Return how two pages compare; the store is not asked. Raises PageError and the like."""
        return await self._readers.compare(first, second)

    async def clusters(self, most: int) -> list[Cluster]:
        """Return the largest clusters, which reads the whole index: pages are checked meanwhile. One at a time."""
        await self.open()
        async with self._looking:
            return await asyncio.to_thread(self._dedup.clusters, most)

    async def ask(self, call: Callable[[Deduplicator], _T]) -> _T:
        """Return what the Deduplicator returns, between two groups. Raises StoreError and the like."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._guarded, call)

    async def open(self) -> None:
        """Open the index. Raises as `Deduplicator.open` does; later calls try again."""
        await self.ask(lambda _: None)

    async def close(self) -> None:
        """Answer what waits, and disconnect. Other processes of the service may go on."""
        self._is_closing = True
        self._wake.set()
        await self._grouping
        await asyncio.get_running_loop().run_in_executor(self._thread, lambda: self._dedup.close(leave=False))
        self._thread.shutdown()
        self._readers.close()

    async def _key(self) -> Key:
        if not self._is_open:
            await self.open()
        return self._dedup.key

    async def _with_key(self, page: Page, call: Callable[[Page], Awaitable[_T]]) -> _T:
        try:
            return await call(page)
        except KeyMismatchError:
            if page.fingerprint is not None:
                raise
            # The index was begun again with another key, which is known by now.
            return await call(page)

    async def _explained(self, page: Page) -> Explanation:
        shown: dict[str, Any] = {}
        if _is_slow(page):
            read = await self._readers.show(page, await self._key())
            page = _as_read(page, read.fingerprint)
            shown = {"text": read.text, "facts": read.facts}
        told = await self.ask(
            lambda dedup: dedup.explain(
                page.url,
                text=page.text,
                fingerprint=page.fingerprint,
                identity=page.identity,
                scope_key=page.scope_key,
                similarity=page.similarity,
                revisit_similarity=page.revisit_similarity,
            )
        )
        return replace(told, **shown)

    async def _check(self, pages: Sequence[Page]) -> list[Result]:
        slow = [page for page in pages if _is_slow(page)]
        read = iter(await asyncio.gather(*map(self.read, slow), return_exceptions=True) if slow else ())
        ready = [next(read) if _is_slow(page) else page for page in pages]
        asked = [page for page in ready if not isinstance(page, BaseException)]
        verdicts = iter(await self._decided(asked) if asked else ())
        return [page if isinstance(page, Exception) else next(verdicts) for page in ready]

    async def _decided(self, pages: Sequence[Page]) -> list[Result]:
        unit = _Unit(pages, asyncio.get_running_loop().create_future())
        self._units.append(unit)
        self._wake.set()
        return await unit.results

    async def _group(self) -> None:
        loop = asyncio.get_running_loop()
        while self._units or not self._is_closing:
            if not self._units:
                await self._rest()
                continue
            units = [self._units.popleft()]
            while self._units and sum(len(unit.pages) for unit in units) + len(self._units[0].pages) <= GROUP:
                units.append(self._units.popleft())
            results = iter(await loop.run_in_executor(self._thread, self._decide, units))
            for unit in units:
                own = [next(results) for _ in unit.pages]
                if not unit.results.done():
                    unit.results.set_result(own)

    async def _rest(self) -> None:
        """Wait for a page, and keep the crawl's lease meanwhile."""
        self._wake.clear()
        try:
            async with asyncio.timeout(HEARTBEAT_SECONDS):
                await self._wake.wait()
        except TimeoutError:
            await asyncio.gather(self.ask(Deduplicator.heartbeat), return_exceptions=True)

    def _decide(self, units: Sequence[_Unit]) -> list[Result]:
        pages = [page for unit in units for page in unit.pages]
        results: list[Result] = []

        def decide(dedup: Deduplicator) -> None:
            verdicts = dedup.check_many(pages, batch=len(pages), on_unreadable=lambda _, error: results.append(error))
            take_results(verdicts, results, len(pages))

        begun = time.perf_counter()
        try:
            self._guarded(decide)
        except CrawlDedupError as error:
            # The store may have remembered some of the rest, so they are not asked about again.
            results += [error] * (len(pages) - len(results))
        except Exception as error:
            _log.exception("a group of pages failed for a reason that nobody foresaw")
            results += [problem_of(error)] * (len(pages) - len(results))
        self._tell_failures(results)
        metrics.GROUP_PAGES.observe(len(pages))
        metrics.GROUP_SECONDS.observe(time.perf_counter() - begun)
        metrics.INDEX_PAGES.set(self._dedup.pages)
        return results

    def _tell_failures(self, results: Sequence[Result]) -> None:
        """Log what the store refuses, now and then: a full one refuses each page."""
        refused = next((each for each in results if isinstance(each, StoreError)), None)
        if refused is None or isinstance(refused, StoreUnavailableError) or time.monotonic() < self._next_telling:
            return
        self._next_telling = time.monotonic() + _TELLING_SECONDS
        _log.warning("the store refuses pages", extra={"fields": {"error": str(refused)}})

    def _guarded(self, call: Callable[[Deduplicator], _T]) -> _T:
        """Leave a store alone for a while that just failed, so that requests do not each wait for its time limit."""
        with self._breaker.guarding_store():
            try:
                if not self._is_open:
                    self._dedup.open(self._session)
                    self._is_open = True
                return call(self._dedup)
            except StoreUnavailableError as error:
                _log.warning("the store fails", extra={"fields": {"error": str(error)}})
                raise


def _as_read(page: Page, fingerprint: Fingerprint) -> Page:
    return replace(page, html=None, text=None, encoding=None, fingerprint=fingerprint)


def _is_slow(page: Page) -> bool:
    """Return True for a page that is read beside the event loop and the store's thread."""
    return page.html is not None or len(page.text or "") >= _LONG_TEXT
