"""Read pages from files, folders, standard input, feeds, web archives, sitemaps and the web.

Errors of a file, or of a part of it, go to `on_error`, and reading continues where it can.
"""

import csv
import gzip
import http.client
import io
import os
import re
import sys
import threading
import urllib.request
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, BinaryIO, Final, NamedTuple, NoReturn, cast

from lxml import etree

from crawldedup.commands.archives import GZIP_MAGIC, MOST_BYTES, Item, records_of
from crawldedup.commands.command import GZIP_SUFFIX, STANDARD
from crawldedup.commands.feeds import (
    ANY_FIELDS,
    BOM,
    FeedRow,
    Fields,
    page_of,
    pyarrow_for,
    rows_of_array,
    rows_of_csv,
    rows_of_lines,
    rows_of_parquet,
)
from crawldedup.commands.wacz import warcs_in
from crawldedup.errors import ConfigurationError, PageError
from crawldedup.page import Page
from crawldedup.text import pluralize

OnError = Callable[[Exception], None]

LINES, ARRAY, CSV, PARQUET, ARCHIVE = "JSON lines", "JSON", "CSV", "Parquet", "a web archive"
_FORMS: Final = {
    **dict.fromkeys((".jl", ".jsonl", ".jsonlines", ".ndjson"), LINES),
    ".json": ARRAY,
    ".csv": CSV,
    ".parquet": PARQUET,
    # Those of plain text, as Common Crawl publishes them, are archives, too.
    **dict.fromkeys((".warc", ".wet", ".wacz"), ARCHIVE),
}
_HTML_SUFFIXES: Final = (".html", ".htm", ".xhtml")
_TEXT_SUFFIXES: Final = (".txt", ".text", ".md")
_SCHEMES: Final = ("http://", "https://")
_SILENCE_SECONDS: Final = 20
_FETCH_SECONDS: Final = 60
"""The time limit for all of an answer, however its bytes come."""


# How many errors a person reads; a broken file of a million items has as many.
MOST_TOLD: Final = 10
# What the protocol of sitemaps allows for one file, and how deep indexes of them may lead.
_MOST_URLS: Final = 50_000
_LEVELS: Final = 3


def refuse(error: Exception) -> NoReturn:
    """Raise the error."""
    raise error


def readable_sources(
    names: Iterable[str], on_error: OnError = refuse, fields: Fields = ANY_FIELDS
) -> Iterator[Page]:
    """Yield the pages of files, folders (every HTML and text file below), `-`, feeds, web archives,
    sitemaps and URLs.

    `-` is standard input: JSON lines if it begins with an object, else one page. `fields` are those
    of feeds. Feeds and archives may be compressed (.gz). `on_error` takes the errors of sources, of
    items and of records of archives: ConfigurationError, which is a MissingDependencyError for
    Parquet without pyarrow, PageError and OSError.
    """
    return (
        item.page for item in readable_items(names, on_error, fields) if isinstance(item.page, Page)
    )


def readable_items(names: Iterable[str], on_error: OnError, fields: Fields) -> Iterator[Item]:
    """Yield the items of sources, in the same order each time. Errors as in `readable_sources`."""
    for name in names:
        try:
            # One page of a site that is not there must not hide the others.
            yield from _items_of(name, on_error, fields)
        except (ConfigurationError, PageError, OSError, UnicodeError) as error:
            on_error(error)


def _items_of(name: str, on_error: OnError, fields: Fields) -> Iterator[Item]:
    path = Path(name)
    if name == STANDARD:
        stream = cast("io.BufferedReader", sys.stdin.buffer)
        if stream.peek().removeprefix(BOM).lstrip().startswith(b"{"):
            return items_of_lines(stream, fields, on_error)
        return iter([Item(STANDARD, page=Page("stdin:", html=stream.read(MOST_BYTES)))])
    if name.partition("?")[0].lower().endswith((".xml", ".xml.gz")):
        return readable_items(urls_of_sitemap(name), on_error, fields)
    if name.startswith(_SCHEMES):
        fetched = _fetched(name)
        page = Page(fetched.url, html=fetched.body, encoding=fetched.charset)
        return iter([Item(fetched.url, page=page)])
    if path.is_dir():
        if not (paths := pages_below(path, on_error)):
            suffixes = ", ".join(_HTML_SUFFIXES + _TEXT_SUFFIXES)
            raise ConfigurationError(f"the folder {name!r} holds no pages: no {suffixes}")
        return readable_items(map(str, paths), on_error, fields)
    if not path.is_file():
        raise ConfigurationError(
            f"{name!r} is no file, no folder and no http:// or https:// URL; use - for standard "
            "input"
        )
    if form_of(name) is not None:
        return items_of_file(path, fields, on_error)
    with path.open("rb") as file:
        body = file.read(MOST_BYTES)
    is_text = name.lower().endswith(_TEXT_SUFFIXES)
    # Text files are UTF-8; how HTML is encoded, it may say itself.
    content = {"text": body.decode("utf-8", "replace")} if is_text else {"html": body}
    return iter([Item(name, page=Page(path.absolute().as_uri(), **content))])


