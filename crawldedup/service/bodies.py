"""What clients send: JSON, or a page as it is, to `Page`. ConfigurationError says what to change."""

import base64
import json
import re
from dataclasses import fields
from typing import Any, Final

from starlette.requests import Request

from crawldedup import wire
from crawldedup.checks import did_you_mean
from crawldedup.errors import ConfigurationError
from crawldedup.fingerprinting.fingerprint import Fingerprint
from crawldedup.page import Page
from crawldedup.service.problems import ProblemError

MOST_PAGES: Final = 1_000
"""Pages of one request."""
LONGEST_NAME: Final = 8_192
NAMES: Final = ("url", "identity", "scope_key", "encoding")
# What is on its way is told to the store by the process that has it, which a client is not.
PAGE_FIELDS: Final = ("html_base64", *(each.name for each in fields(Page) if each.name != "delivered"))
COMPARED_FIELDS: Final = ("url", "html", "html_base64", "text", "encoding", "similarity")
FORGOTTEN_FIELDS: Final = ("url", "fingerprint", "identity", "scope_key")
QUERY_FIELDS: Final = ("url", "identity", "scope_key")

_JSON: Final = "application/json"
_CHARSET: Final = re.compile(r';\s*charset\s*=\s*"?([\w.:-]+)', re.IGNORECASE)


async def page_in(request: Request, url: str | None = None) -> Page:
    """Return the page that a request sends, with its URL by default. Raises ConfigurationError and ProblemError."""
    kind = _kind_of(request, _JSON, "text/html", "text/plain")
    body = await request.body()
    if kind == _JSON:
        return page_of(_json_of(body), url=url)
    charset = _CHARSET.search(request.headers["content-type"])
    encoding = charset and charset[1]
    content = {"html": body, "encoding": encoding} if kind == "text/html" else {"text": _text_of(body, encoding)}
    return page_of(dict(request.query_params), "the query", QUERY_FIELDS, url, **content)


async def pages_in(request: Request) -> list[Page]:
    """Return the pages of an array in JSON. Raises ConfigurationError if one of them is wrong."""
    values = await value_in(request)
    if not isinstance(values, list) or len(values) > MOST_PAGES:
        what = f"an array of {len(values):,} pages" if isinstance(values, list) else "no array"
        raise ConfigurationError(f"the body is {what}; it must be an array of at most {MOST_PAGES:,} pages")
    return [page_of(value, f"page {place}") for place, value in enumerate(values)]


async def pair_in(request: Request) -> tuple[Page, Page]:
    """Return the two pages to compare, of which the URL may be left out. Raises ConfigurationError."""
    pair = checked(await value_in(request), ("first", "second"))
    first, second = (page_of(pair.get(name), name, COMPARED_FIELDS, url=name) for name in ("first", "second"))
    return first, second


async def forgotten_in(request: Request) -> dict[str, Any]:
    """Return the arguments of `Deduplicator.forget`. Raises ConfigurationError."""
    values = checked(await value_in(request), FORGOTTEN_FIELDS)
    if ("url" in values) == ("fingerprint" in values):
        raise ConfigurationError("the body must have one of url and fingerprint")
    page = values.pop("url") if "url" in values else _fingerprint_of(values.pop("fingerprint"))
    return {"page": page, **values}


async def value_in(request: Request) -> Any:
    """Return what a request in JSON sends. Raises ConfigurationError and ProblemError."""
    _kind_of(request, _JSON)
    return _json_of(await request.body())


def page_of(
    value: object,
    where: str = "the body",
    allowed: tuple[str, ...] = PAGE_FIELDS,
    url: str | None = None,
    **content: Any,
) -> Page:
    """Return the page that an object in JSON describes, with its URL by default. Raises ConfigurationError."""
    page = checked(value, allowed, where) | content
    if url is not None:
        page.setdefault("url", url)
    if "url" not in page:
        raise ConfigurationError(f"{where}: it has no url")
    try:
        if (encoded := page.pop("html_base64", None)) is not None:
            if page.get("html") is not None:
                raise ConfigurationError("give either html or html_base64")
            page["html"] = _bytes_of(encoded)
        if page.get("fingerprint") is not None:
            page["fingerprint"] = _fingerprint_of(page["fingerprint"])
        return Page(**page)
    except ConfigurationError as error:
        raise ConfigurationError(f"{where}: {error}") from None


def arguments_of(page: Page) -> dict[str, Any]:
    """Return a page as the arguments of `Deduplicator.explain` and its like."""
    return {each.name: getattr(page, each.name) for each in fields(page)}


def checked(value: object, allowed: tuple[str, ...], where: str = "the body") -> dict[str, Any]:
    """Return an object in JSON whose fields are allowed, and its names short and valid. Raises ConfigurationError."""
    if not isinstance(value, dict):
        raise ConfigurationError(f"{where} is no JSON object; it must be one, with fields of {sorted(allowed)}")
    for name in value:
        if name not in allowed:
            hint = did_you_mean(name, allowed) or f"; it may have {sorted(allowed)}"
            raise ConfigurationError(f"{where} has the unknown field {name[:80]!r}{hint}")
    for name in NAMES:
        text = value.get(name)
        if not isinstance(text, str):
            continue
        if len(text) > LONGEST_NAME:
            raise ConfigurationError(f"{where}: {name} has {len(text):,} letters; it may have {LONGEST_NAME:,}")
        if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
            raise ConfigurationError(f"{where}: {name} has half of a surrogate pair; give valid Unicode")
    return dict(value)


def _kind_of(request: Request, *allowed: str) -> str:
    """Return the media type of a request. Raises ProblemError for another one than those allowed."""
    kind = request.headers.get("content-type", _JSON).partition(";")[0].strip().lower()
    coding = request.headers.get("content-encoding", "identity").lower()
    if coding != "identity":
        raise ProblemError("media-type", 415, f"the body has the encoding {coding[:80]!r}: send it as it is")
    if kind not in allowed:
        raise ProblemError("media-type", 415, f"the content type is {kind[:80]!r}; it must be {' or '.join(allowed)}")
    return kind


def _json_of(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"the body is not JSON: {error}") from None


def _fingerprint_of(value: object) -> Fingerprint:
    try:
        return wire.from_plain(Fingerprint, value)
    except ConfigurationError:
        raise ConfigurationError(
            "the fingerprint is not one that `crawldedup.wire.plain` gave: make it again"
        ) from None


def _bytes_of(encoded: Any) -> bytes:
    try:
        return base64.b64decode(encoded, validate=True)
    except (TypeError, ValueError):
        raise ConfigurationError("html_base64 is no Base64") from None


def _text_of(body: bytes, charset: str | None) -> str:
    try:
        return body.decode(charset or "utf-8")
    except (LookupError, UnicodeDecodeError) as error:
        message = f"the text does not have the charset that its content type declares: {error}"
        raise ConfigurationError(message) from None
