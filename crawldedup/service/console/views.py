"""The pages at /: compare two pages, search the index, look into it, and see the last crawl's report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from starlette.responses import Response
from starlette.routing import Route

from crawldedup.deduplicator import Deduplicator
from crawldedup.errors import CrawlDedupError
from crawldedup.service.console import rendering
from crawldedup.service.console.fetching import Fetcher
from crawldedup.service.console.forms import form_of, page_in
from crawldedup.service.console.reports import Reports
from crawldedup.service.problems import problem_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request

    from crawldedup.service.endpoints import Service
    from crawldedup.service.settings import ServiceSettings

    Form = dict[str, str]

_MOST_CLUSTERS: Final = 50


@dataclass(frozen=True, slots=True)
class Console:
    """What the pages need beside the service."""

    service: Service
    settings: ServiceSettings
    fetcher: Fetcher
    reports: Reports

    @classmethod
    def of(cls, service: Service, settings: ServiceSettings) -> Console:
        """Return what the pages need with these settings."""
        fetcher = Fetcher(settings.fetch_hosts, most=settings.max_body, seconds=settings.page_seconds)
        return cls(service, settings, fetcher, Reports(settings.reports, service.stopping))


async def compare(request: Request) -> Response:
    """Show the form, and how the two pages of it compare."""

    async def compared(console: Console, form: Form) -> dict[str, Any]:
        console.service.rate.require(request.scope, 2)
        first = await page_in(form, "first", "the first page", console.fetcher, "the first page")
        second = await page_in(form, "second", "the second page", console.fetcher, "the second page")
        return {"result": await console.service.checker.compare(first, second)}

    return await _answer(request, "compare", compared)


async def search(request: Request) -> Response:
    """Show the form, and what the index holds that resembles its page."""

    async def found(console: Console, form: Form) -> dict[str, Any]:
        console.service.rate.require(request.scope)
        page = await page_in(form, "page", "the page", console.fetcher, form.get("url", "").strip())
        return {"result": await console.service.checker.explain(page)}

    return await _answer(request, "search", found)


async def index(request: Request) -> Response:
    """Show the figures of the index, and its largest clusters if the button was pressed."""

    async def largest(console: Console, _: Form) -> dict[str, Any]:
        console.service.rate.require(request.scope)
        return {"result": await console.service.checker.clusters(_MOST_CLUSTERS)}

    return await _answer(request, "index", largest)


async def report(request: Request) -> Response:
    """Show the report of the last crawl."""
    console: Console = request.app.state.console
    if console.reports.source is None:
        return rendering.answer("report", problem=None)
    try:
        page = await console.reports.last()
    except CrawlDedupError as error:
        problem = problem_of(error)
        return rendering.answer("report", problem.status, problem.headers, problem=problem)
    # Its own policy, in its head, allows its own script. This one makes it a stranger to the service.
    policy = {"content-security-policy": "sandbox allow-scripts; frame-ancestors 'none'"}
    return Response(page, headers=rendering.HARMLESS | policy, media_type="text/html")


async def style(_: Request) -> Response:
    """Show the stylesheet of the pages."""
    return Response(rendering.stylesheet(), headers=rendering.HARMLESS, media_type="text/css")


PAGES: Final = [
    Route("/", compare, methods=["GET", "POST"]),
    Route("/search", search, methods=["GET", "POST"]),
    Route("/index", index, methods=["GET", "POST"]),
    Route("/report", report),
    Route("/page.css", style),
]


async def _answer(request: Request, name: str, work: Callable[[Console, Form], Awaitable[dict[str, Any]]]) -> Response:
    """Return a page with what was sent by its form and became of it, or with what to change."""
    console: Console = request.app.state.console
    values: dict[str, Any] = {"form": {}, "result": None, "problem": None, "settings": console.settings, "info": None}
    try:
        if name == "index":
            values["info"] = await console.service.checker.ask(Deduplicator.info)
        if request.method == "POST":
            values["form"] = await form_of(request, console.service.bodies)
            values |= await work(console, values["form"])
    except CrawlDedupError as error:
        problem = problem_of(error)
        return rendering.answer(name, problem.status, problem.headers, **values | {"problem": problem})
    return rendering.answer(name, **values)
