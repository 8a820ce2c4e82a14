"""Read pages from files, folders, standard input, feeds, web archives, sitemaps and the web."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from crawldedup.commands.feeds import Fields, pages_of, pages_of_lines, refuse
from crawldedup.commands.reading.archives import captures_of
from crawldedup.commands.reading.entries import ARCHIVE, BOM, MOST_BYTES, form_of, lines_from, value_of
from crawldedup.commands.web import SCHEMES, fetched, is_sitemap, urls_of_sitemap
from crawldedup.errors import ConfigurationError, PageError
from crawldedup.page import Page

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from crawldedup.commands.feeds import Item, OnError
    from crawldedup.deduplicator import Deduplicator
    from crawldedup.fingerprinting.fingerprint import Fingerprint

HTML_SUFFIXES: Final = (".html", ".htm", ".xhtml")
TEXT_SUFFIXES: Final = (".txt", ".text", ".md")
PAGE_SUFFIXES: Final = HTML_SUFFIXES + TEXT_SUFFIXES
ANY_FIELDS: Final = Fields()


@dataclass(frozen=True, slots=True)
class Source(Page):
    """One page. `canonical` is the URL that it names as its original, where that is asked for."""

    canonical: str | None = None

    def read(self, dedup: Deduplicator) -> Fingerprint:
        """Return its fingerprint. Raises PageError."""
        return dedup.fingerprint(html=self.html, text=self.text, encoding=self.encoding, url=self.url)


def sources(names: Iterable[str], fields: Fields = ANY_FIELDS, on_error: OnError = refuse) -> Iterator[Source]:
    """Yield the pages of files, folders (every HTML and text file below), `-`, feeds, web archives, sitemaps and URLs.

    `-` is standard input: JSON lines if the first is a JSON object, else one page.
    `fields` are those of feeds. `on_error` takes the errors of their items, and of the records of archives. Feeds and
    archives may be compressed (.gz). Raises ConfigurationError for a name without pages and for a file that is not what
    its name says, and MissingDependencyError for an archive without warcio and for Parquet without pyarrow.
    """
    for name in names:
        for each in urls_of_sitemap(name) if is_sitemap(name) else [name]:
            yield from _pages_of(each, fields, on_error)


def _pages_of(name: str, fields: Fields, on_error: OnError) -> Iterator[Source]:
    if name == "-":
        yield from _from_standard_input(fields, on_error)
    elif name.startswith(SCHEMES):
        body, url, charset = fetched(name)
        yield Source(url, html=body, encoding=charset)
    elif Path(name).is_dir():
        yield from _from_folder(Path(name), on_error)
    elif Path(name).is_file():
        yield from _from_file(Path(name), fields, on_error)
    else:
        raise ConfigurationError(
            f"{name!r} is no file, no folder and no http:// or https:// URL; use - for standard input"
        )


def readable_sources(names: Iterable[str], on_error: OnError, fields: Fields = ANY_FIELDS) -> Iterator[Source]:
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


def single_source(name: str) -> Source:
    """Return the one page of a name. Raises ConfigurationError if there are several."""
    found = list(sources([name]))
    if len(found) != 1:
        raise ConfigurationError(f"{name!r} holds {len(found)} pages; name exactly one")
    return found[0]


def under_url(pages: Iterable[Source], url: str | None) -> Iterator[Source]:
    """Yield the pages, or one page under another URL. Raises ConfigurationError if a URL is given to several."""
    if not url:
        yield from pages
        return
    # Two suffice to refuse them, before the first is remembered.
    found = list(islice(pages, 2))
    if len(found) > 1:
        raise ConfigurationError("--url names one page, but there are several")
    yield from (replace(page, url=url) for page in found)


def lines_of_standard_input(fields: Fields, on_error: OnError) -> Iterator[Source]:
    """Yield the pages of JSON lines. Raises ConfigurationError for anything else."""
    lines = lines_from(_standard_input(), "standard input")
    yield from map(_source_of, pages_of_lines(lines, "standard input", fields, on_error))


def _standard_input() -> BinaryIO:
    if sys.stdin is None:
        raise ConfigurationError("there is no standard input to read: it is closed")
    return sys.stdin.buffer


def _from_standard_input(fields: Fields, on_error: OnError) -> Iterator[Source]:
    """Yield the pages of JSON lines, or the one page that anything else is."""
    body = _standard_input()
    first = body.readline(MOST_BYTES)
    if isinstance(value_of(first.removeprefix(BOM)), dict):
        lines = lines_from(body, "standard input", first)
        yield from map(_source_of, pages_of_lines(lines, "standard input", fields, on_error))
    else:
        yield Source("stdin:", html=first + body.read(MOST_BYTES - len(first)))


def _source_of(item: Item) -> Source:
    return Source(item.url, html=item.html, text=item.text, encoding=item.encoding)


def pages_below(folder: Path, on_error: OnError = refuse) -> list[Path]:
    """Return the HTML and text files below a folder, sorted. Hand to `on_error` the folders that cannot be listed."""
    walked = os.walk(folder, onerror=on_error)
    paths = (Path(parent, name) for parent, _, names in walked for name in names)
    return sorted(path for path in paths if path.suffix.lower() in PAGE_SUFFIXES and path.is_file())


def _from_folder(folder: Path, on_error: OnError) -> Iterator[Source]:
    paths = pages_below(folder, on_error)
    if not paths:
        raise ConfigurationError(f"the folder {str(folder)!r} holds no pages: no {', '.join(PAGE_SUFFIXES)}")
    for path in paths:
        try:
            yield from _from_file(path)
        except OSError as error:
            on_error(error)


def _from_file(path: Path, fields: Fields = ANY_FIELDS, on_error: OnError = refuse) -> Iterator[Source]:
    url = path.absolute().as_uri()
    form = form_of(path.name)
    if form == ARCHIVE:
        yield from map(_source_of, captures_of(path, on_error))
    elif form is not None:
        yield from map(_source_of, pages_of(path, fields, on_error))
    elif path.name.lower().endswith(TEXT_SUFFIXES):
        with path.open(encoding="utf-8", errors="replace") as file:
            yield Source(url, text=file.read(MOST_BYTES))
    else:
        with path.open("rb") as body:
            yield Source(url, html=body.read(MOST_BYTES))
