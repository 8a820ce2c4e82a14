"""Read the rows of feeds, which are JSON lines, CSV, JSON arrays or Parquet."""

import csv
import io
import json
from argparse import Namespace
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain, dropwhile, islice
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple, Self

from crawldedup.commands.items import MOST_BYTES
from crawldedup.commands.misnamed import HEAD_BYTES, check_beginning
from crawldedup.errors import ConfigurationError, MissingDependencyError
from crawldedup.page import Page

BOM: Final = b"\xef\xbb\xbf"
_BLOCK: Final = 1 << 13
# Separators of members in an array. A file that was appended to another may begin with a byte order
# mark.
_BETWEEN: Final = (" ", "\t", "\r", "\n", ",", "\ufeff")
# How many rows of a table are in memory at once: with pages of 100 kB, a few megabytes.
_ROWS: Final = 64
_BYTES_A_ROW: Final = 100
# Times the size of the file, because a few kilobytes of a table can expand to gigabytes.
_MOST_GROWTH: Final = 1000
_MOST_DIGITS: Final = 4000
# A spreadsheet writes semicolons where a comma is the decimal separator.
_SEPARATORS: Final = (",", ";", "\t")
_MOST_NAMED: Final = 10
_LONGEST_NAME: Final = 40


class Fields(NamedTuple):
    """The names of an item's fields that contain a page.

    `content` names the fields of its HTML ("html") and its text ("text"). The other fields have its
    URL and the title of its text.
    """

    url: str = "url"
    content: Mapping[str, str] = {"html": "html", "text": "text"}
    needs_url: bool = True  # otherwise, the place of an item is used instead of its URL
    title: str = "title"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all fields that are read, without repetition."""
        return tuple(dict.fromkeys([self.url, *self.content.values(), self.title]))

    @classmethod
    def of(cls, arguments: Namespace) -> Self:
        """Return the fields that the arguments of a command name."""
        options = {"html": arguments.html_field, "text": arguments.text_field}
        content = {kind: name for kind, name in options.items() if name}
        return cls(arguments.url_field, content or ANY_FIELDS.content, title=arguments.title_field)


ANY_FIELDS: Final = Fields()


class NotUtf8Error(ValueError):
    """Raised for an item whose bytes aren't UTF-8. Replacing letters would lose them."""

    def __init__(self) -> None:
        super().__init__(
            "it is not UTF-8, which feeds have to be; convert the file, for example with `iconv "
            "-f windows-1252 -t utf-8`"
        )


class QuoteError(ValueError):
    """Raised for a row of CSV with a stray quote, which may have swallowed other rows."""


class RepeatedKeys(dict[str, Any]):
    """A JSON object in which keys are repeated. It only has the last value of each."""

    repeated: frozenset[str] = frozenset()


def object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make a JSON object from its keys and values, or a `RepeatedKeys` if keys are repeated."""
    values = dict(pairs)
    if len(values) == len(pairs):
        return values
    marked = RepeatedKeys(values)
    numbers = Counter(key for key, _ in pairs)
    marked.repeated = frozenset(key for key, number in numbers.items() if number > 1)
    return marked


def _number_of(digits: str) -> float:
    # Python refuses to read more digits, although the number may be in an unused field.
    return int(digits) if len(digits) <= _MOST_DIGITS else float(digits)


class FeedRow(NamedTuple):
    """A row of a feed, as it was read from the file.

    `value` is a line of JSON, the item itself, or an exception that says why there is none. `raw`
    and `head` are those of `items.Item`. An empty line has neither.
    """

    value: Any = None
    raw: Any = None
    head: Any = None

    @property
    def is_empty(self) -> bool:
        """Whether the row is an empty line, with nothing to read and nothing to report."""
        return self.value is None and self.raw is None


def rows_of_lines(file: BinaryIO) -> Iterator[FeedRow]:
    """Yield the lines of a file. A line that's too long is discarded, and its row has an error.

    Raises:
        ValueError: The beginning of the file shows that it isn't such a file, or isn't UTF-8.
    """
    for number, line in enumerate(_lines_of(file)):
        if len(line) >= MOST_BYTES:
            _skip_rest_of_line(line, file)
            yield FeedRow(
                ValueError(f"a line must be shorter than {MOST_BYTES:,} bytes, and is left out")
            )
            continue
        if number == 0:
            check_beginning(line)
            line = line.removeprefix(BOM)
        yield FeedRow(line, line) if line.strip() else FeedRow()


def _lines_of(file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a file. Lines that are too long come in pieces."""
    return iter(partial(file.readline, MOST_BYTES), b"")


