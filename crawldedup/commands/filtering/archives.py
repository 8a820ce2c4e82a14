"""Copy the records of web archives as they are, each dropped response with what was captured with it left out."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crawldedup.commands.reading.archives import Record
    from crawldedup.commands.reading.records import Span

_COMPANIONS: Final = ("request", "metadata")
"""Records that tell of a response, and of nothing without it."""
_PIECE: Final = 1 << 18
_GZIP: Final = 31
_BETWEEN: Final = b"\r\n\r\n"


class Placed(NamedTuple):
    """A record to copy or to leave out, without its page. Its ids are hashed, which takes a third of the memory."""

    span: Span
    id: int
    concurrent: tuple[int, ...]
    is_companion: bool
    is_copy: bool

    @classmethod
    def of(cls, record: Record, *, is_copy: bool) -> Placed:
        """Return where a record is, and what it is."""
        concurrent = tuple(map(hash, filter(None, record.concurrent)))
        return cls(record.span, hash(record.id), concurrent, record.kind in _COMPANIONS, is_copy)


def kept(records: Sequence[Placed]) -> Iterator[Placed]:
    """Yield the records of an archive that stay, in order.

    A request or metadata goes with the copies that it was captured with, unless a record that stays was, too. Either
    of two records may name the other, which may stand before or behind it. Several may have one id.
    """
    own: dict[int, list[bool]] = {}
    named: dict[int, list[bool]] = {}
    for record in records:
        if not record.is_companion:
            own.setdefault(record.id, []).append(record.is_copy)
            for other in record.concurrent:
                named.setdefault(other, []).append(record.is_copy)
    for record in records:
        if record.is_companion and record.id:
            # Metadata of a request is that of its response.
            own.setdefault(record.id, []).extend(_fates(record, own, named))
    for record in records:
        fates = _fates(record, own, named) if record.is_companion else [record.is_copy]
        if not fates or not all(fates):
            yield record


def _fates(record: Placed, own: dict[int, list[bool]], named: dict[int, list[bool]]) -> list[bool]:
    """Return of each record that a companion was captured with whether it is a copy."""
    fates = [fate for other in record.concurrent for fate in own.get(other, ())]
    return fates + named.get(record.id, []) if record.id else fates


def copy_record(file: BinaryIO, span: Span, out: BinaryIO, *, packed: bool) -> None:
    """Copy a record, as a member of its own if it is to be `packed`."""
    if packed and span.packed and span.inner is None:
        for piece in _bytes_of(file, span):
            out.write(piece)
        return
    pack = zlib.compressobj(wbits=_GZIP) if packed else None
    for piece in _content_of(file, span):
        out.write(pack.compress(piece) if pack else piece)
    if pack:
        out.write(pack.flush())


def _bytes_of(file: BinaryIO, span: Span) -> Iterator[bytes]:
    file.seek(span.start)
    left = span.end - span.start
    while left and (piece := file.read(min(left, _PIECE))):
        left -= len(piece)
        yield piece


def _content_of(file: BinaryIO, span: Span) -> Iterator[bytes]:
    """Yield the bytes of a record, and the empty lines behind it."""
    if not span.packed:
        yield from _bytes_of(file, span)
        yield _BETWEEN
    elif span.inner is None:
        yield from _unpacked(file, span)
    else:
        start, end = span.inner
        place = 0
        for piece in _unpacked(file, span):
            yield piece[max(start - place, 0) : max(end - place, 0)]
            place += len(piece)
        yield _BETWEEN


def _unpacked(file: BinaryIO, span: Span) -> Iterator[bytes]:
    unpack = zlib.decompressobj(wbits=_GZIP)
    for packed in _bytes_of(file, span):
        waiting = packed
        while waiting and not unpack.eof:
            yield unpack.decompress(waiting, _PIECE)
            waiting = unpack.unconsumed_tail
    yield unpack.flush()
