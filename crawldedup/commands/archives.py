"""Read the records of web archives, and go on behind members of gzip that are damaged."""

import io
import re
import zlib
from collections.abc import Iterator
from contextlib import suppress
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

from crawldedup.commands.captures import CaptureError, page_of
from crawldedup.commands.headers import LONGEST_HEAD, HeadError, Headers
from crawldedup.commands.http_bodies import GZIP_MAGIC
from crawldedup.commands.items import MOST_BYTES, Item
from crawldedup.errors import ConfigurationError

_MOST_EMPTY_LINES: Final = 100  # a few bytes of gzip may hold gigabytes of them
_PIECE: Final = 1 << 14
_LARGE_PIECE: Final = 1 << 20
_MEMBER: Final = re.compile(rb"\x1f\x8b\x08[\x00-\x1f]")
_RECORD: Final = re.compile(rb"WARC/\d\.\d+[ \t]*\r?\n")
_ARC: Final = re.compile(rb"filedesc:")


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
                    names = head.get("WARC-Record-ID"), *head.get_all("WARC-Concurrent-To")
                    record = Record(
                        path, start, end, is_packed, is_shared, head.get("WARC-Type"), names
                    )
                    try:
                        yield Item(place, record, page_of(head, content) if with_pages else None)
                    except (CaptureError, HeadError, ValueError) as error:
                        problem = ConfigurationError(
                            f"{place}: this record cannot be read: {error}"
                        )
                        yield Item(place, record, problem)
                    start = start if member else end
                    if start >= last:
                        return
                start = member.end if member else last
            except (zlib.error, EOFError, HeadError, _DamageError) as error:
                rest = "" if member else "; the rest is not read"
                problem = ConfigurationError(f"{path}, at byte {start:,}: {error}{rest}")
                next_start = _next_member(file, start + 1, last) if member else None
                if next_start is None and not (
                    member and isinstance(error, _DamageError | HeadError)
                ):
                    raise problem from error
                yield Item("", None, problem)
                start = last if next_start is None else next_start


def _records_in(stream: Any) -> Iterator[tuple[Headers, bytes, bytes]]:
    """Yield the head and the content of each record in a stream, and the line behind it, which
    begins the next one.
    """
    line = stream.readline(LONGEST_HEAD)
    while line:
        if not _RECORD.fullmatch(line):
            if _ARC.match(line):
                raise _DamageError(
                    "this is an ARC file, which is not read; `warcio recompress` makes a WARC file"
                )
            raise _DamageError("what begins here is no record")
        head = Headers.read(stream, never=_RECORD)
        length = head.get("Content-Length")
        if not re.fullmatch(r"[0-9]{1,18}", length):
            raise _DamageError("this record has no Content-Length")
        content = stream.read(min(int(length), MOST_BYTES))
        left, empty_lines = int(length) - len(content), 0
        while left and (piece := stream.read(min(left, _LARGE_PIECE))):
            left -= len(piece)
        while (
            (line := stream.readline(LONGEST_HEAD))
            and not line.strip()
            and empty_lines < _MOST_EMPTY_LINES
        ):
            empty_lines += 1
        # Two empty lines stand behind a record, and by lax writers fewer before the next one or the
        # end.
        if left or (line and empty_lines < 2 and not _RECORD.fullmatch(line)):
            raise _DamageError("this record is cut off, or its Content-Length is wrong")
        yield head, content, line


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
