"""Read the pages of the records of web archives, and go on behind members of gzip that are damaged."""

import io
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from email.message import Message
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

from crawldedup.commands.feeds import MOST_BYTES, MOST_TOLD, Complaints, OnError
from crawldedup.errors import ConfigurationError, MissingDependencyError
from crawldedup.page import Page

Tell = Callable[[int, str], None]
Found = tuple[int, int, bool, BinaryIO, int]
"""Where a record begins and ends, whether it is shared, and a stream that begins with its so many bytes now."""

RESPONSE: Final = "response"
_CONVERSION: Final = "conversion"
"""A text that was made of a response: what Common Crawl's WET files hold."""
_HTML_TYPES: Final = ("text/html", "application/xhtml+xml")
_TEXT_TYPE: Final = "text/plain"
_LONGEST_TYPE: Final = 1000
"""Letters of a content type that are looked at: to read one takes quadratic time."""
_WBITS: Final = {"gzip": (31,), "x-gzip": (31,), "deflate": (15, -15)}
"""How zlib names these encodings. Half of all servers send deflate without the header that it should have."""
GZIP_MAGIC: Final = b"\x1f\x8b"
_BEGINNING: Final = re.compile(rb"\x1f\x8b\x08[\x00-\x1f]")
_PIECE: Final = 1 << 14
_LARGE_PIECE: Final = 1 << 20
_OVERRUN: Final = 1 << 16
"""So far behind a damaged byte its error may be noticed: after a block of deflate, of some ten kilobytes."""
_FIRST_LINE: Final = re.compile(rb"WARC/\d\.\d+[ \t]*\r?\n")
_LENGTH: Final = re.compile(rb"^content-length[ \t]*:[ \t]*(\d{1,18})[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)
_END: Final = re.compile(rb"(?:\r?\n){2,}|[\r\n]*(?=WARC/\d|\Z)")
"""What stands behind a record: two empty lines, and by lax writers fewer before the next one or the end."""
_ENOUGH: Final = 64
_LONGEST_HEADER: Final = 1 << 16
"""A hundred times as long as those of real archives. What is longer is no header."""


class Record(NamedTuple):
    """A record of an archive: its type, its id, the ids of those captured with it, and its page.

    It is the bytes from `start` to `end` of its file, with the empty lines behind it. It `is_shared` if these are a
    member of gzip that holds others, too, or is cut off.
    """

    start: int
    end: int
    is_shared: bool
    kind: str
    id: str
    concurrent: tuple[str, ...]
    page: Page | None


class _Member(NamedTuple):
    """A member of a gzip file: the bytes from `start` to `end`, and what they hold.

    Of its `size` bytes, `content` has those up to `MOST_BYTES`. It `is_cut` if the file ends before it does.
    """

    start: int
    end: int
    content: bytes
    size: int
    is_cut: bool = False


def captures_of(path: Path, on_error: OnError) -> Iterator[Page]:
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
        for start, end, is_shared, stream, size in _found_in(file, path, complaints):
            record = page = None
            try:
                limited = LimitReader(stream, min(size, MOST_BYTES))
                record = loader.parse_record_stream(limited, known_format="warc", no_record_parse=True)
                page = _page_of(record, loader)
            except (ArchiveLoadFailed, StatusAndHeadersParserException, EOFError, ValueError) as error:
                complaints.tell(_damaged(path, start, f"this record cannot be read: {error}"))
            if record is not None:
                headers = record.rec_headers
                concurrent = tuple(value for name, value in headers.headers if name.lower() == "warc-concurrent-to")
                id_ = headers.get_header("WARC-Record-ID") or ""
                yield Record(start, end, is_shared, record.rec_type or "", id_, concurrent, page)


def _damaged(path: Path, place: int, problem: str) -> ConfigurationError:
    return ConfigurationError(f"{path}, at byte {place:,}: {problem}")


def _found_in(file: BinaryIO, path: Path, complaints: Complaints) -> Iterator[Found]:
    """Yield the records that can be found. Raises ConfigurationError for a file without any."""
    waiting: list[ConfigurationError] = []
    is_archive = False

    def tell(place: int, problem: str) -> None:
        error = _damaged(path, place, problem)
        if is_archive:
            complaints.tell(error)
            return
        waiting.append(error)
        if len(waiting) > MOST_TOLD:
            raise _no_archive(path, waiting[0])

    is_packed = file.read(len(GZIP_MAGIC)) == GZIP_MAGIC
    for found in _packed(file, tell) if is_packed else _plain(file, tell):
        is_archive = True
        while waiting:
            complaints.tell(waiting.pop(0))
        yield found
    if waiting:
        raise _no_archive(path, waiting[0])


def _no_archive(path: Path, error: ConfigurationError) -> ConfigurationError:
    return ConfigurationError(f"{path} cannot be read as a web archive: {error}")


def _plain(file: BinaryIO, tell: Tell) -> Iterator[Found]:
    size = file.seek(0, io.SEEK_END)
    for start, length, end in _framed(file, size, size, tell):
        yield start, end, False, file, length


def _packed(file: BinaryIO, tell: Tell) -> Iterator[Found]:
    for member in _members_of(file, tell):
        content = io.BytesIO(member.content)

        def note(_: int, problem: str, member: _Member = member) -> None:
            # Of a member that is cut off, that alone is told.
            if not member.is_cut:
                tell(member.start, problem)

        framed = list(_framed(content, member.size, len(member.content), note))
        for place, length, _ in framed:
            content.seek(place)
            yield member.start, member.end, len(framed) > 1 or member.is_cut, content, length


def _framed(stream: BinaryIO, size: int, available: int, tell: Tell) -> Iterator[tuple[int, int, int]]:
    """Yield where a record begins in a stream of `size` bytes, its length, and where the next one begins.

    So many bytes are `available`; the stream stands at the beginning of the record then. Tell what is wrong with the
    first record that cannot be framed: where the next one begins, nothing says.
    """
    start = 0
    while start < available:
        stream.seek(start)
        header = _header(stream)
        length = _LENGTH.search(header)
        end = start + len(header) + int(length[1]) if length else size
        stream.seek(min(end, available))
        behind = _END.match(stream.read(_ENOUGH))
        if not header:
            tell(start, "what begins here is no record; the rest is not read")
            return
        if not length or end > size or not (behind or end > available):
            tell(start, "this record is cut off, or its Content-Length is wrong; the rest is not read")
            return
        stream.seek(start)
        following = end + behind.end() if behind and end <= available else end
        yield start, end - start, following
        start = following
    if start < size - _ENOUGH:
        tell(0, "too much is packed together: what follows cannot be read; `warcio recompress` parts the records")


def _header(stream: BinaryIO) -> bytes:
    """Return the header of the record that begins there; an empty one if none does, or if it has no end."""
    header = stream.readline(_LONGEST_HEADER)
    if not _FIRST_LINE.fullmatch(header):
        return b""
    while len(header) < _LONGEST_HEADER:
        line = stream.readline(_LONGEST_HEADER)
        header += line
        if not line or _FIRST_LINE.fullmatch(line):
            return b""
        if not line.strip():
            return header
    return b""


def _members_of(file: BinaryIO, tell: Tell) -> Iterator[_Member]:
    """Yield the members of a web archive, and tell which are damaged."""
    start: int | None = 0
    while start is not None:
        file.seek(start)
        beginning = file.read(len(GZIP_MAGIC))
        if not beginning:
            return
        if beginning != GZIP_MAGIC:
            found = _next_member(file, start)
            file.seek(start)
            # Zeros are padding.
            if file.read(min(_LARGE_PIECE, (found or start + _LARGE_PIECE) - start)).strip(b"\0"):
                tell(start, "what begins here is no record")
            start = found
            continue
        try:
            member = _member_at(file, start)
        except zlib.error as error:
            tell(start, f"this record cannot be decompressed: {error}")
        else:
            yield member
            if not member.is_cut:
                start = member.end
                continue
            tell(start, "the file is cut off in this record")
        start = _next_member(file, max(start + 1, file.tell() - _OVERRUN))


def _member_at(file: BinaryIO, start: int) -> _Member:
    file.seek(start)
    unpack = zlib.decompressobj(wbits=31)
    content = bytearray()
    size, position, packed = 0, start, b""
    while not unpack.eof:
        if not packed:
            packed = file.read(_PIECE)
            position += len(packed)
        is_end = not packed
        # A few bytes may hold gigabytes.
        piece = unpack.decompress(packed, _LARGE_PIECE)
        packed = unpack.unconsumed_tail
        if is_end and not piece and not unpack.eof:
            return _Member(start, position, bytes(content), size, is_cut=True)
        size += len(piece)
        content += piece[: MOST_BYTES - len(content)]
    return _Member(start, position - len(unpack.unused_data), bytes(content), size)


def _next_member(file: BinaryIO, start: int) -> int | None:
    """Return where the next member begins that holds a record; None if there is none."""
    file.seek(start)
    while block := file.read(_LARGE_PIECE):
        for found in _BEGINNING.finditer(block):
            file.seek(start + found.start())
            with suppress(zlib.error):
                if zlib.decompressobj(wbits=31).decompress(file.read(_PIECE), len(b"WARC/")) == b"WARC/":
                    return start + found.start()
        # A beginning may lie across two blocks.
        start += max(1, len(block) - len(_BEGINNING.pattern))
        file.seek(start)
    return None


def _page_of(record: Any, loader: Any) -> Page | None:
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
    declared["content-type"] = (headers.get_header("Content-Type") or "")[:_LONGEST_TYPE]
    kind = declared["content-type"].partition(";")[0].strip().lower()
    if kind not in (*_HTML_TYPES, _TEXT_TYPE):
        return None
    charset = declared.get_content_charset()
    body = _body(record.raw_stream, headers) if record.rec_type == RESPONSE else record.raw_stream.read(MOST_BYTES)
    if kind != _TEXT_TYPE:
        return Page(url, html=body, encoding=charset)
    with suppress(LookupError):  # an unknown charset
        return Page(url, text=body.decode(charset or "utf-8", "replace"))
    return Page(url, text=body.decode("utf-8", "replace"))


def _body(stream: Any, headers: Any) -> bytes:
    """Return the body of a response, without the encodings it was sent in. What is not encoded is left as it is."""
    from warcio.bufferedreaders import ChunkedDataReader

    if (headers.get_header("Transfer-Encoding") or "").strip().lower() == "chunked":
        stream = ChunkedDataReader(stream)
    body: bytes = stream.read(MOST_BYTES)
    encoding = (headers.get_header("Content-Encoding") or "").strip().lower()
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
        for start in range(0, len(body), _LARGE_PIECE):
            found += unpack.decompress(body[start : start + _LARGE_PIECE], MOST_BYTES - len(found))
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
