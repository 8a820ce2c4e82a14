"""Act on walls: say so once, and ask for pages again, or end the crawl, where that was asked for."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from scrapy.downloadermiddlewares.retry import get_retry_request

from crawldedup.printable import printable
from crawldedup.scrapy_plugin import signals
from crawldedup.scrapy_plugin.runtime.browser import close_browser_page
from crawldedup.scrapy_plugin.runtime.failures import begin_to_close
from crawldedup.scrapy_plugin.runtime.walls import Walls

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from crawldedup.scrapy_plugin.runtime.walls import Suspicion
    from crawldedup.scrapy_plugin.stats import CrawlStats
    from crawldedup.verdict import Verdict

logger = logging.getLogger(__name__)

WALL_REASON: Final = "crawldedup_wall"

_CONSEQUENCES: Final = {
    "warn": "CRAWLDEDUP_WALL is 'warn': the crawl goes on.",
    "retry": "CRAWLDEDUP_WALL is 'retry': its copies are asked for again later.",
    "close": "CRAWLDEDUP_WALL is 'close': the crawl ends.",
}


class WallGuard:
    """Looks for walls among the judged pages of a crawl. `action` is the value of ``CRAWLDEDUP_WALL``."""

    def __init__(self, crawler: Crawler, stats: CrawlStats, action: str) -> None:
        self._crawler = crawler
        self._stats = stats
        self._action = action
        self._walls = Walls()
        self._closing: object | None = None

    async def judged(self, request: Request, verdict: Verdict, face: int = 0) -> Request | None:
        """Note a judged page; `face` is as in `Judged`.

        Returns the request that takes its place if the page is to be asked for again.
        """
        if self._action == "ignore":
            return None
        if (suspicion := self._walls.add(verdict, face)) is not None:
            await self._suspect(suspicion)
        if self._action != "retry" or not self._walls.has(verdict, face) or request.meta.get("dont_retry"):
            return None
        assert self._crawler.spider is not None  # responses come to open spiders only
        again = get_retry_request(request, spider=self._crawler.spider, reason=WALL_REASON)
        if again is not None:
            self._stats.wall("retried")
            await close_browser_page(request, errback_is_told=False)
        return again

    async def _suspect(self, suspicion: Suspicion) -> None:
        self._stats.wall("suspected")
        logger.warning(
            "crawldedup: %d of the last %d pages are copies of %s. Is it a login form, a ban, a soft 404 or a consent "
            "page? %s",
            round(suspicion.share * suspicion.window),
            suspicion.window,
            printable(suspicion.original),
            _CONSEQUENCES[self._action],
            extra={"spider": self._crawler.spider},
        )
        await signals.send(signals.wall_suspected, self._crawler, **suspicion._asdict())
        if self._action == "close" and self._closing is None:
            self._closing = begin_to_close(self._crawler, WALL_REASON)
