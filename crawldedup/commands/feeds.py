"""Read the items of feeds as they stand there, and the pages in them: JSON lines, JSON arrays, CSV and Parquet."""

import csv
import gzip
import io
import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple, Self

from crawldedup.errors import ConfigurationError, MissingDependencyError
from crawldedup.page import Page
from crawldedup.printable import pluralize

OnError = Callable[[Exception], None]

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
MOST_TOLD: Final = 10
"""A reader looks at so many errors; a broken file of a million items has as many."""
_ROWS: Final = 64
"""So many rows of a table are in memory at once: with pages of 100 kB, a few megabytes."""


class Complaints:
    """Hands the first errors of a file to `on_error`, and when it is closed the number of further ones.

    `what` names one thing that an error is about, and `fate` says what became of these things.
    """

    def __init__(self, on_error: OnError, name: str, what: str, fate: str) -> None:
        self._on_error = on_error
        self._name = name
        self._what = what
        self._fate = fate
        self.number = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if (more := self.number - MOST_TOLD) > 0:
            message = f"{self._name}: {pluralize(more, f'further {self._what}')} {self._fate}"
            self._on_error(ConfigurationError(message))

    def tell(self, error: Exception) -> None:
        """Count an error, and hand it on if it is one of the first."""
        self.number += 1
        if self.number <= MOST_TOLD:
            self._on_error(error)


class CsvLine(NamedTuple):
    """A row of CSV as it stands in its file, below the header there."""

    header: bytes
    line: bytes


class Row(NamedTuple):
    """A row of a table: its number in a batch of pyarrow."""

    batch: Any
    number: int


class Entry(NamedTuple):
    """An item of a feed: its place, its value, and how it stands there, for JSON as bytes.

    The value of a line that is no JSON is the error. That of a row has the columns that were asked for.
    """

    place: str
    value: Any
    raw: bytes | CsvLine | Row


class Fields(NamedTuple):
    """The fields of an item that hold its URL, and its source or its text. Without the last two, their names do."""

    url: str = "url"
    html: str | None = None
    text: str | None = None

    @property
    def content(self) -> tuple[str | None, str | None]:
        """The fields of the source and of the text."""
        return (self.html, self.text) if self.html or self.text else ("html", "text")

    @property
    def names(self) -> tuple[str, ...]:
        """All that may be looked at."""
        return (self.url, *filter(None, self.content))


def refuse(error: Exception) -> None:
    """Raise the error."""
    raise error


def pages_of(feed: Path | Iterable[bytes], name: str, fields: Fields, on_error: OnError = refuse) -> Iterator[Page]:
    """Yield the pages of a file or of lines of JSON. Hand to `on_error` what is wrong with items that hold none.

    Raises ConfigurationError for a feed of whose first ten items none is a page, and where nothing more can be read.
    """
    entries = entries_of(feed, fields.names, whole=False) if isinstance(feed, Path) else entries_of_lines(feed, name)
    return (page for _, page in entries_with_pages(entries, name, fields, on_error) if page)


def entries_with_pages(
    entries: Iterable[Entry], name: str, fields: Fields, on_error: OnError, *, needs_url: bool = True
) -> Iterator[tuple[Entry, Page | None]]:
    """Yield the items of a feed with their pages; None for an item that holds none. Errors are as in `pages_of`.

    Unless an item `needs_url`, its place names a page without one.
    """
    found = ((entry, _page_or_error(entry, fields, needs_url)) for entry in entries)
    first = list(islice(found, 1))
    while len(first) < MOST_TOLD and first and not isinstance(first[-1][1], Page) and (more := next(found, None)):
        first.append(more)
    if first and not isinstance(first[-1][1], Page):
        # One error, rather than one for each line of a file of another kind.
        raise ConfigurationError(
            f"{first[0][1]} (none of the first {MOST_TOLD} items is a page, so the rest is not read)"
        )
    with Complaints(on_error, name, "item", "without a page") as complaints:
        for entry, page in chain(first, found):
            if isinstance(page, Page):
                yield entry, page
            else:
                complaints.tell(page)
                yield entry, None


def _page_or_error(entry: Entry, fields: Fields, needs_url: bool) -> Page | ConfigurationError:
    try:
        return _page_of(_checked(entry), entry.place, fields, needs_url)
    except ConfigurationError as error:
        return error


def _page_of(item: dict[str, Any], where: str, fields: Fields, needs_url: bool) -> Page:
    url = item.get(fields.url)
    if not isinstance(url, str) or not url:
        if needs_url:
            raise ConfigurationError(f'{where}: the field "{fields.url}" holds no text; --url-field names another')
        url = where
    wanted = fields.content
    html, text = (value if name and isinstance(value := item.get(name), str | bytes) else None for name in wanted)
    if html is not None and text is not None:
        # A row of a table has every column, so that the one without a value is empty.
        html, text = html or None, text or None
    names = [f'"{name}"' for name in wanted if name]
    if html is None and text is None:
        raise ConfigurationError(
            f"{where}: no text in the field {' or '.join(names)}; --html-field and --text-field name others"
        )
    if html is not None and text is not None:
        raise ConfigurationError(
            f"{where}: the fields {' and '.join(names)} both hold a text; choose one by --html-field or --text-field"
        )
    return Page(url, html=html, text=text.decode("utf-8", "replace") if isinstance(text, bytes) else text)


def lines_of(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the objects of a file of JSON lines, which may be compressed, each after its place in the file.

    Raises ConfigurationError for a line that is no JSON object.
    """
    for entry in entries_of(path, form=LINES):
        yield entry.place, _checked(entry)


def _checked(entry: Entry) -> dict[str, Any]:
    value = entry.value
    if isinstance(value, Exception):
        raise ConfigurationError(f"{entry.place}: this is not JSON: {value}") from value
    if not isinstance(value, dict):
        raise ConfigurationError(f"{entry.place}: this is no JSON object")
    return value


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


def pyarrow_for(path: Path) -> Any:
    """Return pyarrow, with its module `parquet`. Raises MissingDependencyError."""
    try:
        import pyarrow as pa
        import pyarrow.parquet
    except ImportError as error:
        raise MissingDependencyError(f"{path} is Parquet, and that needs pyarrow: pip install pyarrow") from error
    return pa


def rows_of(path: Path, wanted: Sequence[str], *, whole: bool) -> Iterator[Entry]:
    """Yield the rows of a table. Their values are its wanted columns; only a `whole` row is read with the others, too.

    Raises ConfigurationError where nothing more can be read, and MissingDependencyError.
    """
    pa = pyarrow_for(path)
    number = 0
    try:
        with path.open("rb") as stream:
            # Not a whole row group at once, which may be the whole file.
            file = pa.parquet.ParquetFile(stream, pre_buffer=False, buffer_size=_BLOCK)
            names = file.schema_arrow.names
            columns = [name for name in dict.fromkeys(wanted) if name in names]
            if not columns:
                raise ConfigurationError(
                    f"{path} has none of the columns {', '.join(wanted)}, but {', '.join(names)}; --url-field, "
                    "--html-field and --text-field name others"
                )
            for batch in file.iter_batches(_ROWS, columns=None if whole else columns, use_threads=False):
                for place, value in enumerate(batch.select(columns).to_pylist()):
                    number += 1
                    yield Entry(f"{path}, row {number}", value, Row(batch, place))
    except (pa.ArrowException, OSError, UnicodeError) as error:
        # An error of pyarrow may be one of the system without its number.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise ConfigurationError(f"{path}, row {number + 1}: this cannot be read, nor what follows: {error}") from error