def _skip_rest_of_line(line: bytes, file: BinaryIO) -> None:
    while line and not line.endswith(b"\n"):
        line = file.readline(MOST_BYTES)


def separator_of(header: str) -> str:
    """Return the character that separates the cells of a table, given its first line.

    It's a comma if the line has one outside of quotes, or else a semicolon or a tab. A line with
    none of these has one cell, so a comma is returned.
    """
    for separator in _SEPARATORS:
        with suppress(csv.Error):
            if any(len(cells) > 1 for cells in csv.reader([header], delimiter=separator)):
                return separator
    return _SEPARATORS[0]


def rows_of_csv(file: BinaryIO, fields: Fields | None) -> Iterator[FeedRow]:
    """Yield the rows of a CSV file. Its first line is the header, and decides on the separator.

    A row with a quote that is closed in the middle of a later row is an error, because it may have
    swallowed the rows in between.

    Raises:
        csv.Error: The rest of the file can't be read, or the file ends within a quoted cell.
        ValueError: The beginning of the file shows that it isn't UTF-8, or the header has a column
            of the fields several times.
    """
    csv.field_size_limit(MOST_BYTES)
    # A quoted cell may hold line ends, so several lines may make one row.
    lines_of_row: list[bytes] = []

    def decoded_lines() -> Iterator[str]:
        for number, line in enumerate(_lines_of(file)):
            if len(line) >= MOST_BYTES:
                raise csv.Error(f"a line must be shorter than {MOST_BYTES:,} bytes")
            if number == 0:
                check_beginning(line)
                line = line.removeprefix(BOM)
            lines_of_row.append(line)
            yield _lenient(line)
        # If another line is requested, a row is incomplete.
        if any(line.strip() for line in lines_of_row):
            raise csv.Error("the file ends within a quoted cell: a quote is not closed")

    lines = decoded_lines()
    first = next(lines, "")
    separator = separator_of(first)
    rows = csv.DictReader(chain([first], lines), delimiter=separator)
    # Asking for the names reads the rest of the header.
    header = b"".join(lines_of_row) if rows.fieldnames else b""
    lines_of_row.clear()
    _check_columns(rows.fieldnames or (), fields)
    for value in rows:
        raw = b"".join(lines_of_row)
        problem = _problem_of_quotes(lines_of_row, separator) if _is_utf8(raw) else NotUtf8Error()
        yield FeedRow(problem or value, raw, header)
        lines_of_row.clear()


def _lenient(line: bytes) -> str:
    """Decode a line so that it can be written unchanged later, even if it is not UTF-8."""
    return line.decode("utf-8", "surrogateescape")


def _check_columns(names: Sequence[str], fields: Fields | None) -> None:
    """Raise ValueError if a column to read is repeated, because only the last would be read."""
    if fields is None:
        return
    for name in fields.names:
        if names.count(name) > 1:
            raise ValueError(
                f"there are {names.count(name)} columns {name!r}: rename all but one of them"
            )