def single_source(name: str) -> Page:
    """Return the one page of a name.

    Raises ConfigurationError if there are several, and the errors of sources.
    """
    pages = list(readable_sources([name]))
    if len(pages) != 1:
        raise ConfigurationError(f"{name!r} holds {len(pages)} pages; name exactly one")
    return pages[0]


def under_url(pages: Iterable[Page], url: str | None) -> Iterator[Page]:
    """Return the pages, or one page under another URL.

    Raises ConfigurationError if a URL is given to several.
    """
    if not url:
        return iter(pages)
    # Two suffice to refuse them, before the first is remembered.
    first = list(islice(pages, 2))
    if len(first) > 1:
        raise ConfigurationError("--url names one page, but there are several")
    return (replace(page, url=url) for page in first)


def pages_below(folder: Path, on_error: OnError = refuse) -> list[Path]:
    """Return the HTML and text files below a folder, sorted.

    Hand to `on_error` the folders that cannot be listed.
    """
    walked = os.walk(folder, onerror=on_error)
    paths = (Path(parent, name) for parent, _, names in walked for name in names)
    return sorted(
        path
        for path in paths
        if path.suffix.lower() in _HTML_SUFFIXES + _TEXT_SUFFIXES and path.is_file()
    )


class _Fetched(NamedTuple):
    body: bytes
    url: str  # behind all redirects
    charset: str | None


def _fetched(url: str) -> _Fetched:
    """Return what is at a URL. Raises PageError."""
    # The time-out of a socket is that of each of its bytes. What has not come by then is left to a
    # thread that ends with the program.
    answers: SimpleQueue[_Fetched | PageError] = SimpleQueue()

    def fetch() -> None:
        try:
            answers.put(_answer_of(url))
        except PageError as error:
            answers.put(error)

    threading.Thread(target=fetch, daemon=True).start()
    try:
        answer = answers.get(timeout=_FETCH_SECONDS)
    except Empty:
        message = f"{url} cannot be fetched: it takes longer than {_FETCH_SECONDS} s"
        raise PageError("unreachable", message) from None
    if isinstance(answer, PageError):
        raise answer
    return answer


def _answer_of(url: str) -> _Fetched:
    try:
        # A text that begins like a URL may still be no URL.
        request = urllib.request.Request(url, headers={"User-Agent": "crawldedup"})
        with urllib.request.urlopen(request, timeout=_SILENCE_SECONDS) as response:
            charset = response.headers.get_content_charset()
            return _Fetched(response.read(MOST_BYTES), response.url, charset)
    except (http.client.HTTPException, OSError, ValueError) as error:
        raise PageError("unreachable", f"{url} cannot be fetched: {error}") from error


def urls_of_sitemap(name: str, levels: int = _LEVELS) -> Iterator[str]:
    """Yield the URLs of a sitemap, or of those that it lists.

    Raises ConfigurationError, PageError and OSError.
    """
    body = _fetched(name).body if name.startswith(_SCHEMES) else Path(name).read_bytes()
    try:
        # A few kilobytes can hold gigabytes.
        body = (
            zlib.decompressobj(wbits=31).decompress(body, MOST_BYTES)
            if body.startswith(GZIP_MAGIC)
            else body
        )
        parser = etree.XMLParser(recover=True, resolve_entities=False, no_network=True)
        root = etree.fromstring(body, parser)
    except (zlib.error, etree.XMLSyntaxError) as error:
        raise ConfigurationError(f"{name} cannot be read as a sitemap: {error}") from error
    kind = "" if root is None else etree.QName(root).localname
    if kind not in ("urlset", "sitemapindex"):
        raise ConfigurationError(f"{name} is no sitemap: it begins with <{kind}>")
    urls = (str(place.text or "").strip() for place in root.iterfind("{*}*/{*}loc"))
    # It must not name a file of this machine.
    for url in islice((url for url in urls if url.startswith(_SCHEMES)), _MOST_URLS):
        if kind == "urlset":
            yield url
        elif levels > 1:
            yield from urls_of_sitemap(url, levels - 1)


def form_of(name: str) -> str | None:
    """Return what a file holds, by its name:

    LINES, ARRAY, CSV, PARQUET or ARCHIVE; None for anything else.
    """
    suffix = re.search(r"(\.[a-z]+)(\.gz)?$", name.lower())
    form = _FORMS.get(suffix[1]) if suffix else None
    # Parquet compresses by itself.
    return None if suffix and suffix[2] and form == PARQUET else form


