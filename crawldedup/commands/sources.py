"""Read pages from files, folders, standard input, feeds, web archives, sitemaps and the web.

Errors in a file, or in a part of it, go to `on_error`, and reading continues if possible.
"""

import csv
import io
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple, cast

from crawldedup.commands.archives import records_of
from crawldedup.commands.beginnings import form_of_beginning
from crawldedup.commands.command import STANDARD
from crawldedup.commands.feeds import (
    ANY_FIELDS,
    FeedRow,
    Fields,
    page_of,
    pyarrow_for,
    rows_of_array,
    rows_of_csv,
    rows_of_lines,
    rows_of_parquet,
)
from crawldedup.commands.folders import folder_without_pages, item_of_file, pages_below
from crawldedup.commands.forms import ARCHIVE, ARRAY, CSV, LINES, PARQUET, form_of
from crawldedup.commands.items import (
    MOST_BYTES,
    MOST_TOLD,
    Item,
    NoPage,
    OnError,
    OnNote,
    OnSkip,
    Report,
    Unread,
    counted,
    ignore_note,
    refuse,
    reported,
    without_pages,
)
from crawldedup.commands.packing import PACK_ERRORS, opened
from crawldedup.commands.sitemaps import is_sitemap_name, urls_of_sitemap
from crawldedup.commands.wacz import warcs_in
from crawldedup.commands.web import SCHEMES, fetched
from crawldedup.errors import ConfigurationError, PageError
from crawldedup.page import Page
from crawldedup.text import pluralize

_STANDARD_INPUT: Final = "standard input"


def readable_sources(
    names: Iterable[str],
    on_error: OnError = refuse,
    fields: Fields = ANY_FIELDS,
    *,
    on_skip: OnSkip | None = None,
    on_note: OnNote = ignore_note,
) -> Iterator[Page]:
    """Yield the pages of sources of any kind: files, folders, feeds, web archives, sitemaps, URLs.

    `-` is standard input: a feed if it begins with an object, an array of objects or the columns of
    a table, and one page otherwise. Files may be compressed (.gz, .bz2, .xz, .zst).

    Args:
        names: The sources.
        on_error: Takes the errors of sources, of items and of records of archives:
            ConfigurationError, which is a MissingDependencyError where a package is missing,
            PageError and OSError.
        fields: The fields of feeds.
        on_skip: Takes the pages that are there, but cannot be compared. Without it, their errors go
            to `on_error`.
        on_note: Takes notes on what is left out on purpose, such as the images of an archive.
    """
    for item in readable_items(names, on_error, fields, on_note=on_note):
        if isinstance(item.page, Page):
            yield item.page
        elif isinstance(item.page, Unread):
            if on_skip is None:
                on_error(item.page.error)
            else:
                on_skip(item.page.url, item.page.error)


def readable_items(
    names: Iterable[str], on_error: OnError, fields: Fields, *, on_note: OnNote = ignore_note
) -> Iterator[Item]:
    """Yield the items of sources, in the same order each time.

    A source without pages is reported as an error. Errors are as in `readable_sources`.
    """
    for name in names:
        yield from _items_of_source(name, on_error, fields, on_note)


def _items_of_source(
    name: str, on_error: OnError, fields: Fields, on_note: OnNote
) -> Iterator[Item]:
    """Yield the items of a source. One that has neither pages nor errors is an error itself."""
    has_errors = False
    has_pages = False

    def tell(error: Exception) -> None:
        nonlocal has_errors
        has_errors = True
        on_error(error)

    for item in _items_of_each([name], tell, fields, on_note):
        has_pages = has_pages or isinstance(item.page, Page)
        yield item
    if not has_pages and not has_errors:
        on_error(without_pages(name))


