"""Render the pages: no script, nothing from elsewhere, and what pages say is text."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import Response

from crawldedup.explanation import wording as explained
from crawldedup.printable import pluralize, printable
from crawldedup.report.render import wording
from crawldedup.service.console.forms import KINDS
from crawldedup.stores.shown import shown_url
from crawldedup.verdict import describe

HARMLESS: Final = {"x-content-type-options": "nosniff", "cache-control": "no-store", "referrer-policy": "same-origin"}
"""Headers of every page. With the referrer policy `no-referrer` browsers would not say that a form is of this page."""

_POLICY: Final = "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
_LONGEST_TEXT: Final = 20_000


def answer(name: str, status: int = 200, headers: dict[str, str] | None = None, **values: Any) -> Response:
    """Return a page made from a template."""
    body = _environment().get_template(f"{name}.html").render(page=name, **values)
    sent = {**(headers or {}), **HARMLESS, "content-security-policy": _POLICY}
    # What was pasted may hold halves of surrogate pairs.
    return Response(body.encode("utf-8", "replace"), status, sent, "text/html")


@cache
def stylesheet() -> str:
    """Return the style of reports, and what the pages have beside it."""
    report = files("crawldedup.report.render") / "page" / "report.css"
    own = files("crawldedup.service.console") / "page" / "page.css"
    return report.read_text("utf-8") + own.read_text("utf-8")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("crawldedup.service.console", "page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for function in (
        describe,
        pluralize,
        shown_url,
        wording.date,
        wording.link,
        wording.percent,
        wording.shown,
        wording.size,
    ):
        environment.globals[function.__name__] = function
    environment.globals |= {"told": explained, "kinds": KINDS, "paragraphs_of": _paragraphs}
    return environment


def _paragraphs(text: str) -> list[str]:
    """Return the lines of a text, safe to show, and cut where it is long."""
    lines = [printable(line, _LONGEST_TEXT) for line in text[:_LONGEST_TEXT].splitlines() if line.strip()]
    more = len(text) - _LONGEST_TEXT
    return [*lines, f"… and {more:,} characters more"] if more > 0 else lines
