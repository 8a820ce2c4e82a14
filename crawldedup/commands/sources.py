"""Read pages from files, folders, standard input, feeds, web archives, sitemaps and the web: one generator a form.

What is wrong with a file or with a part of it goes to `on_error`, and the reading goes on where it can.
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
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple, NoReturn, Self

from lxml import etree

from crawldedup.commands.archives import GZIP_MAGIC, MOST_BYTES, records_of
from crawldedup.errors import ConfigurationError, MissingDependencyError, PageError
from crawldedup.page import Page
from crawldedup.printable import pluralize

OnError = Callable[[Exception], None]
_Row = tuple[Any, Any, Any]  # what stands there, the head of the file, and the value

LINES, ARRAY, CSV, PARQUET, ARCHIVE = "JSON lines", "JSON", "CSV", "Parquet", "a web archive"
_FORMS: Final = {
    **dict.fromkeys((".jl", ".jsonl", ".jsonlines", ".ndjson"), LINES),
    ".json": ARRAY,
    ".csv": CSV,
    ".parquet": PARQUET,
    # Those of plain text, as Common Crawl publishes them, are archives, too.
    **dict.fromkeys((".warc", ".wet"), ARCHIVE),
}
GZIP_SUFFIX: Final = ".gz"
HTML_SUFFIXES: Final = (".html", ".htm", ".xhtml")
_TEXT_SUFFIXES: Final = (".txt", ".text", ".md")
_SITEMAP_SUFFIXES: Final = (".xml", ".xml.gz")
_SCHEMES: Final = ("http://", "https://")
STDIN: Final = "standard input"
_BOM: Final = b"\xef\xbb\xbf"

MOST_TOLD: Final = 10
"""A reader looks at so many errors; a broken file of a million items has as many."""
_BLOCK: Final = 1 << 13
_BETWEEN: Final = (" ", "\t", "\r", "\n", ",")
"""What may stand between the members of an array."""
_ROWS: Final = 64
"""So many rows of a table are in memory at once: with pages of 100 kB, a few megabytes."""
_BYTES_A_ROW: Final = 100
_MOST_GROWTH: Final = 1000
"""Beyond `MOST_BYTES`, a table may hold so many times the bytes of its file, as gzip can: a few kilobytes of Parquet
can stand for gigabytes of one text."""
_SECONDS: Final = 20
# What the protocol of sitemaps allows for one file, and how deep indexes of them may lead.
_MOST_URLS: Final = 50_000
_LEVELS: Final = 3


def refuse(error: Exception) -> NoReturn:
    """Raise the error."""
    raise error


@dataclass(slots=True)
class Complaints:
    """Hands the first errors of a file to `on_error`, and at the end the number of further ones.

    `what` names one thing that an error is about, and `fate` says what became of these things. With a `refusal`, which
    is added to the first error, a file is refused of which none of the first ten things is good.
    """

    on_error: OnError
    name: str
    what: str
    fate: str
    refusal: str = ""
    number: int = 0
    waiting: list[Exception] = field(default_factory=list)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *error: object) -> None:
        if kind is None and self.waiting:
            self.end(self.waiting[0])
        if (more := self.number - MOST_TOLD) > 0 and not self.refusal:
            message = f"{self.name}: {pluralize(more, f'further {self.what}')} {self.fate}"
            self.on_error(ConfigurationError(message))

    def accept(self) -> None:
        """Note that something is good."""
        self.refusal = ""
        while self.waiting:
            self.on_error(self.waiting.pop(0))

    def tell(self, error: Exception) -> None:
        """Count an error, and hand it on if it is one of the first. Raises ConfigurationError for the refusal."""
        self.number += 1
        if self.refusal:
            self.waiting.append(error)
            if self.number == MOST_TOLD:
                self.end(error)
        elif self.number <= MOST_TOLD:
            self.on_error(error)

    def end(self, error: Exception) -> NoReturn:
        """Raise the error that ends the reading."""
        raise ConfigurationError(f"{[*self.waiting, error][0]} ({self.refusal})") if self.refusal else error


_CONTENT: Final = {"html": "html", "text": "text"}


class Fields(NamedTuple):
    """The fields of an item that hold its URL, and by "html" and "text" its source and its text.

    `for_filter`, rows of tables are read with all of their columns, and the place of an item stands for its URL.
    """

    url: str = "url"
    content: Mapping[str, str] = _CONTENT
    for_filter: bool = False

    @classmethod
    def of(cls, given: Namespace) -> Self:
        """Return those that a command line names."""
        named = {"html": given.html_field, "text": given.text_field}
        return cls(given.url_field, {kind: name for kind, name in named.items() if name} or _CONTENT)


class Item(NamedTuple):
    """What stands at one place of a feed or an archive: the bytes of a line or of a member of an array, a batch of
    pyarrow and the number of a row in it, or a record of an archive.

    `head` is the header or the schema of its file, and `page` its page, if it holds one. The `value` of a line that is
    no JSON is the error; that of a row of a table has the columns of the fields.
    """

    place: str
    raw: Any
    page: Page | None = None
    head: Any = None
    value: Any = None


ANY_FIELDS: Final = Fields()


def readable_sources(names: Iterable[str], on_error: OnError = refuse, fields: Fields = ANY_FIELDS) -> Iterator[Page]:
    """Yield the pages of files, folders (every HTML and text file below), `-`, feeds, web archives, sitemaps and URLs.

    `-` is standard input: JSON lines if the first is a JSON object, else one page. `fields` are those of feeds. Feeds
    and archives may be compressed (.gz). `on_error` takes the errors of sources, of items and of records of archives:
    ConfigurationError, which is a MissingDependencyError for Parquet without pyarrow, PageError and OSError.
    """
    for name in names:
        try:
            # One page of a site that is not there must not hide the others.
            if name.partition("?")[0].lower().endswith(_SITEMAP_SUFFIXES):
                yield from readable_sources(urls_of_sitemap(name), on_error)
            else:
                yield from _pages_of(name, fields, on_error)
        except (ConfigurationError, PageError, OSError, UnicodeError) as error:
            on_error(error)


def _pages_of(name: str, fields: Fields, on_error: OnError) -> Iterator[Page]:
    path = Path(name)
    if name == "-":
        yield from _from_standard_input(fields, on_error)
    elif name.startswith(_SCHEMES):
        body, url, charset = _fetched(name)
        yield Page(url, html=body, encoding=charset)
    elif path.is_dir():
        if not (paths := pages_below(path, on_error)):
            suffixes = ", ".join(HTML_SUFFIXES + _TEXT_SUFFIXES)
            raise ConfigurationError(f"the folder {name!r} holds no pages: no {suffixes}")
        for each in paths:
            yield from readable_sources([str(each)], on_error)
    elif not path.is_file():
        raise ConfigurationError(
            f"{name!r} is no file, no folder and no http:// or https:// URL; use - for standard input"
        )
    elif form_of(name) is not None:
        yield from (item.page for item in items_of(name, fields, on_error) if item.page)
    else:
        with path.open("rb") as file:
            body = file.read(MOST_BYTES)
        is_text = name.lower().endswith(_TEXT_SUFFIXES)
        # Text files are UTF-8; how HTML is encoded, it may say itself.
        content = {"text": body.decode("utf-8", "replace")} if is_text else {"html": body}
        yield Page(path.absolute().as_uri(), **content)


def single_source(name: str) -> Page:
    """Return the one page of a name. Raises ConfigurationError if there are several, and the errors of sources."""
    pages = list(readable_sources([name]))
    if len(pages) != 1:
        raise ConfigurationError(f"{name!r} holds {len(pages)} pages; name exactly one")
    return pages[0]


def given_pages(given: Namespace, on_error: OnError) -> Iterator[Page]:
    """Yield the pages that a command line names. Raises ConfigurationError if it names a URL for several."""
    return under_url(readable_sources(given.pages, on_error, Fields.of(given)), given.url)


def under_url(pages: Iterable[Page], url: str | None) -> Iterator[Page]:
    """Yield the pages, or one page under another URL. Raises ConfigurationError if a URL is given to several."""
    if not url:
        yield from pages
        return
    # Two suffice to refuse them, before the first is remembered.
    first = list(islice(pages, 2))
    if len(first) > 1:
        raise ConfigurationError("--url names one page, but there are several")
    yield from (replace(page, url=url) for page in first)


def pages_below(folder: Path, on_error: OnError = refuse) -> list[Path]:
    """Return the HTML and text files below a folder, sorted. Hand to `on_error` the folders that cannot be listed."""
    walked = os.walk(folder, onerror=on_error)
    paths = (Path(parent, name) for parent, _, names in walked for name in names)
    return sorted(path for path in paths if path.suffix.lower() in HTML_SUFFIXES + _TEXT_SUFFIXES and path.is_file())


def _from_standard_input(fields: Fields, on_error: OnError) -> Iterator[Page]:
    """Yield the pages of JSON lines, or the one page that anything else is."""
    body = _standard_input()
    first = body.readline(MOST_BYTES)
    if isinstance(_value_of(first.removeprefix(_BOM)), dict):
        items = _with_pages(_lines_of(body, STDIN, first), STDIN, fields, on_error)
        yield from (item.page for item in items if item.page)
    else:
        yield Page("stdin:", html=first + body.read(MOST_BYTES - len(first)))


def _standard_input() -> BinaryIO:
    """Return standard input, for bytes. Raises ConfigurationError if it is closed."""
    if sys.stdin is None:
        raise ConfigurationError("there is no standard input to read: it is closed")
    return sys.stdin.buffer


def _fetched(url: str) -> tuple[bytes, str, str | None]:
    """Return the body at a URL, the URL that it came from in the end, and its charset. Raises PageError."""
    try:
        # A text that begins like a URL may still be no URL.
        request = urllib.request.Request(url, headers={"User-Agent": "crawldedup"})
        with urllib.request.urlopen(request, timeout=_SECONDS) as response:
            return response.read(MOST_BYTES), response.url, response.headers.get_content_charset()
    except (http.client.HTTPException, OSError, ValueError) as error:
        raise PageError("unreachable", f"{url} cannot be fetched: {error}") from error


def urls_of_sitemap(name: str, levels: int = _LEVELS) -> Iterator[str]:
    """Yield the URLs of a sitemap, or of those that it lists. Raises ConfigurationError, PageError and OSError."""
    body = _fetched(name)[0] if name.startswith(_SCHEMES) else Path(name).read_bytes()
    try:
        # A few kilobytes can hold gigabytes.
        body = zlib.decompressobj(wbits=31).decompress(body, MOST_BYTES) if body.startswith(GZIP_MAGIC) else body
        parser = etree.XMLParser(recover=True, resolve_entities=False, no_network=True)
        root = etree.fromstring(body, parser)
    except (zlib.error, etree.XMLSyntaxError) as error:
        raise ConfigurationError(f"{name} cannot be read as a sitemap: {error}") from error
    kind = "" if root is None else etree.QName(root).localname
    if kind not in ("urlset", "sitemapindex"):
        raise ConfigurationError(f"{name} is no sitemap: it begins with <{kind}>")
    urls = (str(place.text or "").strip() for place in root.iterfind("{*}*/{*}loc"))
    for url in islice(filter(None, urls), _MOST_URLS):
        if kind == "urlset":
            yield url
        elif levels > 1:
            yield from urls_of_sitemap(url, levels - 1)


def items_of(name: str, fields: Fields, on_error: OnError) -> Iterator[Item]:
    """Yield the items of a feed, or the records of a web archive, with their pages. `-` is a feed of JSON lines.

    Errors of items go to `on_error`. Raises ConfigurationError for what is no feed or archive, and where nothing more
    can be read.
    """
    if form_of(name) == ARCHIVE:
        return _items_of_archive(Path(name), on_error)
    if name == "-":
        return _with_pages(_lines_of(_standard_input(), STDIN), STDIN, fields, on_error)
    return _with_pages(entries_of(Path(name), fields), name, fields, on_error)


def _items_of_archive(path: Path, on_error: OnError) -> Iterator[Item]:
    with Complaints(on_error, str(path), "record", "damaged", "it cannot be read as a web archive") as complaints:
        try:
            for place, record, page in records_of(path):
                if record is not None:
                    complaints.accept()
                if isinstance(page, Exception):
                    complaints.tell(page)
                    page = None
                if record is not None:
                    yield Item(place, record, page)
        except ConfigurationError as error:
            complaints.end(error)


def _with_pages(entries: Iterable[Item], name: str, fields: Fields, on_error: OnError) -> Iterator[Item]:
    refusal = f"none of the first {MOST_TOLD} items is a page, so the rest is not read"
    with Complaints(on_error, name, "item", "without a page", refusal) as complaints:
        for entry in entries:
            page = None
            try:
                page = _page_of(entry.value, fields, entry.place)
            except ConfigurationError as error:
                complaints.tell(ConfigurationError(f"{entry.place}: {error}"))
            else:
                complaints.accept()
            yield entry._replace(page=page, value=None)


def _page_of(item: Any, fields: Fields, place: str) -> Page:
    if isinstance(item, Exception):
        raise ConfigurationError(f"this is not JSON: {item}") from item
    if not isinstance(item, dict):
        raise ConfigurationError("this is no JSON object")
    url = item.get(fields.url)
    if not isinstance(url, str) or not url:
        if not fields.for_filter:
            raise ConfigurationError(f'the field "{fields.url}" holds no text; --url-field names another')
        url = place
    content = {kind: item[name] for kind, name in fields.content.items() if isinstance(item.get(name), str | bytes)}
    if len(content) > 1:
        # A row of a table has every column, so that the one without a value is empty.
        content = {kind: value for kind, value in content.items() if value}
    names = [f'"{name}"' for name in fields.content.values()]
    if not content:
        raise ConfigurationError(
            f"no text in the field {' or '.join(names)}; --html-field and --text-field name others"
        )
    if len(content) > 1:
        both = " and ".join(names)
        raise ConfigurationError(f"the fields {both} both hold a text; choose one by --html-field or --text-field")
    if isinstance(text := content.get("text"), bytes):
        content["text"] = text.decode("utf-8", "replace")
    return Page(url, **content)


def form_of(name: str) -> str | None:
    """Return what a file holds, by its name: LINES, ARRAY, CSV, PARQUET or ARCHIVE; None for anything else."""
    suffix = re.search(r"(\.[a-z]+)(\.gz)?$", name.lower())
    form = _FORMS.get(suffix[1]) if suffix else None
    # Parquet compresses by itself.
    return None if suffix and suffix[2] and form == PARQUET else form


def entries_of(path: Path, fields: Fields = ANY_FIELDS) -> Iterator[Item]:
    """Yield the items of a feed, of the form that its name tells, with their values.

    Raises ConfigurationError where nothing more can be read, and MissingDependencyError for Parquet without pyarrow.
    """
    form, number, what = form_of(path.name), 0, "item"
    try:
        with gzip.open(path) if path.suffix.lower() == GZIP_SUFFIX else path.open("rb") as file:
            if form == LINES:
                yield from _lines_of(file, str(path))
                return
            if form == PARQUET:
                rows, what = _rows_of_parquet(path, file, fields), "row"
            else:
                rows = _rows_of_csv(file) if form == CSV else _members_of(file)
            for number, (raw, head, value) in enumerate(rows, 1):
                yield Item(f"{path}, {what} {number}", raw, head=head, value=value)
    except ConfigurationError:
        raise
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ConfigurationError(f"{path} cannot be decompressed any further: {error}") from error
    except (csv.Error, ValueError, RecursionError) as error:
        problem = f"{path}, {what} {number + 1}: this cannot be read, nor what follows: {error}"
        raise ConfigurationError(problem) from error


def _lines_of(file: Any, name: str, first: bytes = b"") -> Iterator[Item]:
    """Yield what the lines of a file hold, after the `first`, which was read from it; empty ones hold nothing.

    Of a line that is too long, the value is an error, and nothing stands there.
    """
    lines = iter(lambda: file.readline(MOST_BYTES), b"")
    for number, line in enumerate(chain([first], lines) if first else lines, 1):
        place, rest = f"{name}, line {number}", line
        if len(line) >= MOST_BYTES:
            while rest and not rest.endswith(b"\n"):
                rest = file.readline(MOST_BYTES)
            too_long = ValueError(f"a line must be shorter than {MOST_BYTES:,} bytes, and is left out")
            yield Item(place, b"", value=too_long)
        elif line.strip():
            line = line.removeprefix(_BOM) if number == 1 else line
            yield Item(place, line, value=_value_of(line))


def _value_of(line: bytes) -> Any:
    """Return what a line of JSON holds, or the error."""
    try:
        return json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        return error


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
        yield b"".join(taken), header, value
        taken.clear()


def _members_of(file: Any) -> Iterator[_Row]:
    """Yield the members of a JSON array, of which no more than one is in memory. Raises ValueError."""
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
                yield waiting[place:end].encode("utf-8", "surrogateescape"), b"", value
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
        raise MissingDependencyError(f"{path} is Parquet, and that needs pyarrow: pip install pyarrow") from error
    return pa


def _rows_of_parquet(path: Path, stream: Any, fields: Fields) -> Iterator[_Row]:
    pa = pyarrow_for(path)
    left = MOST_BYTES + _MOST_GROWTH * path.stat().st_size
    try:
        # Not a whole row group at once, which may be the whole file.
        file = pa.parquet.ParquetFile(stream, pre_buffer=False, buffer_size=1 << 20)
        schema, wanted = file.schema_arrow, [fields.url, *fields.content.values()]
        columns = [name for name in dict.fromkeys(wanted) if name in schema.names]
        if not columns:
            raise ConfigurationError(
                f"{path} has none of the columns {', '.join(wanted)}, but {', '.join(schema.names)}; --url-field, "
                "--html-field and --text-field name others"
            )
        for batch in file.iter_batches(_ROWS, columns=None if fields.for_filter else columns, use_threads=False):
            for row, value in enumerate(batch.select(columns).to_pylist()):
                left -= _BYTES_A_ROW + sum(len(cell) for cell in value.values() if isinstance(cell, str | bytes))
                if left < 0:
                    raise ValueError(f"it holds more than {_MOST_GROWTH:,} times the bytes of its file")
                yield (batch, row), schema, value
    except (pa.ArrowException, OSError) as error:
        # An error of pyarrow may be one of the system without its number.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise ValueError(error) from error
