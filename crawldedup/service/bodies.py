"""What clients send: JSON of these types, or a page as it is, to `Page`. ConfigurationError says what to change."""

import json
import re
from dataclasses import fields
from typing import Annotated, Any, Final, TypeVar

from msgspec import UNSET, Meta, Struct, UnsetType, ValidationError, convert
from starlette.requests import Request

from crawldedup import wire
from crawldedup.checks import did_you_mean
from crawldedup.errors import ConfigurationError
from crawldedup.fingerprinting.fingerprint import Fingerprint
from crawldedup.page import Page
from crawldedup.service.problems import ProblemError

T = TypeVar("T")
JSON: Final = "application/json"
LONGEST_NAME: Final = 8_192
MOST_PAGES: Final = 1_000
"""Pages of one request."""
_LONGEST_MESSAGE: Final = 300
_CHARSET: Final = re.compile(r';\s*charset\s*=\s*"?([\w.:-]+)', re.IGNORECASE)
_UNKNOWN: Final = re.compile(r"unknown field `(.*?)`")

Name = Annotated[str, Meta(max_length=LONGEST_NAME)]


class Named(Struct, forbid_unknown_fields=True):
    """What names a page. A query has no more, beside HTML or plain text."""

    url: Name | UnsetType = UNSET
    identity: Name | None = None
    scope_key: Name | None = None

    def __post_init__(self) -> None:
        for name in ("url", "identity", "scope_key", "encoding"):
            text = getattr(self, name, None) or ""
            if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
                raise ValueError(f"{name} has half of a surrogate pair; give valid Unicode")


class KnownPage(Named):
    """A page by its URL, or every page with the text of a fingerprint."""

    fingerprint: dict[str, Any] | None = None


class SentPage(KnownPage):
    """A page: one of `html`, `html_base64`, `text` and `fingerprint`."""

    # No `delivered`: what is on its way is told to the store by the process that has it, which a client is not.
    html: str | None = None
    html_base64: bytes | None = None
    text: str | None = None
    encoding: Name | None = None
    similarity: float | None = None
    canonical: str | None = None
    remember: bool = True
    rank: float = 0  # a whole one, which JSON may write as 1.0
    revisit_similarity: float | None = None


SentPages = Annotated[list[SentPage], Meta(max_length=MOST_PAGES)]


class Pair(Struct, forbid_unknown_fields=True):
    """Two pages to compare, whose URLs may be left out."""

    first: SentPage
    second: SentPage


async def page_in(request: Request, url: str | None = None) -> Page:
    """Return the page that a request sends, with its URL by default. Raises ConfigurationError and ProblemError."""
    kind = _kind_of(request, JSON, "text/html", "text/plain")
    body = await request.body()
    if kind == JSON:
        return page_of(_decoded(body, SentPage), url=url)
    charset = _CHARSET.search(request.headers["content-type"])
    encoding = charset and charset[1]
    content = {"html": body, "encoding": encoding} if kind == "text/html" else {"text": _text_of(body, encoding)}
    return page_of(converted(dict(request.query_params), Named), "the query", url, **content)


async def pages_in(request: Request) -> list[Page]:
    """Return the pages of an array. Raises ConfigurationError, if one of them is wrong, too, and ProblemError."""
    pages = await _sent(request, SentPages)
    return [page_of(page, f"page {place}") for place, page in enumerate(pages)]


async def pair_in(request: Request) -> tuple[Page, Page]:
    """Return the two pages to compare. Raises ConfigurationError and ProblemError."""
    pair = await _sent(request, Pair)
    return page_of(pair.first, "first", "first"), page_of(pair.second, "second", "second")


async def forgotten_in(request: Request) -> dict[str, Any]:
    """Return the arguments of `Deduplicator.forget`. Raises ConfigurationError and ProblemError."""
    sent = await _sent(request, KnownPage)
    if (sent.url is UNSET) == (sent.fingerprint is None):
        raise ConfigurationError("the body must have one of url and fingerprint")
    page = sent.url if sent.fingerprint is None else _fingerprint_of(sent.fingerprint)
    return {"page": page, "identity": sent.identity, "scope_key": sent.scope_key}


def page_of(sent: Named, where: str = "the body", url: str | None = None, **content: Any) -> Page:
    """Return the page that was sent, with its URL by default. Raises ConfigurationError."""
    values = {name: getattr(sent, name) for name in sent.__struct_fields__} | content
    try:
        if values["url"] is UNSET:
            if url is None:
                raise ConfigurationError("it has no url")
            values["url"] = url
        decoded = values.pop("html_base64", None)
        if decoded is not None and values["html"] is not None:
            raise ConfigurationError("give either html or html_base64")
        values["html"] = values.get("html") if decoded is None else decoded
        if values.get("fingerprint") is not None:
            values["fingerprint"] = _fingerprint_of(values["fingerprint"])
        return Page(**values)
    except ConfigurationError as error:
        raise ConfigurationError(f"{where}: {error}") from None


def arguments_of(page: Page) -> dict[str, Any]:
    """Return a page as the arguments of `Deduplicator.explain` and its like."""
    return {each.name: getattr(page, each.name) for each in fields(page)}


async def _sent(request: Request, kind: type[T]) -> T:
    _kind_of(request, JSON)
    return _decoded(await request.body(), kind)


def _kind_of(request: Request, *allowed: str) -> str:
    """Return the media type of a request. Raises ProblemError for another one than those allowed."""
    kind = request.headers.get("content-type", JSON).partition(";")[0].strip().lower()
    coding = request.headers.get("content-encoding", "identity").lower()
    if coding != "identity":
        raise ProblemError("media-type", 415, f"the body has the encoding {coding[:80]!r}: send it as it is")
    if kind not in allowed:
        raise ProblemError("media-type", 415, f"the content type is {kind[:80]!r}; it must be {' or '.join(allowed)}")
    return kind


def _decoded(body: bytes, kind: type[T]) -> T:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"the body is not JSON: {error}") from None
    return converted(value, kind)


def converted(value: Any, kind: type[T]) -> T:
    """Return a value of one of the types above. Raises ConfigurationError, which says what to change, and where."""
    try:
        return convert(value, kind)
    except (ValidationError, UnicodeEncodeError) as error:
        unknown = _UNKNOWN.search(str(error))
        hint = did_you_mean(unknown[1], SentPage.__struct_fields__) if unknown else ""
        raise ConfigurationError(f"{str(error)[:_LONGEST_MESSAGE]}{hint}") from None


def _fingerprint_of(value: object) -> Fingerprint:
    try:
        return wire.from_plain(Fingerprint, value)
    except ConfigurationError:
        message = "the fingerprint is not one that `crawldedup.wire.plain` gave: make it again"
        raise ConfigurationError(message) from None


def _text_of(body: bytes, charset: str | None) -> str:
    try:
        return body.decode(charset or "utf-8")
    except (LookupError, UnicodeDecodeError) as error:
        message = f"the text does not have the charset that its content type declares: {error}"
        raise ConfigurationError(message) from None
