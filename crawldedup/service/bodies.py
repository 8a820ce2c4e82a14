"""Undo the compression of request bodies, within the bound that plain bodies have."""

import zlib
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

from crawldedup.commands.packing import zstandard
from crawldedup.errors import MissingDependencyError
from crawldedup.service.problems import CLOSE, ProblemError

CODINGS: Final = "gzip, zstd"
_ACCEPTED: Final = {"accept-encoding": CODINGS}
_PIECE: Final = 1 << 14  # What stands behind a member is copied, up to so many bytes each time.
_MOST_MEMBERS: Final = 1_000
# What RFC 9659 allows a sender: a decoder needs this much memory.
_LARGEST_WINDOW_LOG: Final = 23


class _Packing(NamedTuple):
    """What undoes a kind of compression, and the error for damage."""

    new_unpacker: Callable[[], Any]
    error: type[Exception]


def coding_of(headers: Iterable[tuple[bytes, bytes]]) -> str:
    """Return how the body of a request is compressed; "" if it is not.

    Raises:
        ProblemError: In a way that the service does not take, or in several.
    """
    values = [value for name, value in headers if name == b"content-encoding"]
    coding = b",".join(values).decode("latin-1").strip().lower()
    if coding in ("", "identity"):
        return ""
    if coding not in _PACKINGS:
        detail = (
            f"the coding of the body is {coding[:80]!r}: send it as it is, or as one of {CODINGS}"
        )
        raise _refused(detail)
    return coding


def unpacked(body: bytes, coding: str, most: int) -> bytes:
    """Return what a compressed body holds. Its work and its memory are bounded by `most` bytes.

    Raises:
        ProblemError: It holds more, it is damaged or cut off, or this Python cannot decompress it.
    """
    packing = _PACKINGS[coding]()
    content = bytearray()
    place = 0
    for _ in range(_MOST_MEMBERS):
        place = _unpack_member(body, place, packing, content, most)
        if place == len(body):
            return bytes(content)
    raise ProblemError(
        "invalid", 400, f"the body is {coding} in more than {_MOST_MEMBERS:,} members"
    )


def _unpack_member(
    body: bytes, place: int, packing: _Packing, content: bytearray, most: int
) -> int:
    """Append what the member at a place holds, and return where the next one begins."""
    unpacker = packing.new_unpacker()
    while not unpacker.eof:
        piece = body[place : place + _PIECE]
        if not piece:
            raise ProblemError("invalid", 400, "the compressed body is cut off")
        try:
            # One byte more than allowed says that there is too much.
            content += unpacker.decompress(piece, most + 1 - len(content))
        except packing.error as error:
            detail = f"the compressed body is damaged: {str(error)[:200]}"
            raise ProblemError("invalid", 400, detail) from None
        if len(content) > most:
            raise too_large(most)
        place += len(piece)
    return place - len(unpacker.unused_data)


def too_large(most: int, *, closes: bool = False) -> ProblemError:
    """Return the problem for a body of more bytes than `most`, as it came or decompressed."""
    detail = (
        f"the body may have {most:,} bytes, decompressed as well: send less, or set --max-body "
        "higher"
    )
    return ProblemError("too-large", 413, detail, headers=CLOSE if closes else {})


def _refused(detail: str) -> ProblemError:
    return ProblemError("media-type", 415, detail, headers=_ACCEPTED)


def _gzip() -> _Packing:
    return _Packing(lambda: zlib.decompressobj(wbits=31), zlib.error)


def _zstandard() -> _Packing:
    try:
        zstd = zstandard("the body")
    except MissingDependencyError as error:
        raise _refused(f"{error}; or send it as it is, or in gzip") from None
    options = {zstd.DecompressionParameter.window_log_max: _LARGEST_WINDOW_LOG}
    return _Packing(lambda: zstd.ZstdDecompressor(options=options), zstd.ZstdError)


_PACKINGS: Final[dict[str, Callable[[], _Packing]]] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "zstd": _zstandard,
}
