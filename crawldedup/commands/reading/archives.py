"""Read the pages of the records of web archives."""

from __future__ import annotations

import zlib
from contextlib import suppress
from email.message import Message
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from crawldedup.commands.feeds import Item
from crawldedup.commands.reading.complaints import Complaints
from crawldedup.commands.reading.entries import MOST_BYTES
from crawldedup.commands.reading.records import found_in
from crawldedup.errors import ConfigurationError, MissingDependencyError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from crawldedup.commands.feeds import OnError
    from crawldedup.commands.reading.records import Span

RESPONSE: Final = "response"
_CONVERSION: Final = "conversion"
"""A text that was made of a response: what Common Crawl's WET files hold."""
_HTML_TYPES: Final = ("text/html", "application/xhtml+xml")
_TEXT_TYPE: Final = "text/plain"
_PIECE: Final = 1 << 16
_WBITS: Final = {"gzip": (31,), "x-gzip": (31,), "deflate": (15, -15)}
"""How zlib names these encodings. Half of all servers send deflate without the header that it should have."""


class Record(NamedTuple):
    """A record of an archive: where it stands, its type, its id, the ids of those captured with it, and its page."""

    span: Span
    kind: str
    id: str
    concurrent: tuple[str, ...]
    page: Item | None


def captures_of(path: Path, on_error: OnError) -> Iterator[Item]:
    """Yield the pages of a web archive: successful responses that are HTML or plain text, and texts made of them.

    A record that is damaged is left out and told to `on_error`, of many the number. Raises ConfigurationError for a
    file that is no archive, and MissingDependencyError.
    """
    return (record.page for record in records_of(path, on_error) if record.page is not None)


def records_of(path: Path, on_error: OnError) -> Iterator[Record]:
    """Yield the records of a web archive. Errors are as in `captures_of`; a record whose page is damaged has none."""
    try:
        from warcio.exceptions import ArchiveLoadFailed
        from warcio.limitreader import LimitReader
        from warcio.recordloader import ArcWarcRecordLoader
        from warcio.statusandheaders import StatusAndHeadersParserException
    except ImportError as error:
        raise MissingDependencyError(
            f"{path} is a web archive, and reading those needs warcio: pip install warcio"
        ) from error
    loader = ArcWarcRecordLoader(verify_http=False, arc2warc=False)
    with path.open("rb") as file, Complaints(on_error, str(path), "record", "damaged") as complaints:
        for span, stream, size in found_in(file, path, complaints):
            limited = LimitReader(stream, min(size, MOST_BYTES))
            try:
                record = loader.parse_record_stream(limited, known_format="warc", no_record_parse=True)
            except (ArchiveLoadFailed, StatusAndHeadersParserException) as error:
                complaints.tell(_damaged(path, span, error))
                continue
            page = None
            try:
                page = _page_of(record, loader)
            except (StatusAndHeadersParserException, EOFError, ValueError) as error:
                complaints.tell(_damaged(path, span, error))
            told = record.rec_headers.headers
            concurrent = tuple(value for name, value in told if name.lower() == "warc-concurrent-to")
            yield Record(
                span, record.rec_type or "", record.rec_headers.get_header("WARC-Record-ID") or "", concurrent, page
            )


def _damaged(path: Path, span: Span, error: Exception) -> ConfigurationError:
    return ConfigurationError(f"{path}, at byte {span.start:,}: this record cannot be read: {error}")


def _page_of(record: Any, loader: Any) -> Item | None:
    """Return the page of a record, if it is one. Raises ValueError, EOFError and an error of warcio."""
    url = record.rec_headers.get_header("WARC-Target-URI") or ""
    headers = record.rec_headers
    if record.rec_type == RESPONSE:
        headers = loader.load_http_headers(record.rec_type, url, record.raw_stream, record.length)
        if headers is None:
            return None
        status = headers.get_statuscode()
        if not status.isdecimal():
            raise ValueError("its HTTP headers have no status")
        # A part of a page is none.
        if not status.startswith("2") or status.startswith("206"):
            return None
    elif record.rec_type != _CONVERSION:
        return None
    declared = Message()
    declared["content-type"] = headers.get_header("Content-Type") or ""
    kind = declared["content-type"].partition(";")[0].strip().lower()
    if kind not in (*_HTML_TYPES, _TEXT_TYPE):
        return None
    charset = declared.get_content_charset()
    body = _body(record.raw_stream, headers) if record.rec_type == RESPONSE else record.raw_stream.read(MOST_BYTES)
    if kind != _TEXT_TYPE:
        return Item(url, body, None, charset)
    try:
        text = body.decode(charset or "utf-8", "replace")
    except LookupError:  # an unknown charset
        text = body.decode("utf-8", "replace")
    return Item(url, None, text)


def _body(stream: Any, headers: Any) -> bytes:
    """Return the body of a response, without the encodings it was sent in. What is not encoded is left as it is."""
    from warcio.bufferedreaders import ChunkedDataReader

    if (headers.get_header("Transfer-Encoding") or "").strip().lower() == "chunked":
        stream = ChunkedDataReader(stream)
    body: bytes = stream.read(MOST_BYTES)
    return _decoded(body, (headers.get_header("Content-Encoding") or "").strip().lower())


def _decoded(body: bytes, encoding: str) -> bytes:
    if encoding == "br":
        return _unbrotli(body)
    for wbits in _WBITS.get(encoding, ()):
        if found := _inflated(body, wbits):
            return found[:MOST_BYTES]
    return body


def _inflated(body: bytes, wbits: int) -> bytes:
    """Return what a body was compressed from, as far as it is undamaged. A few bytes may hold gigabytes."""
    unpack = zlib.decompressobj(wbits)
    found = bytearray()
    with suppress(zlib.error):
        for start in range(0, len(body), _PIECE):
            found += unpack.decompress(body[start : start + _PIECE], MOST_BYTES - len(found))
            if len(found) >= MOST_BYTES:
                break
    return bytes(found)


def _unbrotli(body: bytes) -> bytes:
    try:
        import brotli
    except ImportError:
        return body
    try:
        found: bytes = brotli.Decompressor().process(body, output_buffer_limit=MOST_BYTES)
    except (brotli.error, TypeError):  # the latter before 1.2, which knows no limit
        return body
    return found[:MOST_BYTES]
