"""What clients send: the types of request bodies, and functions that decode and check them."""

import codecs
import re
from typing import Annotated, Any, Final, TypedDict, TypeVar
from urllib.parse import parse_qsl

from msgspec import Meta, Struct, ValidationError, convert, structs
from msgspec.json import decode

from crawldedup import wire
from crawldedup.checks import did_you_mean
from crawldedup.errors import ConfigurationError
from crawldedup.fingerprinting.anchors import Paragraph
from crawldedup.fingerprinting.bits import Fingerprint
from crawldedup.page import Page
from crawldedup.reading.charsets import codec_of, text_of
from crawldedup.service.problems import ProblemError
from crawldedup.service.routes import JSON, Scope
from crawldedup.urls import HeadLinks

T = TypeVar("T")

LONGEST_NAME: Final = 8_192
MOST_PAGES: Final = 1_000  # the maximum number of pages in a request
_CHARSET: Final = re.compile(r';\s*charset\s*=\s*"?([\w.:-]+)', re.IGNORECASE)
_BROKEN_JSON: Final = "; it must be UTF-8, without half of a surrogate pair"
_ARRAY_FOR_OBJECT: Final = "Expected `object`, got `array`"
_UNKNOWN: Final = re.compile(r"unknown field `(.*?)`")

Name = Annotated[str, Meta(max_length=LONGEST_NAME)]
Url = Annotated[
    Name,
    Meta(
        description="The URL of the page. It can be empty if nothing depends on it. A name that "
        "is not a URL, such as the number of a text, is used as it is, and has no site."
    ),
]


class SentFullFingerprint(TypedDict, total=False):
    """A fingerprint in the form that `wire.plain` gives it.

    Each value has a type, so anything else in a body is rejected while it's decoded, before it
    takes any time or memory.
    """

    search: str
    search_weights: str
    verify: str
    verify_weights: str
    digest: str
    words: int
    thin: bool
    marks: str
    links: HeadLinks
    key_id: str
    packed_text: str
    paragraphs: list[Paragraph]
    full: None


class SentFingerprint(SentFullFingerprint, total=False):
    """A fingerprint in the form that `wire.plain` gives it, which may contain another one."""

    full: SentFullFingerprint | None  # type: ignore[misc]


class KnownPage(Struct, kw_only=True, forbid_unknown_fields=True):
    """Names one known page by its URL, or all known pages with the text of a fingerprint."""

    url: Url = ""
    identity: Annotated[
        Name | None,
        Meta(
            description=(
                "What identifies the page: by default, its canonical URL. A page with the same "
                "identity is a revisit, or a duplicate while another process is working on it."
            )
        ),
    ] = None
    scope_key: Annotated[
        Name | None,
        Meta(
            description=(
                "The site, the spider or another name, instead of the one that the option "
                "`scope` derives from the URL."
            )
        ),
    ] = None
    fingerprint: Annotated[
        SentFingerprint | None,
        Meta(description="A fingerprint made with the index's key, in Python by `wire.plain`."),
    ] = None

    def __post_init__(self) -> None:
        # A lone surrogate can't be encoded. If this raises, msgspec adds the page of the batch to
        # the error.
        "".join(filter(None, (self.url, self.identity, self.scope_key))).encode()

    def name(self) -> str | Fingerprint:
        """Return the URL or the fingerprint, whichever was sent.

        Raises:
            ConfigurationError: Neither or both of the two were sent, or the fingerprint is invalid.
        """
        if bool(self.url) == bool(self.fingerprint):
            raise ConfigurationError("the body must have one of url and fingerprint")
        return self.url or wire.from_plain(Fingerprint, self.fingerprint)


class SentPage(KnownPage, kw_only=True, dict=True):
    """A page, given as one of `html`, `html_base64`, `text` and `fingerprint`."""

    # There is no `delivered`: only the process that delivers a page can tell the store about it,
    # and that is never a client.
    html: Annotated[
        str | None,
        Meta(description="The HTML as it was received. The main text is taken from it."),
    ] = None
    html_base64: Annotated[
        bytes | None,
        Meta(description="The bytes of the HTML in Base64. Their encoding is detected."),
    ] = None
    text: Annotated[
        str | None, Meta(description="The main text, if you have extracted it yourself.")
    ] = None
    title: Annotated[
        Name | None,
        Meta(
            description=(
                "The title of `text`. On one site, texts with different titles are different "
                "content."
            )
        ),
    ] = None
    encoding: Annotated[
        Name | None,
        Meta(
            description="The encoding that the server declared for `html`, as in its "
            "`Content-Type`."
        ),
    ] = None
    similarity: Annotated[
        float | None,
        Meta(description="Overrides the option for this page: above 0.5 and at most 1."),
    ] = None
    canonical: Annotated[
        str | None,
        Meta(
            description=(
                "The URL that the page names as its original. To be a duplicate of that page, it "
                "is enough if the similarity is lower by up to 0.1."
            )
        ),
    ] = None
    remember: Annotated[
        bool,
        Meta(
            description=(
                "With false, the index does not change, and a page is only a revisit while it "
                "resembles the remembered one."
            )
        ),
    ] = True
    # A whole number, which JSON may write as 1.0.
    rank: Annotated[
        float,
        Meta(
            description=(
                "From 0 (best) to 255. A duplicate with a better rank than its original replaces "
                "it in the index."
            )
        ),
    ] = 0
    revisit_similarity: Annotated[
        float | None,
        Meta(
            description=(
                "The similarity from which a revisit counts as unchanged, above 0.5 and at most "
                "1. The text of the earlier visit stays remembered. With null, the texts must be "
                "equal."
            )
        ),
    ] = None

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
    """A page with its URL, given as one of `html`, `html_base64`, `text` and `fingerprint`."""

    url: Url


