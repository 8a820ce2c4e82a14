"""Decode the body of an HTTP response, and notice if a part of it is missing."""

import math
import re
import zlib
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, NamedTuple

from crawldedup.commands.headers import Headers
from crawldedup.commands.items import MOST_BYTES
from crawldedup.commands.packing import PACK_ERRORS, Unpacker, unpack_member, zstandard
from crawldedup.errors import MissingDependencyError, PageError
from crawldedup.reading.html import decode

# The longest size of a chunk, with 64 bits. A longer run of hexadecimal digits is a checksum, in a
# body whose chunks have already been joined.
_CHUNK: Final = re.compile(rb"([0-9a-fA-F]{1,16})[ \t]*(?:;[^\r\n]*)?\r?\n")
_LINE_END: Final = re.compile(rb"\r?\n|\Z")
_RANGE: Final = re.compile(r"bytes\s+0-(\d{1,18})/(\d{1,18})\s*")
GZIP_MAGIC: Final = b"\x1f\x8b"
_ZSTANDARD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
_LENGTH: Final = re.compile(r"0*([0-9]+)")
_LONGEST_LENGTH: Final = 18  # digits; no body is so long
_SAMPLE_BYTES: Final = 8192
_MOST_MEMBERS: Final = 10_000
# Half of all servers send deflate without the header that it should have.
_DEFLATE: Final = (15, -15)


class Body(NamedTuple):
    """The decoded body of a response, and what is missing from it."""

    content: bytes
    is_whole: bool


def decoded_body(body: bytes, headers: Headers) -> Body:
    """Undo the encodings in which a body was sent, such as gzip.

    In many archives, they have already been removed, and the body is returned as it is. So is one
    with an unknown encoding. The result has at most `MOST_BYTES`, because a few bytes can expand to
    gigabytes.

    Raises:
        PageError: "encoding", for an encoding whose package isn't installed.
    """
    is_whole = _is_whole_range(headers.get("Content-Range"))
    transfer = headers.list_of("Transfer-Encoding")
    if transfer[-1:] == ["chunked"]:
        body, has_end = _without_chunks(body)
        is_whole = is_whole and has_end
    else:
        is_whole = is_whole and len(body) >= _declared_length(headers)
    for encoding in reversed([*headers.list_of("Content-Encoding"), *transfer]):
        decoder = _DECODERS.get(encoding)
        if decoder is not None:
            decoded = decoder(body)
            body = decoded.content
            is_whole = is_whole and decoded.is_whole
    return Body(body, is_whole)


def _declared_length(headers: Headers) -> float:
    """Return the length of a body in bytes as the server declared it.

    It is 0 if there is none, and infinity if it is longer than any body can be.
    """
    lengths: list[float] = []
    for value in headers.list_of("Content-Length"):
        digits = _LENGTH.fullmatch(value)
        if digits is None:
            return 0
        lengths.append(int(digits[1]) if len(digits[1]) <= _LONGEST_LENGTH else math.inf)
    # Servers behind others may say it twice.
    return min(lengths, default=0)


def _is_whole_range(content_range: str) -> bool:
    """Return whether a response is a complete page, given its Content-Range.

    That header can be there without the status 206.
    """
    named = _RANGE.fullmatch(content_range)
    return not content_range or (named is not None and int(named[1]) + 1 >= int(named[2]))


def _without_chunks(body: bytes) -> Body:
    content = bytearray()
    place = 0
    while chunk := _CHUNK.match(body, place):
        size = int(chunk[1], 16)
        if size == 0:
            return Body(bytes(content), True)
        place = min(chunk.end() + size, len(body))
        content += body[chunk.end() : place]
        line_end = _LINE_END.match(body, place)
        place = line_end.end() if line_end else place
    return Body(bytes(content), False) if place else Body(body, True)


def gunzipped(body: bytes, most: int) -> Body:
    """Decompress the gzip members in a body. Anything after the last one is ignored.

    For a damaged member, this is the part that can be read. All together have at most this many
    bytes.
    """
    return _unpacked(body, most, GZIP_MAGIC, _new_gzip_unpacker)


def _new_gzip_unpacker() -> Any:
    # For a damaged member, zlib returns everything before the damage.
    return zlib.decompressobj(wbits=31)


def _unpacked(body: bytes, most: int, magic: bytes, new_unpacker: Callable[[], Unpacker]) -> Body:
    content = bytearray()
    place = 0
    for _ in range(_MOST_MEMBERS):
        try:
            place = unpack_member(body, place, new_unpacker(), content, most)
        except PACK_ERRORS:
            return Body(bytes(content), False)
        if len(content) >= most or not body.startswith(magic, place):
            return Body(bytes(content), True)
    return Body(bytes(content), False)


def _from_gzip(body: bytes) -> Body:
    return gunzipped(body, MOST_BYTES) if body.startswith(GZIP_MAGIC) else Body(body, True)


def _from_deflate(body: bytes) -> Body:
    for wbits in _DEFLATE:
        unpack = zlib.decompressobj(wbits)
        with suppress(zlib.error):
            content = unpack.decompress(body, MOST_BYTES)
            if unpack.eof or len(content) >= MOST_BYTES:
                return Body(content, True)
    return _as_it_is(body)


def _from_brotli(body: bytes) -> Body:
    try:
        import brotli
    except ImportError:
        return _as_it_is(body, "Brotli: pip install brotli")
    unpack = brotli.Decompressor()
    # Before 1.2 it knows no limit.
    with suppress(brotli.error, TypeError):
        content = bytes(unpack.process(body, output_buffer_limit=MOST_BYTES))[:MOST_BYTES]
        if unpack.is_finished() or len(content) >= MOST_BYTES or not unpack.can_accept_more_data():
            return Body(content, True)
    return _as_it_is(body)


def _from_zstandard(body: bytes) -> Body:
    if not body.startswith(_ZSTANDARD_MAGIC):
        return Body(body, True)
    try:
        zstd: Any = zstandard("a body")
    except MissingDependencyError:
        return _as_it_is(body, "Zstandard: pip install backports.zstd")
    return _unpacked(body, MOST_BYTES, _ZSTANDARD_MAGIC, zstd.ZstdDecompressor)


def _as_it_is(body: bytes, missing: str = "") -> Body:
    """Return a body that can't be decoded.

    It's complete if it's a text whose encoding was already undone.

    Raises PageError if the package for it is missing.
    """
    try:
        decode(body[:_SAMPLE_BYTES], None)
    except PageError:
        if missing:
            raise PageError("encoding", f"the body is compressed with {missing}") from None
        return Body(body, False)
    return Body(body, True)


_DECODERS: Final[dict[str, Callable[[bytes], Body]]] = {
    "gzip": _from_gzip,
    "x-gzip": _from_gzip,
    "deflate": _from_deflate,
    "br": _from_brotli,
    "zstd": _from_zstandard,
}
