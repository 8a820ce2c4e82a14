"""Support for archiving crawlers: WACZ files, and revisit records in place of exact copies."""

import io
import re
import struct
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple
from zipfile import ZIP_STORED, BadZipFile, ZipFile

from crawldedup.commands.archives import Record
from crawldedup.commands.headers import Headers
from crawldedup.commands.items import MOST_BYTES
from crawldedup.commands.packing import Member, compressed, unpackers
from crawldedup.errors import ConfigurationError

WACZ_SUFFIX: Final = ".wacz"
_ZIP_MAGIC: Final = b"PK\x03\x04"
_LOCAL_HEADER: Final = struct.Struct("<26xHH")
_WARC: Final = re.compile(r"archive/[^/]+\.warc(\.gz)?")
_END_OF_HEAD: Final = re.compile(rb"\r?\n\r?\n")
# The headers that a revisit record has instead of those of its response.
_OWN_HEADERS: Final = ("WARC-Type", "WARC-Block-Digest", "WARC-Payload-Digest", "Content-Length")
_PROFILE: Final = "http://netpreserve.org/warc/{}/revisit/identical-payload-digest"


def warcs_in(path: Path) -> list[tuple[int, int]]:
    """Find the WARC files in a WACZ file, and return where each begins and ends, in order.

    Any other file counts as one WARC file. The format requires that a WACZ stores its WARC files
    uncompressed, so nothing is unpacked.

    Raises:
        ConfigurationError: The WACZ is damaged or has no WARC files, or these are compressed or
            overlap, so that a few bytes could expand to gigabytes.
    """
    places = []
    with path.open("rb") as file:
        if file.read(len(_ZIP_MAGIC)) != _ZIP_MAGIC:
            return [(0, path.stat().st_size)]
        try:
            members = [
                member for member in ZipFile(file).infolist() if _WARC.fullmatch(member.filename)
            ]
            for member in members:
                file.seek(member.header_offset)
                start = member.header_offset + _LOCAL_HEADER.size
                start += sum(_LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size)))
                places.append((start, start + member.file_size))
        # A damaged directory may also name places that no file has, or names in no encoding.
        except (
            BadZipFile,
            struct.error,
            NotImplementedError,
            OverflowError,
            OSError,
            ValueError,
        ) as error:
            raise ConfigurationError(f"{path} cannot be read as a WACZ: {error}") from error
    if any(member.compress_type != ZIP_STORED or member.flag_bits & 1 for member in members):
        raise ConfigurationError(
            f"{path} contains WARC files that are compressed a second time: unpack it, and name "
            "the WARC files"
        )
    if any(end > start for (_, end), (start, _) in pairwise(sorted(places))):
        raise ConfigurationError(
            f"{path} contains WARC files that overlap, which no crawler writes"
        )
    if not places:
        raise ConfigurationError(f"{path} contains no WARC file (archive/NAME.warc.gz)")
    return places


class Revisits:
    """Replaces copies in an archive with revisit records that refer to a kept response."""

    def __init__(self) -> None:
        self._first: dict[bytes, tuple[str, str]] = {}

    def has_seen(self, file: BinaryIO, record: Record, *, stays: bool) -> bool:
        """Return whether a response is a copy, byte for byte, of one that is kept.

        One that `stays` is remembered as kept, and is never a copy. For other records, it is False.
        """
        parts = _parts_of(file, record) if record.kind == "response" else None
        if parts is None:
            return False
        digest = sha256(parts.payload).digest()
        if stays:
            named = parts.head.get("WARC-Target-URI"), parts.head.get("WARC-Date")
            self._first.setdefault(digest, named)
        return not stays and digest in self._first

    def made_of(self, file: BinaryIO, record: Record) -> bytes:
        """Make the revisit record for a copy. It is compressed if the copy is."""
        parts = _parts_of(file, record)
        assert parts is not None
        digest = sha256(parts.payload).digest()
        named = parts.head.get("WARC-Payload-Digest") or f"sha256:{digest.hex()}"
        head = parts.head.without(*_OWN_HEADERS)
        url, date = self._first[digest]
        head.fields += [
            ("WARC-Type", "revisit"),
            ("WARC-Profile", _PROFILE.format(parts.version)),
            ("WARC-Refers-To-Target-URI", url),
            ("WARC-Refers-To-Date", date),
            ("WARC-Payload-Digest", named),
            ("Content-Length", str(len(parts.http))),
        ]
        lines = "".join(f"{name}: {' '.join(value.split())}\r\n" for name, value in head.fields)
        text = f"WARC/{parts.version}\r\n{lines}\r\n"
        made = text.encode("utf-8", "replace") + parts.http + b"\r\n\r\n"
        return compressed(made, record.packing) if record.packing else made


class _Parts(NamedTuple):
    """The parts of a record: version and head, and the head and payload of its response."""

    version: str
    head: Headers
    http: bytes
    payload: bytes


def _parts_of(file: BinaryIO, record: Record) -> _Parts | None:
    """Split a record into its parts, or return None if it's large or has no HTTP headers."""
    file.seek(record.start)
    content = file.read(min(record.end - record.start, MOST_BYTES))
    if record.packing:
        member = Member(io.BytesIO(content), b"", unpackers(record.packing, str(record.path)))
        content = io.BufferedReader(member).read(MOST_BYTES)
    stream = io.BytesIO(content)
    version = stream.readline().strip().removeprefix(b"WARC/").decode("ascii", "replace")
    head = Headers.read(stream)
    block = stream.read(int(head.get("Content-Length")))
    end = _END_OF_HEAD.search(block)
    if len(content) >= MOST_BYTES or end is None:
        return None
    return _Parts(version, head, block[: end.end()], block[end.end() :])
