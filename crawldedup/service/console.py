"""Show the service to a person: compare two pages, search the index and look into it, in HTML without scripts."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from functools import cache
from importlib.resources import files
from typing import Any, Final
from urllib.parse import parse_qsl

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from crawldedup import explain as explained
from crawldedup import wire
from crawldedup.errors import ConfigurationError, CrawlDedupError
from crawldedup.explain import Comparison
from crawldedup.page import Page
from crawldedup.printable import pluralize, printable
from crawldedup.report.render import wording
from crawldedup.service import metrics
from crawldedup.service.bodies import arguments_of, page_of
from crawldedup.service.checking import Checker
from crawldedup.service.problems import problem_of
from crawldedup.stores.registry import shown_url
from crawldedup.verdict import describe

Form = dict[str, str]

_KINDS: Final = {"guess": "text or HTML, by its looks", "text": "text", "html": "HTML"}
_MOST_FIELDS: Final = 10
_TAG: Final = re.compile(r"<(?:!|/?[a-zA-Z])[^<>]{0,2000}>")
_HARMLESS: Final = {"x-content-type-options": "nosniff", "cache-control": "no-store", "referrer-policy": "same-origin"}
"""Headers of every page. With the referrer policy `no-referrer` browsers would not say that a form is of this page."""
_POLICY: Final = "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
_LONGEST_TEXT: Final = 20_000


async def compare(request: Request) -> Response:
    """Show the form, and how the two pages of it compare."""

    async def compared(checker: Checker, form: Form) -> dict[str, Any]:
        pages = [_page_in(form, name, f"the {name} page", f"the {name} page") for name in ("first", "second")]
        return {"result": wire.from_plain(Comparison, await checker.dedup.compare(*pages))}

    return await _answer(request, "compare", compared)


async def search(request: Request) -> Response:
    """Show the form, and what the index holds that resembles its page."""

    async def found(checker: Checker, form: Form) -> dict[str, Any]:
        page = _page_in(form, "page", "the page", form.get("url", "").strip())
        return {"result": await (await checker.index()).explain(**arguments_of(page))}

    return await _answer(request, "search", found)


async def index(request: Request) -> Response:
    """Show the figures of the index, and those of the service."""

    async def figures(checker: Checker, _: Form) -> dict[str, Any]:
        return {"info": await (await checker.index()).info()}

    return await _answer(request, "index", figures)


async def style(_: Request) -> Response:
    """Show the stylesheet of the pages."""
    return Response(_stylesheet(), headers=_HARMLESS, media_type="text/css")


PAGES: Final = [
    Route("/", compare, methods=["GET", "POST"]),
    Route("/search", search, methods=["GET", "POST"]),
    Route("/index", index),
    Route("/page.css", style),
]


async def _answer(request: Request, name: str, work: Callable[[Checker, Form], Awaitable[dict[str, Any]]]) -> Response:
    """Return a page with what was sent by its form and became of it, or with what to change."""
    checker: Checker = request.app.state.checker
    values: dict[str, Any] = {"form": {}, "result": None, "problem": None, "info": None}
    status, headers = 200, {}
    try:
        if request.method == "POST":
            values["form"] = await _form_of(request)
        if request.method == "POST" or name == "index":
            values |= await work(checker, values["form"])
    except CrawlDedupError as error:
        refused = problem_of(error)
        values["problem"], status, headers = refused.problem, refused.problem.status, refused.headers
    template = _environment().get_template(f"{name}.html")
    body = template.render(page=name, options=checker.settings.options, summary=metrics.summary, **values)
    sent = {**headers, **_HARMLESS, "content-security-policy": _POLICY}
    # What was pasted may hold halves of surrogate pairs.
    return Response(body.encode("utf-8", "replace"), status, sent, "text/html")


async def _form_of(request: Request) -> Form:
    """Return the fields of a form. Raises ConfigurationError, and ProblemError for a body that is not taken."""
    body = await request.body()
    try:
        # The whole body may be escaped characters, which takes a while.
        return dict(await asyncio.to_thread(_parsed, body))
    except ValueError:
        raise ConfigurationError("the request is no form of this page: send one from here") from None


def _parsed(body: bytes) -> list[tuple[str, str]]:
    return parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=_MOST_FIELDS)


def _page_in(form: Form, name: str, label: str, url: str) -> Page:
    content, kind = form.get(name, "").strip(), form.get(f"{name}-kind", "guess")
    if not content:
        raise ConfigurationError(f"{label} is empty: paste a text, or the HTML of a page")
    if kind not in _KINDS:
        raise ConfigurationError(f"{label} is said to be {kind[:40]!r}; it can be {', '.join(_KINDS)}")
    is_html = kind == "html" or (kind == "guess" and _TAG.search(content))
    return page_of({"url": url, "html" if is_html else "text": content}, label)


@cache
def _stylesheet() -> str:
    report = files("crawldedup.report.render") / "page" / "report.css"
    own = files("crawldedup.service") / "page" / "page.css"
    return report.read_text("utf-8") + own.read_text("utf-8")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("crawldedup.service", "page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    functions = (describe, pluralize, shown_url, wording.link, wording.percent, wording.shown, wording.size)
    environment.globals |= {function.__name__: function for function in functions}
    environment.globals |= {"told": explained, "kinds": _KINDS, "paragraphs_of": _paragraphs}
    return environment


def _paragraphs(text: str) -> list[str]:
    """Return the lines of a text, safe to show, and cut where it is long."""
    lines = [printable(line, _LONGEST_TEXT) for line in text[:_LONGEST_TEXT].splitlines() if line.strip()]
    more = len(text) - _LONGEST_TEXT
    return [*lines, f"… and {more:,} characters more"] if more > 0 else lines
