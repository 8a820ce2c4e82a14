"""Read pages from files, folders, standard input, JSON lines, web archives and the web."""

from __future__ import annotations

import gzip
import http.client
import json
import sys
import urllib.request
import zlib
from contextlib import contextmanager
from dataclasses import dataclass, replace
from email.message import Message
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from crawldedup.errors import ConfigurationError, MissingDependencyError, PageError
from crawldedup.page_input import PageInput

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import TextIO

    from crawldedup.deduplicator import Deduplicator
    from crawldedup.fingerprinting.fingerprint import Fingerprint

HTML_SUFFIXES: Final = (".html", ".htm", ".xhtml")
TEXT_SUFFIXES: Final = (".txt", ".text", ".md")
LINES_SUFFIXES: Final = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")
ARCHIVE_SUFFIXES: Final = (".warc", ".warc.gz")
_HTML_TYPES: Final = ("text/html", "application/xhtml+xml")
_TEXT_TYPE: Final = "text/plain"
_WEB_SECONDS: Final = 20
_MOST_BYTES: Final = 64 * 1024 * 1024
"""No more is read of a page, and no longer line of a file; what is compared is far shorter."""


@dataclass(frozen=True, slots=True)
class Source(PageInput):
    """One page. `canonical` is the URL that it names as its original, where that is asked for."""

    canonical: str | None = None

    def read(self, dedup: Deduplicator) -> Fingerprint:
        """Return its fingerprint. Raises PageError."""
        return dedup.fingerprint(html=self.html, text=self.text, encoding=self.encoding, url=self.url)


def sources(names: Iterable[str]) -> Iterator[Source]:
    """Yield the pages of files, folders (every HTML and text file below), `-`, .jsonl and .warc files and URLs.

    JSON lines and archives may be compressed (.gz). Raises ConfigurationError for a name without pages and for a file
    that is not what its name says, and MissingDependencyError for an archive without warcio.
    """
    for name in names:
        if name == "-":
            if sys.stdin is None:
                raise ConfigurationError("there is no standard input to read: it is closed")
            yield Source("stdin:", html=sys.stdin.buffer.read(_MOST_BYTES))
        elif name.startswith(("http://", "https://")):
            yield _from_web(name)
        elif Path(name).is_dir():
            yield from _from_folder(Path(name))
        elif Path(name).is_file():
            yield from _from_file(Path(name))
        else:
            raise ConfigurationError(
                f"{name!r} is no file, no folder and no http:// or https:// URL; use - for standard input"
            )


def readable_sources(names: Iterable[str], on_error: Callable[[Exception], None]) -> Iterator[Source]:
    """Yield the pages of each source that can be read; hand the errors of the others to `on_error`."""
    for name in names:
        try:
            yield from sources([name])
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


def lines_of(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the objects of a file of JSON lines, which may be compressed, each after its place in the file.

    Raises ConfigurationError for a line that is no JSON object.
    """
    with _opened(path) as lines:
        for number, line in enumerate(iter(lambda: lines.readline(_MOST_BYTES), ""), 1):
            if not line.strip():
                continue
            where = f"{path}, line {number}"
            if len(line) == _MOST_BYTES:
                raise ConfigurationError(f"{where}: a line must be shorter than {_MOST_BYTES:,} characters")
            try:
                value: Any = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise ConfigurationError(f"{where}: this is not JSON: {error}") from error
            if not isinstance(value, dict):
                raise ConfigurationError(f"{where}: this is no JSON object")
            yield where, value


@contextmanager
def _opened(path: Path) -> Iterator[TextIO]:
    try:
        opened: Callable[..., TextIO] = gzip.open if path.suffix.lower() == ".gz" else Path.open
        with opened(path, "rt", encoding="utf-8", errors="replace") as lines:
            yield lines
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ConfigurationError(f"{path} cannot be decompressed: {error}") from error


def _from_folder(folder: Path) -> Iterator[Source]:
    suffixes = HTML_SUFFIXES + TEXT_SUFFIXES
    paths = [path for path in sorted(folder.rglob("*")) if path.suffix.lower() in suffixes and path.is_file()]
    if not paths:
        raise ConfigurationError(f"the folder {str(folder)!r} holds no pages: no {', '.join(suffixes)}")
    for path in paths:
        yield from _from_file(path)


def _from_file(path: Path) -> Iterator[Source]:
    name = path.name.lower()
    url = path.absolute().as_uri()
    if name.endswith(LINES_SUFFIXES):
        yield from _from_lines(path)
    elif name.endswith(ARCHIVE_SUFFIXES):
        yield from _from_archive(path)
    elif name.endswith(TEXT_SUFFIXES):
        with path.open(encoding="utf-8", errors="replace") as file:
            yield Source(url, text=file.read(_MOST_BYTES))
    else:
        with path.open("rb") as body:
            yield Source(url, html=body.read(_MOST_BYTES))


def _from_lines(path: Path) -> Iterator[Source]:
    for where, page in lines_of(path):
        url, html, text = page.get("url"), page.get("html"), page.get("text")
        if not isinstance(url, str):
            raise ConfigurationError(f'{where}: a page is an object with "url" and "html" or "text"')
        if isinstance(html, str) == isinstance(text, str):
            raise ConfigurationError(f'{where}: a page has either "html" or "text"')
        yield Source(url, html=html, text=text)


def _from_archive(path: Path) -> Iterator[Source]:
    """Yield the successful responses of a web archive that are HTML or plain text."""
    try:
        from warcio.archiveiterator import ArchiveIterator
        from warcio.exceptions import ArchiveLoadFailed
        from warcio.statusandheaders import StatusAndHeadersParserException
    except ImportError as error:
        raise MissingDependencyError(
            f"{path} is a web archive, and reading those needs warcio: pip install warcio"
        ) from error
    with path.open("rb") as stream:
        try:
            for record in ArchiveIterator(stream):
                if record.rec_type == "response" and record.http_headers is not None:
                    yield from _from_record(record)
        except (ArchiveLoadFailed, StatusAndHeadersParserException, EOFError, zlib.error) as error:
            raise ConfigurationError(f"{path} cannot be read as a web archive: {error}") from error


def _from_record(record: Any) -> Iterator[Source]:
    headers = record.http_headers
    declared = Message()
    declared["content-type"] = headers.get_header("Content-Type") or ""
    kind = declared["content-type"].partition(";")[0].strip().lower()
    if not headers.get_statuscode().startswith("2") or kind not in (*_HTML_TYPES, _TEXT_TYPE):
        return
    url = record.rec_headers.get_header("WARC-Target-URI") or ""
    charset = declared.get_content_charset()
    body = record.content_stream().read(_MOST_BYTES)
    if kind != _TEXT_TYPE:
        yield Source(url, html=body, encoding=charset)
        return
    try:
        text = body.decode(charset or "utf-8", "replace")
    except LookupError:  # an unknown charset
        text = body.decode("utf-8", "replace")
    yield Source(url, text=text)


def _from_web(url: str) -> Source:
    try:
        # A text that begins like a URL may still be no URL.
        request = urllib.request.Request(url, headers={"User-Agent": "crawldedup"})
        with urllib.request.urlopen(request, timeout=_WEB_SECONDS) as response:
            body: bytes = response.read(_MOST_BYTES)
            return Source(response.url, html=body, encoding=response.headers.get_content_charset())
    except (http.client.HTTPException, OSError, ValueError) as error:
        raise PageError("unreachable", f"{url} cannot be fetched: {error}") from error