CheckedPages = Annotated[list[CheckedPage], Meta(max_length=MOST_PAGES)]
# These can also be sent as HTML or plain text.
PAGE_TYPES: Final = (SentPage, CheckedPage)


class Pair(Struct, forbid_unknown_fields=True):
    """Two pages to compare. Their URLs can be left out."""

    first: SentPage
    second: SentPage


Extras = frozenset[str]
"""What a client wants besides the verdict: "text", or nothing."""


def query_of(scope: Scope) -> dict[str, str]:
    """Parse the query of a request."""
    return dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))


def extras_in(value: str | None) -> Extras:
    """Return what a request asks for besides the verdict, given the value of `with` in its query.

    Raises:
        ConfigurationError: It can't be requested.
    """
    if value is None:
        return frozenset()
    if value != "text":
        raise ConfigurationError(f"with is {value[:80]!r}; it must be text")
    return frozenset({value})


def sent_in(scope: Scope, body: bytes, kind: type[T], query: dict[str, str]) -> T:
    """Decode and check the body of a request, as one of the types above.

    A page can be sent as JSON, or as HTML or plain text. In that case, its URL and the like are in
    the `query`.

    Raises:
        ConfigurationError: The body can't be decoded, or isn't of the type.
        ProblemError: The service doesn't accept this media type.
    """
    headers = dict(scope["headers"])
    content_type = headers.get(b"content-type", JSON.encode()).decode("latin-1")
    media_type = content_type.partition(";")[0].strip().lower()
    allowed = (JSON, "text/html", "text/plain") if kind in PAGE_TYPES else (JSON,)
    if media_type not in allowed:
        detail = f"the body is {media_type[:80]!r}: send {' or '.join(allowed)}"
        raise ProblemError("media-type", 415, detail)
    charset = _CHARSET.search(content_type)
    value: dict[str, Any] = {**query}
    try:
        if media_type == JSON:
            return decode(body.removeprefix(codecs.BOM_UTF8), type=kind)
        if media_type == "text/html":
            value |= {"html_base64": body, "encoding": charset and charset[1]}
        else:
            label = charset[1] if charset else "utf-8"
            if codec_of(label) is None:
                raise LookupError(f"web pages do not have the encoding {label[:80]!r}")
            value["text"] = text_of(body, label)
    except ValidationError as error:
        if kind is CheckedPage and str(error) == _ARRAY_FOR_OBJECT:
            raise ConfigurationError(
                f"{error}: send one page, or send the array to /v1/check/batch, which returns no "
                "texts"
            ) from None
        raise _refused(error) from None
    except (ValueError, LookupError, RecursionError) as error:
        problem = _problem_with(body, error, is_json=media_type == JSON)
        raise ConfigurationError(f"the body is not {content_type[:80]}: {problem}") from None
    return converted(value, kind)


def _problem_with(body: bytes, error: Exception, *, is_json: bool) -> str:
    """Say what is wrong with a body, and at which byte, if it isn't in its encoding.

    The body is decoded once more to find that byte, because the decoder of JSON counts bytes from
    the beginning of a string, or doesn't say where the error is.
    """
    placed = error
    encoding = "utf-8" if is_json else getattr(error, "encoding", "")
    if encoding:
        try:
            body.decode(encoding)
        except UnicodeDecodeError as in_body:
            placed = in_body
    if isinstance(placed, UnicodeDecodeError):
        byte = placed.object[placed.start]
        return f"the byte {byte:#04x} at position {placed.start:,} is not valid {placed.encoding}"
    return f"{error}{_BROKEN_JSON if is_json else ''}"


def converted(value: Any, kind: type[T]) -> T:
    """Check a decoded value, and return it as one of the types above.

    Raises:
        ConfigurationError: It isn't of the type. The message names the field.
    """
    try:
        return convert(value, kind)
    except ValueError as error:
        raise _refused(error) from None


def _refused(error: Exception) -> ConfigurationError:
    """Make the error for a value that isn't of its type."""
    unknown = _UNKNOWN.search(str(error))
    hint = did_you_mean(unknown[1], SentPage.__struct_fields__) if unknown else ""
    return ConfigurationError(f"{str(error)[:300]}{hint}")
