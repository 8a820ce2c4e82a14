"""Show the service to a person: compare two pages, search the index and look into it, in HTML without scripts."""

import asyncio
import re
from functools import cache
from importlib.resources import files
from typing import Any, Final
from urllib.parse import parse_qsl

from jinja2 import Environment
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from crawldedup import wire
from crawldedup.aio import AsyncDeduplicator
from crawldedup.errors import ConfigurationError, CrawlDedupError, pluralize
from crawldedup.explain import Comparison
from crawldedup.report.render import wording
from crawldedup.report.render.files import templates_of
from crawldedup.service.endpoints import SentPage, converted, problem_of
from crawldedup.service.watching import summary
from crawldedup.stores.base import shown_url
from crawldedup.verdict import describe

_MOST_FIELDS: Final = 10
_TAG: Final = re.compile(r"<(?:!|/?[a-zA-Z])[^<>]{0,2000}>")
# With the referrer policy `no-referrer` browsers would not say that a form is of this page.
_HARMLESS: Final = {"x-content-type-options": "nosniff", "cache-control": "no-store", "referrer-policy": "same-origin"}
_POLICY: Final = "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"


async def show(request: Request) -> Response:
    """Show a page: its form with what was sent by it, and what became of that, or what to change."""
    dedup: AsyncDeduplicator = request.app.state.dedup
    name = request.url.path.strip("/") or "compare"
    values: dict[str, Any] = {"form": {}, "result": None, "problem": None, "info": None}
    status, headers = 200, {**_HARMLESS, "content-security-policy": _POLICY}
    try:
        if request.method == "POST":
            values["form"] = form = await _form_in(request)
            if name == "compare":
                pages = [_page_in(form, each, f"the {each} page").page for each in ("first", "second")]
                values["result"] = wire.from_plain(Comparison, await dedup.compare(*pages))
            else:
                page = _page_in(form, "page", form.get("url", "").strip())
                values["result"] = await dedup.explain(**page.values)
        elif name == "index":
            values["info"] = await dedup.info()
    except CrawlDedupError as error:
        refused = problem_of(error)
        values["problem"], status, headers = refused.problem, refused.problem.status, headers | refused.headers
    template = _environment().get_template(f"{name}.html")
    body = template.render(page=name, options=dedup.options, **values)
    # What was pasted may hold halves of surrogate pairs.
    return Response(body.encode("utf-8", "replace"), status, headers, "text/html")


async def style(_: Request) -> Response:
    """Show the stylesheet of the pages, which is that of reports and a few rules more."""
    sheets = files("crawldedup.report.render") / "page/report.css", files("crawldedup.service") / "page/page.css"
    return Response("".join(sheet.read_text("utf-8") for sheet in sheets), headers=_HARMLESS, media_type="text/css")


PAGES: Final = [
    Route("/", show, methods=["GET", "POST"]),
    Route("/search", show, methods=["GET", "POST"]),
    Route("/index", show),
    Route("/page.css", style),
]


async def _form_in(request: Request) -> dict[str, str]:
    """Return the fields of a form. Raises ConfigurationError, and ProblemError for a body that is not taken."""
    body = await request.body()
    try:
        # The whole body may be escaped characters, which takes a while.
        return dict(await asyncio.to_thread(parse_qsl, body.decode("ascii"), max_num_fields=_MOST_FIELDS))
    except ValueError:
        raise ConfigurationError("the request is no form of this page: send one from here") from None


def _page_in(form: dict[str, str], name: str, url: str) -> SentPage:
    content, kind = form.get(name, "").strip(), form.get(f"{name}-kind", "guess")
    if not content:
        label = "the page" if name == "page" else f"the {name} page"
        raise ConfigurationError(f"{label} is empty: paste a text, or the HTML of a page")
    is_html = kind == "html" or (kind == "guess" and _TAG.search(content))
    return converted({"url": url, "html" if is_html else "text": content}, SentPage)


@cache
def _environment() -> Environment:
    environment = templates_of("crawldedup.service")
    functions = describe, pluralize, shown_url, summary, wording.link, wording.percent, wording.shown, wording.size
    environment.globals |= {function.__name__: function for function in functions}
    return environment
