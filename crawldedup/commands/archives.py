"""Read the records of web archives, and go on behind members of gzip that are damaged."""

import email
import io
import re
import zlib
from collections.abc import Iterator
from contextlib import suppress
from email.message import Message
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

from crawldedup.errors import ConfigurationError
from crawldedup.page import Page
from crawldedup.reading.charsets import text_of
from crawldedup.reading.markup import is_html

GZIP_MAGIC: Final = b"\x1f\x8b"
MOST_BYTES: Final = (
    64 * 1024 * 1024
)  # of a page or an item of a feed; what is compared is far shorter
_TEXT_TYPE: Final = "text/plain"
_LONGEST_TYPE: Final = 1000  # letters of a content type: to read one takes quadratic time
_LONGEST_HEAD: Final = 1 << 16  # a hundred times as long as those of real archives
_MOST_EMPTY_LINES: Final = 100  # a few bytes of gzip may hold gigabytes of them
_PIECE: Final = 1 << 14
_LARGE_PIECE: Final = 1 << 20
_MEMBER: Final = re.compile(rb"\x1f\x8b\x08[\x00-\x1f]")
_RECORD: Final = re.compile(rb"WARC/\d\.\d+[ \t]*\r?\n")
_STATUS: Final = re.compile(rb"HTTP/\d(?:\.\d)? +(\d{3})\b")
_CHUNK: Final = re.compile(rb"([0-9a-fA-F]{1,8})[ \t]*(?:;[^\r\n]*)?\r\n")
# How zlib names these encodings. Half of all servers send deflate without the header that it should
# have.
_WBITS: Final = {"gzip": (31,), "x-gzip": (31,), "deflate": (15, -15)}


class Record(NamedTuple):
    """Where a record stands in its archive, its type, and `names`: its id, then the ids of those
    captured with it.

    It is the bytes from `start` to `end`, with the empty lines behind it. Of a compressed archive
    these are a member of gzip, which `is_shared` if it holds other records, too.
    """

    path: Path
    start: int
    end: int
    is_packed: bool
    is_shared: bool
    kind: str
    names: tuple[str, ...]


class Item(NamedTuple):
    """What stands at one place of a source, and its page, if it holds one, or why that cannot be
    read.

    `raw` is what `crawldedup filter` writes: the bytes of a line or of a member of an array, a
    batch of pyarrow and the number of a row in it, or a record; None for what is lost. `head` is
    the header or the schema of its file.
    """

    place: str
    raw: Any = None
    page: Page | Exception | None = None
    head: Any = None


class _DamageError(Exception):
    """Raised where no whole record is."""


class _Member(io.RawIOBase):
    """What a member of a gzip file holds.

    Raises EOFError where the file is cut off, and zlib.error.
    """

    def __init__(self, file: BinaryIO, start: int) -> None:
        file.seek(start)
        self._file = file
        self._unpack = zlib.decompressobj(wbits=31)

    @property
    def end(self) -> int:
        """Where it ends in the file. It is known when all is read."""
        return self._file.tell() - len(self._unpack.unused_data)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = b""
        while not piece and not self._unpack.eof:
            packed = self._unpack.unconsumed_tail or self._file.read(_PIECE)
            # A few bytes may hold gigabytes.
            piece = self._unpack.decompress(packed, len(buffer))
            if not packed and not piece:
                raise EOFError("the file is cut off in this record")
        buffer[: len(piece)] = piece
        return len(piece)


def records_of(path: Path, start: int, last: int, *, with_pages: bool = True) -> Iterator[Item]:
    """Yield the records of the WARC file between two places of a file, and errors for those that
    are lost.

    Raises ConfigurationError where it is cut off, for a damage in what is not compressed, where
    nothing says where the next record begins, and for no archive.
    """
    with path.open("rb") as file:
        file.seek(start)
        is_packed = file.read(len(GZIP_MAGIC)) == GZIP_MAGIC
        file.seek(start)
        while start < last:
            member = _Member(file, start) if is_packed else None
            try:
                records = _records_in(io.BufferedReader(member) if member else file)
                for number, (head, content, following) in enumerate(records):
                    place, end = (
                        f"{path}, at byte {start:,}",
                        member.end if member else file.tell() - len(following),
                    )
                    is_shared = member is not None and bool(number or following)
                    names = head.get("WARC-Record-ID", ""), *head.get_all("WARC-Concurrent-To", ())
                    record = Record(
                        path, start, end, is_packed, is_shared, head.get("WARC-Type", ""), names
                    )
                    try:
                        yield Item(place, record, _page_of(head, content) if with_pages else None)
                    except (_DamageError, ValueError) as error:
                        problem = ConfigurationError(
                            f"{place}: this record cannot be read: {error}"
                        )
                        yield Item(place, record, problem)
                    start = start if member else end
                    if start >= last:
                        return
                start = member.end if member else last
            except (zlib.error, EOFError, _DamageError) as error:
                rest = "" if member else "; the rest is not read"
                problem = ConfigurationError(f"{path}, at byte {start:,}: {error}{rest}")
                next_start = _next_member(file, start + 1, last) if member else None
                if next_start is None and not (member and isinstance(error, _DamageError)):
                    raise problem from error
                yield Item("", None, problem)
                start = last if next_start is None else next_start


