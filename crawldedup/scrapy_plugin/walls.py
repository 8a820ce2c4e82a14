"""Recognise walls: one page that a site answers with in place of many, such as a login form, a ban or a soft 404."""

import logging
from collections import OrderedDict, deque
from itertools import islice
from typing import Final

from scrapy.crawler import Crawler
from scrapy.exceptions import CloseSpider

from crawldedup.errors import printable
from crawldedup.names import site_of
from crawldedup.scrapy_plugin import signals
from crawldedup.scrapy_plugin.stats import CrawlStats
from crawldedup.verdict import Kind, Verdict

WALL_REASON: Final = "crawldedup_wall"

WINDOWS: Final = ((100, 0.6), (500, 0.3))
"""So many of the last judged pages, and the share of them that makes an original suspect.

The first finds a wall before all of a site, the second one before each third page. A template that honest pages share
stays below: 2,000 pages of a calendar, one after the other, came to 35 of 100 and 123 of 500.
"""
MOST_SUSPECTED: Final = 100
"""So many originals are suspected in one crawl, and no more."""

_MOST_SITES: Final = 100


class Walls:
    """The last judged pages of each site: what their walls have in common, and hashes of their URLs.

    Says once of each wall what is suspected. With the `action` "close", `closed` has the sites of which no more is to
    be asked for. A crawl that has met no other ends.
    """

    def __init__(self, crawler: Crawler, stats: CrawlStats, action: str) -> None:
        self._crawler = crawler
        self._stats = stats
        self._action = action
        self._sites: OrderedDict[str, deque[tuple[int | None, int]]] = OrderedDict()
        self._suspected: set[int] = set()
        self.closed: set[str] = set()

    async def judged(self, verdict: Verdict, digest: int) -> None:
        """Note a judged page and the digest of its text; act on what is suspected."""
        if self._action == "ignore" or (suspicion := self.add(verdict, digest)) is None:
            return
        self._stats.count("walls/suspected")
        original, share, window = suspicion
        text = f"{round(share * window)} of the last {window} pages are copies of {printable(original)}."
        question = "Is it a login form, a ban, a soft 404 or a consent page?"
        what = "goes on"
        if self._action == "close":
            self.closed.add(site := site_of(verdict.url))
            what = f"asks for no more of {site}"
        consequence = f"CRAWLDEDUP_WALL is '{self._action}': the crawl {what}."
        signals.say(self._crawler, logging.WARNING, f"{text} {question} {consequence}")
        await signals.send(signals.wall_suspected, self._crawler, original=original, share=share, window=window)

    def spider_idle(self) -> None:
        """Tell why the crawl ends, if walls are all that is left of it. Raises CloseSpider."""
        if self.closed and self.closed >= self._sites.keys():
            raise CloseSpider(WALL_REASON)

    def add(self, verdict: Verdict, digest: int = 0) -> tuple[str, float, int] | None:
        """Note a judged page. Return its original if that is suspected, once for each.

        Behind it stands the share of so many of the last pages that are its copies, each URL counted once.
        """
        key = None
        # What the pages of one wall share: their original or, where a lasting index knows them, their text.
        if verdict.is_duplicate and verdict.original is not None:
            key = hash(verdict.original)
        elif verdict.kind is Kind.REVISIT and digest:
            key = hash(("text", digest))
        site = site_of(verdict.url)
        recent = self._sites.setdefault(site, deque(maxlen=max(size for size, _ in WINDOWS)))
        self._sites.move_to_end(site)
        if len(self._sites) > _MOST_SITES:
            self._sites.popitem(last=False)
        recent.appendleft((key, hash(verdict.url)))
        if key is None or key in self._suspected or len(self._suspected) == MOST_SUSPECTED:
            return None
        for size, share in WINDOWS:
            pages = min(size, len(recent))
            urls = {url for of_page, url in islice(recent, pages) if of_page == key}
            if len(urls) >= share * size:
                self._suspected.add(key)
                original = verdict.original if verdict.is_duplicate else None
                return original or verdict.url, len(urls) / pages, pages
        return None
