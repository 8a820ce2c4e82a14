"""The endpoints: from a request to calls of the Deduplicator, and back. `openapi.json` describes them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from starlette.responses import Response
from starlette.routing import Route

from crawldedup import __version__, wire
from crawldedup.deduplicator import Deduplicator
from crawldedup.errors import CrawlDedupError
from crawldedup.service import metrics
from crawldedup.service.checking import GROUP
from crawldedup.service.edge import media_type, reply
from crawldedup.service.pages import (
    check_names,
    fingerprint_of,
    object_of,
    page_of,
    pages_of,
    plain_page,
    two_pages,
    value_of,
)
from crawldedup.service.problems import ProblemError, problem_of
from crawldedup.verdict import Verdict

if TYPE_CHECKING:
    from starlette.requests import Request

    from crawldedup.explain import Explanation
    from crawldedup.page import Page
    from crawldedup.service.checking import Checker
    from crawldedup.service.edge import Bodies

_PLAIN: Final = {"text/html": "html", "text/plain": "text"}


@dataclass(frozen=True, slots=True)
class Service:
    """What the endpoints share in one process."""

    checker: Checker
    bodies: Bodies


async def check(request: Request) -> Response:
    """Decide about a page and remember it."""
    service = _service(request)
    page = await _page(request)
    (result,) = await service.checker.check([page])
    if isinstance(result, Exception):
        raise result
    return reply(wire.plain(result))


async def check_batch(request: Request) -> Response:
    """Decide about the pages of an array, in its order."""
    service = _service(request)
    pages = pages_of(await _body(request, "application/json"))
    results: list[Verdict | Exception] = []
    while part := pages[len(results) : len(results) + GROUP]:
        try:
            results += await service.checker.check(part)
        except ProblemError as problem:
            results += [problem] * len(part)
    failed = [problem_of(result) for result in results if isinstance(result, Exception)]
    # What was decided has been remembered, and must be told.
    if failed and len(failed) == len(results) and all(problem.status == 503 for problem in failed):
        raise failed[0]
    return reply([outcome(page.url, result) for page, result in zip(pages, results, strict=True)])


async def find(request: Request) -> Response:
    """List the remembered pages that resemble a page."""
    explanation = await _explained(request, needs_url=False)
    matches = [candidate.match for candidate in explanation.candidates if candidate.accepted]
    return reply({"matches": [wire.plain(match) for match in sorted(matches, key=lambda each: -each.similarity)]})


async def explain(request: Request) -> Response:
    """Explain the verdict that a page would get now."""
    return reply(wire.plain(await _explained(request, needs_url=True)))


async def compare(request: Request) -> Response:
    """Compare two pages."""
    first, second = two_pages(await _body(request, "application/json"))
    return reply(wire.plain(await _service(request).checker.compare(first, second)))


async def forget(request: Request) -> Response:
    """Remove a page by its name, or every page with the text of a fingerprint."""
    body = await _body(request, "application/json")
    given = object_of(value_of(body), {"url", "identity", "scope_key", "fingerprint"}, "the body")
    check_names(given)
    if ("url" in given) == ("fingerprint" in given):
        raise ProblemError("invalid", 400, "the body must have one of url and fingerprint")
    page = given["url"] if "url" in given else fingerprint_of(given["fingerprint"])
    named = {name: given.get(name) for name in ("identity", "scope_key")}
    return reply({"forgotten": await _service(request).checker.ask(lambda dedup: dedup.forget(page, **named))})


async def info(request: Request) -> Response:
    """Show the figures of the index."""

    def figures(dedup: Deduplicator) -> dict[str, Any]:
        options = {name: getattr(dedup.options, name) for name in ("similarity", "recall", "scope", "extractor")}
        return {"version": __version__, **options, **asdict(dedup.info())}

    return reply(await _service(request).checker.ask(figures))


async def live(_: Request) -> Response:
    """Say that the process answers."""
    return reply({"status": "live"})


async def ready(request: Request) -> Response:
    """Say whether pages can be checked."""
    try:
        await _service(request).checker.ask(Deduplicator.heartbeat)
    except CrawlDedupError:
        # Anyone may ask, and the error names the store.
        raise ProblemError("store", 503, "the store does not answer; the log says more", retry_after=2) from None
    return reply({"status": "ready"})


async def figures(_: Request) -> Response:
    """Show the metrics of all worker processes."""
    return Response(metrics.exposition(), media_type="text/plain; version=0.0.4")


async def openapi(_: Request) -> Response:
    """Show the description of the endpoints."""
    return Response(_description(), media_type="application/json")


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
    Route("/metrics", figures),
    Route("/openapi.json", openapi),
]


def outcome(url: str | None, result: Verdict | Exception) -> dict[str, Any]:
    """Return what became of one of many pages, ready for JSON."""
    return wire.plain(result) if isinstance(result, Verdict) else {"url": url, "problem": problem_of(result).as_dict()}


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


def _kind(request: Request, *allowed: str) -> tuple[str, str | None]:
    kind, charset = media_type(request.headers.get("content-type", "application/json"))
    if (coding := request.headers.get("content-encoding", "identity").lower()) != "identity":
        raise ProblemError("media-type", 415, f"the body has the encoding {coding[:80]!r}: send it as it is")
    if kind not in allowed:
        raise ProblemError("media-type", 415, f"the content type is {kind[:80]!r}; it must be {' or '.join(allowed)}")
    return kind, charset


async def _body(request: Request, *allowed: str) -> bytes:
    _kind(request, *allowed)
    return await _service(request).bodies.take(request)


async def _page(request: Request, defaults: dict[str, Any] | None = None) -> Page:
    """Return the page of a body of JSON, HTML or plain text."""
    kind, charset = _kind(request, "application/json", *_PLAIN)
    body = await _service(request).bodies.take(request)
    if kind in _PLAIN:
        return plain_page(body, _PLAIN[kind], charset, {**(defaults or {}), **request.query_params})
    value = value_of(body)
    return page_of({**defaults, **value} if defaults and isinstance(value, dict) else value)


async def _explained(request: Request, *, needs_url: bool) -> Explanation:
    page = await _page(request, defaults=None if needs_url else {"url": ""})
    return await _service(request).checker.explain(page)


@cache
def _description() -> str:
    text = files("crawldedup.service").joinpath("openapi.json").read_text("utf-8")
    return text.replace("VERSION", __version__)
