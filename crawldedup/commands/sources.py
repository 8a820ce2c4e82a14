"""Read pages from files, folders, standard input, feeds, web archives, sitemaps and the web."""

import http.client
import os
import sys
import urllib.request
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final

from lxml import etree

from crawldedup.commands.archives import captures_of
from crawldedup.commands.feeds import (
    ARCHIVE,
    BOM,
    MOST_BYTES,
    Fields,
    OnError,
    form_of,
    lines_from,
    pages_of,
    refuse,
    value_of,
)
from crawldedup.errors import ConfigurationError, PageError
from crawldedup.page import Page

HTML_SUFFIXES: Final = (".html", ".htm", ".xhtml")
TEXT_SUFFIXES: Final = (".txt", ".text", ".md")
PAGE_SUFFIXES: Final = HTML_SUFFIXES + TEXT_SUFFIXES
ANY_FIELDS: Final = Fields()
STDIN: Final = "standard input"
SCHEMES: Final = ("http://", "https://")
_SITEMAP_SUFFIXES: Final = (".xml", ".xml.gz")
_SECONDS: Final = 20
_GZIP: Final = b"\x1f\x8b"
# What the protocol allows for one file, and how deep indexes of sitemaps may lead.
_MOST_URLS: Final = 50_000
_LEVELS: Final = 3


def sources(names: Iterable[str], fields: Fields = ANY_FIELDS, on_error: OnError = refuse) -> Iterator[Page]:
    """Yield the pages of files, folders (every HTML and text file below), `-`, feeds, web archives, sitemaps and URLs.

    `-` is standard input: JSON lines if the first is a JSON object, else one page.
    `fields` are those of feeds. `on_error` takes the errors of their items, and of the records of archives. Feeds and
    archives may be compressed (.gz). Raises ConfigurationError for a name without pages and for a file that is not what
    its name says, and MissingDependencyError for an archive without warcio and for Parquet without pyarrow.
    """
    for name in names:
        for each in urls_of_sitemap(name) if is_sitemap(name) else [name]:
            yield from _pages_of(each, fields, on_error)


def _pages_of(name: str, fields: Fields, on_error: OnError) -> Iterator[Page]:
    if name == "-":
        yield from _from_standard_input(fields, on_error)
    elif name.startswith(SCHEMES):
        body, url, charset = fetched(name)
        yield Page(url, html=body, encoding=charset)
    elif Path(name).is_dir():
        yield from _from_folder(Path(name), on_error)
    elif Path(name).is_file():
        yield from _from_file(Path(name), fields, on_error)
    else:
        raise ConfigurationError(
            f"{name!r} is no file, no folder and no http:// or https:// URL; use - for standard input"
        )


def readable_sources(names: Iterable[str], on_error: OnError, fields: Fields = ANY_FIELDS) -> Iterator[Page]:
    """Yield the pages of each source and item that can be read; hand the errors of the others to `on_error`."""
    for name in names:
        try:
            if is_sitemap(name):
                # One page of a site that is not there must not hide the others.
                yield from readable_sources(urls_of_sitemap(name), on_error)
            else:
                yield from sources([name], fields, on_error)
        except (ConfigurationError, PageError, OSError, UnicodeError) as error:
            on_error(error)


def single_source(name: str) -> Page:
    """Return the one page of a name. Raises ConfigurationError if there are several."""
    found = list(sources([name]))
    if len(found) != 1:
        raise ConfigurationError(f"{name!r} holds {len(found)} pages; name exactly one")
    return found[0]


def under_url(pages: Iterable[Page], url: str | None) -> Iterator[Page]:
    """Yield the pages, or one page under another URL. Raises ConfigurationError if a URL is given to several."""
    if not url:
        yield from pages
        return
    # Two suffice to refuse them, before the first is remembered.
    found = list(islice(pages, 2))
    if len(found) > 1:
        raise ConfigurationError("--url names one page, but there are several")
    yield from (replace(page, url=url) for page in found)


def lines_of_standard_input(fields: Fields, on_error: OnError) -> Iterator[Page]:
    """Yield the pages of JSON lines. Raises ConfigurationError for anything else."""
    return pages_of(lines_from(standard_input(), STDIN), STDIN, fields, on_error)


