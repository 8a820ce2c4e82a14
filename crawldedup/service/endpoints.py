"""The endpoints of the service.

A handler takes the decoded and checked value that was `sent`. The docstrings and types of the
handlers become the reference.
"""

import logging
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, Final, get_type_hints

from msgspec import to_builtins
from prometheus_client import generate_latest

from crawldedup import wire
from crawldedup.aio import AsyncDeduplicator
from crawldedup.errors import CrawlDedupError
from crawldedup.index.explain import Comparison, Explanation
from crawldedup.page import Page
from crawldedup.service.messages import (
    CheckedPage,
    CheckedPages,
    Extras,
    KnownPage,
    Pair,
    SentPage,
    extras_in,
    query_of,
    sent_in,
)
from crawldedup.service.metrics import VERDICTS, registry_of_all_workers
from crawldedup.service.problems import ProblemError, problem_of
from crawldedup.service.routes import GET, Answer, Route, Scope
from crawldedup.stores.contract import StoreInfo
from crawldedup.verdict import CheckedText, Match, Verdict

_log: Final = logging.getLogger(__name__)


async def check(
    dedup: AsyncDeduplicator, sent: CheckedPage, extras: Extras
) -> Verdict | CheckedText:
    """Decide about a page and remember it.

    Send a page as JSON, or as it is: HTML with its charset, or plain text, with the URL in the
    query. If several requests are in progress at the same time, pages are decided in the order in
    which they arrived. With `with=text` in the query, the answer also has the main text and the
    name of the page.
    """
    if "text" in extras:
        checked = await dedup.check_with_text(**sent.values)
        VERDICTS.labels(checked.verdict.kind).inc()
        return checked
    verdict = await dedup.check_page(sent.page)
    VERDICTS.labels(verdict.kind).inc()
    return verdict


async def check_batch(dedup: AsyncDeduplicator, sent: CheckedPages) -> list[Any]:
    """Decide about an array of pages, in order.

    A page that cannot be checked is replaced with its problem. The status is 503 only if the store
    failed for every page.
    """
    results: list[Verdict | dict[str, Any]] = []
    problems: list[ProblemError] = []

    def refuse(page: Page, error: Exception) -> None:
        problems.append(problem_of(error))
        results.append({"url": page.url, "problem": to_builtins(problems[-1].problem)})

    async for verdict in dedup.check_many([each.page for each in sent], on_error=refuse):
        VERDICTS.labels(verdict.kind).inc()
        results.append(verdict)
    # Decisions so far have been remembered, so they must be reported.
    if (
        problems
        and len(problems) == len(sent)
        and all(each.problem.status == 503 for each in problems)
    ):
        raise problems[0]
    return results


async def find(dedup: AsyncDeduplicator, sent: SentPage) -> dict[str, list[Match]]:
    """List the remembered pages that resemble a page, the most similar first.

    Nothing is remembered. The `url` can be left out unless the scope is a site.
    """
    return {"matches": wire.plain(await dedup.find(**sent.values))}


async def explain(dedup: AsyncDeduplicator, sent: CheckedPage) -> Explanation:
    """Explain the verdict that a page would get now.

    Nothing is remembered. A candidate is accepted if its cost is within the limit.
    """
    return await dedup.explain(**sent.values)


async def compare(dedup: AsyncDeduplicator, sent: Pair) -> Comparison:
    """Compare two pages.

    The answer says how similar they are, how they differ, and what a crawl would do with the second
    one. It uses the options of the index, but not its pages.
    """
    return await dedup.compare(sent.first.page, sent.second.page)


async def forget(dedup: AsyncDeduplicator, sent: KnownPage) -> dict[str, int]:
    """Remove a page by its URL, or every page with the text of a fingerprint.

    If the scope is a site, a fingerprint needs the `scope_key`.
    """
    return {
        "forgotten": await dedup.forget(
            sent.name(), identity=sent.identity, scope_key=sent.scope_key
        )
    }


async def info(dedup: AsyncDeduplicator) -> StoreInfo:
    """Return the figures of the index."""
    return await dedup.info()


async def live(_: object) -> dict[str, str]:
    """Report that the process answers."""
    return {"status": "live"}


async def ready(dedup: AsyncDeduplicator) -> dict[str, str]:
    """Report whether the store answers."""
    try:
        await dedup.info()
    except CrawlDedupError as error:
        # Anyone may ask, and the error names the store.
        _log.warning("the store does not answer", extra={"fields": {"error": str(error)}})
        raise ProblemError(
            "store", 503, "the store does not answer; the log says more", retry_after=2
        ) from None
    return {"status": "ready"}


def _route(
    path: str,
    answer: Callable[..., Awaitable[object]],
    *,
    is_open: bool = False,
    writes: bool = False,
) -> Route:
    """Return the route of an endpoint, which decodes requests and encodes what `answer` returns.

    `answer` takes the index, the value `sent` in the type that it declares, and `extras`, if it
    declares them.
    """
    hints = get_type_hints(answer, include_extras=True)
    kind = hints.get("sent")

    @wraps(answer)
    async def respond(dedup: AsyncDeduplicator, scope: Scope, body: bytes) -> Answer:
        query = query_of(scope)
        arguments: list[Any] = []
        if "extras" in hints:
            arguments.append(extras_in(query.pop("with", None)))
        if kind:
            arguments.insert(0, sent_in(scope, body, kind, query))
        return Answer(wire.encode(await answer(dedup, *arguments)))

    methods = ("POST",) if kind else GET
    return Route(path, respond, methods, is_open=is_open, writes=writes)


ENDPOINTS: Final = [
    _route("/v1/check", check, writes=True),
    _route("/v1/check/batch", check_batch, writes=True),
    _route("/v1/find", find),
    _route("/v1/explain", explain),
    _route("/v1/compare", compare),
    _route("/v1/forget", forget, writes=True),
    _route("/v1/info", info),
    _route("/health/live", live, is_open=True),
    _route("/health/ready", ready, is_open=True),
]


async def show_metrics(*_: object) -> Answer:
    """Show the figures of the service for Prometheus."""
    return Answer(
        generate_latest(registry_of_all_workers()),
        headers={"content-type": "text/plain; version=0.0.4; charset=utf-8"},
    )


METRICS_ROUTE: Final = Route("/metrics", show_metrics)