class _Report(NamedTuple):
    """How the errors of a source are put into words."""

    name: str  # of the source
    unit: str  # each error is about one of these
    fate: str  # of those whose errors are only counted
    refusal: str  # why nothing is read if the first items are no good
    needs_page: bool  # whether a good item has a page


def items_of_file(path: Path, fields: Fields | None, on_error: OnError) -> Iterator[Item]:
    """Return the items of a feed, or the records of a web archive.

    They have their pages if there are `fields`. Errors of single items go to `on_error`.

    Raises:
        ConfigurationError: The file is no feed or archive, or, while items are read, nothing more
            can be read.
    """
    form = form_of(path.name)
    if form == ARCHIVE:
        return _items_of_archive(path, on_error, with_pages=fields is not None)
    file: Any = gzip.GzipFile(path) if path.suffix.lower() == GZIP_SUFFIX else path.open("rb")
    unit = "item"
    if form == PARQUET:
        unit = "row"
        rows = rows_of_parquet(pyarrow_for(path), path, file, fields)
    elif form == LINES:
        unit = "line"
        rows = rows_of_lines(file)
    elif form == CSV:
        rows = rows_of_csv(file)
    else:
        rows = rows_of_array(file)
    items = _items_of_rows(file, rows, _Place(str(path), unit), fields)
    return _reported(items, _report_of_feed(str(path), fields), on_error)


def items_of_lines(file: BinaryIO, fields: Fields | None, on_error: OnError) -> Iterator[Item]:
    """Return the items of standard input."""
    name = "standard input"
    items = _items_of_rows(nullcontext(), rows_of_lines(file), _Place(name, "line"), fields)
    return _reported(items, _report_of_feed(name, fields), on_error)


def _report_of_feed(name: str, fields: Fields | None) -> _Report:
    refusal = f"none of the first {MOST_TOLD} items is a page, so the rest is not read"
    return _Report(name, "item", "without a page", refusal, needs_page=fields is not None)


def _items_of_archive(path: Path, on_error: OnError, *, with_pages: bool) -> Iterator[Item]:
    parts = (records_of(path, *place, with_pages=with_pages) for place in warcs_in(path))
    refusal = "it cannot be read as a web archive"
    report = _Report(str(path), "record", "damaged", refusal, needs_page=False)
    return _reported(chain.from_iterable(parts), report, on_error)


@contextmanager
def complaints(on_error: OnError, name: str, unit: str, fate: str) -> Iterator[OnError]:
    """Yield a function that passes on the first errors, each about one `unit` of a source.

    At the end, the others are reported by their number and their `fate`.
    """
    number = 0

    def tell(error: Exception) -> None:
        nonlocal number
        number += 1
        if number <= MOST_TOLD:
            on_error(error)

    try:
        yield tell
    finally:
        if number > MOST_TOLD:
            rest = pluralize(number - MOST_TOLD, f"further {unit}")
            on_error(ConfigurationError(f"{name}: {rest} {fate}"))


def _reported(items: Iterator[Item], report: _Report, on_error: OnError) -> Iterator[Item]:
    """Yield the items that can be written again, and pass on the errors of the others.

    Raises ConfigurationError where nothing more can be read. Also refuses a source that has errors
    if none of its first items is good: one that can be written again, and has a page if it needs
    one.
    """
    first: list[Item] = []
    end: ConfigurationError | None = None
    is_begun = False
    try:
        while not is_begun and len(first) < MOST_TOLD and (item := next(items, None)):
            first.append(item)
            has_page = isinstance(item.page, Page) or not report.needs_page
            is_begun = item.raw is not None and has_page
    except ConfigurationError as error:
        end = error
    errors = [item.page for item in first if isinstance(item.page, Exception)]
    if end is not None:
        errors.append(end)
    if errors and not is_begun:
        raise ConfigurationError(f"{errors[0]} ({report.refusal})")
    with complaints(on_error, report.name, report.unit, report.fate) as tell:
        for item in chain(first, items):
            if isinstance(item.page, Exception):
                tell(item.page)
            if item.raw is not None:
                yield item


class _Place(NamedTuple):
    """Where the rows of a feed stand."""

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

    Raises ConfigurationError where nothing more can be read.
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
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ConfigurationError(
                f"{place.source} cannot be decompressed any further: {error}"
            ) from error
        except (csv.Error, ValueError, RecursionError) as error:
            raise ConfigurationError(
                f"{place.of(number + 1)}: this cannot be read, nor what follows: {error}"
            ) from error
