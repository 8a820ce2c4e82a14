"""Read the items of feeds: JSON lines, JSON arrays and CSV, as Scrapy exports them, compressed or not."""

from __future__ import annotations

import csv
import gzip
import json
import zlib
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from crawldedup.errors import ConfigurationError
from crawldedup.printable import pluralize

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import TextIO

    Place = str
    OnError = Callable[[Exception], None]

LINES_SUFFIXES: Final = (".jl", ".jsonl", ".jsonlines", ".ndjson")
_SUFFIXES: Final = (*LINES_SUFFIXES, ".json", ".csv")
FEED_SUFFIXES: Final = tuple(f"{suffix}{packed}" for suffix in _SUFFIXES for packed in ("", ".gz"))
MOST_BYTES: Final = 64 * 1024 * 1024
"""No more is read of a page, and no longer item of a feed; what is compared is far shorter."""
_BLOCK: Final = 1 << 20
_MOST_ERRORS: Final = 10
"""Of a feed so many are told one by one; one that begins with so many is none."""


class Fields(NamedTuple):
    """The fields of an item that hold its URL, and its source or its text. Without the last two, their names do."""

    url: str = "url"
    html: str | None = None
    text: str | None = None


class Item(NamedTuple):
    """The page of an item."""

    url: str
    html: str | None
    text: str | None


def refuse(error: Exception) -> None:
    """Raise the error."""
    raise error


def pages_of(path: Path, fields: Fields, on_error: OnError = refuse) -> Iterator[Item]:
    """Yield the pages of a feed. Hand to `on_error` what is wrong with items that hold none, of many the number.

    Raises ConfigurationError for a file of whose first ten items none is a page, and where nothing more can be read.
    """
    yield from _pages(_values_of(path), str(path), fields, on_error)


def pages_of_lines(lines: Iterable[str], name: str, fields: Fields, on_error: OnError = refuse) -> Iterator[Item]:
    """Yield the pages of JSON lines, as `pages_of` does those of a file."""
    yield from _pages(_values_in(lines, name), name, fields, on_error)


def is_item(line: str) -> bool:
    """Return whether a line is a JSON object."""
    return isinstance(_value_of(line), dict)


def _pages(values: Iterable[tuple[Place, Any]], name: str, fields: Fields, on_error: OnError) -> Iterator[Item]:
    found = (_page_or_error(value, where, fields) for where, value in values)
    first: list[ConfigurationError] = []
    for page in islice(found, _MOST_ERRORS):
        if isinstance(page, Item):
            break
        first.append(page)
    else:
        # One error, rather than one for each line of a file of another kind.
        if first:
            raise ConfigurationError(
                f"{first[0]} (none of the first {_MOST_ERRORS} items is a page, so the rest is not read)"
            )
        return
    errors = 0
    try:
        for each in chain(first, [page], found):
            if isinstance(each, Item):
                yield each
                continue
            errors += 1
            if errors <= _MOST_ERRORS:
                on_error(each)
    finally:
        if (more := errors - _MOST_ERRORS) > 0:
            on_error(ConfigurationError(f"{name}: {pluralize(more, 'further item')} left out"))


def _page_or_error(value: Any, where: Place, fields: Fields) -> Item | ConfigurationError:
    try:
        return _page_of(_checked(value, where), where, fields)
    except ConfigurationError as error:
        return error


def _page_of(item: dict[str, Any], where: Place, fields: Fields) -> Item:
    url = item.get(fields.url)
    if not isinstance(url, str) or not url:
        raise ConfigurationError(f'{where}: the field "{fields.url}" holds no text; --url-field names another')
    wanted = (fields.html, fields.text) if fields.html or fields.text else ("html", "text")
    html, text = (value if name and isinstance(value := item.get(name), str) else None for name in wanted)
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
    return Item(url, html, text)


def _values_of(path: Path) -> Iterator[tuple[Place, Any]]:
    name = path.name.lower().removesuffix(".gz")
    with _opened(path) as file:
        if name.endswith(LINES_SUFFIXES):
            yield from _values_in(_lines(file), str(path))
            return
        number = 0
        try:
            for number, value in enumerate(_rows(file) if name.endswith(".csv") else _members(file), 1):
                yield f"{path}, item {number}", value
        except (csv.Error, ValueError, RecursionError) as error:
            raise ConfigurationError(
                f"{path}, item {number + 1}: this cannot be read, nor what follows: {error}"
            ) from error


def lines_of(path: Path) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Yield the objects of a file of JSON lines, which may be compressed, each after its place in the file.

    Raises ConfigurationError for a line that is no JSON object.
    """
    with _opened(path) as file:
        for where, value in _values_in(_lines(file), str(path)):
            yield where, _checked(value, where)


def _values_in(lines: Iterable[str], name: str) -> Iterator[tuple[Place, Any]]:
    """Yield what the lines hold, or the error of a line that is no JSON. Raises ConfigurationError."""
    for number, line in enumerate(lines, 1):
        where = f"{name}, line {number}"
        if len(line) == MOST_BYTES:
            raise ConfigurationError(
                f"{where}: a line must be shorter than {MOST_BYTES:,} characters; what follows is not read"
            )
        if line.strip():
            yield where, _value_of(line)


def _value_of(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        return error


def _lines(file: TextIO) -> Iterator[str]:
    return iter(lambda: file.readline(MOST_BYTES), "")


def _checked(value: Any, where: Place) -> dict[str, Any]:
    if isinstance(value, Exception):
        raise ConfigurationError(f"{where}: this is not JSON: {value}") from value
    if not isinstance(value, dict):
        raise ConfigurationError(f"{where}: this is no JSON object")
    return value


def _rows(file: TextIO) -> Iterator[Any]:
    csv.field_size_limit(MOST_BYTES)
    return csv.DictReader(file)


def _members(file: TextIO) -> Iterator[Any]:
    """Yield the members of a JSON array, of which no more than one is in memory. Raises ValueError."""
    decoder = json.JSONDecoder()
    waiting = file.read(_BLOCK).lstrip()
    if waiting[:1] != "[":
        raise ValueError("it is no array of items")
    waiting = waiting[1:]
    while True:
        waiting = waiting.lstrip(" \t\r\n,")
        if waiting[:1] == "]":
            return
        try:
            value, end = decoder.raw_decode(waiting)
        except ValueError:
            # As much again, or a large member would be read over and over.
            more = file.read(max(_BLOCK, len(waiting)))
            if not more or len(waiting) > MOST_BYTES:
                raise
            waiting += more
            continue
        yield value
        waiting = waiting[end:]


@contextmanager
def _opened(path: Path) -> Iterator[TextIO]:
    try:
        opened: Callable[..., TextIO] = gzip.open if path.suffix.lower() == ".gz" else Path.open
        with opened(path, "rt", encoding="utf-8-sig", errors="replace", newline="") as lines:
            yield lines
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ConfigurationError(f"{path} cannot be decompressed: {error}") from error