def standard_input() -> BinaryIO:
    """Return standard input, for bytes. Raises ConfigurationError if it is closed."""
    if sys.stdin is None:
        raise ConfigurationError("there is no standard input to read: it is closed")
    return sys.stdin.buffer


def _from_standard_input(fields: Fields, on_error: OnError) -> Iterator[Page]:
    """Yield the pages of JSON lines, or the one page that anything else is."""
    body = standard_input()
    first = body.readline(MOST_BYTES)
    if isinstance(value_of(first.removeprefix(BOM)), dict):
        yield from pages_of(lines_from(body, STDIN, first), STDIN, fields, on_error)
    else:
        yield Page("stdin:", html=first + body.read(MOST_BYTES - len(first)))


def pages_below(folder: Path, on_error: OnError = refuse) -> list[Path]:
    """Return the HTML and text files below a folder, sorted. Hand to `on_error` the folders that cannot be listed."""
    walked = os.walk(folder, onerror=on_error)
    paths = (Path(parent, name) for parent, _, names in walked for name in names)
    return sorted(path for path in paths if path.suffix.lower() in PAGE_SUFFIXES and path.is_file())


def _from_folder(folder: Path, on_error: OnError) -> Iterator[Page]:
    paths = pages_below(folder, on_error)
    if not paths:
        raise ConfigurationError(f"the folder {str(folder)!r} holds no pages: no {', '.join(PAGE_SUFFIXES)}")
    for path in paths:
        try:
            yield from _from_file(path)
        except OSError as error:
            on_error(error)


def _from_file(path: Path, fields: Fields = ANY_FIELDS, on_error: OnError = refuse) -> Iterator[Page]:
    url = path.absolute().as_uri()
    form = form_of(path.name)
    if form == ARCHIVE:
        yield from captures_of(path, on_error)
    elif form is not None:
        yield from pages_of(path, str(path), fields, on_error)
    elif path.name.lower().endswith(TEXT_SUFFIXES):
        with path.open(encoding="utf-8", errors="replace") as file:
            yield Page(url, text=file.read(MOST_BYTES))
    else:
        with path.open("rb") as body:
            yield Page(url, html=body.read(MOST_BYTES))


def fetched(url: str) -> tuple[bytes, str, str | None]:
    """Return the body at a URL, the URL that it came from in the end, and its charset. Raises PageError."""
    try:
        # A text that begins like a URL may still be no URL.
        request = urllib.request.Request(url, headers={"User-Agent": "crawldedup"})
        with urllib.request.urlopen(request, timeout=_SECONDS) as response:
            return response.read(MOST_BYTES), response.url, response.headers.get_content_charset()
    except (http.client.HTTPException, OSError, ValueError) as error:
        raise PageError("unreachable", f"{url} cannot be fetched: {error}") from error


def is_sitemap(name: str) -> bool:
    """Return whether a file or URL is a sitemap, by its name."""
    return name.partition("?")[0].lower().endswith(_SITEMAP_SUFFIXES)


def urls_of_sitemap(name: str, levels: int = _LEVELS) -> Iterator[str]:
    """Yield the URLs of a sitemap, or of those that it lists. Raises ConfigurationError, PageError and OSError."""
    body = fetched(name)[0] if name.startswith(SCHEMES) else Path(name).read_bytes()
    try:
        # A few kilobytes can hold gigabytes.
        body = zlib.decompressobj(wbits=31).decompress(body, MOST_BYTES) if body.startswith(_GZIP) else body
        parser = etree.XMLParser(recover=True, resolve_entities=False, no_network=True)
        root = etree.fromstring(body, parser)
    except (zlib.error, etree.XMLSyntaxError) as error:
        raise ConfigurationError(f"{name} cannot be read as a sitemap: {error}") from error
    kind = "" if root is None else etree.QName(root).localname
    if kind not in ("urlset", "sitemapindex"):
        raise ConfigurationError(f"{name} is no sitemap: it begins with <{kind}>")
    found = (str(place.text or "").strip() for place in root.iterfind("{*}*/{*}loc"))
    for url in islice(filter(None, found), _MOST_URLS):
        if kind == "urlset":
            yield url
        elif levels > 1:
            yield from urls_of_sitemap(url, levels - 1)
