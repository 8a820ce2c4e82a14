"""A Scrapy extension that times the journal within a crawl: its stat is in the journal's last line."""

from __future__ import annotations

import time
from functools import wraps
from typing import TYPE_CHECKING, Any

from crawldedup.journal.streams import StreamJournal
from crawldedup.scrapy_plugin.runtime.journal import CrawlJournal

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler

STAT = "crawldedup/journal/seconds"


class JournalMeter:
    """Adds up the processor seconds of the calls for each response, and of the thread that writes to Redis."""

    def __init__(self, crawler: Crawler) -> None:
        assert crawler.stats is not None
        self._stats = crawler.stats
        for owner, name in ((CrawlJournal, "checked"), (CrawlJournal, "unchecked"), (StreamJournal, "_send")):
            setattr(owner, name, self._timed(getattr(owner, name)))

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> JournalMeter:
        return cls(crawler)

    def _timed(self, call: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(call)
        def timed(*arguments: Any, **keywords: Any) -> Any:
            begun = time.thread_time()
            try:
                return call(*arguments, **keywords)
            finally:
                self._stats.set_value(STAT, self._stats.get_value(STAT, 0.0) + time.thread_time() - begun)

        return timed
