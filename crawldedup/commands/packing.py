"""Read and write compressed files: gzip, bzip2, xz and Zstandard, by their suffixes.

A compressed file consists of one or more members: gzip members, bzip2 and xz streams, or Zstandard
frames. A `Member` reads one of them, and `opened` reads all of them.
"""

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, Final, Protocol, cast

from crawldedup.errors import ConfigurationError, MissingDependencyError

GZIP, BZIP2, XZ, ZSTANDARD = ".gz", ".bz2", ".xz", ".zst"
PACKED_SUFFIXES: Final = (GZIP, BZIP2, XZ, ZSTANDARD)
_MAGIC: Final = {
    GZIP: (b"\x1f\x8b",),
    BZIP2: (b"BZh",),
    XZ: (b"\xfd7zXZ\0",),
    # A skippable frame may come before the others.
    ZSTANDARD: (b"\x28\xb5\x2f\xfd", *(bytes([0x50 + n]) + b"\x2a\x4d\x18" for n in range(16))),
}
_PIECE: Final = 1 << 14
# The default of gzip. The highest level takes three times as long, for one percent.
_LEVEL: Final = 6
# A little more than `xz -9` needs. A few bytes could ask for gigabytes.
_MOST_MEMORY: Final = 128 * 1024 * 1024
_GZIP_TRAILER: Final = 8  # bytes of the sum and the length at the end of a member


class PackError(Exception):
    """Raised for a compressed file that is damaged."""


PACK_ERRORS: Final = (PackError, EOFError)
"""The errors that occur while reading a compressed file that is damaged or cut off."""


def packed_suffix(name: str) -> str:
    """Return the suffix that says how a file is compressed, or "" if there is none."""
    for suffix in PACKED_SUFFIXES:
        if name.lower().endswith(suffix):
            return suffix
    return ""


def unpacked_name(name: str) -> str:
    """Return the name of a file without the suffix for its compression, in lower case."""
    return name.lower().removesuffix(packed_suffix(name))


def opened(path: Path) -> BinaryIO:
    """Open a file for reading, and decompress it according to its name.

    Some programs decompress a file but keep its name. Such a file is read as it is. Reading may
    raise PACK_ERRORS. Raises MissingDependencyError and OSError.
    """
    suffix = packed_suffix(path.name)
    if not suffix or not _begins_with(path, _MAGIC[suffix]):
        return path.open("rb")
    return io.BufferedReader(_Unpacked(path, unpackers(suffix, str(path))))


def _begins_with(path: Path, magics: tuple[bytes, ...]) -> bool:
    with path.open("rb") as file:
        head = file.read(max(map(len, magics)))
    # What is cut off within the magic is damaged, and no other file.
    return head.startswith(magics) or (head != b"" and any(m.startswith(head) for m in magics))


def packing_of(head: bytes, suffixes: tuple[str, ...]) -> str:
    """Return the suffix among these for the compression that the first bytes show, or ""."""
    for suffix in suffixes:
        if head.startswith(_MAGIC[suffix]):
            return suffix
    return ""


def packed(suffix: str, file: BinaryIO) -> BinaryIO:
    """Return a file that compresses what is written to it into another file, which stays open.

    Raises MissingDependencyError.
    """
    if suffix == GZIP:
        return cast("BinaryIO", gzip.GzipFile("", "wb", _LEVEL, file, mtime=0))
    if suffix == BZIP2:
        return cast("BinaryIO", bz2.BZ2File(file, "wb"))
    if suffix == XZ:
        return cast("BinaryIO", lzma.LZMAFile(file, "wb"))
    return cast("BinaryIO", zstandard("the output").ZstdFile(file, "w"))


def compressed(content: bytes, suffix: str) -> bytes:
    """Compress bytes into a single member. Raises MissingDependencyError."""
    target = io.BytesIO()
    with packed(suffix, target) as file:
        file.write(content)
    return target.getvalue()


def zstandard(what: str) -> Any:
    """Return the module for Zstandard.

    Raises:
        MissingDependencyError: It is not installed. The message says what needs it.
    """
    try:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        try:
            from backports import zstd
        except ImportError as error:
            raise MissingDependencyError(
                f"{what} is compressed with Zstandard, and reading it needs: pip install "
                "backports.zstd"
            ) from error
    return zstd


