"""Read pages from files, folders, standard input, feeds, web archives, sitemaps and the web: one
generator a form.

What is wrong with a file or with a part of it goes to `on_error`, and the reading goes on where it
can.
"""

import csv
import gzip
import http.client
import io
import json
import os
import re
import sys
import urllib.request
import zlib
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple, NoReturn, Self, cast

from lxml import etree

from crawldedup.commands.archives import GZIP_MAGIC, MOST_BYTES, Item, records_of
from crawldedup.commands.command import GZIP_SUFFIX, STANDARD
from crawldedup.commands.wacz import warcs_in
from crawldedup.errors import ConfigurationError, MissingDependencyError, PageError
from crawldedup.page import Page
from crawldedup.text import pluralize

OnError = Callable[[Exception], None]
_Row = tuple[
    Any, Any, Any
]  # the value of an item, and its `raw` and `head`; each None where nothing stands

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
_BOM: Final = b"\xef\xbb\xbf"

# A reader looks at so many errors; a broken file of a million items has as many.
MOST_TOLD: Final = 10
_BLOCK: Final = 1 << 13
_BETWEEN: Final = (" ", "\t", "\r", "\n", ",")  # what stands between the members of an array
_ROWS: Final = 64  # so many of a table are in memory at once: with pages of 100 kB, a few megabytes
_BYTES_A_ROW: Final = 100
# Times the bytes of its file; a few kilobytes of a table can stand for gigabytes.
_MOST_GROWTH: Final = 1000
# What the protocol of sitemaps allows for one file, and how deep indexes of them may lead.
_MOST_URLS: Final = 50_000
_LEVELS: Final = 3


def refuse(error: Exception) -> NoReturn:
    """Raise the error."""
    raise error


class Fields(NamedTuple):
    """The fields of an item that hold its URL, and by "html" and "text" its source and its text."""

    url: str = "url"
    content: Mapping[str, str] = {"html": "html", "text": "text"}
    needs_url: bool = True  # or the place of an item stands for its URL

    @classmethod
    def of(cls, given: Namespace) -> Self:
        """Return those that a command line names."""
        named = {"html": given.html_field, "text": given.text_field}
        return cls(
            given.url_field,
            {kind: name for kind, name in named.items() if name} or ANY_FIELDS.content,
        )


ANY_FIELDS: Final = Fields()


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
    """Yield the items of sources as `readable_sources` yields pages, in the same order each time."""
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
        if stream.peek().removeprefix(_BOM).lstrip().startswith(b"{"):
            return items_of_lines(stream, fields, on_error)
        return iter([Item(STANDARD, page=Page("stdin:", html=stream.read(MOST_BYTES)))])
    if name.partition("?")[0].lower().endswith((".xml", ".xml.gz")):
        return readable_items(urls_of_sitemap(name), on_error, fields)
    if name.startswith(_SCHEMES):
        body, url, charset = _fetched(name)
        return iter([Item(url, page=Page(url, html=body, encoding=charset))])
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


def _fetched(url: str) -> tuple[bytes, str, str | None]:
    """Return the body at a URL, the URL that it came from in the end, and its charset.

    Raises PageError.
    """
    try:
        # A text that begins like a URL may still be no URL.
        request = urllib.request.Request(url, headers={"User-Agent": "crawldedup"})
        with urllib.request.urlopen(request, timeout=20) as response:
            return response.read(MOST_BYTES), response.url, response.headers.get_content_charset()
    except (http.client.HTTPException, OSError, ValueError) as error:
        raise PageError("unreachable", f"{url} cannot be fetched: {error}") from error


def urls_of_sitemap(name: str, levels: int = _LEVELS) -> Iterator[str]:
    """Yield the URLs of a sitemap, or of those that it lists.

    Raises ConfigurationError, PageError and OSError.
    """
    body = _fetched(name)[0] if name.startswith(_SCHEMES) else Path(name).read_bytes()
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


def items_of_file(path: Path, fields: Fields | None, on_error: OnError) -> Iterator[Item]:
    """Return the items of a feed, or the records of a web archive, with their pages if `fields`
    name them.

    Errors of items go to `on_error`. Raises ConfigurationError, also while they are read, for what
    is no feed or archive, and where nothing more can be read.
    """
    form = form_of(path.name)
    if form == ARCHIVE:
        refusal = "it cannot be read as a web archive"
        parts = (
            records_of(path, *place, with_pages=fields is not None) for place in warcs_in(path)
        )
        return _told(chain.from_iterable(parts), str(path), "record", "damaged", refusal, on_error)
    file = gzip.GzipFile(path) if path.suffix.lower() == GZIP_SUFFIX else path.open("rb")
    if form == PARQUET:
        rows = _rows_of_parquet(pyarrow_for(path), path, file, fields)
    else:
        rows = {LINES: _lines, CSV: _rows_of_csv}.get(form or "", _members_of)(file)
    what = {LINES: "line", PARQUET: "row"}.get(form or "", "item")
    return _items_of_rows(file, rows, f"{path}, {what}", fields, on_error)


