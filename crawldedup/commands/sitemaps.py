"""Read the URLs that are listed in sitemaps, and in the sitemaps that these list."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from lxml import etree

from crawldedup.commands.http_bodies import GZIP_MAGIC, gunzipped
from crawldedup.commands.items import MOST_BYTES, OnError, refuse
from crawldedup.commands.packing import unpacked_name
from crawldedup.commands.web import SCHEMES, fetched
from crawldedup.errors import ConfigurationError, PageError
from crawldedup.text import pluralize, printable

# The limit of the sitemap protocol for one file, and how deep sitemap indexes may be nested.
MOST_URLS: Final = 50_000
_LEVELS: Final = 3


def is_sitemap_name(name: str) -> bool:
    """Return whether a file or URL with this name is a sitemap."""
    return unpacked_name(name.partition("?")[0]).endswith(".xml")


def urls_of_sitemap(name: str, on_error: OnError = refuse, levels: int = _LEVELS) -> Iterator[str]:
    """Yield the URLs in a sitemap, and in the sitemaps that it lists.

    Raises ConfigurationError, PageError and OSError. `on_error` takes errors that only affect a
    part of it.
    """
    content = _content_of(name, on_error)
    root = _root_of(name, content, on_error)
    if root is None:
        raise ConfigurationError(f"{name} is not a sitemap: it is not XML")
    kind = etree.QName(root).localname
    if kind not in ("urlset", "sitemapindex"):
        shown = printable(kind, 60)
        raise ConfigurationError(f"{name} is not a sitemap: it begins with <{shown}>")
    if not content.rstrip().endswith(b">"):
        _leave_out_last(root)
    for number, url in enumerate(_urls_in(root, name, on_error)):
        if number == MOST_URLS:
            on_error(
                ConfigurationError(f"{name} has more than {MOST_URLS:,} URLs; the rest is not read")
            )
            return
        if kind == "urlset":
            yield url
        else:
            yield from _urls_of_listed(url, on_error, levels - 1)


def _urls_of_listed(url: str, on_error: OnError, levels: int) -> Iterator[str]:
    if not levels:
        on_error(ConfigurationError(f"{url} is not read: sitemaps list it too many levels deep"))
        return
    try:
        # One that is not there must not hide the others.
        yield from urls_of_sitemap(url, on_error, levels)
    except (ConfigurationError, PageError, OSError) as error:
        on_error(error)


def _content_of(name: str, on_error: OnError) -> bytes:
    content = fetched(name).body if name.startswith(SCHEMES) else Path(name).read_bytes()
    if not content.startswith(GZIP_MAGIC):
        return content
    # A few kilobytes can hold gigabytes.
    unpacked = gunzipped(content, MOST_BYTES)
    if not unpacked.is_whole:
        on_error(ConfigurationError(f"{name} cannot be decompressed to its end"))
    return unpacked.content


def _root_of(name: str, content: bytes, on_error: OnError) -> Any:
    parser = etree.XMLParser(recover=True, resolve_entities=False, no_network=True)
    try:
        root = etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        raise ConfigurationError(f"{name} cannot be read as a sitemap: {error}") from error
    if root is not None and any(
        entry.level == etree.ErrorLevels.FATAL for entry in parser.error_log
    ):
        (first, *_) = parser.error_log
        on_error(ConfigurationError(f"{name} is damaged, and may be read in part: {first.message}"))
    return root


def _leave_out_last(root: Any) -> None:
    """Remove the last URL of a sitemap that is cut off, because it may be incomplete."""
    places = list(root.iterfind("{*}*/{*}loc"))
    if places:
        places[-1].getparent().remove(places[-1])


def _urls_in(root: Any, name: str, on_error: OnError) -> Iterator[str]:
    """Yield the http and https URLs in a sitemap. Others could point to files on this machine."""
    others = 0
    for place in root.iterfind("{*}*/{*}loc"):
        url = str(place.text or "").strip()
        if url.startswith(SCHEMES):
            yield url
        else:
            others += 1
    if others:
        number = pluralize(others, "URL")
        on_error(ConfigurationError(f"{name}: {number} left out: only http and https are read"))