def _problem_of_quotes(lines: Iterable[bytes], separator: str) -> QuoteError | None:
    """Return the error for a row of several lines if it has quotes in unusual places, or None.

    In a row of one line, a stray quote is a letter like any other.
    """
    lines_of_row = list(dropwhile(lambda line: not line.strip(), lines))
    if len(lines_of_row) == 1:
        return None
    try:
        for _ in csv.reader(map(_lenient, lines_of_row), strict=True, delimiter=separator):
            pass
    except csv.Error:
        return QuoteError(
            f"a quote is not closed where its cell ends, so these {len(lines_of_row):,} lines "
            "may be several items"
        )
    return None


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def rows_of_array(file: BinaryIO) -> Iterator[FeedRow]:
    """Yield the members of JSON arrays, with only one member in memory at a time.

    If a crawl appends to its feed, another array begins after the first. Anything between arrays or
    after them is an item as well.

    Raises:
        ValueError: The beginning of the file shows that it isn't UTF-8 or isn't an array, or the
            rest of it can't be read.
    """
    decoder = json.JSONDecoder(object_pairs_hook=object_of, parse_int=_number_of)
    # Bytes that are not UTF-8 are written as they were read.
    text = io.TextIOWrapper(file, encoding="utf-8-sig", errors="surrogateescape", newline="")
    buffer = text.read(_BLOCK)
    check_beginning(buffer[:HEAD_BYTES].encode("utf-8", "surrogateescape"))
    buffer = buffer.lstrip()
    if buffer[:1] != "[":
        raise ValueError("it is not an array of items")
    place = 1
    is_inside = True
    is_end = False
    while True:
        while buffer[place : place + 1] in _BETWEEN:
            place += 1
        sign = buffer[place : place + 1]
        if sign == ("]" if is_inside else "["):
            is_inside = not is_inside
            place += 1
            continue
        if is_end and not sign and not is_inside:
            return
        try:
            value, end = decoder.raw_decode(buffer, place)
            # The digits of a number may continue behind the buffer.
            if end < len(buffer) or is_end:
                yield _row_of_member(value, buffer[place:end])
                place = end
                continue
        except ValueError:
            if is_end or len(buffer) - place > MOST_BYTES:
                raise
        # Double the buffer; otherwise, a large member would be decoded over and over.
        more = text.read(max(_BLOCK, len(buffer) - place))
        buffer = buffer[place:] + more
        place = 0
        is_end = not more


def _row_of_member(value: Any, source: str) -> FeedRow:
    raw = source.encode("utf-8", "surrogateescape")
    try:
        source.encode()
    except UnicodeEncodeError:
        return FeedRow(NotUtf8Error(), raw)
    return FeedRow(value, raw)