def items_of_lines(file: BinaryIO, fields: Fields | None, on_error: OnError) -> Iterator[Item]:
    """Return the items of standard input."""
    return _items_of_rows(nullcontext(), _lines(file), "standard input, line", fields, on_error)


@contextmanager
def complaints(on_error: OnError, name: str, what: str, fate: str) -> Iterator[OnError]:
    """Yield a function that hands on the first errors, each about one `what`; tell the number and
    `fate` of others.
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
            on_error(
                ConfigurationError(
                    f"{name}: {pluralize(number - MOST_TOLD, f'further {what}')} {fate}"
                )
            )


def _told(
    items: Iterator[Item],
    name: str,
    what: str,
    fate: str,
    refusal: str,
    on_error: OnError,
    good: Any = object,
) -> Iterator[Item]:
    """Yield the items that can be written again, and hand on errors, of which each is about one
    `what`.

    Raises ConfigurationError where nothing more can be read, and for a file that is refused: it has
    errors, and none of its first items can be written again and has a `good` page.
    """
    first, errors, is_begun = list[Item](), list[Exception](), False
    try:
        while not is_begun and len(first) < MOST_TOLD and (item := next(items, None)):
            first.append(item)
            is_begun = item.raw is not None and isinstance(item.page, good)
    except ConfigurationError as error:
        errors.append(error)
    errors = [*(item.page for item in first if isinstance(item.page, Exception)), *errors]
    if errors and not is_begun:
        raise ConfigurationError(f"{errors[0]} ({refusal})")
    with complaints(on_error, name, what, fate) as tell:
        for item in chain(first, items):
            if isinstance(item.page, Exception):
                tell(item.page)
            if item.raw is not None:
                yield item


def _items_of_rows(
    file: Any, rows: Iterator[_Row], name: str, fields: Fields | None, on_error: OnError
) -> Iterator[Item]:
    """Return the items in the rows of a file, whose places begin with this name."""
    source = name.rpartition(", ")[0]
    refusal = f"none of the first {MOST_TOLD} items is a page, so the rest is not read"

    def items() -> Iterator[Item]:
        number = 0
        with file:
            try:
                for number, (value, raw, head) in enumerate(rows, 1):
                    if raw is not None or value is not None:
                        place = f"{name} {number}"
                        yield Item(
                            place,
                            raw,
                            None if fields is None else _page_of(value, fields, place),
                            head,
                        )
            except ConfigurationError:
                raise
            except (EOFError, gzip.BadGzipFile, zlib.error) as error:
                raise ConfigurationError(
                    f"{source} cannot be decompressed any further: {error}"
                ) from error
            except (csv.Error, ValueError, RecursionError) as error:
                problem = f"{name} {number + 1}: this cannot be read, nor what follows: {error}"
                raise ConfigurationError(problem) from error

    return _told(
        items(), source, "item", "without a page", refusal, on_error, Page if fields else object
    )


def _page_of(item: Any, fields: Fields, place: str) -> Page | ConfigurationError:
    """Return the page of an item, a line of JSON or what it holds, or tell why it has none."""
    try:
        if isinstance(item, bytes):
            item = json.loads(item.decode("utf-8", "replace"))
        if isinstance(item, Exception):
            raise item
    except (ValueError, RecursionError) as error:
        return ConfigurationError(f"{place}: this is not JSON: {error}")
    if not isinstance(item, dict):
        return ConfigurationError(f"{place}: this is no JSON object")
    url = item.get(fields.url)
    if not isinstance(url, str) or not url:
        if fields.needs_url:
            return ConfigurationError(
                f'{place}: the field "{fields.url}" holds no text; --url-field names another'
            )
        url = place
    texts = {kind: item.get(name) for kind, name in fields.content.items()}
    content: dict[str, Any] = {
        kind: text for kind, text in texts.items() if isinstance(text, str | bytes)
    }
    if len(content) > 1:
        # A row of a table has every column, so that the one without a value is empty.
        content = {kind: text for kind, text in content.items() if text}
    if len(content) != 1:
        names = [f'"{name}"' for name in fields.content.values()]
        if content:
            problem = (
                f"the fields {' and '.join(names)} both hold a text; choose one by --html-field or "
                "--text-field"
            )
        else:
            problem = (
                f"no text in the field {' or '.join(names)}; --html-field and --text-field name "
                "others"
            )
        return ConfigurationError(f"{place}: {problem}")
    if isinstance(text := content.get("text"), bytes):
        content["text"] = text.decode("utf-8", "replace")
    return Page(url, **content)


def _lines(file: Any) -> Iterator[_Row]:
    """Yield the lines of a file. Of one that is too long, nothing stays."""
    for number, line in enumerate(iter(partial(file.readline, MOST_BYTES), b"")):
        if len(line) >= MOST_BYTES:
            while line and not line.endswith(b"\n"):
                line = file.readline(MOST_BYTES)
            yield (
                ValueError(f"a line must be shorter than {MOST_BYTES:,} bytes, and is left out"),
                None,
                None,
            )
            continue
        line = line if number else line.removeprefix(_BOM)
        yield (line, line, None) if line.strip() else (None, None, None)


def _rows_of_csv(file: Any) -> Iterator[_Row]:
    csv.field_size_limit(MOST_BYTES)
    taken: list[bytes] = []

    def noted() -> Iterator[str]:
        for number, line in enumerate(iter(lambda: file.readline(MOST_BYTES), b"")):
            if len(line) >= MOST_BYTES:
                raise csv.Error(f"a line must be shorter than {MOST_BYTES:,} bytes")
            taken.append(line if number else line.removeprefix(_BOM))
            yield taken[-1].decode("utf-8", "replace")

    rows = csv.DictReader(noted())
    # The header is read when it is asked for.
    header = b"".join(taken) if rows.fieldnames else b""
    taken.clear()
    for value in rows:
        yield value, b"".join(taken), header
        taken.clear()


def _members_of(file: Any) -> Iterator[_Row]:
    """Yield the members of a JSON array, of which no more than one is in memory.

    Raises ValueError.
    """
    decoder = json.JSONDecoder()
    # What is no UTF-8 is written as it was read.
    text = io.TextIOWrapper(file, encoding="utf-8-sig", errors="surrogateescape", newline="")
    waiting, place, is_end = text.read(_BLOCK).lstrip(), 1, False
    if waiting[:1] != "[":
        raise ValueError("it is no array of items")
    while True:
        while waiting[place : place + 1] in _BETWEEN:
            place += 1
        if waiting[place : place + 1] == "]":
            # A damage may show only at the end of a compressed file.
            while text.read(_BLOCK):
                pass
            return
        try:
            value, end = decoder.raw_decode(waiting, place)
            # A number may go on.
            if end < len(waiting) or is_end:
                yield value, waiting[place:end].encode("utf-8", "surrogateescape"), None
                place = end
                continue
        except ValueError:
            if is_end or len(waiting) - place > MOST_BYTES:
                raise
        # As much again, or a large member would be read over and over.
        more = text.read(max(_BLOCK, len(waiting) - place))
        waiting, place, is_end = waiting[place:] + more, 0, not more


def pyarrow_for(path: Path) -> Any:
    """Return pyarrow, with its module `parquet`. Raises MissingDependencyError."""
    try:
        import pyarrow as pa
        import pyarrow.parquet
    except ImportError as error:
        raise MissingDependencyError(
            f"{path} is Parquet, and that needs pyarrow: pip install pyarrow"
        ) from error
    return pa


def _rows_of_parquet(pa: Any, path: Path, stream: Any, fields: Fields | None) -> Iterator[_Row]:
    """Yield rows with the columns of the fields, or with all columns and without values."""
    left = MOST_BYTES + _MOST_GROWTH * path.stat().st_size
    try:
        # Not a whole row group at once, which may be the whole file.
        file = pa.parquet.ParquetFile(stream, pre_buffer=False, buffer_size=1 << 20)
        schema, columns = file.schema_arrow, None
        if fields is not None:
            wanted = [fields.url, *fields.content.values()]
            if not (columns := [name for name in dict.fromkeys(wanted) if name in schema.names]):
                raise ConfigurationError(
                    f"{path} has none of the columns {', '.join(wanted)}, but "
                    f"{', '.join(schema.names)}; --url-field, --html-field and --text-field name "
                    "others"
                )
        for batch in file.iter_batches(_ROWS, columns=columns, use_threads=False):
            for row, value in enumerate(batch.to_pylist() if fields else [{}] * len(batch)):
                left -= _BYTES_A_ROW + sum(
                    len(cell) for cell in value.values() if isinstance(cell, str | bytes)
                )
                if left < 0:
                    raise ValueError(
                        f"it holds more than {_MOST_GROWTH:,} times the bytes of its file"
                    )
                yield value, (batch, row), schema
    except (pa.ArrowException, OSError) as error:
        # An error of pyarrow may be one of the system without its number.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise ValueError(error) from error
