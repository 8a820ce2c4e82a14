"""Decompress the bodies of requests, without exceeding the limit for uncompressed ones."""

import zlib
from collections.abc import Callable, Iterable
from typing import Any, Final

from crawldedup.commands.packing import PackError, unpack_member, zstandard
from crawldedup.errors import MissingDependencyError
from crawldedup.service.problems import CLOSE, ProblemError

CODINGS: Final = "gzip, zstd"
_ACCEPTED: Final = {"accept-encoding": CODINGS}
_MOST_MEMBERS: Final = 1_000
# The window size that RFC 9659 allows, which a decoder needs as memory.
_LARGEST_WINDOW_LOG: Final = 23


def coding_of(headers: Iterable[tuple[bytes, bytes]]) -> str:
    """Return the compression of a request's body, or "" if it isn't compressed.

    Raises:
        ProblemError: The compression isn't supported, or there are several.
    """
    values = [value for name, value in headers if name == b"content-encoding"]
    coding = b",".join(values).decode("latin-1").strip().lower()
    if coding in ("", "identity"):
        return ""
    if coding not in _UNPACKERS:
        detail = (
            f"the coding of the body is {coding[:80]!r}: send it uncompressed, or with one of "
            f"{CODINGS}"
        )
        raise _refused(detail)
    return coding


def unpacked(body: bytes, coding: str, most: int) -> bytes:
    """Decompress a body. Work and memory are limited to `most` bytes.

    Raises:
        ProblemError: It contains more, it's damaged or cut off, or this Python can't decompress it.
    """
    new_unpacker = _UNPACKERS[coding]()
    content = bytearray()
    place = 0
    for _ in range(_MOST_MEMBERS):
        try:
            # One byte more than allowed shows that there is too much.
            place = unpack_member(body, place, new_unpacker(), content, most + 1)
        except EOFError:
            raise ProblemError("invalid", 400, "the compressed body is cut off") from None
        except PackError as error:
            detail = f"the compressed body is damaged: {str(error)[:200]}"
            raise ProblemError("invalid", 400, detail) from None
        if len(content) > most:
            raise too_large(most)
        if place == len(body):
            return bytes(content)
    raise ProblemError(
        "invalid", 400, f"the body is {coding} in more than {_MOST_MEMBERS:,} members"
    )


def too_large(most: int, *, closes: bool = False) -> ProblemError:
    """Make the problem for a body of more than `most` bytes, as received or decompressed."""
    detail = (
        f"the body can have up to {most:,} bytes, also when decompressed: send less, or set "
        "--max-body higher"
    )
    return ProblemError("too-large", 413, detail, headers=CLOSE if closes else {})


def _refused(detail: str) -> ProblemError:
    return ProblemError("media-type", 415, detail, headers=_ACCEPTED)


def _gzip() -> Callable[[], Any]:
    return lambda: zlib.decompressobj(wbits=31)


def _zstandard() -> Callable[[], Any]:
    try:
        zstd = zstandard("the body")
    except MissingDependencyError as error:
        raise _refused(f"{error}; or send it uncompressed, or with gzip") from None
    options = {zstd.DecompressionParameter.window_log_max: _LARGEST_WINDOW_LOG}
    return lambda: zstd.ZstdDecompressor(options=options)


_UNPACKERS: Final[dict[str, Callable[[], Callable[[], Any]]]] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "zstd": _zstandard,
}
