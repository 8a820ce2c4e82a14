"""Write the items of feeds: as they stand in a file of the same form, else converted."""

from __future__ import annotations

import csv
import io
import json
import re
from datetime import date, datetime, time
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Protocol

from crawldedup.commands.reading.entries import ARRAY, CSV, LINES, CsvLine, Row
from crawldedup.errors import ConfigurationError

if TYPE_CHECKING:
    from pathlib import Path

    from crawldedup.commands.reading.entries import Entry


class UnwritableError(ConfigurationError):
    """Raised for an item that a form cannot hold: a line that is no JSON stays what it is among lines alone."""


class Writer(Protocol):
    """Writes items. The first one that was read begins the file, even if it is left out."""

    def begin(self, entry: Entry) -> None:
        """Take the columns of an item."""

    def write(self, entry: Entry) -> None:
        """Write an item. Raises UnwritableError, and ConfigurationError if no further one could be written."""

    def finish(self) -> None:
        """Write the end."""

    def close(self) -> None:
        """Write no more, whatever has happened."""


def writer_for(form: str, out: BinaryIO, path: Path) -> Writer:
    """Return what writes a form. Raises MissingDependencyError."""
    if form == LINES:
        return LinesWriter(out)
    if form == ARRAY:
        return ArrayWriter(out)
    if form == CSV:
        return CsvWriter(out, path)
    from crawldedup.commands.filtering.tables import ParquetWriter

    return ParquetWriter(out, path)


class LinesWriter:
    """Writes JSON lines."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out

    def begin(self, entry: Entry) -> None:
        """See `Writer`."""

    def write(self, entry: Entry) -> None:
        """See `Writer`."""
        raw = entry.raw
        if isinstance(raw, bytes) and raw.endswith(b"\n"):
            self._out.write(raw)
        else:
            # Within a text of JSON there is no line end, only between its parts.
            source = raw if isinstance(raw, bytes) else _as_json(entry)
            self._out.write(_BREAKS.sub(b" ", source) + b"\n")

    def finish(self) -> None:
        """See `Writer`."""

    def close(self) -> None:
        """See `Writer`."""


_BREAKS: Final = re.compile(rb"[ \t]*[\r\n]\s*")


class ArrayWriter:
    """Writes a JSON array."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._before = b"[\n"

    def begin(self, entry: Entry) -> None:
        """See `Writer`."""

    def write(self, entry: Entry) -> None:
        """See `Writer`."""
        self._out.write(self._before + _as_json(entry).strip())
        self._before = b",\n"

    def finish(self) -> None:
        """See `Writer`."""
        self._out.write(b"[]\n" if self._before == b"[\n" else b"\n]\n")

    def close(self) -> None:
        """See `Writer`."""


class CsvWriter:
    """Writes CSV, with the columns of the first item."""

    def __init__(self, out: BinaryIO, path: Path) -> None:
        self._out = out
        self._path = path
        self._columns: list[str] = []
        self._header: bytes | None = None

    def begin(self, entry: Entry) -> None:
        """See `Writer`."""
        if isinstance(entry.raw, CsvLine):
            # The cells beyond the header have the name None, and a column may have an empty one.
            self._columns = [name for name in entry.value if name is not None]
            self._header = entry.raw.header
            self._out.write(_ended(self._header))
        else:
            self._columns = list(value_of(entry))
            self._out.write(_row(self._columns))

    def write(self, entry: Entry) -> None:
        """See `Writer`."""
        if isinstance(entry.raw, CsvLine) and entry.raw.header == self._header:
            self._out.write(_ended(entry.raw.line))
            return
        value = value_of(entry)
        check_columns(value, self._columns, entry, self._path)
        try:
            self._out.write(_row([_cell(value.get(name)) for name in self._columns]))
        except UnicodeDecodeError as error:
            raise _no_text(entry) from error

    def finish(self) -> None:
        """See `Writer`."""

    def close(self) -> None:
        """See `Writer`."""


def value_of(entry: Entry) -> dict[str, Any]:
    """Return all fields of an item. Raises UnwritableError for what is no item."""
    if isinstance(entry.raw, Row):
        return entry.raw.value()
    if not isinstance(entry.value, dict):
        raise UnwritableError(f"{entry.place}: this is no JSON object, so that it can be written as JSON lines alone")
    if None in entry.value:
        raise UnwritableError(
            f"{entry.place}: this row has more cells than columns, so that only CSV with the same header can hold it"
        )
    return entry.value


def check_columns(value: dict[str, Any], columns: list[str], entry: Entry, path: Path) -> None:
    """Raise ConfigurationError for an item with a field for which there is no column."""
    if other := [name for name in value if name not in columns]:
        raise ConfigurationError(
            f"{entry.place}: there is no column for {other[0]!r} in {path}, which has those of its first items; "
            f"JSON lines take every item"
        )


def _as_json(entry: Entry) -> bytes:
    if isinstance(entry.raw, bytes):
        if isinstance(entry.value, Exception):
            raise UnwritableError(f"{entry.place}: this is not JSON, so that it can be written as JSON lines alone")
        return entry.raw
    try:
        text = json.dumps(value_of(entry), ensure_ascii=False, default=_plain)
    except UnicodeDecodeError as error:
        raise _no_text(entry) from error
    # What is no Unicode is written as JSON escapes it.
    return text.encode("utf-8", "backslashreplace")


def _no_text(entry: Entry) -> UnwritableError:
    return UnwritableError(f"{entry.place}: a column holds bytes that are no text, so that Parquet alone can hold them")


def _plain(value: object) -> str:
    """Return a value of a table as a text."""
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    return value.decode("utf-8") if isinstance(value, bytes) else str(value)


def _cell(value: object) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    is_json = isinstance(value, dict | list | bool | int | float)
    return json.dumps(value, ensure_ascii=False, default=_plain) if is_json else _plain(value)


def _row(cells: list[str]) -> bytes:
    made = io.StringIO()
    csv.writer(made).writerow(cells)
    return made.getvalue().encode("utf-8", "replace")


def _ended(line: bytes) -> bytes:
    return line if line.endswith(b"\n") else line + b"\r\n"
