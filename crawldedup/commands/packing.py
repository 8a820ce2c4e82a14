"""Read and write compressed files: gzip, bzip2, xz and Zstandard, by the ends of their names."""

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from crawldedup.errors import ConfigurationError, MissingDependencyError

GZIP, BZIP2, XZ, ZSTANDARD = ".gz", ".bz2", ".xz", ".zst"
PACKED_SUFFIXES: Final = (GZIP, BZIP2, XZ, ZSTANDARD)
_MAGIC: Final = {
    GZIP: (b"\x1f\x8b",),
    BZIP2: (b"BZh",),
    XZ: (b"\xfd7zXZ\0",),
    # A frame that is skipped may stand before the others.
    ZSTANDARD: (b"\x28\xb5\x2f\xfd", *(bytes([0x50 + n]) + b"\x2a\x4d\x18" for n in range(16))),
}
_PIECE: Final = 1 << 14
# What gzip does by itself; the highest level takes thrice as long, for one percent.
_LEVEL: Final = 6
# What `xz -9` needs, and a little; a few bytes may ask for gigabytes.
_MOST_MEMORY: Final = 128 * 1024 * 1024


class PackError(Exception):
    """Raised for a compressed file that is damaged."""


PACK_ERRORS: Final = (PackError, EOFError, gzip.BadGzipFile, zlib.error)
"""What reading an opened file raises where it is damaged or cut off."""


def packed_suffix(name: str) -> str:
    """Return the end of a name that says how its file is compressed; "" if nothing does."""
    for suffix in PACKED_SUFFIXES:
        if name.lower().endswith(suffix):
            return suffix
    return ""


def unpacked_name(name: str) -> str:
    """Return the name of what a compressed file holds, in lower case."""
    return name.lower().removesuffix(packed_suffix(name))


def opened(path: Path) -> BinaryIO:
    """Open a file to read what it holds, which is decompressed as its name says.

    Some programs decompress what they save, and keep the name: such a file is read as it is.
    Reading may raise PACK_ERRORS. Raises MissingDependencyError and OSError.
    """
    suffix = packed_suffix(path.name)
    if not suffix or not _begins_with(path, _MAGIC[suffix]):
        return path.open("rb")
    if suffix == GZIP:
        return cast("BinaryIO", gzip.GzipFile(path))
    return io.BufferedReader(_Unpacked(path, _unpackers(path)[suffix]))


def _begins_with(path: Path, magics: tuple[bytes, ...]) -> bool:
    with path.open("rb") as file:
        head = file.read(max(map(len, magics)))
    # What is cut off within the magic is damaged, and no other file.
    return head.startswith(magics) or (head != b"" and any(m.startswith(head) for m in magics))


def packed(suffix: str, file: BinaryIO) -> BinaryIO:
    """Return a file that compresses what is written into another one, which it leaves open.

    Raises MissingDependencyError.
    """
    if suffix == GZIP:
        return cast("BinaryIO", gzip.GzipFile("", "wb", _LEVEL, file, mtime=0))
    if suffix == BZIP2:
        return cast("BinaryIO", bz2.BZ2File(file, "wb"))
    if suffix == XZ:
        return cast("BinaryIO", lzma.LZMAFile(file, "wb"))
    return cast("BinaryIO", zstandard("the output").ZstdFile(file, "w"))


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
                f"{what} is compressed by Zstandard, and that needs backports.zstd: pip install "
                "backports.zstd"
            ) from error
    return zstd


def _unpackers(path: Path) -> dict[str, Callable[[], Any]]:
    unpackers: dict[str, Callable[[], Any]] = {
        BZIP2: bz2.BZ2Decompressor,
        XZ: lambda: lzma.LZMADecompressor(memlimit=_MOST_MEMORY),
    }
    if packed_suffix(path.name) == ZSTANDARD:
        unpackers[ZSTANDARD] = zstandard(str(path)).ZstdDecompressor
    return unpackers


class _Unpacked(io.RawIOBase):
    """What the streams of a compressed file hold, one behind the other.

    Raises PackError for damage, and EOFError where the file is cut off.
    """

    def __init__(self, path: Path, new_unpacker: Callable[[], Any]) -> None:
        self._file = path.open("rb")
        self._new_unpacker = new_unpacker
        self._unpacker: Any = None
        self._left = b""  # read, and not decompressed yet

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._file.close()
        super().close()

    def readinto(self, buffer: Any) -> int:
        piece = b""
        while not piece and self._has_more():
            # A few bytes may hold gigabytes.
            piece = self._unpacked(len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)

    def _has_more(self) -> bool:
        """Return whether a stream is being read, after beginning the next one if there is one."""
        if self._unpacker is not None and not self._unpacker.eof:
            return True
        if self._unpacker is not None:
            self._left = self._unpacker.unused_data
        # Streams of xz may be followed by NUL bytes.
        while not (left := self._left.lstrip(b"\0")):
            self._left = self._file.read(_PIECE)
            if not self._left:
                self._unpacker = None
                return False
        self._left = left
        self._unpacker = self._new_unpacker()
        return True

    def _unpacked(self, size: int) -> bytes:
        packed_bytes = b""
        if self._unpacker.needs_input:
            packed_bytes = self._left or self._file.read(_PIECE)
            self._left = b""
            if not packed_bytes:
                raise EOFError("the file is cut off")
        try:
            return cast("bytes", self._unpacker.decompress(packed_bytes, size))
        # Each format has an error of its own.
        except Exception as error:
            raise PackError(str(error)) from error


def read_at_most(path: Path, size: int) -> bytes:
    """Return the content of a file, at most so many bytes of it.

    Raises:
        ConfigurationError: It cannot be decompressed.
        OSError: It cannot be read.
    """
    try:
        with opened(path) as file:
            return file.read(size)
    except PACK_ERRORS as error:
        raise ConfigurationError(f"{path} cannot be decompressed: {error}") from error
