"""Where pages come from beside a crawl: files, folders, standard input, JSON lines, web archives, and the web."""

from __future__ import annotations

import gzip
import http.client
import json
import sys
import urllib.request
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import Message
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from crawldedup.errors import ConfigurationError, MissingDependencyError, PageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO

    from crawldedup.fingerprinting.fingerprint import Fingerprint
    from crawldedup.page import PageReader

HTML_SUFFIXES: Final = (".html", ".htm", ".xhtml")
TEXT_SUFFIXES: Final = (".txt", ".text", ".md")
LINES_SUFFIXES: Final = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")
ARCHIVE_SUFFIXES: Final = (".warc", ".warc.gz")
_HTML_TYPES: Final = ("text/html", "application/xhtml+xml")
_TEXT_TYPE: Final = "text/plain"
_WEB_SECONDS: Final = 20
_WEB_BYTES: Final = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Source:
    """One page that was named: HTML or text, under a URL."""

    url: str
    html: bytes | str | None = None
    text: str | None = None
    encoding: str | None = None

    def read(self, reader: PageReader) -> Fingerprint:
        """Its fingerprint. Raises PageError."""
        if self.text is not None:
            return reader.read_text(self.text)
        return reader.read(self.html or b"", self.encoding)


def sources(names: list[str]) -> Iterator[Source]:
    """The pages of files, folders (every HTML and text file below), `-`, .jsonl and .warc files and http(s) URLs.

    JSON lines and archives may be compressed (.gz). Raises ConfigurationError for a name that leads nowhere and
    for a file that is not what its name says, and MissingDependencyError for an archive without warcio.
    """
    for name in names:
        if name == "-":
            yield Source("stdin:", html=standard_input().read())
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


def single_source(name: str) -> Source:
    """The one page a name stands for. Raises ConfigurationError if there are none or several."""
    found = list(sources([name]))
    if len(found) != 1:
        raise ConfigurationError(f"{name!r} holds {len(found)} pages; name exactly one")
    return found[0]


def standard_input() -> BinaryIO:
    """The bytes that are handed to the program. Raises ConfigurationError if it was started without."""
    if sys.stdin is None:
        raise ConfigurationError("there is no standard input to read: it is closed")
    return sys.stdin.buffer


def lines_of(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a file of JSON lines, which may be compressed, each with where it stands.

    Raises ConfigurationError for a line that is no JSON object.
    """
    with _opened(path) as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            where = f"{path}, line {number}"
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
        if path.suffix.lower() == ".gz":
            with gzip.open(path, "rt", encoding="utf-8", errors="replace") as lines:
                yield lines
        else:
            with path.open(encoding="utf-8", errors="replace") as lines:
                yield lines
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ConfigurationError(f"{path} cannot be decompressed: {error}") from error


def _from_folder(folder: Path) -> Iterator[Source]:
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() in HTML_SUFFIXES + TEXT_SUFFIXES and path.is_file():
            yield from _from_file(path)


def _from_file(path: Path) -> Iterator[Source]:
    name = path.name.lower()
    url = path.absolute().as_uri()
    if name.endswith(LINES_SUFFIXES):
        yield from _from_lines(path)
    elif name.endswith(ARCHIVE_SUFFIXES):
        yield from _from_archive(path)
    elif name.endswith(TEXT_SUFFIXES):
        yield Source(url, text=path.read_text("utf-8", "replace"))
    else:
        yield Source(url, html=path.read_bytes())


def _from_lines(path: Path) -> Iterator[Source]:
    for where, page in lines_of(path):
        url, html, text = page.get("url"), page.get("html"), page.get("text")
        if not isinstance(url, str):
            raise ConfigurationError(f'{where}: a page is an object with "url" and "html" or "text"')
        if isinstance(html, str) == isinstance(text, str):
            raise ConfigurationError(f'{where}: a page has either "html" or "text"')
        yield Source(url, html=html, text=text)


def _from_archive(path: Path) -> Iterator[Source]:
    """The pages of a web archive: its successful responses that are HTML or plain text."""
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
    body = record.content_stream().read(_WEB_BYTES)
    if kind == _TEXT_TYPE:
        yield Source(url, text=_decoded(body, charset))
    else:
        yield Source(url, html=body, encoding=charset)


def _decoded(body: bytes, charset: str | None) -> str:
    try:
        return body.decode(charset or "utf-8", "replace")
    except LookupError:  # a charset nobody knows
        return body.decode("utf-8", "replace")


def _from_web(url: str) -> Source:
    try:
        # Not every text that begins like a URL is one.
        request = urllib.request.Request(url, headers={"User-Agent": "crawldedup"})
        with urllib.request.urlopen(request, timeout=_WEB_SECONDS) as response:
            body: bytes = response.read(_WEB_BYTES)
            return Source(response.url, html=body, encoding=response.headers.get_content_charset())
    except (http.client.HTTPException, OSError, ValueError) as error:
        raise PageError("unreachable", f"{url} cannot be fetched: {error}") from error
