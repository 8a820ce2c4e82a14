"""The web pages of the service for people: compare pages, search the index, and inspect it.

They don't use any scripts.
"""

import asyncio
import json
import re
from collections import defaultdict
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, Final
from urllib.parse import unquote_to_bytes

from crawldedup.aio import AsyncDeduplicator
from crawldedup.errors import ConfigurationError, CrawlDedupError
from crawldedup.marks.reasons import kind_in_words
from crawldedup.passwords import shown_url
from crawldedup.report.render import templates_of
from crawldedup.scope import TOLD_APART
from crawldedup.service.messages import SentPage, converted
from crawldedup.service.metrics import registry_of_all_workers
from crawldedup.service.problems import problem_of
from crawldedup.service.routes import Answer, Route, Scope
from crawldedup.text import pluralize
from crawldedup.verdict import describe

_MOST_FIELDS: Final = 10
_PIECE_BYTES: Final = 1 << 15
_TAG: Final = re.compile(r"<(?:!|/?[a-zA-Z])[^<>]{0,2000}>")
_POLICY: Final = (
    "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors "
    "'none'"
)
_HEADERS: Final = {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
    # With `no-referrer`, browsers would not say that a form comes from this page.
    "referrer-policy": "same-origin",
}


async def show(dedup: AsyncDeduplicator, scope: Scope, body: bytes) -> Answer:
    """Show a page with its form, the values that were sent, and the result or what to change."""
    name = scope["path"].strip("/") or "compare"
    values: dict[str, Any] = {"form": {}, "result": None, "problem": None, "info": None}
    status = 200
    headers = _HEADERS
    try:
        if scope["method"] == "POST":
            values["form"] = form = await _form_in(body)
            if name == "compare":
                first, second = (
                    _page_in(form, name, form.get(f"{name}-url", "").strip() or f"the {name} page")
                    for name in ("first", "second")
                )
                values["result"] = await dedup.compare(first.page, second.page)
            else:
                sent = _page_in(form, "page", form.get("url", "").strip())
                values["result"] = await dedup.explain(**sent.values)
        elif name == "index":
            values["info"] = await dedup.info()
    except CrawlDedupError as error:
        refused = problem_of(error)
        values["problem"] = refused.problem
        status = refused.problem.status
        headers = headers | refused.headers
    return page_of(name, dedup, status=status, headers=headers, **values)


def page_of(
    name: str,
    dedup: AsyncDeduplicator,
    *,
    status: int = 200,
    headers: Mapping[str, str] = _HEADERS,
    **values: Any,
) -> Answer:
    """Render a page from its template and these values."""
    templates = templates_of(
        "crawldedup.service", describe, indented, kind_in_words, pluralize, shown_url, summary
    )
    values = {"problem": None, "told_apart": TOLD_APART, **values}
    page = templates.get_template(f"{name}.html").render(page=name, options=dedup.options, **values)
    # Pasted text may contain lone surrogates.
    return Answer(page.encode("utf-8", "replace"), status, headers)


async def style(*_: object) -> Answer:
    """Send the stylesheet: the one of reports, with a few more rules."""
    sheets = (
        files("crawldedup.report") / "page/report.css",
        files("crawldedup.service") / "page/page.css",
    )
    headers = _HEADERS | {"content-type": "text/css; charset=utf-8"}
    return Answer(b"".join(sheet.read_bytes() for sheet in sheets), headers=headers)


async def no_icon(*_: object) -> Answer:
    """Answer a browser's request for an icon: the pages have none."""
    return Answer(b"", 204, _HEADERS)


def indented(value: object) -> str:
    """Format a value as indented JSON."""
    return json.dumps(value, indent=2)


def summary() -> list[tuple[str, dict[str, float]]]:
    """Return a heading for each metric of the service, and its values by label. Times are means."""
    tables = []
    for family in registry_of_all_workers().collect():
        values: dict[str, dict[str, float]] = defaultdict(dict)
        for each in family.samples:
            values[each.name.removeprefix(family.name)][" ".join(each.labels.values())] = each.value
        sums = values["_sum"]
        counts = values["_count"]
        means = {label: sums[label] / count for label, count in counts.items() if count}
        tables.append((family.documentation.rstrip("."), means or values["_total"] or values[""]))
    return tables


_FORM: Final = ("GET", "HEAD", "POST")
PAGES: Final = (
    Route("/", show, _FORM, is_page=True),
    Route("/search", show, _FORM, is_page=True),
    Route("/index", show, is_page=True),
    Route("/page.css", style, is_page=True),
    Route("/favicon.ico", no_icon, is_page=True),
)


async def _form_in(body: bytes) -> dict[str, str]:
    """Parse the fields of a form. Raises ConfigurationError if the request can't come from one."""
    fields = body.split(b"&", _MOST_FIELDS)
    if not body.isascii() or len(fields) > _MOST_FIELDS:
        raise ConfigurationError(
            "the request does not come from the form of this page: send it from here"
        )
    form = {}
    for field in fields:
        name, _, value = field.partition(b"=")
        form[await _unescaped(name)] = await _unescaped(value)
    return form


async def _unescaped(value: bytes) -> str:
    """Decode a name or a value of a form.

    A large one that consists of escapes takes a second, so other requests get their turns in
    between.
    """
    content = bytearray()
    start = 0
    while start < len(value):
        end = start + _PIECE_BYTES
        # Don't split an escape, such as %20.
        escape = value.rfind(b"%", end - 2, end)
        if escape >= 0 and end < len(value):
            end = escape
        content += unquote_to_bytes(value[start:end].replace(b"+", b" "))
        start = end
        await asyncio.sleep(0)
    return content.decode("utf-8", "replace")


def _page_in(form: dict[str, str], name: str, url: str) -> SentPage:
    content = form.get(name, "").strip()
    kind = form.get(f"{name}-kind", "guess")
    if not content:
        label = "the page" if name == "page" else f"the {name} page"
        raise ConfigurationError(f"{label} is empty: paste a text, or the HTML of a page")
    is_html = kind == "html" or (kind == "guess" and _TAG.search(content))
    return converted({"url": url, "html" if is_html else "text": content}, SentPage)
