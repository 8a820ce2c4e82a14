"""The endpoints: from a request to calls of the index, and back. Their docstrings describe them in the reference."""

import logging
from functools import cache
from typing import Any, Final

from prometheus_client import generate_latest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from crawldedup import wire
from crawldedup.aio import AsyncDeduplicator
from crawldedup.errors import CrawlDedupError
from crawldedup.page import Page
from crawldedup.service import watching
from crawldedup.service.bodies import CheckedPage, CheckedPages, KnownPage, Pair, SentPage, sent_in
from crawldedup.service.openapi import PLAIN, document, info_of
from crawldedup.service.problems import ProblemError, problem_of
from crawldedup.verdict import Verdict

_MOST_WAITING: Final = 2_000
_log: Final = logging.getLogger(__name__)


async def check(request: Request) -> Response:
    """Decide about a page and remember it.

    A page in JSON, or as it is: HTML with its charset, or plain text, with the URL in the query. Pages of requests that
    are under way at the same time are decided in the order in which they came.
    """
    sent = await sent_in(request, CheckedPage, *PLAIN)
    dedup = _free(request)
    return _reply(_counted(await dedup.check_page(sent.page)))


async def check_batch(request: Request) -> Response:
    """Decide about an array of pages, in its order.

    A page that cannot be checked has its problem in its place. The status is 503 only if the store failed for every
    page.
    """
    pages = [sent.page for sent in await sent_in(request, CheckedPages)]
    dedup = _free(request)
    results: list[Verdict | dict[str, Any]] = []
    problems: list[ProblemError] = []

    def refuse(page: Page, error: Exception) -> None:
        problems.append(problem_of(error))
        results.append({"url": page.url, "problem": problems[-1].plain()})

    async for verdict in dedup.check_many(pages, on_error=refuse):
        results.append(_counted(verdict))  # noqa: PERF401
    # What was decided has been remembered, and must be said.
    if problems and len(problems) == len(pages) and all(each.problem.status == 503 for each in problems):
        raise problems[0]
    return _reply(results)


async def find(request: Request) -> Response:
    """List the remembered pages that resemble a page, the most similar first.

    Nothing is remembered. The url may be left out unless the scope is a site.
    """
    sent = await sent_in(request, SentPage, *PLAIN)
    dedup = _dedup(request)
    return _reply({"matches": wire.plain(await dedup.find(**sent.values))})


async def explain(request: Request) -> Response:
    """Explain the verdict that a page would get now.

    Nothing is remembered. A candidate is accepted up to the cost limit.
    """
    sent = await sent_in(request, CheckedPage, *PLAIN)
    dedup = _dedup(request)
    return _reply(await dedup.explain(**sent.values))


async def compare(request: Request) -> Response:
    """Compare two pages.

    By the options of the index, which is not asked: how alike they are, how they differ, and what a crawl would make of
    the second.
    """
    pair = await sent_in(request, Pair)
    return _reply(await _dedup(request).compare(pair.first.page, pair.second.page))


async def forget(request: Request) -> Response:
    """Remove a page by its URL, or every page with the text of a fingerprint.

    In the scope of a site, a fingerprint needs the scope_key.
    """
    sent = await sent_in(request, KnownPage)
    page = sent.name()
    dedup = _dedup(request)
    return _reply({"forgotten": await dedup.forget(page, identity=sent.identity, scope_key=sent.scope_key)})


async def info(request: Request) -> Response:
    """Show the figures of the index, and its main options."""
    dedup = _dedup(request)
    return _reply(info_of(dedup.options, await dedup.info()))


async def live(_: Request) -> Response:
    """Say that the process answers."""
    return _reply({"status": "live"})


async def ready(request: Request) -> Response:
    """Say whether the store answers."""
    try:
        await _dedup(request).info()  # a heartbeat asks nothing until the index is open
        await _dedup(request).heartbeat()
    except CrawlDedupError as error:
        # Anyone may ask, and the error names the store.
        _log.warning("the store does not answer", extra={"fields": {"error": str(error)}})
        raise ProblemError("store", 503, "the store does not answer; the log says more", retry_after=2) from None
    return _reply({"status": "ready"})


async def metrics(_: Request) -> Response:
    """Show metrics for Prometheus, of all worker processes together."""
    return Response(generate_latest(watching.everyone()), media_type="text/plain; version=0.0.4")


async def openapi(_: Request) -> Response:
    """Show this document."""
    return _reply(description())


OPEN: Final = ("/health/live", "/health/ready", "/openapi.json")
"""These need no token."""

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
    Route("/metrics", metrics),
    Route("/openapi.json", openapi),
]


@cache
def description() -> dict[str, Any]:
    """Return the OpenAPI document."""
    return document(ROUTES, OPEN)


def _dedup(request: Request) -> AsyncDeduplicator:
    dedup: AsyncDeduplicator = request.app.state.dedup
    return dedup


def _free(request: Request) -> AsyncDeduplicator:
    """Return what checks pages. Raises ProblemError if too many pages wait."""
    dedup = _dedup(request)
    if dedup.waiting >= _MOST_WAITING:
        detail = f"{_MOST_WAITING:,} pages wait: try again later, or start more workers"
        raise ProblemError("busy", 503, detail, retry_after=1)
    return dedup


def _counted(verdict: Verdict) -> Verdict:
    watching.VERDICTS.labels(verdict.kind).inc()
    return verdict


def _reply(value: object) -> Response:
    return Response(wire.encode(value), media_type="application/json")
