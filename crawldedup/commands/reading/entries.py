"""Read the items of feeds as they stand there: JSON lines, JSON arrays, CSV, compressed or not, and Parquet."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import zlib
from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple

from crawldedup.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

LINES, ARRAY, CSV, PARQUET, ARCHIVE = "JSON lines", "JSON", "CSV", "Parquet", "a web archive"
_LINES_SUFFIXES: Final = (".jl", ".jsonl", ".jsonlines", ".ndjson")
_FORMS: Final = {
    **dict.fromkeys(_LINES_SUFFIXES, LINES),
    ".json": ARRAY,
    ".csv": CSV,
    ".parquet": PARQUET,
    # Those of plain text, as Common Crawl publishes them, are archives, too.
    **dict.fromkeys((".warc", ".wet"), ARCHIVE),
}
GZIP_SUFFIX: Final = ".gz"
BOM: Final = b"\xef\xbb\xbf"
MOST_BYTES: Final = 64 * 1024 * 1024
"""No more is read of a page, and no longer item of a feed; what is compared is far shorter."""
_BLOCK: Final = 1 << 20
_BETWEEN: Final = (" ", "\t", "\r", "\n", ",")
"""What may stand between the members of an array."""


class CsvLine(NamedTuple):
    """A row of CSV as it stands in its file, below the header there."""

    header: bytes
    line: bytes


class Row(NamedTuple):
    """A row of a table: its number in a batch of pyarrow."""

    batch: Any
    number: int

    def value(self) -> dict[str, Any]:
        """Return all its columns."""
        value: dict[str, Any] = self.batch.slice(self.number, 1).to_pylist()[0]
        return value


class Entry(NamedTuple):
    """An item of a feed: its place, its value, and how it stands there, for JSON as bytes.

    The value of a line that is no JSON is the error. That of a row has the columns that were asked for.
    """

    place: str
    value: Any
    raw: bytes | CsvLine | Row


def form_of(name: str) -> str | None:
    """Return what a file holds, by its name: LINES, ARRAY, CSV, PARQUET or ARCHIVE; None for anything else."""
    found = re.search(r"(\.[a-z]+)(\.gz)?$", name.lower())
    form = _FORMS.get(found[1]) if found else None
    # Parquet compresses by itself.
    return None if found and found[2] and form == PARQUET else form


def entries_of(
    path: Path, wanted: Sequence[str] = (), *, whole: bool = True, form: str | None = None
) -> Iterator[Entry]:
    """Yield the items of a feed, of the form that its name tells unless one is given.

    Of a table the value has the wanted columns, and only a `whole` row has the others, too. Raises ConfigurationError
    where nothing more can be read, and MissingDependencyError for Parquet without pyarrow.
    """
    form = form or form_of(path.name)
    if form == PARQUET:
        from crawldedup.commands.reading.parquet import rows_of

        yield from rows_of(path, wanted, whole=whole)
        return
    with _opened(path) as file:
        if form == LINES:
            yield from entries_of_lines(lines_from(file, str(path)), str(path))
            return
        number = 0
        items: Iterator[tuple[Any, bytes | CsvLine]] = _rows(file, str(path)) if form == CSV else _members(file)
        try:
            for number, (value, raw) in enumerate(items, 1):
                yield Entry(f"{path}, item {number}", value, raw)
            _require_complete(file, str(path))
        except (csv.Error, ValueError, RecursionError) as error:
            if isinstance(error, ConfigurationError):
                raise
            _require_complete(file, str(path))
            raise ConfigurationError(
                f"{path}, item {number + 1}: this cannot be read, nor what follows: {error}"
            ) from error


def entries_of_lines(lines: Iterable[bytes], name: str) -> Iterator[Entry]:
    """Yield what the lines hold; those without anything hold no item."""
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield Entry(f"{name}, line {number}", value_of(line), line)


def lines_from(file: io.BufferedIOBase | BinaryIO, name: str, first: bytes = b"") -> Iterator[bytes]:
    """Yield the lines of a file, after the `first`, which was read from it. Raises ConfigurationError."""
    lines = iter(lambda: file.readline(MOST_BYTES), b"")
    for number, line in enumerate(chain([first], lines) if first else lines, 1):
        if len(line) >= MOST_BYTES:
            raise ConfigurationError(
                f"{name}, line {number}: a line must be shorter than {MOST_BYTES:,} bytes; what follows is not read"
            )
        if not line.endswith(b"\n"):
            # A part of a line is no item, and a part of a row would pass for a whole one.
            _require_complete(file, name)
        yield line.removeprefix(BOM) if number == 1 else line
    _require_complete(file, name)


def value_of(line: bytes) -> Any:
    """Return what a line of JSON holds, or the error."""
    try:
        return json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        return error


def _rows(file: io.BufferedIOBase, name: str) -> Iterator[tuple[Any, CsvLine]]:
    csv.field_size_limit(MOST_BYTES)
    taken: list[bytes] = []

    def noted() -> Iterator[str]:
        for line in lines_from(file, name):
            taken.append(line)
            yield line.decode("utf-8", "replace")

    rows = csv.DictReader(noted())
    # The header is read when it is asked for.
    header = b"".join(taken) if rows.fieldnames else b""
    taken.clear()
    for value in rows:
        yield value, CsvLine(header, b"".join(taken))
        taken.clear()


def _members(file: io.BufferedIOBase) -> Iterator[tuple[Any, bytes]]:
    """Yield the members of a JSON array, of which no more than one is in memory. Raises ValueError."""
    decoder = json.JSONDecoder()
    # What is no UTF-8 is written as it was read.
    text = io.TextIOWrapper(file, encoding="utf-8-sig", errors="surrogateescape", newline="")  # type: ignore[type-var]
    waiting = text.read(_BLOCK).lstrip()
    if waiting[:1] != "[":
        raise ValueError("it is no array of items")
    start = 1
    while True:
        while waiting[start : start + 1] in _BETWEEN:
            start += 1
        if waiting[start : start + 1] == "]":
            # A damage may show only at the end of a compressed file.
            while text.read(_BLOCK):
                pass
            return
        problem: ValueError | None = None
        try:
            value, end = decoder.raw_decode(waiting, start)
        except ValueError as error:
            if len(waiting) - start > MOST_BYTES:
                raise
            problem = error
        # A number may go on.
        if problem or end == len(waiting):
            # As much again, or a large member would be read over and over.
            more = text.read(max(_BLOCK, len(waiting) - start))
            if not more:
                raise problem or ValueError("the array has no end")
            waiting, start = waiting[start:] + more, 0
            continue
        yield value, waiting[start:end].encode("utf-8", "surrogateescape")
        start = end


class _Unpacked(io.RawIOBase):
    """What a gzip file holds, up to where it is damaged or cut off; `error` tells that."""

    def __init__(self, packed: gzip.GzipFile) -> None:
        super().__init__()
        self._packed = packed
        self.error: Exception | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            found = b"" if self.error else self._packed.read1(len(buffer))
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            self.error, found = error, b""
        buffer[: len(found)] = found
        return len(found)


@contextmanager
def _opened(path: Path) -> Iterator[io.BufferedIOBase]:
    if path.suffix.lower() == GZIP_SUFFIX:
        with gzip.open(path) as packed, io.BufferedReader(_Unpacked(packed), _BLOCK) as file:
            yield file
    else:
        with path.open("rb") as file:
            yield file


def _require_complete(file: io.BufferedIOBase | BinaryIO, name: str) -> None:
    """Raise ConfigurationError if a file was compressed and has ended before its end."""
    unpacked = getattr(file, "raw", None)
    if isinstance(unpacked, _Unpacked) and unpacked.error is not None:
        raise ConfigurationError(f"{name} cannot be decompressed any further: {unpacked.error}") from unpacked.error
