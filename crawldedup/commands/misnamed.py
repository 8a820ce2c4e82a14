"""Recognize by its first bytes that a file isn't the feed that its name says."""

import codecs
from typing import Final

from crawldedup.commands.packing import GZIP, XZ, ZSTANDARD, packing_of

HEAD_BYTES: Final = 8  # enough for each of the beginnings below
_MARKS: Final = {
    "UTF-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),
    "UTF-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
}
"""The byte order marks of encodings that feeds must not have. One begins like the other."""

_LONGEST_MARK: Final = 4
_WARC_MAGIC: Final = b"WARC/"
_PROGRAMS: Final = {GZIP: "gzip", XZ: "xz", ZSTANDARD: "zstd"}  # Text can begin as bzip2 does.


def check_beginning(head: bytes) -> None:
    """Raise ValueError if a feed begins like a compressed file or a web archive.

    It's also raised for UTF-16 or UTF-32, with or without a byte order mark.
    """
    if packing := packing_of(head, tuple(_PROGRAMS)):
        is_archive = f", or with .warc{packing} if it is a web archive" if packing != XZ else ""
        raise ValueError(
            f"it is compressed by {_PROGRAMS[packing]}, and its name doesn't say so; rename it to "
            f"end with {packing}{is_archive}"
        )
    if head.startswith(_WARC_MAGIC):
        raise ValueError("it is a web archive, and not a feed; rename it to end with .warc")
    if encoding := _wide_encoding_of(head):
        raise ValueError(
            f"it seems to be {encoding}, and feeds are read in UTF-8; convert the file, for "
            f"example by `iconv -f {encoding.lower()} -t utf-8`"
        )


def _wide_encoding_of(head: bytes) -> str:
    for encoding, marks in _MARKS.items():
        if head.startswith(marks):
            return encoding
    return "UTF-16" if b"\0" in head[:_LONGEST_MARK] else ""
