"""Where the command line gets pages from: files, folders, standard input, JSON lines, and the web."""

from __future__ import annotations

import http.client
import json
import sys
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from crawldedup.errors import ConfigurationError, PageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawldedup.hashing.fingerprint import Fingerprint
    from crawldedup.page import PageReader

HTML_SUFFIXES: Final = (".html", ".htm", ".xhtml")
TEXT_SUFFIXES: Final = (".txt", ".text", ".md")
LINES_SUFFIXES: Final = (".jsonl", ".ndjson")
_WEB_SECONDS: Final = 20
_WEB_BYTES: Final = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Source:
    """One page that was named on the command line: HTML or text, under a URL."""

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
    """The pages of files, folders (every HTML and text file below), `-`, .jsonl files and http(s) URLs.

    Raises ConfigurationError for a name that leads nowhere.
    """
    for name in names:
        if name == "-":
            yield Source("stdin:", html=sys.stdin.buffer.read())
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


def _from_folder(folder: Path) -> Iterator[Source]:
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() in HTML_SUFFIXES + TEXT_SUFFIXES and path.is_file():
            yield from _from_file(path)


def _from_file(path: Path) -> Iterator[Source]:
    suffix = path.suffix.lower()
    url = path.absolute().as_uri()
    if suffix in LINES_SUFFIXES:
        yield from _from_lines(path)
    elif suffix in TEXT_SUFFIXES:
        yield Source(url, text=path.read_text("utf-8", "replace"))
    else:
        yield Source(url, html=path.read_bytes())


def _from_lines(path: Path) -> Iterator[Source]:
    with path.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield _from_object(f"{path}, line {number}", line)


def _from_object(where: str, line: str) -> Source:
    try:
        page: Any = json.loads(line)
    except ValueError as error:
        raise ConfigurationError(f"{where}: this is not JSON: {error}") from error
    if not isinstance(page, dict) or not isinstance(page.get("url"), str):
        raise ConfigurationError(f'{where}: a page is an object with "url" and "html" or "text"')
    html, text = page.get("html"), page.get("text")
    if isinstance(html, str) == isinstance(text, str):
        raise ConfigurationError(f'{where}: a page has either "html" or "text"')
    return Source(page["url"], html=html, text=text)


def _from_web(url: str) -> Source:
    request = urllib.request.Request(url, headers={"User-Agent": "crawldedup"})
    try:
        with urllib.request.urlopen(request, timeout=_WEB_SECONDS) as response:
            body: bytes = response.read(_WEB_BYTES)
            return Source(response.url, html=body, encoding=response.headers.get_content_charset())
    except (http.client.HTTPException, OSError, ValueError) as error:
        raise PageError("unreachable", f"{url} cannot be fetched: {error}") from error
