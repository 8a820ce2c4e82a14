"""What clients send: JSON of these types, or a page as it is, to `Page`. ConfigurationError says what to change."""

import json
import re
from typing import Annotated, Any, Final, TypeVar

from msgspec import Meta, Struct, ValidationError, convert, structs
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


class KnownPage(Struct, kw_only=True, forbid_unknown_fields=True):
    """A page by its URL, or every page with the text of a fingerprint."""

    url: Name = ""
    identity: Name | None = None
    scope_key: Name | None = None
    fingerprint: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        # Of an error raised here, msgspec says at which page of many. This one is raised for half of a surrogate pair.
        "".join(filter(None, (self.url, self.identity, self.scope_key))).encode()

    def name(self) -> str | Fingerprint:
        """Return the URL or the fingerprint. Raises ConfigurationError."""
        if bool(self.url) == bool(self.fingerprint):
            raise ConfigurationError("the body must have one of url and fingerprint")
        return self.url if self.fingerprint is None else _fingerprint_of(self.fingerprint)


class SentPage(KnownPage, kw_only=True, dict=True):
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

    def __post_init__(self) -> None:
        super().__post_init__()
        self.values = structs.asdict(self)
        if (decoded := self.values.pop("html_base64")) is not None:
            if self.html is not None:
                raise ConfigurationError("give either html or html_base64")
            self.values["html"] = decoded
        if self.fingerprint is not None:
            self.values["fingerprint"] = _fingerprint_of(self.fingerprint)
        self.page = Page(**self.values)


class CheckedPage(SentPage, kw_only=True, dict=True):
    """A page with its URL: one of `html`, `html_base64`, `text` and `fingerprint`."""

    url: Name


CheckedPages = Annotated[list[CheckedPage], Meta(max_length=MOST_PAGES)]


class Pair(Struct, forbid_unknown_fields=True):
    """Two pages to compare, whose URLs may be left out."""

    first: SentPage
    second: SentPage


async def page_in(request: Request, kind: type[SentPage]) -> SentPage:
    """Return the page that a request sends. Raises ConfigurationError and ProblemError."""
    media_type = _media_type(request, JSON, "text/html", "text/plain")
    if media_type == JSON:
        return await sent_in(request, kind)
    charset = _CHARSET.search(request.headers["content-type"])
    values: dict[str, Any] = dict(request.query_params)
    if media_type == "text/html":
        values |= {"html_base64": await request.body(), "encoding": charset and charset[1]}
    else:
        values["text"] = _text_of(await request.body(), charset[1] if charset else "utf-8")
    return converted(values, kind)


async def sent_in(request: Request, kind: type[T]) -> T:
    """Return what a request sends in JSON, if all of it is right. Raises ConfigurationError and ProblemError."""
    _media_type(request, JSON)
    try:
        value = json.loads(await request.body())
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


def _media_type(request: Request, *allowed: str) -> str:
    """Return the media type of a request. Raises ProblemError for another one than those allowed."""
    kind = request.headers.get("content-type", JSON).partition(";")[0].strip().lower()
    coding = request.headers.get("content-encoding", "identity").lower()
    if coding != "identity":
        raise ProblemError("media-type", 415, f"the body has the encoding {coding[:80]!r}: send it as it is")
    if kind not in allowed:
        raise ProblemError("media-type", 415, f"the content type is {kind[:80]!r}; it must be {' or '.join(allowed)}")
    return kind


def _fingerprint_of(value: object) -> Fingerprint:
    try:
        return wire.from_plain(Fingerprint, value)
    except ConfigurationError:
        message = "the fingerprint is not one that `crawldedup.wire.plain` gave: make it again"
        raise ConfigurationError(message) from None


def _text_of(body: bytes, charset: str) -> str:
    try:
        return body.decode(charset)
    except (LookupError, UnicodeDecodeError) as error:
        message = f"the text does not have the charset that its content type declares: {error}"
        raise ConfigurationError(message) from None
