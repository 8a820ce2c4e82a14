"""The portable file: an index as a backup, or on its way to another store.

    header   one line of JSON: {"format": "crawldedup-index", "version": 1, "profile": "...", ...}
    block    length > 0, 4 bytes | that many bytes of records | checksum, 4 bytes
    ...
    end      length 0, 4 bytes   | number of records, 8 bytes | checksum, 4 bytes

Numbers are big-endian. A checksum is the CRC-32 of everything in front of it from the file's first byte on, other
checksums left out: it tells of bytes that changed and of blocks that are missing or out of order, before anything of
a block is used. Without the end mark a file is truncated.

A record is its URL key and search bits (8 bytes each), its digest, when it was added and last seen (in seconds since
1970), its copies and the length of its URL (4 bytes each), its signature, and the URL in UTF-8. Scopes and facts are
part of the bits, so they travel along. Records come in the order in which the pages were added.

A file may come from anywhere: no more than one block is held in memory, and nothing is believed unchecked. The checksum
tells of accidents, not of forgery: whoever writes a file decides what it says.
"""

from __future__ import annotations

import gzip
import json
import struct
import time
import zlib
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, BinaryIO, Final, TypeGuard

from crawldedup.errors import PortableFileError, ProfileMismatchError
from crawldedup.files import opened_for_reading, opened_for_writing
from crawldedup.fingerprinting.fingerprint import SEARCH_BITS
from crawldedup.printable import printable
from crawldedup.stores.base import Record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from crawldedup.files import FileName
    from crawldedup.stores.base import Layout

FORMAT: Final = "crawldedup-index"
VERSION: Final = 1
BLOCK_RECORDS: Final = 1000
"""At most so many records a block: as many as a store takes at once."""

_BLOCK_BYTES: Final = 1 << 20
_LONGEST_BLOCK: Final = 4 << 20
_LONGEST_HEADER: Final = 1 << 16
_LONGEST_URL: Final = 1 << 20
_LONGEST_NAME: Final = 1000
_MOST_COPIES: Final = (1 << 31) - 1
_LARGEST_NUMBER: Final = (1 << 63) - 1
_HEAD: Final = struct.Struct(">QQIIIII")
_LENGTH: Final = struct.Struct(">I")
_COUNT: Final = struct.Struct(">Q")


@dataclass(frozen=True, slots=True)
class Header:
    """What a file holds. `created_at` is in seconds since 1970 (UTC); `pages` is the number of records, about."""

    profile: str
    namespace: str
    search_bits: int
    signature_bytes: int
    created_at: int
    pages: int


def write_index(stream: BinaryIO, header: Header, records: Iterable[Record]) -> int:
    """Write a file; the number of records in it. URLs of more than a mebibyte are cut."""
    writer = _Writer(stream)
    described = {"format": FORMAT, "version": VERSION, **asdict(header)}
    writer.write(json.dumps(described).encode("ascii") + b"\n")
    written = in_block = 0
    block = bytearray()
    for record in records:
        block += _packed(record)
        in_block += 1
        if in_block == BLOCK_RECORDS or len(block) >= _BLOCK_BYTES:
            writer.write_part(block)
            written += in_block
            in_block = 0
            block.clear()
    if block:
        writer.write_part(block)
        written += in_block
    writer.write_end(written)
    return written


def read_index(stream: BinaryIO, name: str) -> tuple[Header, Iterator[list[Record]]]:
    """The header of a file, and its records, some at a time. `name` is what errors call the file.

    Raises PortableFileError, for what is wrong further down only where that is reached: the records handed out
    until then are whole.
    """
    reader = _Reader(stream, printable(name))
    header = _header(reader)
    return header, _blocks(reader, header)


@contextmanager
def opened_index(source: FileName, layout: Layout) -> Iterator[tuple[Header, Iterator[list[Record]]]]:
    """What `read_index` gives of a file, if it was written by an index of this layout.

    Raises OSError, PortableFileError, and ProfileMismatchError for an index that was made with other settings.
    """
    with opened_for_reading(source) as (stream, name):
        header, blocks = read_index(stream, name)
        if header.profile != layout.profile:
            raise ProfileMismatchError(f"the file {name}", index_profile=header.profile, own_profile=layout.profile)
        if (header.search_bits, header.signature_bytes) != (SEARCH_BITS, layout.signature_bytes):
            raise PortableFileError(f"{printable(name)} is damaged: its header contradicts its profile")
        yield header, blocks


def export_index(target: FileName, layout: Layout, batches: Iterable[Sequence[Record]], *, pages: int) -> int:
    """Write the records of an index of about so many pages to a file; how many there were. Raises OSError."""
    header = Header(
        profile=layout.profile,
        namespace=layout.namespace,
        search_bits=SEARCH_BITS,
        signature_bytes=layout.signature_bytes,
        created_at=int(time.time()),
        pages=pages,
    )
    with opened_for_writing(target) as stream:
        return write_index(stream, header, chain.from_iterable(batches))