class Unpacker(Protocol):
    """The protocol of decompressors for one member, which those of the standard library follow."""

    @property
    def eof(self) -> bool: ...

    @property
    def needs_input(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class _GzipUnpacker:
    """Decompresses a gzip member, and checks the length and checksum at its end.

    Both are at the end of the member. If a piece ends with wrong ones, zlib returns nothing of it,
    so the last bytes of each piece are held back until the next one. By then, everything correct
    before them has been returned.
    """

    def __init__(self) -> None:
        self._unpack = zlib.decompressobj(wbits=31)
        self._held = b""

    @property
    def eof(self) -> bool:
        return self._unpack.eof

    @property
    def needs_input(self) -> bool:
        return not self._unpack.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._unpack.unused_data + self._held

    def decompress(self, data: bytes, max_length: int) -> bytes:
        tail = self._unpack.unconsumed_tail
        if data:
            data = self._held + data
            data, self._held = data[:-_GZIP_TRAILER], data[-_GZIP_TRAILER:]
        elif not tail:
            # The file has ended.
            data = self._held
            self._held = b""
        return self._unpack.decompress(tail + data, max_length)


def unpackers(suffix: str, what: str) -> Callable[[], Unpacker]:
    """Return a function that makes a decompressor for each member.

    Raises:
        MissingDependencyError: A package is missing. The message names `what` is compressed.
    """
    if suffix == GZIP:
        return _GzipUnpacker
    if suffix == BZIP2:
        return bz2.BZ2Decompressor
    if suffix == XZ:
        return lambda: lzma.LZMADecompressor(memlimit=_MOST_MEMORY)
    return cast("Callable[[], Unpacker]", zstandard(what).ZstdDecompressor)


class Member(io.RawIOBase):
    """The decompressed content of one member of a compressed file, as a readable stream.

    Raises PackError for damage, and EOFError where the file is cut off.
    """

    def __init__(self, file: BinaryIO, begun: bytes, new_unpacker: Callable[[], Unpacker]) -> None:
        """Prepare to read a member.

        Args:
            file: The file, at the position after `begun`.
            begun: The first bytes of the member, and perhaps more.
            new_unpacker: Makes the decompressor.
        """
        self._file = file
        self._begun = begun
        self._unpacker = new_unpacker()

    @property
    def rest(self) -> bytes:
        """What was read from the file beyond the member.

        Known once the member was read completely.
        """
        return self._unpacker.unused_data if self._unpacker.eof else b""

    @property
    def end(self) -> int:
        """Where the member ends in the file. Known once the member was read completely."""
        return self._file.tell() - len(self.rest)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = b""
        while not piece and not self._unpacker.eof:
            # A few bytes may hold gigabytes.
            piece = self._unpacked(len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)

    def _unpacked(self, size: int) -> bytes:
        packed_bytes = b""
        needs_input = self._unpacker.needs_input
        if needs_input:
            packed_bytes = self._begun or self._file.read(_PIECE)
            self._begun = b""
        try:
            piece = self._unpacker.decompress(packed_bytes, size)
        # Each format has an error of its own.
        except Exception as error:
            raise PackError(str(error)) from error
        if needs_input and not packed_bytes and not piece and not self._unpacker.eof:
            raise EOFError("the file is cut off")
        return piece


def unpack_member(
    body: bytes, place: int, unpacker: Unpacker, content: bytearray, most: int
) -> int:
    """Append the decompressed content of a member to `content`, and return where the member ends.

    This stops as soon as `content` has `most` bytes. If there is an error, everything that was read
    before it has been appended.

    Raises:
        PackError: The member is damaged.
        EOFError: The body is cut off within it.
    """
    while not unpacker.eof and len(content) < most:
        # Not all at once, because the rest after a member is copied.
        piece = body[place : place + _PIECE]
        if not piece:
            raise EOFError("the body is cut off")
        try:
            content += unpacker.decompress(piece, most - len(content))
        # Each format has an error of its own.
        except Exception as error:
            raise PackError(str(error)) from error
        place += len(piece)
    return place - len(unpacker.unused_data)


class _Unpacked(io.RawIOBase):
    """The decompressed content of a whole file: all of its members, one after the other.

    Raises PackError for damage, and EOFError where the file is cut off.
    """

    def __init__(self, path: Path, new_unpacker: Callable[[], Unpacker]) -> None:
        self._file = path.open("rb")
        self._new_unpacker = new_unpacker
        self._member: Member | None = None
        self._left = b""  # read, and of no member yet

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._file.close()
        super().close()

    def readinto(self, buffer: Any) -> int:
        while (member := self._current()) is not None:
            length = member.readinto(buffer)
            if length:
                return length
            self._left = member.rest
            self._member = None
        return 0

    def _current(self) -> Member | None:
        """Return the member that is being read, or the next one, or None at the end of the file."""
        if self._member is None:
            # Streams of xz may be followed by NUL bytes.
            while not (begun := self._left.lstrip(b"\0")):
                self._left = self._file.read(_PIECE)
                if not self._left:
                    return None
            self._member = Member(self._file, begun, self._new_unpacker)
        return self._member


def read_at_most(path: Path, size: int) -> bytes:
    """Read the content of a file, decompressed, up to this many bytes.

    Raises:
        ConfigurationError: It cannot be decompressed.
        OSError: It cannot be read.
    """
    try:
        with opened(path) as file:
            return file.read(size)
    except PACK_ERRORS as error:
        raise ConfigurationError(f"{path} cannot be decompressed: {error}") from error
