"""Log which lines of a site aren't compared because their numbers change with every load."""

import logging
from collections.abc import Iterable
from typing import Final

from scrapy.crawler import Crawler

from crawldedup.reading.volatile import shape_of
from crawldedup.scrapy_plugin.crawl_journal import CrawlJournal
from crawldedup.scrapy_plugin.signals import say
from crawldedup.text import printable

_MOST_KINDS: Final = 200


class LeftOutLines:
    """Logs each kind of left-out line once, and at most 200 kinds."""

    def __init__(self, crawler: Crawler, journal: CrawlJournal) -> None:
        self._crawler = crawler
        self._journal = journal
        self._told: set[tuple[str, str]] = set()  # Kinds of lines, by site.

    def tell(self, site: str, lines: Iterable[str]) -> None:
        """Log the left-out lines of a page, except for kinds that have been logged before."""
        for line in lines:
            kind = (site, shape_of(line))
            if kind in self._told or len(self._told) >= _MOST_KINDS:
                continue
            self._told.add(kind)
            what = (
                f"ignores the numbers that always change in a line on {site}: {printable(line)!r}"
            )
            say(self._crawler, logging.INFO, what)
            self._journal.put({"volatile": f"{site}: {printable(line)}"})