def _items_of_each(
    names: Iterable[str], on_error: OnError, fields: Fields, on_note: OnNote
) -> Iterator[Item]:
    """Yield the items of sources. A missing source doesn't hide the others."""
    for name in names:
        try:
            yield from _items_of(name, on_error, fields, on_note)
        except (ConfigurationError, PageError, OSError, UnicodeError) as error:
            on_error(_naming(error, name))


def _items_of(name: str, on_error: OnError, fields: Fields, on_note: OnNote) -> Iterator[Item]:
    """Return the items of a source of any kind. Raises the errors of sources."""
    path = Path(name)
    if name == STANDARD:
        return _items_of_standard_input(fields, on_error)
    if is_sitemap_name(name):
        return _items_of_each(urls_of_sitemap(name, on_error), on_error, fields, on_note)
    if name.startswith(SCHEMES):
        answer = fetched(name)
        page = Page(answer.url, html=answer.body, encoding=answer.charset)
        return iter([Item(answer.url, page=page)])
    if path.is_dir():
        if not (paths := pages_below(path, on_error, on_note)):
            raise folder_without_pages(path)
        return _items_of_paths(paths, on_error)
    if not path.is_file():
        raise _absent(name)
    if form_of(name) is not None:
        return items_of_file(path, fields, on_error, on_note)
    return iter([item_of_file(path)])


def _items_of_standard_input(fields: Fields, on_error: OnError) -> Iterator[Item]:
    stream = cast("io.BufferedReader", sys.stdin.buffer)
    form = form_of_beginning(stream.peek(), fields)
    if form == LINES:
        return items_of_lines(stream, fields, on_error)
    if form == ARRAY:
        return _items_of_stream(rows_of_array(stream), "item", fields, on_error)
    if form == CSV:
        return _items_of_stream(rows_of_csv(stream, fields), "item", fields, on_error)
    return iter([Item(STANDARD, page=Page("stdin:", html=stream.read(MOST_BYTES)))])


def require_sources(names: Iterable[str]) -> None:
    """Raise ConfigurationError for the first source that doesn't exist.

    It's better to learn of a wrong name before the work than after it.
    """
    for name in names:
        is_named_otherwise = name == STANDARD or name.startswith(SCHEMES)
        if not is_named_otherwise and not Path(name).exists():
            raise _absent(name)


def _absent(name: str) -> ConfigurationError:
    hint = "a pattern only works without quotes" if set(name) & set("*?[") else ""
    return ConfigurationError(
        f"{name!r} is not a file, a folder, or an http:// or https:// URL; "
        f"{hint or 'use - for standard input'}"
    )


def _items_of_paths(paths: Iterable[Path], on_error: OnError) -> Iterator[Item]:
    for path in paths:
        try:
            yield item_of_file(path)
        except (ConfigurationError, OSError) as error:
            on_error(_naming(error, str(path)))


def _naming(error: Exception, name: str) -> Exception:
    """Return an error with the name of its file, which an error of a read lacks."""
    if isinstance(error, OSError) and error.errno is not None and error.filename is None:
        error.filename = name
    return error


def single_source(name: str) -> Page:
    """Return the page of a source that must have exactly one.

    Raises ConfigurationError if there are none or several, and the errors of sources.
    """
    pages = list(readable_sources([name]))
    if len(pages) != 1:
        raise ConfigurationError(f"{name!r} contains {len(pages)} pages; name exactly one page")
    return pages[0]


def under_url(pages: Iterable[Page], url: str | None) -> Iterator[Page]:
    """Return the pages. If a URL is given, there must be one page only, which gets that URL.

    Raises ConfigurationError if there are several pages for a URL.
    """
    if not url:
        return iter(pages)
    # Read two pages before the first one is remembered, because two are enough to refuse them.
    first = list(islice(pages, 2))
    if len(first) > 1:
        raise ConfigurationError("--url names one page, but there are several")
    return (replace(page, url=url) for page in first)


