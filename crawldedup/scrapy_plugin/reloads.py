"""Load a few pages twice, to learn what changes with every load (``CRAWLDEDUP_RELOADS``).

Spiders never see the second response.
"""

from collections import Counter
from typing import Final

from scrapy import Request
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.httpobj import urlparse_cached

from crawldedup.hosts.marks import may_change
from crawldedup.reading.reader import ReadPage
from crawldedup.recent import put_last
from crawldedup.scrapy_plugin.meta import BROWSER_PAGE_KEY
from crawldedup.urls import pattern_of

_RELOAD_KEY: Final = "_crawldedup_reload"
_MOST_PATTERNS: Final = 10_000
"""The maximum number of URL patterns whose pages are counted."""

_RELOADED: Final = range(4, 7)
"""Which pages of a pattern are loaded a second time, counted from 1.

The first pages are often lists.
"""


class Reloads:
    """Chooses the pages to load a second time: a few on each host.

    Args:
        most: The maximum number of pages per host; with 0, none.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._made: Counter[str] = Counter()
        self._met: Counter[str] = Counter()

    def again(self, request: Request, read: ReadPage) -> Request | None:
        """Return the request that loads a page again, or None if that isn't needed."""
        if not self._most or not _may_tell(request, read):
            return None
        host = urlparse_cached(request).netloc
        pattern = pattern_of(request.url)
        put_last(self._met, pattern, self._met[pattern] + 1, _MOST_PATTERNS)
        if self._made[host] >= self._most or self._met[pattern] not in _RELOADED:
            return None
        self._made[host] += 1
        meta = {**request.meta, _RELOAD_KEY: True, "dont_cache": True, "dont_retry": True}
        # No spider made this request, so no spider should have to handle its errors.
        return request.replace(
            meta=meta, dont_filter=True, callback=NO_CALLBACK, errback=lambda _: None
        )


def is_reload(request: Request) -> bool:
    """Return whether a request loads a page for the second time."""
    return bool(request.meta.get(_RELOAD_KEY))


def _may_tell(request: Request, read: ReadPage) -> bool:
    """Return whether a second load of a page could show what changes with every load."""
    changes = bool(read.numbers) or may_change(read.fingerprint.marks)
    return changes and request.method == "GET" and BROWSER_PAGE_KEY not in request.meta
