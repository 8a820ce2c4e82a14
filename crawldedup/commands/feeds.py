"""Read the pages of feeds: JSON lines, JSON arrays and CSV, as Scrapy exports them, and Parquet."""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from crawldedup.commands.reading.complaints import MOST_TOLD, Complaints
from crawldedup.commands.reading.entries import LINES, entries_of, entries_of_lines
from crawldedup.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from crawldedup.commands.reading.entries import Entry

    OnError = Callable[[Exception], None]


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


class Item(NamedTuple):
    """The page of an item. `encoding` is what the server declared for the bytes of `html`."""

    url: str
    html: bytes | str | None
    text: str | None
    encoding: str | None = None


def refuse(error: Exception) -> None:
    """Raise the error."""
    raise error


def pages_of(path: Path, fields: Fields, on_error: OnError = refuse) -> Iterator[Item]:
    """Yield the pages of a feed. Hand to `on_error` what is wrong with items that hold none, of many the number.

    Raises ConfigurationError for a file of whose first ten items none is a page, and where nothing more can be read.
    """
    entries = entries_of(path, fields.names, whole=False)
    yield from (page for _, page in entries_with_pages(entries, str(path), fields, on_error) if page)


def pages_of_lines(lines: Iterable[bytes], name: str, fields: Fields, on_error: OnError = refuse) -> Iterator[Item]:
    """Yield the pages of JSON lines, as `pages_of` does those of a file."""
    entries = entries_of_lines(lines, name)
    yield from (page for _, page in entries_with_pages(entries, name, fields, on_error) if page)


def entries_with_pages(
    entries: Iterable[Entry], name: str, fields: Fields, on_error: OnError, *, needs_url: bool = True
) -> Iterator[tuple[Entry, Item | None]]:
    """Yield the items of a feed with their pages; None for an item that holds none. Errors are as in `pages_of`.

    Unless an item `needs_url`, its place names a page without one.
    """
    found = ((entry, _page_or_error(entry, fields, needs_url)) for entry in entries)
    first = []
    for entry, page in islice(found, MOST_TOLD):
        first.append((entry, page))
        if isinstance(page, Item):
            break
    else:
        # One error, rather than one for each line of a file of another kind.
        if first:
            raise ConfigurationError(
                f"{first[0][1]} (none of the first {MOST_TOLD} items is a page, so the rest is not read)"
            )
        return
    with Complaints(on_error, name, "item", "without a page") as complaints:
        for entry, page in chain(first, found):
            if isinstance(page, Item):
                yield entry, page
            else:
                complaints.tell(page)
                yield entry, None


def _page_or_error(entry: Entry, fields: Fields, needs_url: bool) -> Item | ConfigurationError:
    try:
        return _page_of(_checked(entry), entry.place, fields, needs_url)
    except ConfigurationError as error:
        return error


def _page_of(item: dict[str, Any], where: str, fields: Fields, needs_url: bool) -> Item:
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
    return Item(url, html, text.decode("utf-8", "replace") if isinstance(text, bytes) else text)


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
