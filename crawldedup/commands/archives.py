"""Read the records of web archives (WARC), even after compressed members that are damaged.

No package does the latter. FastWARC 2.0.1 ends at the first damage. In 39 of 81 damaged archives,
it lost whole records after that, and it didn't report 11 of them.
"""

import io
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

from crawldedup.commands.captures import CaptureError, page_of
from crawldedup.commands.headers import LONGEST_HEAD, HeadError, Headers
from crawldedup.commands.items import MOST_BYTES, Item
from crawldedup.commands.packing import (
    GZIP,
    PACK_ERRORS,
    ZSTANDARD,
    Member,
    Unpacker,
    packing_of,
    unpackers,
)
from crawldedup.errors import ConfigurationError

_MOST_EMPTY_LINES: Final = 100  # a few bytes of gzip may hold gigabytes of them
_PIECE: Final = 1 << 14
_LARGE_PIECE: Final = 1 << 20
_WARC: Final = b"WARC/"
ARCHIVE_PACKINGS: Final = (GZIP, ZSTANDARD)
_LONGEST_MAGIC: Final = 4
# The frame that such archives begin with (https://iipc.github.io/warc-specifications/).
_DICTIONARY: Final = b"\x5d\x2a\x4d\x18"
_MEMBERS: Final = {
    GZIP: re.compile(rb"\x1f\x8b\x08[\x00-\x1f]"),
    ZSTANDARD: re.compile(rb"\x28\xb5\x2f\xfd"),
}
"""Patterns of the bytes with which compressed members begin."""
_RECORD: Final = re.compile(rb"WARC/\d\.\d+[ \t]*\r?\n")
_ARC: Final = re.compile(rb"filedesc:")


class Record(NamedTuple):
    """Where a record is in its archive, and what it contains.

    `names` has its id, followed by the ids of records that were captured with it. The record
    consists of the bytes from `start` to `end`, including the empty lines after it. In a compressed
    archive, `packing` says how it is compressed, and the bytes are a member, which `is_shared` if
    it also contains other records.
    """

    path: Path
    start: int
    end: int
    packing: str
    is_shared: bool
    kind: str
    names: tuple[str, ...]


class _FoundRecord(NamedTuple):
    """The head and the content of a record, and the line after it, which begins the next record."""

    head: Headers
    content: bytes
    following: bytes


class _DamageError(Exception):
    """Raised if the bytes at a place aren't a complete record."""


def records_of(path: Path, start: int, last: int, *, with_pages: bool = True) -> Iterator[Item]:
    """Yield the records in a WARC file, and an error for each record that is lost.

    The file may be a part of another file, given by two positions.

    Raises ConfigurationError if the file is cut off, if a part of it that isn't compressed is
    damaged, if the next record can't be found, if it isn't a WARC file, or if its compression uses
    a dictionary. Raises MissingDependencyError if a package for its compression is missing.
    """
    with path.open("rb") as file:
        file.seek(start)
        head = file.read(_LONGEST_MAGIC)
        file.seek(start)
        if head.startswith(_DICTIONARY):
            raise ConfigurationError(
                f"{path} is compressed with a custom dictionary, which is not supported; "
                "decompress it with the program that wrote it, and compress it again without one"
            )
        packing = packing_of(head, ARCHIVE_PACKINGS)
        archive = _Archive(path, file, last, with_pages)
        yield from archive.packed_records(start, packing) if packing else archive.records(start)


