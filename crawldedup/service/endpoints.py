"""The endpoints: from a request to calls of the index, and back. Their docstrings describe them in the reference."""

import logging
import time
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

from prometheus_client import generate_latest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from crawldedup import wire
from crawldedup.aio import AsyncDeduplicator
from crawldedup.errors import ConfigurationError, CrawlDedupError, PageError, StoreError, WorkerError
from crawldedup.page import Page
from crawldedup.service import watching
from crawldedup.service.bodies import arguments_of, forgotten_in, page_in, pages_in, pair_in
from crawldedup.service.command import ServiceSettings
from crawldedup.service.openapi import document, info_of
from crawldedup.service.problems import ProblemError, busy, problem_of
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
        watching.GROUP_PAGES.observe(pages)
        watching.GROUP_SECONDS.observe(seconds)
        watching.INDEX_PAGES.set(self.dedup.pages)

    def _count(self, result: Verdict | Exception) -> None:
        """Count what became of a page. Log what nobody foresaw, and now and then that a store fails for each page."""
        if isinstance(result, Verdict):
            watching.VERDICTS.labels(result.kind).inc()
            return
        reason = getattr(result, "reason", None) or getattr(result, "counter", "internal")
        watching.FAILURES.labels(reason).inc()
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


async def check(request: Request) -> Response:
    """Decide about a page and remember it.

    A page in JSON, or as it is: HTML with its charset, or plain text, with the URL in the query. Pages of requests that
    are under way at the same time are decided in the order in which they came.
    """
    page = await page_in(request)
    verdict = await _checker(request).check(page)
    return _reply(verdict)


async def check_batch(request: Request) -> Response:
    """Decide about an array of pages, in its order.

    A page that cannot be checked has its problem in its place. The status is 503 only if the store failed for every
    page.
    """
    pages = await pages_in(request)
    results = await _checker(request).check_many(pages)
    problems = [problem_of(result) for result in results if isinstance(result, Exception)]
    # What was decided has been remembered, and must be said.
    if problems and len(problems) == len(results) and all(each.problem.status == 503 for each in problems):
        raise problems[0]
    return _reply(
        [
            {"url": page.url, "problem": problem_of(result).plain()} if isinstance(result, Exception) else result
            for page, result in zip(pages, results, strict=True)
        ]
    )


async def find(request: Request) -> Response:
    """List the remembered pages that resemble a page, the most similar first.

    Nothing is remembered. The url may be left out unless the scope is a site.
    """
    page = await page_in(request, url="")
    dedup = await _index(request)
    matches = await dedup.find(**arguments_of(page))
    return _reply({"matches": wire.plain(matches)})


async def explain(request: Request) -> Response:
    """Explain the verdict that a page would get now.

    Nothing is remembered. A candidate is accepted up to the cost limit.
    """
    page = await page_in(request)
    dedup = await _index(request)
    explanation = await dedup.explain(**arguments_of(page))
    return _reply(explanation)


async def compare(request: Request) -> Response:
    """Compare two pages.

    By the options of the index, which is not asked: how alike they are, how they differ, and what a crawl would make of
    the second.
    """
    first, second = await pair_in(request)
    return _reply(await _checker(request).dedup.compare(first, second))


async def forget(request: Request) -> Response:
    """Remove a page by its URL, or every page with the text of a fingerprint.

    In the scope of a site, a fingerprint needs the scope_key.
    """
    arguments = await forgotten_in(request)
    dedup = await _index(request)
    count = await dedup.forget(**arguments)
    return _reply({"forgotten": count})


async def info(request: Request) -> Response:
    """Show the figures of the index, and its main options.

    Bytes may be estimated.
    """
    dedup = await _index(request)
    return _reply(info_of(dedup.options, await dedup.info()))


async def live(_: Request) -> Response:
    """Say that the process answers.

    Needs no token.
    """
    return _reply({"status": "live"})


async def ready(request: Request) -> Response:
    """Say whether the store answers.

    Asks the store. Needs no token.
    """
    try:
        await (await _index(request)).heartbeat()
    except CrawlDedupError:
        # Anyone may ask, and the error names the store.
        raise ProblemError("store", 503, "the store does not answer; the log says more", retry_after=2) from None
    return _reply({"status": "ready"})


async def figures(_: Request) -> Response:
    """Show metrics for Prometheus.

    Of all worker processes together.
    """
    return Response(generate_latest(watching.everyone()), media_type="text/plain; version=0.0.4")


async def openapi(_: Request) -> Response:
    """Show this document.

    Needs no token.
    """
    return _reply(description())


ROUTES: Final = [
    Route("/v1/check", check, methods=["POST"]),
    Route("/v1/check/batch", check_batch, methods=["POST"]),
    Route("/v1/find", find, methods=["POST"]),
    Route("/v1/explain", explain, methods=["POST"]),
    Route("/v1/compare", compare, methods=["POST"]),
    Route("/v1/forget", forget, methods=["POST"]),
    Route("/v1/info", info),
    Route("/health/live", live),
    Route("/health/ready", ready),
    Route("/metrics", figures, name="metrics"),
    Route("/openapi.json", openapi),
]


@cache
def description() -> dict[str, Any]:
    """Return the OpenAPI document."""
    return document(ROUTES)


def _checker(request: Request) -> Checker:
    checker: Checker = request.app.state.checker
    return checker


async def _index(request: Request) -> AsyncDeduplicator:
    return await _checker(request).index()


def _reply(value: object) -> Response:
    return Response(wire.encode(value), media_type="application/json")
