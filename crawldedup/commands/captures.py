"""Turn a record of a web archive into a page, the way a crawl does with a response."""

import io
import mimetypes
import re
from typing import Final

from crawldedup.commands.headers import LONGEST_HEAD, Headers, MediaType
from crawldedup.commands.http_bodies import Body, decoded_body
from crawldedup.commands.items import NoPage, Unread
from crawldedup.errors import PageError
from crawldedup.page import Page
from crawldedup.reading.charsets import codec_of, names_no_page, text_of
from crawldedup.reading.html import decode
from crawldedup.reading.markup import is_html

HTML_TYPES: Final = frozenset(
    {"text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml"}
)
_TEXT_TYPES: Final = frozenset({"text/plain", "text/markdown"})
# Types that servers send if they don't know the type, so crawlers look at the content.
_UNKNOWN_TYPES: Final = frozenset(
    {
        "application/binary",
        "application/force-download",
        "application/octet-stream",
        "application/unknown",
        "application/x-unknown",
        "application/x-unknown-content-type",
        "binary/octet-stream",
        "unknown/unknown",
    }
)
_STATUS: Final = re.compile(rb"HTTP/\d(?:\.\d)? +(\d{3})\b", re.IGNORECASE)
# Records that every archive contains besides the pages, and that are never pages.
_COMPANIONS: Final = frozenset({"request", "metadata", "warcinfo"})
_WEB: Final = ("http:", "https:")


def checked_text(text: str) -> str:
    """Return a decoded text, unless it was clearly decoded with the wrong encoding.

    Raises:
        UnicodeError: It contains NUL, like a text in UTF-16 without a byte order mark.
    """
    if "\0" in text:
        raise UnicodeError("it contains NUL")
    return text


class CaptureError(Exception):
    """Raised for a response in an archive that has no status."""


def page_of(head: Headers, content: bytes) -> Page | Unread | NoPage:
    """Return the page in a record, or say why there is none: `Unread` or `NoPage`.

    Pages are successful responses, resources, and texts that were extracted from one. An `Unread`
    one can't be compared.

    Raises:
        CaptureError: A response has no status.
        HeadError: The headers of a response don't end.
    """
    url = head.get("WARC-Target-URI").strip("<>")
    kind = head.get("WARC-Type")
    if kind in _COMPANIONS:
        return NoPage("")
    is_of_web = url.lower().startswith(_WEB)
    if kind == "response" and is_of_web:
        return _page_of_response(url, head, content)
    if kind == "conversion" or (kind == "resource" and is_of_web):
        return _page_of_body(url, head, head, content)
    return NoPage(f"{kind or 'nameless'} record")


def _page_of_response(url: str, head: Headers, content: bytes) -> Page | Unread | NoPage:
    stream = io.BytesIO(content)
    status = _STATUS.match(stream.readline(LONGEST_HEAD))
    if not status:
        raise CaptureError("its HTTP headers have no status")
    # A part of a page isn't a page.
    if not status[1].startswith(b"2") or status[1] == b"206":
        return NoPage(f"status {status[1].decode()}")
    headers = Headers.read(stream)
    return _page_of_body(url, head, headers, stream.read())


def _page_of_body(
    url: str, head: Headers, headers: Headers, content: bytes
) -> Page | Unread | NoPage:
    """Return the page in the body of a response. `head` is the head of the archive's record."""
    declared = headers.media_type()
    if declared is not None and declared.name not in HTML_TYPES | _TEXT_TYPES | _UNKNOWN_TYPES:
        return NoPage(declared.name)
    try:
        # The head of a record has the length of the record, and no encoding.
        body = Body(content, True) if headers is head else decoded_body(content, headers)
    except PageError as error:
        return Unread(url, error)
    if declared is None or declared.name in _UNKNOWN_TYPES:
        identified = _identified(url, head, body.content)
        if identified is None:
            return NoPage(declared.name if declared else "record without Content-Type")
        declared = identified
    if why := _why_partial(head, body):
        return Unread(url, PageError("partial", why))
    if declared.name in HTML_TYPES:
        return Page(url, html=body.content, encoding=declared.charset)
    return _page_of_text(url, declared, body.content, may_be_html=headers is not head)


def _page_of_text(
    url: str, declared: MediaType, body: bytes, *, may_be_html: bool
) -> Page | Unread:
    """Return a page of plain text, or of HTML that was sent as plain text.

    The result is `Unread` if its bytes aren't text in the declared encoding.
    """
    # A record of extracted text is text, whatever it begins with.
    if may_be_html and is_html(
        text_of(body, declared.charset, "replace"), parts=declared.name != "text/markdown"
    ):
        return Page(url, html=body, encoding=declared.charset)
    if names_no_page(declared.charset):
        message = f"its declared encoding, {declared.charset}, is not an encoding of web pages"
        return Unread(url, PageError("encoding", message))
    try:
        return Page(url, text=checked_text(text_of(body, declared.charset)))
    except UnicodeError:
        codec = codec_of(declared.charset)
        claim = "which it declares" if codec else "which is used if none is declared"
        # If a letter is replaced, it's lost, and so is the difference between two texts.
        error = PageError("encoding", f"its bytes are not text in {codec or 'utf-8'}, {claim}")
        return Unread(url, error)


def _why_partial(head: Headers, body: Body) -> str:
    """Return the reason why a body is known to be incomplete, or ""."""
    if cause := head.get("WARC-Truncated"):
        return f"it was cut off while it was archived (WARC-Truncated: {cause[:40]})"
    if head.get("WARC-Segment-Number"):
        return "it is continued in another record (WARC-Segment-Number)"
    if not body.is_whole:
        return "its body is cut off or damaged"
    return ""


def _identified(url: str, head: Headers, body: bytes) -> MediaType | None:
    """Return the type of a body that the server didn't declare, or None.

    It follows from what the archive says, or from how the body begins.
    """
    named = head.get("WARC-Identified-Payload-Type").partition(";")[0].strip().lower()
    if named in HTML_TYPES | _TEXT_TYPES:
        return MediaType(named, None)
    try:
        text = decode(body, None)
    except PageError:
        return None
    if is_html(text):
        return MediaType("text/html", None)
    guessed = mimetypes.guess_type(url.partition("?")[0])[0]
    return MediaType(guessed, None) if guessed in HTML_TYPES | _TEXT_TYPES else None