def items_of_file(
    path: Path, fields: Fields | None, on_error: OnError, on_note: OnNote = ignore_note
) -> Iterator[Item]:
    """Yield the items of a feed, or the records of a web archive.

    With `fields`, they have their pages. Errors of single items go to `on_error`.

    Raises:
        ConfigurationError: The file isn't a feed or archive, or the rest of it can't be read.
    """
    form = form_of(path.name)
    if form == ARCHIVE:
        return _items_of_archive(path, on_error, on_note, with_pages=fields is not None)
    file = opened(path)
    unit = "item"
    if form == PARQUET:
        unit = "row"
        rows = rows_of_parquet(pyarrow_for(path), path, file, fields)
    elif form == LINES:
        unit = "line"
        rows = rows_of_lines(file)
    elif form == CSV:
        rows = rows_of_csv(file, fields)
    else:
        rows = rows_of_array(file)
    items = _items_of_rows(file, rows, _Place(str(path), unit), fields)
    return reported(items, _report_of_feed(str(path), fields), on_error)


def items_of_lines(file: BinaryIO, fields: Fields | None, on_error: OnError) -> Iterator[Item]:
    """Yield the items of JSON lines that come from standard input.

    Raises ConfigurationError if none of the first ones is a page, or the rest can't be read.
    """
    return _items_of_stream(rows_of_lines(file), "line", fields, on_error)


def _items_of_stream(
    rows: Iterator[FeedRow], unit: str, fields: Fields | None, on_error: OnError
) -> Iterator[Item]:
    items = _items_of_rows(nullcontext(), rows, _Place(_STANDARD_INPUT, unit), fields)
    return reported(items, _report_of_feed(_STANDARD_INPUT, fields), on_error)


def _report_of_feed(name: str, fields: Fields | None) -> Report:
    refusal = f"none of the first {MOST_TOLD} items is a page, so the rest is not read"
    return Report(name, "item", "without a page", refusal, needs_page=fields is not None)


def _items_of_archive(
    path: Path, on_error: OnError, on_note: OnNote, *, with_pages: bool
) -> Iterator[Item]:
    refusal = "it cannot be read as a web archive"
    report = Report(str(path), "record", "damaged", refusal, needs_page=False)
    others: Counter[str] = Counter()
    for item in reported(_records_of_all(path, with_pages=with_pages), report, on_error):
        if isinstance(item.page, NoPage) and item.page.kind:
            others[item.page.kind] += 1
        yield item
    if others:
        number = pluralize(others.total(), "record")
        on_note(f"{path}: {number} not compared, by kind: {counted(others)}")


def _records_of_all(path: Path, *, with_pages: bool) -> Iterator[Item]:
    for start, end in warcs_in(path):
        yield from records_of(path, start, end, with_pages=with_pages)


class _Place(NamedTuple):
    """Names the rows of a feed by its source and unit, as in "feed.jl, line 3"."""

    source: str
    unit: str

    def of(self, number: int) -> str:
        """Return the place of a row, numbered from 1."""
        return f"{self.source}, {self.unit} {number}"


def _items_of_rows(
    file: AbstractContextManager[Any],
    rows: Iterator[FeedRow],
    place: _Place,
    fields: Fields | None,
) -> Iterator[Item]:
    """Yield the items in the rows of a file, and close the file.

    Raises ConfigurationError if nothing more can be read.
    """
    number = 0
    with file:
        try:
            for number, row in enumerate(rows, 1):
                if row.is_empty:
                    continue
                name = place.of(number)
                page = None if fields is None else page_of(row.value, fields, name)
                yield Item(name, row.raw, page, row.head)
        except ConfigurationError:
            raise
        except PACK_ERRORS as error:
            raise ConfigurationError(
                f"{place.source} cannot be decompressed any further: {error}"
            ) from error
        except (csv.Error, ValueError, RecursionError) as error:
            raise ConfigurationError(
                f"{place.of(number + 1)}: this cannot be read, and neither can the rest: {error}"
            ) from error
