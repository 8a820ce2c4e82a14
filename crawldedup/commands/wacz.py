"""What archiving crawlers need: the WARC files in a WACZ, and revisit records in place of exact
copies.
"""

import gzip
import io
import re
import struct
import zlib
from email.message import Message
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, Final
from zipfile import ZIP_STORED, BadZipFile, ZipFile

from crawldedup.commands.archives import MOST_BYTES, Record, head_of
from crawldedup.errors import ConfigurationError

WACZ_SUFFIX: Final = ".wacz"
_ZIP_MAGIC: Final = b"PK\x03\x04"
_LOCAL_HEADER: Final = struct.Struct("<26xHH")
_WARC: Final = re.compile(r"archive/[^/]+\.warc(\.gz)?")
_END_OF_HEAD: Final = re.compile(rb"\r?\n\r?\n")
_PROFILE: Final = "http://netpreserve.org/warc/{}/revisit/identical-payload-digest"


def warcs_in(path: Path) -> list[tuple[int, int]]:
    """Return where the WARC files in a WACZ begin and end, in its order.

    Any other file counts as one WARC file. The format demands that a WACZ stores its WARC files
    uncompressed, so nothing is unpacked.

    Raises:
        ConfigurationError: WARC files are compressed, or share bytes, so that a few bytes could
            stand for gigabytes.
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
            f"{path} holds WARC files that are compressed once more: unpack it, and name them"
        )
    if any(end > start for (_, end), (start, _) in pairwise(sorted(places))):
        raise ConfigurationError(
            f"{path} holds WARC files that share bytes, as those of no crawler do"
        )
    if not places:
        raise ConfigurationError(f"{path} holds no WARC file (archive/NAME.warc.gz)")
    return places


class Revisits:
    """Knows the payloads of the responses that stay, and makes the records that refer to them."""

    def __init__(self) -> None:
        self._first: dict[bytes, tuple[str, str]] = {}

    def has_seen(self, file: BinaryIO, record: Record, *, stays: bool) -> bool:
        """Return whether a response that does not stay has the payload of one that does, byte for
        byte.
        """
        parts = _parts_of(file, record) if record.kind == "response" else None
        if parts is None:
            return False
        _, head, _, payload = parts
        digest = sha256(payload).digest()
        if stays:
            named = head.get("WARC-Target-URI", ""), head.get("WARC-Date", "")
            self._first.setdefault(digest, named)
        return not stays and digest in self._first

    def made_of(self, file: BinaryIO, record: Record) -> bytes:
        """Return the revisit record of a response that has the payload of one that stays, packed if
        the response is.
        """
        parts = _parts_of(file, record)
        assert parts is not None
        version, head, http, payload = parts
        digest = sha256(payload).digest()
        named = head.get("WARC-Payload-Digest", f"sha256:{digest.hex()}")
        for name in ("WARC-Type", "WARC-Block-Digest", "WARC-Payload-Digest", "Content-Length"):
            del head[name]
        head["WARC-Type"], head["WARC-Profile"] = "revisit", _PROFILE.format(version)
        head["WARC-Refers-To-Target-URI"], head["WARC-Refers-To-Date"] = self._first[digest]
        head["WARC-Payload-Digest"], head["Content-Length"] = named, str(len(http))
        lines = "".join(f"{name}: {' '.join(value.split())}\r\n" for name, value in head.items())
        made = f"WARC/{version}\r\n{lines}\r\n".encode("utf-8", "replace") + http + b"\r\n\r\n"
        return gzip.compress(made, mtime=0) if record.is_packed else made


def _parts_of(file: BinaryIO, record: Record) -> tuple[str, Message, bytes, bytes] | None:
    """Return the version and head of a record, and the head and payload of its HTTP response; None
    if it is large.
    """
    file.seek(record.start)
    content = file.read(min(record.end - record.start, MOST_BYTES))
    if record.is_packed:
        content = zlib.decompressobj(wbits=31).decompress(content, MOST_BYTES)
    stream = io.BytesIO(content)
    version = stream.readline().strip().removeprefix(b"WARC/").decode("ascii", "replace")
    head = head_of(stream)
    block = stream.read(int(head["Content-Length"]))
    end = _END_OF_HEAD.search(block)
    if len(content) >= MOST_BYTES or end is None:
        return None
    return version, head, block[: end.end()], block[end.end() :]
