"""Fetch pages from the web, one at a time, and the URLs of sitemaps."""

from __future__ import annotations

import http.client
import urllib.request
import zlib
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lxml import etree

from crawldedup.commands.reading.entries import MOST_BYTES
from crawldedup.errors import ConfigurationError, PageError

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEMES: Final = ("http://", "https://")
_SITEMAP_SUFFIXES: Final = (".xml", ".xml.gz")
_SECONDS: Final = 20
_GZIP: Final = b"\x1f\x8b"
# What the protocol allows for one file, and how deep indexes of sitemaps may lead.
_MOST_URLS: Final = 50_000
_LEVELS: Final = 3


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
