"""Recognize the format of standard input by its first bytes, because it has no name."""

import csv
import re
from shutil import copyfileobj
from typing import BinaryIO, Final

from crawldedup.commands.feeds import BOM, Fields, separator_of
from crawldedup.commands.forms import ARRAY, CSV, LINES
from crawldedup.commands.leftovers import names_no_temporary_room
from crawldedup.commands.packing import BZIP2, GZIP, PACKED_SUFFIXES, XZ, ZSTANDARD, packing_of
from crawldedup.errors import ConfigurationError

_ARRAY: Final = re.compile(rb"\[\s*\{")
_UNPACKED_BY: Final = {GZIP: "gzip", BZIP2: "bzip2", XZ: "xz", ZSTANDARD: "zstd"}
# These are read from files, in which the program can go back.
_ONLY_FILES: Final = {b"WARC/": "a web archive", b"PAR1": "a Parquet table"}
_HEAD_BYTES: Final = 1 << 13
_COLUMN: Final = re.compile(r"\w[\w-]{0,63}")


def form_of_beginning(head: bytes, fields: Fields) -> str | None:
    """Return the format of standard input (LINES, ARRAY or CSV), or None if it is a single page.

    It is CSV if the first line names two of the fields, or if the first two lines look like the
    names of columns and a row below them.

    Raises:
        ConfigurationError: It can't be read like this. The message says what to do.
    """
    packing = packing_of(head, PACKED_SUFFIXES)
    if packing:
        program = _UNPACKED_BY[packing]
        raise ConfigurationError(
            f"standard input is compressed by {program}: name the file instead, or decompress it "
            f"first with `{program} -dc`"
        )
    for magic, what in _ONLY_FILES.items():
        if head.startswith(magic):
            raise ConfigurationError(
                f"standard input is {what}, which is only read from files: name the file"
            )
    beginning = head.removeprefix(BOM).lstrip()
    if beginning.startswith(b"{"):
        return LINES
    if _ARRAY.match(beginning):
        return ARRAY
    return CSV if _is_table(beginning, fields) else None


def spool_lines(stream: BinaryIO, target: BinaryIO, fields: Fields) -> None:
    """Copy JSON lines from standard input to a temporary file, so they can be read twice.

    Raises:
        ConfigurationError: It begins like another format.
        OSError: There is no room for it.
    """
    with names_no_temporary_room("crawldedup-"):
        copyfileobj(stream, target)
        target.flush()
    target.seek(0)
    form = form_of_beginning(target.read(_HEAD_BYTES), fields)
    if form in (ARRAY, CSV):
        raise ConfigurationError(
            f"standard input is {form}, but only JSON lines are filtered from there: name the file"
        )


def _is_table(beginning: bytes, fields: Fields) -> bool:
    lines = beginning.decode("utf-8", "replace").split("\n", 2)
    separator = separator_of(lines[0])
    names = _cells_of(lines[0], separator)
    if len(names) < 2:
        return False
    if fields.url in names and not names.isdisjoint(fields.content.values()):
        return True
    are_columns = all(_COLUMN.fullmatch(name) for name in names)
    return are_columns and len(lines) > 1 and lines[1].count(separator) >= len(names) - 1


def _cells_of(line: str, separator: str) -> set[str]:
    try:
        return {cell for row in csv.reader([line], delimiter=separator) for cell in row}
    except csv.Error:
        return set()
