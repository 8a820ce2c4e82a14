"""The endpoints: from a request to calls of the index, and back. Their docstrings describe them in the reference."""

from functools import cache
from typing import Any, Final

from prometheus_client import generate_latest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from crawldedup import wire
from crawldedup.aio import AsyncDeduplicator
from crawldedup.errors import CrawlDedupError
from crawldedup.service import metrics
from crawldedup.service.bodies import arguments_of, forgotten_in, page_in, pages_in, pair_in
from crawldedup.service.checking import Checker
from crawldedup.service.openapi import Info, document
from crawldedup.service.problems import ProblemError, problem_of


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
    return _reply(Info.of(dedup.options, await dedup.info()))


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
    return Response(generate_latest(metrics.everyone()), media_type="text/plain; version=0.0.4")


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
