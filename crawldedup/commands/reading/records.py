"""Find the records of web archives, and go on behind those that are damaged."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple

from crawldedup.commands.reading.complaints import MOST_TOLD
from crawldedup.commands.reading.members import is_packed, members_of
from crawldedup.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from crawldedup.commands.reading.complaints import Complaints
    from crawldedup.commands.reading.members import Member

    Tell = Callable[[int, str], None]

_FIRST_LINE: Final = re.compile(rb"WARC/\d\.\d+[ \t]*\r?\n")
_LENGTH: Final = re.compile(rb"^content-length[ \t]*:[ \t]*(\d{1,18})[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)
_END: Final = re.compile(rb"\r?\n\r?\n|[\r\n]*(WARC/\d|\Z)")
"""What stands behind a record: two empty lines, and by lax writers fewer before the next one or the end."""
_ENOUGH: Final = 64
_LONGEST_HEADER: Final = 1 << 16
"""A hundred times as long as those of real archives. What is longer is no header."""


class Span(NamedTuple):
    """Where a record stands: the bytes from `start` to `end` of its file.

    If these are `packed`, they are a member of gzip, and the record is the bytes `inner` of what that holds, or all.
    """

    start: int
    end: int
    packed: bool = False
    inner: tuple[int, int] | None = None


class Found(NamedTuple):
    """A record that was found: where it stands, and a stream that begins with its `size` bytes for the moment."""

    span: Span
    stream: BinaryIO
    size: int


def found_in(file: BinaryIO, path: Path, complaints: Complaints) -> Iterator[Found]:
    """Yield the records of an archive, and tell what is damaged. Raises ConfigurationError for a file without any."""
    waiting: list[ConfigurationError] = []
    is_archive = False

    def tell(place: int, message: str) -> None:
        error = ConfigurationError(f"{path}, at byte {place:,}: {message}")
        if is_archive:
            complaints.tell(error)
            return
        waiting.append(error)
        if len(waiting) > MOST_TOLD:
            raise _no_archive(path, waiting[0])

    for found in _packed(file, tell) if is_packed(file) else _plain(file, tell):
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
    for start, end in _framed(file, size, size, tell):
        yield Found(Span(start, end), file, end - start)


def _packed(file: BinaryIO, tell: Tell) -> Iterator[Found]:
    for member in members_of(file, tell):
        told: list[str] = []
        note = _noting(told, member, tell)
        content = io.BytesIO(member.content)
        spans = list(_framed(content, member.size, len(member.content), note))
        if len(member.content) < member.size and spans and spans[-1][1] < member.size - _ENOUGH:
            note(0, "too much is packed together: what follows cannot be read; `warcio recompress` parts the records")
        is_whole = len(spans) == 1 and not told and not member.is_cut
        for start, end in spans:
            inner = None if is_whole else (start, end)
            content.seek(start)
            yield Found(Span(member.start, member.end, packed=True, inner=inner), content, end - start)


def _noting(told: list[str], member: Member, tell: Tell) -> Tell:
    def note(_: int, message: str) -> None:
        told.append(message)
        # Of a member that is cut off, that alone is told.
        if not member.is_cut:
            tell(member.start, message)

    return note


def _framed(stream: BinaryIO, size: int, available: int, tell: Tell) -> Iterator[tuple[int, int]]:
    """Yield where each record begins and ends in a stream of `size` bytes, of which so many are `available`.

    The stream stands at its beginning then. A record is sought again directly behind the header of one whose length
    is wrong: no byte is looked at over and over, however many lengths are.
    """
    start, is_lost = stream.seek(0), False
    while line := stream.readline(_LONGEST_HEADER):
        if not _FIRST_LINE.fullmatch(line):
            if line.strip() and not is_lost:
                tell(start, "what begins here is no record")
                is_lost = True
            start += len(line)
            continue
        header, problem = _header(stream, line), ""
        end = behind = start + len(line if header is None else header)
        if header is None:
            problem = "the header of this record has no end"
        elif length := _LENGTH.search(header):
            end = behind + int(length[1])
            problem = _problem(stream, end, size, available)
        else:
            problem = "this record has no Content-Length that is a number"
        if problem:
            tell(start, problem)
        else:
            stream.seek(start)
            yield start, end
            behind = end
        start, is_lost = stream.seek(behind), bool(problem)


def _header(stream: BinaryIO, first: bytes) -> bytes | None:
    """Return the header that begins with this line; None if it does not end where it should."""
    header = first
    while len(header) < _LONGEST_HEADER and (line := stream.readline(_LONGEST_HEADER)):
        if _FIRST_LINE.fullmatch(line):
            return None
        header += line
        if not line.strip():
            return header
    return None


def _problem(stream: BinaryIO, end: int, size: int, available: int) -> str:
    """Return what is wrong with a record that should end there; an empty string if nothing is."""
    if end > size:
        return "this record is cut off, or its Content-Length is wrong"
    if end > available:
        return ""
    stream.seek(end)
    return "" if _END.match(stream.read(_ENOUGH)) else "the Content-Length of this record is wrong"
