"""Read the forms of the page: a text, HTML or a URL to a `Page`."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl

from crawldedup.errors import ConfigurationError
from crawldedup.page import Page
from crawldedup.service.pages import check_names

if TYPE_CHECKING:
    from starlette.requests import Request

    from crawldedup.service.console.fetching import Fetcher
    from crawldedup.service.edge import Bodies

KINDS: Final = {"guess": "told by what it looks like", "text": "text", "html": "HTML", "url": "URL to fetch"}
_MOST_FIELDS: Final = 10
_URL: Final = re.compile(r"https?://\S+", re.IGNORECASE)
_TAG: Final = re.compile(r"<(?:!|/?[a-zA-Z])[^<>]{0,2000}>")


async def form_of(request: Request, bodies: Bodies) -> dict[str, str]:
    """Return the fields of a form. Raises ConfigurationError, and ProblemError as `Bodies.take` does."""
    body = await bodies.take(request)
    try:
        # The whole body may be escaped characters, which takes a while.
        return dict(await asyncio.to_thread(_parsed, body))
    except ValueError:
        raise ConfigurationError("the request is no form of this page: send one from here") from None


def _parsed(body: bytes) -> list[tuple[str, str]]:
    return parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=_MOST_FIELDS)


async def page_in(form: dict[str, str], name: str, label: str, fetcher: Fetcher, url: str = "") -> Page:
    """Return the page that a field holds. Raises ConfigurationError, and as `Fetcher.page` does."""
    content, kind = form.get(name, "").strip(), form.get(f"{name}-kind", "guess")
    if not content:
        raise ConfigurationError(f"{label} is empty: paste a text, the HTML of a page, or a URL")
    if kind not in KINDS:
        raise ConfigurationError(f"{label} is said to be {kind[:40]!r}; it can be {', '.join(KINDS)}")
    if kind == "guess":
        kind = "url" if _URL.fullmatch(content) else "html" if _TAG.search(content) else "text"
    if kind == "url":
        return await fetcher.page(content)
    check_names({"url": url})
    return Page(url, html=content) if kind == "html" else Page(url, text=content)
