"""What clients send: JSON, or a page as it is, to `Page`. ConfigurationError says what to change."""

import base64
import json
from dataclasses import fields, replace
from typing import Any, Final

from crawldedup import wire
from crawldedup.checks import did_you_mean
from crawldedup.errors import ConfigurationError
from crawldedup.fingerprinting.fingerprint import Fingerprint
from crawldedup.page import Page

MOST_PAGES: Final = 1_000
"""Pages of one request."""
_LONGEST_NAME: Final = 8_192
_NAMES: Final = ("url", "identity", "scope_key", "encoding")
# What is on its way is told to the store by the process that has it, which a client is not.
_FIELDS: Final = {"html_base64", *(each.name for each in fields(Page))} - {"delivered"}
_COMPARED: Final = {"url", "html", "html_base64", "text", "encoding", "similarity"}


def value_of(body: bytes, where: str = "the body") -> Any:
    """Return what a text in JSON stands for. Raises ConfigurationError."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{where} is not JSON: {error}") from None


def page_of(value: object, where: str = "the body") -> Page:
    """Return the page that an object in JSON describes. Raises ConfigurationError."""
    page = dict(object_of(value, _FIELDS, where))
    try:
        if "url" not in page:
            raise ConfigurationError("it has no url")
        check_names(page)
        if (encoded := page.pop("html_base64", None)) is not None:
            if page.get("html") is not None:
                raise ConfigurationError("give either html or html_base64")
            page["html"] = _decoded(encoded)
        if page.get("fingerprint") is not None:
            page["fingerprint"] = fingerprint_of(page["fingerprint"])
        return Page(**page)
    except ConfigurationError as error:
        raise ConfigurationError(f"{where}: {error}") from None


def pages_of(body: bytes) -> list[Page]:
    """Return the pages of an array in JSON. Raises ConfigurationError if one of them is wrong."""
    values = value_of(body)
    if not isinstance(values, list) or len(values) > MOST_PAGES:
        what = f"an array of {len(values):,} pages" if isinstance(values, list) else "no array"
        raise ConfigurationError(f"the body is {what}; it must be an array of at most {MOST_PAGES:,} pages")
    return [page_of(value, f"page {place}") for place, value in enumerate(values)]


def two_pages(body: bytes) -> tuple[Page, Page]:
    """Return the pages to compare, of which the URL may be left out. Raises ConfigurationError."""
    given = object_of(value_of(body), {"first", "second"}, "the body")
    first, second = (
        page_of({"url": name, **object_of(given.get(name), _COMPARED, name)}, name) for name in ("first", "second")
    )
    return first, second


def plain_page(content: bytes, kind: str, charset: str | None, named: dict[str, str]) -> Page:
    """Return the page that is a body of HTML or plain text; the query names it. Raises ConfigurationError."""
    page = page_of({**object_of(named, {"url", "identity", "scope_key"}, "the query"), "text": ""}, "the query")
    if kind == "html":
        return replace(page, html=content, text=None, encoding=charset)
    try:
        return replace(page, text=content.decode(charset or "utf-8"))
    except (LookupError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"the text does not have the charset that its content type declares: {error}"
        ) from None


def object_of(value: object, allowed: set[str], where: str) -> dict[str, Any]:
    """Return an object in JSON that has no other fields than those allowed. Raises ConfigurationError."""
    if not isinstance(value, dict):
        raise ConfigurationError(f"{where} is no JSON object; it must be one, with fields of {sorted(allowed)}")
    for name in value:
        if name not in allowed:
            hint = did_you_mean(name, allowed) or f"; it may have {sorted(allowed)}"
            raise ConfigurationError(f"{where} has the unknown field {name[:80]!r}{hint}")
    return value


def check_names(given: dict[str, Any]) -> None:
    """Raise ConfigurationError for names that are too long, or that no UTF-8 can hold."""
    for name in _NAMES:
        value = given.get(name)
        if isinstance(value, str) and len(value) > _LONGEST_NAME:
            raise ConfigurationError(f"{name} has {len(value):,} letters; it may have {_LONGEST_NAME:,}")
        try:
            if isinstance(value, str):
                value.encode()
        except UnicodeEncodeError:
            raise ConfigurationError(f"{name} has half of a surrogate pair; give valid Unicode") from None


def fingerprint_of(value: object) -> Fingerprint:
    """Return the fingerprint that an object in JSON describes. Raises ConfigurationError."""
    try:
        return wire.from_plain(Fingerprint, value)
    except ConfigurationError:
        raise ConfigurationError(
            "the fingerprint is not one that `crawldedup.wire.plain` gave: make it again"
        ) from None


def _decoded(value: object) -> bytes:
    try:
        return base64.b64decode(value, validate=True)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise ConfigurationError("html_base64 is no Base64") from None
