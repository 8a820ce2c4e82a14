"""Read the members of gzip files one by one, and go on behind those that are damaged."""

from __future__ import annotations

import re
import zlib
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple

from crawldedup.commands.reading.entries import MOST_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_MAGIC: Final = b"\x1f\x8b"
_BEGINNING: Final = re.compile(rb"\x1f\x8b\x08[\x00-\x1f]")
_PIECE: Final = 1 << 14
_LARGE_PIECE: Final = 1 << 20
_OVERRUN: Final = 1 << 16
"""So far behind a damaged byte its error may be noticed: after a block of deflate, of some ten kilobytes."""
_CONTENT: Final = b"WARC/"


class Member(NamedTuple):
    """A member of a gzip file: the bytes from `start` to `end`, and what they hold.

    Of its `size` bytes, `content` has those up to `MOST_BYTES`. It `is_cut` if the file ends before it does.
    """

    start: int
    end: int
    content: bytes
    size: int
    is_cut: bool = False


def is_packed(file: BinaryIO) -> bool:
    """Return whether a file is one of gzip."""
    file.seek(0)
    return file.read(len(_MAGIC)) == _MAGIC


def members_of(file: BinaryIO, tell: Callable[[int, str], None]) -> Iterator[Member]:
    """Yield the members of a web archive, and tell which are damaged."""
    start: int | None = 0
    while start is not None:
        file.seek(start)
        beginning = file.read(len(_MAGIC))
        if not beginning:
            return
        if beginning != _MAGIC:
            found = _next_member(file, start)
            if not _is_padding(file, start, found):
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


def _member_at(file: BinaryIO, start: int) -> Member:
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
            return Member(start, position, bytes(content), size, is_cut=True)
        size += len(piece)
        content += piece[: MOST_BYTES - len(content)]
    return Member(start, position - len(unpack.unused_data), bytes(content), size)


def _next_member(file: BinaryIO, start: int) -> int | None:
    """Return where the next member begins that holds a record; None if there is none."""
    file.seek(start)
    while block := file.read(_LARGE_PIECE):
        for found in _BEGINNING.finditer(block):
            place = start + found.start()
            file.seek(place)
            if _holds_record(file.read(_PIECE)):
                return place
        # A beginning may lie across two blocks.
        start += max(1, len(block) - len(_BEGINNING.pattern))
        file.seek(start)
    return None


def _holds_record(packed: bytes) -> bool:
    try:
        return zlib.decompressobj(wbits=31).decompress(packed, len(_CONTENT)) == _CONTENT
    except zlib.error:
        return False


def _is_padding(file: BinaryIO, start: int, end: int | None) -> bool:
    """Return whether a file has nothing but zeros from there, up to the end or as far as is read at once."""
    file.seek(start)
    return not file.read(min(_LARGE_PIECE, (end or start + _LARGE_PIECE) - start)).strip(b"\0")