class _Writer:
    """Keeps the checksum of what it writes."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._checksum = 0

    def write(self, data: bytes | bytearray) -> None:
        self._checksum = zlib.crc32(data, self._checksum)
        self._stream.write(data)

    def write_part(self, data: bytes | bytearray) -> None:
        self.write(_LENGTH.pack(len(data)))
        self.write(data)
        self._stream.write(_LENGTH.pack(self._checksum))

    def write_end(self, records: int) -> None:
        self.write(_LENGTH.pack(0))
        self.write(_COUNT.pack(records))
        self._stream.write(_LENGTH.pack(self._checksum))


class _Reader:
    """Keeps the checksum of what it reads, and says what is wrong with it."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self._stream = stream
        self._checksum = 0
        self.name = name
        self.records = 0

    def line(self, longest: int) -> bytes:
        """The next line, or as many bytes of it as a header may have."""
        with self._errors():
            line = self._stream.readline(longest)
        self._checksum = zlib.crc32(line, self._checksum)
        return line

    def read(self, size: int) -> bytes:
        data = self._read(size)
        self._checksum = zlib.crc32(data, self._checksum)
        return data

    def check(self) -> None:
        (expected,) = _LENGTH.unpack(self._read(_LENGTH.size))
        if expected != self._checksum:
            raise self.damaged("a checksum does not match")

    def is_at_end(self) -> bool:
        with self._errors():
            return not self._stream.read(1)

    def damaged(self, how: str) -> PortableFileError:
        return PortableFileError(
            f"{self.name} is damaged behind its first {self.records} pages ({how}); export the index again"
        )

    def _read(self, size: int) -> bytes:
        with self._errors():
            data = self._stream.read(size)
        if len(data) < size:
            raise self._truncated()
        return data

    def _truncated(self) -> PortableFileError:
        return PortableFileError(
            f"{self.name} is truncated: it ends after {self.records} pages, without its end mark; "
            f"copy it again, or export the index again"
        )

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except EOFError:
            raise self._truncated() from None
        except (gzip.BadGzipFile, zlib.error) as error:
            raise self.damaged(f"it cannot be decompressed: {error}") from error


def _packed(record: Record) -> bytes:
    url = record.url.encode("utf-8", "replace")
    if len(url) > _LONGEST_URL:
        url = url[:_LONGEST_URL].decode("utf-8", "ignore").encode()
    head = _HEAD.pack(
        record.url_key,
        record.search,
        record.digest,
        record.added_at,
        record.seen_at,
        min(record.copies, _MOST_COPIES),
        len(url),
    )
    return head + record.signature + url


def _header(reader: _Reader) -> Header:
    line = reader.line(_LONGEST_HEADER)
    try:
        given: Any = json.loads(line)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict) or given.get("format") != FORMAT:
        raise PortableFileError(f"{reader.name} is not an exported index; `crawldedup export` writes those")
    version = given.get("version")
    if not _is_number(version) or version < 1:
        raise reader.damaged("its header has no version")
    if version > VERSION:
        raise PortableFileError(
            f"{reader.name} has version {version} of the format, and this crawldedup reads versions up to {VERSION}; "
            f"use a newer crawldedup"
        )
    for name in ("profile", "namespace"):
        if not isinstance(given.get(name), str) or len(given[name]) > _LONGEST_NAME:
            raise reader.damaged(f"its header has no {name}")
    for name in ("search_bits", "signature_bytes", "created_at", "pages"):
        if not _is_number(given.get(name)):
            raise reader.damaged(f"its header has no {name}")
    return Header(**{name: given[name] for name in Header.__slots__})


def _is_number(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LARGEST_NUMBER


def _blocks(reader: _Reader, header: Header) -> Iterator[list[Record]]:
    while True:
        (length,) = _LENGTH.unpack(reader.read(_LENGTH.size))
        if not length:
            break
        if length > _LONGEST_BLOCK:
            raise reader.damaged(f"a block claims {length} bytes")
        block = reader.read(length)
        reader.check()
        records = _unpacked(block, header.signature_bytes, reader)
        reader.records += len(records)
        yield records
    (count,) = _COUNT.unpack(reader.read(_COUNT.size))
    reader.check()
    if count != reader.records:
        raise reader.damaged(f"its end mark counts {count}")
    if not reader.is_at_end():
        raise reader.damaged("it goes on behind its end mark")


def _unpacked(block: bytes, signature_bytes: int, reader: _Reader) -> list[Record]:
    records: list[Record] = []
    start = 0
    while start < len(block):
        signature = start + _HEAD.size
        url = signature + signature_bytes
        if url > len(block) or len(records) == BLOCK_RECORDS:
            raise reader.damaged("a block holds something else than records")
        url_key, search, digest, added_at, seen_at, copies, url_length = _HEAD.unpack_from(block, start)
        start = url + url_length
        if start > len(block) or copies > _MOST_COPIES:
            raise reader.damaged("a record is impossible")
        try:
            name = block[url:start].decode()
        except UnicodeDecodeError:
            raise reader.damaged("a URL is not UTF-8") from None
        records.append(
            Record(
                url=name,
                url_key=url_key,
                search=search,
                signature=block[signature:url],
                digest=digest,
                added_at=added_at,
                seen_at=seen_at,
                copies=copies,
            )
        )
    return records