class _Archive(NamedTuple):
    """A WARC file that is being read, or the part of a WACZ file that is one.

    It's read up to the byte `last` of `file`. Without `with_pages`, only the places of its records
    are wanted, and the pages in them aren't parsed.
    """

    path: Path
    file: BinaryIO
    last: int
    with_pages: bool

    def records(self, start: int) -> Iterator[Item]:
        """Yield the records of an uncompressed archive."""
        try:
            for found in _records_in(self.file):
                end = self.file.tell() - len(found.following)
                yield self._item(found, start, end, "", is_shared=False)
                start = end
                if start >= self.last:
                    return
        except (HeadError, _DamageError) as error:
            raise self._problem(start, f"{error}; the rest is not read") from error

    def packed_records(self, start: int, packing: str) -> Iterator[Item]:
        """Yield the records of a compressed archive, each of which is a separate member."""
        new_unpacker = unpackers(packing, str(self.path))
        while start < self.last:
            self.file.seek(start)
            member = Member(self.file, b"", new_unpacker)
            try:
                yield from self._records_of_member(member, start, packing)
            except (*PACK_ERRORS, HeadError, _DamageError) as error:
                problem = self._problem(start, str(error))
                following = self._next_member(start + 1, packing, new_unpacker)
                if following is None and isinstance(error, PACK_ERRORS):
                    raise problem from error
                yield Item("", None, problem)
                start = self.last if following is None else following
            else:
                start = member.end

    def _records_of_member(self, member: Member, start: int, packing: str) -> Iterator[Item]:
        for number, found in enumerate(_records_in(io.BufferedReader(member))):
            is_shared = number > 0 or found.following != b""
            yield self._item(found, start, member.end, packing, is_shared=is_shared)

    def _item(
        self, found: _FoundRecord, start: int, end: int, packing: str, *, is_shared: bool
    ) -> Item:
        """Return the page in a record, or the reason why there is none."""
        head = found.head
        names = head.get("WARC-Record-ID"), *head.get_all("WARC-Concurrent-To")
        record = Record(self.path, start, end, packing, is_shared, head.get("WARC-Type"), names)
        place = f"{self.path}, at byte {start:,}"
        if not self.with_pages:
            return Item(place, record)
        try:
            return Item(place, record, page_of(head, found.content))
        except (CaptureError, HeadError, ValueError) as error:
            problem = ConfigurationError(f"{place}: this record cannot be read: {error}")
            return Item(place, record, problem)

    def _problem(self, start: int, message: str) -> ConfigurationError:
        return ConfigurationError(f"{self.path}, at byte {start:,}: {message}")

    def _next_member(
        self, start: int, packing: str, new_unpacker: Callable[[], Unpacker]
    ) -> int | None:
        """Find the next compressed member with a record, and return where it starts, or None."""
        with mmap(self.file.fileno(), 0, access=ACCESS_READ) as content:
            for beginning in _MEMBERS[packing].finditer(content, start, self.last):
                packed = content[beginning.start() : beginning.start() + _PIECE]
                member = Member(io.BytesIO(packed), b"", new_unpacker)
                with suppress(*PACK_ERRORS):
                    if member.read(len(_WARC)) == _WARC:
                        return beginning.start()
        return None


def _records_in(stream: Any) -> Iterator[_FoundRecord]:
    """Yield the records in a stream of uncompressed bytes.

    Raises _DamageError and HeadError if none begins there, or if one is incomplete.
    """
    line = stream.readline(LONGEST_HEAD)
    while line:
        if not _RECORD.fullmatch(line):
            if _ARC.match(line):
                raise _DamageError(
                    "this is an ARC file, which is not supported; `warcio recompress` turns it "
                    "into a WARC file"
                )
            raise _DamageError("this is not the beginning of a record")
        head = Headers.read(stream, never=_RECORD)
        length = head.get("Content-Length")
        if not re.fullmatch(r"[0-9]{1,18}", length):
            raise _DamageError("the Content-Length of this record is missing or impossible")
        content = stream.read(min(int(length), MOST_BYTES))
        left = int(length) - len(content)
        empty_lines = 0
        while left and (piece := stream.read(min(left, _LARGE_PIECE))):
            left -= len(piece)
        while (
            (line := stream.readline(LONGEST_HEAD))
            and not line.strip()
            and empty_lines < _MOST_EMPTY_LINES
        ):
            empty_lines += 1
        # Two empty lines follow a record. Lax writers leave fewer before the next one or the end.
        if left or (line and empty_lines < 2 and not _RECORD.fullmatch(line)):
            raise _DamageError("this record is cut off, or its Content-Length is wrong")
        yield _FoundRecord(head, content, line)