def pyarrow_for(path: Path) -> Any:
    """Return pyarrow with its module `parquet`, which reading a file needs.

    Raises:
        MissingDependencyError: It is not installed. The message names the file that needs it.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet
    except ImportError as error:
        raise MissingDependencyError.of_extra(
            "parquet", f"{path} is a Parquet file, and reading it needs pyarrow"
        ) from error
    return pa


def rows_of_parquet(
    pa: Any, path: Path, stream: BinaryIO, fields: Fields | None
) -> Iterator[FeedRow]:
    """Yield the rows of a Parquet file, with only the columns of the fields.

    Without fields, rows have all columns, but no values.

    Raises:
        ConfigurationError: The table has none of the columns.
        ValueError: The rest of the file can't be read, a column is repeated, or the table is
            suspiciously large.
    """
    bytes_left = MOST_BYTES + _MOST_GROWTH * path.stat().st_size
    try:
        # Without these options, it reads a whole row group at once, which may be the whole file.
        file = pa.parquet.ParquetFile(stream, pre_buffer=False, buffer_size=1 << 20)
        schema = file.schema_arrow
        columns = None if fields is None else _columns_of(fields, schema.names, path)
        for batch in file.iter_batches(_ROWS, columns=columns, use_threads=False):
            values = batch.to_pylist() if fields else [{}] * len(batch)
            for number, value in enumerate(values):
                bytes_left -= _size_of(value)
                if bytes_left < 0:
                    raise ValueError(
                        f"it expands to more than {_MOST_GROWTH:,} times the size of its file"
                    )
                yield FeedRow(value, (batch, number), schema)
    except (pa.ArrowException, OSError) as error:
        # Some errors of pyarrow look like errors of the system, but have no number.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise ValueError(error) from error


def _columns_of(fields: Fields, names: list[str], path: Path) -> list[str]:
    """Return the columns to read: those of the URL, the content and the title that a table has.

    Raises ConfigurationError if it has none of them.
    """
    _check_columns(names, fields)
    field_names = [fields.url, *fields.content.values()]
    columns = [name for name in dict.fromkeys(field_names) if name in names]
    if columns and fields.title in names and fields.title not in columns:
        columns.append(fields.title)
    if not columns:
        raise ConfigurationError(
            f"{path} has none of the columns {', '.join(field_names)}; it has "
            f"{', '.join(names)}; name others with --url-field, --html-field or --text-field"
        )
    return columns


def _size_of(value: dict[str, Any]) -> int:
    texts = (cell for cell in value.values() if isinstance(cell, str | bytes))
    return _BYTES_A_ROW + sum(map(len, texts))


def page_of(value: Any, fields: Fields, place: str) -> Page | ConfigurationError:
    """Make the page in the `value` of a row, or return an error that says why there is none."""
    try:
        item = _item_of(value)
    except (NotUtf8Error, QuoteError) as error:
        return ConfigurationError(f"{place}: {error}")
    except (ValueError, RecursionError) as error:
        return ConfigurationError(f"{place}: this is not JSON: {error}")
    if not isinstance(item, dict):
        return ConfigurationError(f"{place}: this is not a JSON object")
    if isinstance(item, RepeatedKeys) and (names := item.repeated.intersection(fields.names)):
        named = " and ".join(f'"{name}"' for name in sorted(names))
        return ConfigurationError(f"{place}: this item has {named} several times")
    url = item.get(fields.url)
    if not isinstance(url, str) or not url:
        if fields.needs_url:
            return ConfigurationError(
                f'{place}: the field "{fields.url}" contains no text; name another with '
                "--url-field, or use `crawldedup filter`, which numbers items without a URL. "
                f"{_fields_in_words(item)}"
            )
        url = place
    try:
        content = _content_of(item, fields)
        if len(content) != 1:
            problem = _problem_of_content(content, fields)
            return ConfigurationError(f"{place}: {problem}. {_fields_in_words(item)}")
        if "text" in content:
            content["title"] = _title_of(item, fields)
    except NotUtf8Error as error:
        return ConfigurationError(f"{place}: {error}")
    return Page(url, **content)


def _title_of(item: dict[str, Any], fields: Fields) -> str | None:
    """Return the title of an item, or None if it has none that is a text. Raises NotUtf8Error."""
    title = item.get(fields.title)
    if isinstance(title, bytes):
        title = decoded(title)
    return title if isinstance(title, str) and title.strip() else None


def _item_of(value: Any) -> Any:
    """Parse the item in a row. Raises the error of the row, if any.

    Raises ValueError and RecursionError if it isn't JSON.
    """
    if isinstance(value, Exception):
        raise value
    if isinstance(value, bytes):
        return json.loads(decoded(value), object_pairs_hook=object_of, parse_int=_number_of)
    return value


def decoded(text: bytes) -> str:
    """Decode a text from UTF-8. Raises NotUtf8Error if it's in another encoding."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        raise NotUtf8Error from None


def _content_of(item: dict[str, Any], fields: Fields) -> dict[str, Any]:
    """Return the HTML and the text of an item, by "html" and "text".

    Raises NotUtf8Error.
    """
    content: dict[str, Any] = {}
    for kind, name in fields.content.items():
        text = item.get(name)
        if kind == "text" and isinstance(text, bytes):
            text = decoded(text)
        if isinstance(text, str | bytes):
            content[kind] = text
    if len(content) > 1:
        # A row of a table has every column, so the column without a value is empty.
        content = {kind: text for kind, text in content.items() if text}
    return content


def _fields_in_words(item: Mapping[str, Any]) -> str:
    """Name the fields of an item in a sentence. They may be those of another format."""
    # The cells of a row beyond its columns have no name.
    names = [name[:_LONGEST_NAME] for name in islice(item, _MOST_NAMED) if isinstance(name, str)]
    more = ", and more" if len(item) > _MOST_NAMED else ""
    return f"The fields are: {', '.join(names)}{more}" if names else "The item has no fields"


def _problem_of_content(content: Mapping[str, Any], fields: Fields) -> str:
    names = [f'"{name}"' for name in fields.content.values()]
    if content:
        return (
            f"the fields {' and '.join(names)} both contain a text; choose one with --html-field "
            "or --text-field"
        )
    return (
        f"no text in the field {' or '.join(names)}; name others with --html-field or --text-field"
    )
