"""Let downloads go on while pages wait for their verdicts."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from scrapy.crawler import Crawler

MOST_BYTES: Final = 5_000_000
"""When the pages that wait hold so many bytes, no slot is lent. Scrapy itself pauses its downloads
when as much waits for callbacks (SCRAPER_SLOT_MAX_ACTIVE_SIZE).
"""


class DownloadSlots:
    """Lends Scrapy the slots of pages that wait for a verdict.

    Scrapy counts a request among its `CONCURRENT_REQUESTS` until the last middleware has passed the
    response on. A page that waits for its verdict asks nothing of its site, but without its slot
    fewer requests than that would be under way. So the total limit is raised by the number of the
    pages that wait: at most to twice its value, and only while they are small. If reading falls
    behind, downloads wait for it.

    No more requests are under way than without: only the pages that wait come on top. Scrapy keeps
    the limits and delays of each site apart from this one, and they stay as they are.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        concurrent = crawler.settings.getint("CONCURRENT_REQUESTS")
        # With 0 there is no limit to raise. With 1 a crawl wants its pages one after the other.
        self._most = concurrent if concurrent > 1 else 0
        self._pages = 0
        self._bytes = 0
        self._lent = 0

    @contextmanager
    def lent(self, size: int) -> Iterator[None]:
        """Lend the slot of a page of `size` bytes while it waits."""
        self._change(1, size)
        try:
            yield
        finally:
            self._change(-1, -size)

    def _change(self, pages: int, size: int) -> None:
        self._pages += pages
        self._bytes += size
        # Scrapy looks at the limit before each request. Another downloader may have none.
        downloader: Any = getattr(self._crawler.engine, "downloader", None)
        if getattr(downloader, "total_concurrency", 0) <= 0:
            return
        wanted = min(self._pages, self._most) if self._bytes < MOST_BYTES else 0
        downloader.total_concurrency += wanted - self._lent
        self._lent = wanted