def _records_in(stream: Any) -> Iterator[tuple[Message, bytes, bytes]]:
    """Yield the head and the content of each record in a stream, and the line behind it, which
    begins the next one.
    """
    line = stream.readline(_LONGEST_HEAD)
    while line:
        if not _RECORD.fullmatch(line):
            raise _DamageError("what begins here is no record")
        head = head_of(stream)
        length = head.get("Content-Length", "").strip()
        if not re.fullmatch(r"[0-9]{1,18}", length):
            raise _DamageError("this record has no Content-Length")
        content = stream.read(min(int(length), MOST_BYTES))
        left, empty_lines = int(length) - len(content), 0
        while left and (piece := stream.read(min(left, _LARGE_PIECE))):
            left -= len(piece)
        while (
            (line := stream.readline(_LONGEST_HEAD))
            and not line.strip()
            and empty_lines < _MOST_EMPTY_LINES
        ):
            empty_lines += 1
        # Two empty lines stand behind a record, and by lax writers fewer before the next one or the
        # end.
        if left or (line and empty_lines < 2 and not _RECORD.fullmatch(line)):
            raise _DamageError("this record is cut off, or its Content-Length is wrong")
        yield head, content, line


def head_of(stream: Any) -> Message:
    """Return the headers that a stream begins with."""
    lines, size = [], 0
    while size < _LONGEST_HEAD and (line := stream.readline(_LONGEST_HEAD)):
        lines.append(line)
        size += len(line)
        if not line.strip():
            return email.message_from_string(b"".join(lines).decode("utf-8", "replace"))
    raise _DamageError("its head has no end")


def _next_member(file: BinaryIO, start: int, last: int) -> int | None:
    """Return where the next member begins that holds a record; None if there is none before the
    end.
    """
    with mmap(file.fileno(), 0, access=ACCESS_READ) as content:
        for beginning in _MEMBER.finditer(content, start, last):
            packed = content[beginning.start() : beginning.start() + _PIECE]
            with suppress(zlib.error):
                if zlib.decompressobj(wbits=31).decompress(packed, len(b"WARC/")) == b"WARC/":
                    return beginning.start()
    return None


def _page_of(head: Message, content: bytes) -> Page | None:
    """Return the page of a record: a successful response, or the text that was made of one.

    Raises _DamageError.
    """
    url, kind, headers = head.get("WARC-Target-URI", "").strip("<>"), head.get("WARC-Type"), head
    if kind == "response" and url.startswith(("http:", "https:")):
        stream = io.BytesIO(content)
        status = _STATUS.match(stream.readline(_LONGEST_HEAD))
        if not status:
            raise _DamageError("its HTTP headers have no status")
        # A part of a page is none.
        if not status[1].startswith(b"2") or status[1] == b"206":
            return None
        headers = head_of(stream)
        content = stream.read()
    elif kind != "conversion":
        return None
    declared = Message()
    declared["content-type"] = headers.get("Content-Type", "")[:_LONGEST_TYPE]
    media_type = declared["content-type"].partition(";")[0].strip().lower()
    if media_type not in ("text/html", "application/xhtml+xml", _TEXT_TYPE):
        return None
    charset, body = declared.get_content_charset(), _decoded(content, headers)
    if media_type != _TEXT_TYPE:
        return Page(url, html=body, encoding=charset)
    text = text_of(body, charset, "replace")
    # What was made of a page is text, whatever it begins with.
    if kind == "response" and is_html(text):
        return Page(url, html=body, encoding=charset)
    return Page(url, text=text)


def _decoded(body: bytes, headers: Message) -> bytes:
    """Return a body without the encodings it was sent in, as it is if it has none.

    A few bytes may hold gigabytes.
    """
    if headers.get("Transfer-Encoding", "").strip().lower() == "chunked":
        content, place = bytearray(), 0
        while chunk := _CHUNK.match(body, place):
            place = chunk.end() + int(chunk[1], 16)
            content += body[chunk.end() : place]
            place += len(b"\r\n")
        body = bytes(content) if place else body
    encoding = headers.get("Content-Encoding", "").strip().lower()
    if encoding == "br":
        with suppress(ImportError):
            import brotli

            # Before 1.2 it knows no limit.
            with suppress(brotli.error, TypeError):
                return bytes(brotli.Decompressor().process(body, output_buffer_limit=MOST_BYTES))[
                    :MOST_BYTES
                ]
    for wbits in _WBITS.get(encoding, ()):
        with suppress(zlib.error):
            return zlib.decompressobj(wbits).decompress(body, MOST_BYTES)
    return body
