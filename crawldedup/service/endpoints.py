"""The endpoints: from what is sent to a call of the index, and back. Their docstrings and types are the reference."""

import logging
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, Final, get_type_hints

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from crawldedup import wire
from crawldedup.aio import AsyncDeduplicator
from crawldedup.errors import CrawlDedupError
from crawldedup.explain import Comparison, Explanation
from crawldedup.page import Page
from crawldedup.service import watching
from crawldedup.service.messages import (
    JSON,
    CheckedPage,
    CheckedPages,
    KnownPage,
    Pair,
    ProblemError,
    SentPage,
    problem_of,
    sent_in,
)
from crawldedup.stores.base import StoreInfo
from crawldedup.verdict import Match, Verdict

_Answer = Callable[..., Awaitable[object]]
ENDPOINTS: Final[list[Route]] = []
OPEN: Final = ("/health/live", "/health/ready", "/openapi.json")
"""These need no token."""
_log: Final = logging.getLogger(__name__)


def _at(path: str, method: str = "POST") -> Callable[[_Answer], _Answer]:
    """Make a function an endpoint. It takes the index and what is `sent`, of the type that it names, if any."""

    def add(answer: _Answer) -> _Answer:
        kind = get_type_hints(answer, include_extras=True).get("sent")

        @wraps(answer)
        async def endpoint(request: Request) -> Response:
            sent = [await sent_in(request, kind)] if kind else []
            return Response(wire.encode(await answer(request.app.state.dedup, *sent)), media_type=JSON)

        ENDPOINTS.append(Route(path, endpoint, methods=[method]))
        return answer

    return add


@_at("/v1/check")
async def check(dedup: AsyncDeduplicator, sent: CheckedPage) -> Verdict:
    """Decide about a page and remember it.

    A page in JSON, or as it is: HTML with its charset, or plain text, with the URL in the query. Pages of requests that
    are under way at the same time are decided in the order in which they came.
    """
    verdict = await dedup.check_page(sent.page)
    watching.VERDICTS.labels(verdict.kind).inc()
    return verdict


@_at("/v1/check/batch")
async def check_batch(dedup: AsyncDeduplicator, sent: CheckedPages) -> list[Any]:
    """Decide about an array of pages, in its order.

    A page that cannot be checked has its problem in its place. The status is 503 only if the store failed for every
    page.
    """
    results: list[Verdict | dict[str, Any]] = []
    problems: list[ProblemError] = []

    def refuse(page: Page, error: Exception) -> None:
        problems.append(problem_of(error))
        results.append({"url": page.url, "problem": problems[-1].plain()})

    async for verdict in dedup.check_many([each.page for each in sent], on_error=refuse):
        watching.VERDICTS.labels(verdict.kind).inc()
        results.append(verdict)
    # What was decided has been remembered, and must be said.
    if problems and len(problems) == len(sent) and all(each.problem.status == 503 for each in problems):
        raise problems[0]
    return results


@_at("/v1/find")
async def find(dedup: AsyncDeduplicator, sent: SentPage) -> dict[str, list[Match]]:
    """List the remembered pages that resemble a page, the most similar first.

    Nothing is remembered. The url may be left out unless the scope is a site.
    """
    return {"matches": wire.plain(await dedup.find(**sent.values))}


@_at("/v1/explain")
async def explain(dedup: AsyncDeduplicator, sent: CheckedPage) -> Explanation:
    """Explain the verdict that a page would get now.

    Nothing is remembered. A candidate is accepted up to the cost limit.
    """
    return await dedup.explain(**sent.values)


@_at("/v1/compare")
async def compare(dedup: AsyncDeduplicator, sent: Pair) -> Comparison:
    """Compare two pages.

    By the options of the index, which is not asked: how alike they are, how they differ, and what a crawl would make of
    the second.
    """
    return wire.from_plain(Comparison, await dedup.compare(sent.first.page, sent.second.page))


@_at("/v1/forget")
async def forget(dedup: AsyncDeduplicator, sent: KnownPage) -> dict[str, int]:
    """Remove a page by its URL, or every page with the text of a fingerprint.

    In the scope of a site, a fingerprint needs the scope_key.
    """
    return {"forgotten": await dedup.forget(sent.name(), identity=sent.identity, scope_key=sent.scope_key)}


@_at("/v1/info", "GET")
async def info(dedup: AsyncDeduplicator) -> StoreInfo:
    """Show the figures of the index."""
    return await dedup.info()


@_at("/health/live", "GET")
async def live(_: object) -> dict[str, str]:
    """Say that the process answers."""
    return {"status": "live"}


@_at("/health/ready", "GET")
async def ready(dedup: AsyncDeduplicator) -> dict[str, str]:
    """Say whether the store answers."""
    try:
        await dedup.info()  # a heartbeat asks nothing until the index is open
        await dedup.heartbeat()
    except CrawlDedupError as error:
        # Anyone may ask, and the error names the store.
        _log.warning("the store does not answer", extra={"fields": {"error": str(error)}})
        raise ProblemError("store", 503, "the store does not answer; the log says more", retry_after=2) from None
    return {"status": "ready"}
