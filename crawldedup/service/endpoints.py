"""The endpoints: from a request to calls of the index, and back. Their docstrings describe them in the reference."""

import logging
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, Final

from prometheus_client import generate_latest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from crawldedup import __version__, wire
from crawldedup.aio import AsyncDeduplicator
from crawldedup.errors import CrawlDedupError
from crawldedup.options import Options
from crawldedup.page import Page
from crawldedup.service import watching
from crawldedup.service.bodies import JSON, PLAIN, CheckedPage, CheckedPages, KnownPage, Pair, SentPage, sent_in
from crawldedup.service.problems import ProblemError, problem_of
from crawldedup.stores.base import StoreInfo
from crawldedup.verdict import Verdict

SHOWN_OPTIONS: Final = ("similarity", "recall", "scope", "extractor")
_log: Final = logging.getLogger(__name__)


async def check(dedup: AsyncDeduplicator, request: Request) -> Verdict:
    """Decide about a page and remember it.

    A page in JSON, or as it is: HTML with its charset, or plain text, with the URL in the query. Pages of requests that
    are under way at the same time are decided in the order in which they came.
    """
    sent = await sent_in(request, CheckedPage, *PLAIN)
    verdict = await dedup.check_page(sent.page)
    watching.VERDICTS.labels(verdict.kind).inc()
    return verdict


async def check_batch(dedup: AsyncDeduplicator, request: Request) -> list[Any]:
    """Decide about an array of pages, in its order.

    A page that cannot be checked has its problem in its place. The status is 503 only if the store failed for every
    page.
    """
    pages = [sent.page for sent in await sent_in(request, CheckedPages)]
    results: list[Verdict | dict[str, Any]] = []
    problems: list[ProblemError] = []

    def refuse(page: Page, error: Exception) -> None:
        problems.append(problem_of(error))
        results.append({"url": page.url, "problem": problems[-1].plain()})

    async for verdict in dedup.check_many(pages, on_error=refuse):
        watching.VERDICTS.labels(verdict.kind).inc()
        results.append(verdict)
    # What was decided has been remembered, and must be said.
    if problems and len(problems) == len(pages) and all(each.problem.status == 503 for each in problems):
        raise problems[0]
    return results


async def find(dedup: AsyncDeduplicator, request: Request) -> dict[str, Any]:
    """List the remembered pages that resemble a page, the most similar first.

    Nothing is remembered. The url may be left out unless the scope is a site.
    """
    sent = await sent_in(request, SentPage, *PLAIN)
    return {"matches": wire.plain(await dedup.find(**sent.values))}


async def explain(dedup: AsyncDeduplicator, request: Request) -> object:
    """Explain the verdict that a page would get now.

    Nothing is remembered. A candidate is accepted up to the cost limit.
    """
    sent = await sent_in(request, CheckedPage, *PLAIN)
    return await dedup.explain(**sent.values)


async def compare(dedup: AsyncDeduplicator, request: Request) -> object:
    """Compare two pages.

    By the options of the index, which is not asked: how alike they are, how they differ, and what a crawl would make of
    the second.
    """
    pair = await sent_in(request, Pair)
    return await dedup.compare(pair.first.page, pair.second.page)


async def forget(dedup: AsyncDeduplicator, request: Request) -> dict[str, int]:
    """Remove a page by its URL, or every page with the text of a fingerprint.

    In the scope of a site, a fingerprint needs the scope_key.
    """
    sent = await sent_in(request, KnownPage)
    return {"forgotten": await dedup.forget(sent.name(), identity=sent.identity, scope_key=sent.scope_key)}


async def info(dedup: AsyncDeduplicator, _: Request) -> dict[str, Any]:
    """Show the figures of the index, and its main options."""
    return info_of(dedup.options, await dedup.info())


async def live(*_: object) -> dict[str, str]:
    """Say that the process answers."""
    return {"status": "live"}


async def ready(dedup: AsyncDeduplicator, _: Request) -> dict[str, str]:
    """Say whether the store answers."""
    try:
        await dedup.info()  # a heartbeat asks nothing until the index is open
        await dedup.heartbeat()
    except CrawlDedupError as error:
        # Anyone may ask, and the error names the store.
        _log.warning("the store does not answer", extra={"fields": {"error": str(error)}})
        raise ProblemError("store", 503, "the store does not answer; the log says more", retry_after=2) from None
    return {"status": "ready"}


async def metrics(_: Request) -> Response:
    """Show metrics for Prometheus, of all worker processes together."""
    return Response(generate_latest(watching.everyone()), media_type="text/plain; version=0.0.4")


def _answering(path: str, answer: Callable[[AsyncDeduplicator, Request], Awaitable[object]], method: str) -> Route:
    @wraps(answer)
    async def endpoint(request: Request) -> Response:
        return Response(wire.encode(await answer(request.app.state.dedup, request)), media_type=JSON)

    return Route(path, endpoint, methods=[method])


ENDPOINTS: Final = [
    _answering("/v1/check", check, "POST"),
    _answering("/v1/check/batch", check_batch, "POST"),
    _answering("/v1/find", find, "POST"),
    _answering("/v1/explain", explain, "POST"),
    _answering("/v1/compare", compare, "POST"),
    _answering("/v1/forget", forget, "POST"),
    _answering("/v1/info", info, "GET"),
    _answering("/health/live", live, "GET"),
    _answering("/health/ready", ready, "GET"),
    Route("/metrics", metrics),
]


def info_of(options: Options, info: StoreInfo) -> dict[str, Any]:
    """Return the figures of an index with the version and the main options of the service."""
    return {"version": __version__, **{name: getattr(options, name) for name in SHOWN_OPTIONS}, **wire.plain(info)}
