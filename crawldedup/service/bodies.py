"""What clients send: JSON of these types, or a page as it is. ConfigurationError says what to change, and where."""

import json
import re
from typing import Annotated, Any, Final, TypeVar

from msgspec import Meta, Struct, convert, structs
from starlette.requests import Request

from crawldedup import wire
from crawldedup.checks import did_you_mean
from crawldedup.errors import ConfigurationError
from crawldedup.fingerprinting.fingerprint import Fingerprint
from crawldedup.page import Page
from crawldedup.service.problems import ProblemError

T = TypeVar("T")
JSON: Final = "application/json"
PLAIN: Final = ("text/html", "text/plain")
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
    fingerprint: dict[str, Any] | None = None  #: In Python: `wire.plain` of a fingerprint made with the index's key.

    def __post_init__(self) -> None:
        # Of an error raised here, msgspec says at which page of many. This one is raised for half of a surrogate pair.
        "".join(filter(None, (self.url, self.identity, self.scope_key))).encode()

    def name(self) -> str | Fingerprint:
        """Return the URL or the fingerprint. Raises ConfigurationError."""
        if bool(self.url) == bool(self.fingerprint):
            raise ConfigurationError("the body must have one of url and fingerprint")
        return self.url or wire.from_plain(Fingerprint, self.fingerprint)


class SentPage(KnownPage, kw_only=True, dict=True):
    """A page: one of `html`, `html_base64`, `text` and `fingerprint`."""

    # No `delivered`: what is on its way is told to the store by the process that has it, which a client is not.
    html: str | None = None
    html_base64: bytes | None = None  #: The bytes of the HTML in Base64: its encoding will be found out.
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
            self.values["fingerprint"] = wire.from_plain(Fingerprint, self.fingerprint)
        self.page = Page(**self.values)


class CheckedPage(SentPage, kw_only=True, dict=True):
    """A page with its URL: one of `html`, `html_base64`, `text` and `fingerprint`."""

    url: Name


CheckedPages = Annotated[list[CheckedPage], Meta(max_length=MOST_PAGES)]


class Pair(Struct, forbid_unknown_fields=True):
    """Two pages to compare, whose URLs may be left out."""

    first: SentPage
    second: SentPage


async def sent_in(request: Request, kind: type[T], *other_types: str) -> T:
    """Return what a request sends in JSON, or in other media types: the content of a page that the query names.

    Raises ConfigurationError and ProblemError.
    """
    content_type = request.headers.get("content-type", JSON)
    media_type = content_type.partition(";")[0].strip().lower()
    coding = request.headers.get("content-encoding", "identity").lower()
    if coding != "identity":
        raise ProblemError("media-type", 415, f"the body has the encoding {coding[:80]!r}: send it as it is")
    if media_type not in (JSON, *other_types):
        allowed = " or ".join((JSON, *other_types))
        raise ProblemError("media-type", 415, f"the content type is {media_type[:80]!r}; it must be {allowed}")
    body = await request.body()
    charset = _CHARSET.search(content_type)
    value: Any = dict(request.query_params)
    try:
        if media_type == JSON:
            value = json.loads(body)
        elif media_type == "text/html":
            value |= {"html_base64": body, "encoding": charset and charset[1]}
        else:
            value["text"] = body.decode(charset[1] if charset else "utf-8")
    except (ValueError, LookupError, RecursionError) as error:
        raise ConfigurationError(f"the body is not {content_type[:80]}: {error}") from None
    return converted(value, kind)


def converted(value: Any, kind: type[T]) -> T:
    """Return a value of one of the types above. Raises ConfigurationError."""
    try:
        return convert(value, kind)
    except ValueError as error:
        unknown = _UNKNOWN.search(str(error))
        hint = did_you_mean(unknown[1], SentPage.__struct_fields__) if unknown else ""
        raise ConfigurationError(f"{str(error)[:_LONGEST_MESSAGE]}{hint}") from None
