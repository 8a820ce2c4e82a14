"""Recognise walls: one page that a site answers with in place of many, such as a login form, a ban or a soft 404."""

import logging
from collections import Counter, deque
from typing import Final, NamedTuple

from scrapy.crawler import Crawler

from crawldedup.printable import printable
from crawldedup.scrapy_plugin import signals
from crawldedup.scrapy_plugin.failures import begin_to_close
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

_ENDS: Final = {"warn": "goes on", "close": "ends"}


class Suspicion(NamedTuple):
    """A page, and the share of the last `window` judged pages that are its copies, each URL counted once."""

    original: str
    share: float
    window: int


class Walls:
    """The last judged pages of a crawl, by hashes of their URLs. What it holds is bounded, however long it is."""

    def __init__(self) -> None:
        self._windows = [_Window(size, share) for size, share in WINDOWS]
        self._suspected: set[int] = set()

    def add(self, verdict: Verdict, digest: int = 0) -> Suspicion | None:
        """Note a judged page and the digest of its text. Return what is suspected of its original, once for each."""
        key = None
        # What the pages of one wall share: their original or, where a lasting index knows them, their text.
        if verdict.is_duplicate and verdict.original is not None:
            key = hash(verdict.original)
        elif verdict.kind is Kind.REVISIT and digest:
            key = hash(("text", digest))
        full = [window for window in self._windows if window.add(key, hash(verdict.url))]
        if key is None or not full or key in self._suspected or len(self._suspected) == MOST_SUSPECTED:
            return None
        self._suspected.add(key)
        original = verdict.original if verdict.is_duplicate else None
        pages = len(full[0].recent)
        return Suspicion(original or verdict.url, full[0].urls[key] / pages, pages)


class _Window:
    """The last pages, as keys of walls and hashes of URLs: each URL of a wall counts once."""

    def __init__(self, size: int, share: float) -> None:
        self._size, self._needed = size, size * share
        self.recent: deque[tuple[int | None, int]] = deque()
        self.visits: Counter[tuple[int | None, int]] = Counter()
        self.urls: Counter[int | None] = Counter()

    def add(self, key: int | None, url: int) -> bool:
        """Note a page, and return True if its key has its share."""
        self.recent.append((key, url))
        if len(self.recent) > self._size:
            self._count(self.recent.popleft(), -1)
        self._count((key, url), 1)
        return key is not None and self.urls[key] >= self._needed

    def _count(self, page: tuple[int | None, int], step: int) -> None:
        """Count a page that comes (1) or leaves (-1)."""
        before = self.visits[page]
        self.visits[page] += step
        if not before or not self.visits[page]:
            self.urls[page[0]] += step
        # Counters keep zeros.
        if not self.visits[page]:
            del self.visits[page]
        if not self.urls[page[0]]:
            del self.urls[page[0]]


class WallGuard:
    """Says once of each wall what is suspected, and ends the crawl with the `action` "close"."""

    def __init__(self, crawler: Crawler, stats: CrawlStats, action: str) -> None:
        self._crawler = crawler
        self._stats = stats
        self._action = action
        self._walls = Walls()
        self._closing: object | None = None

    async def judged(self, verdict: Verdict, digest: int) -> None:
        if self._action == "ignore" or (suspicion := self._walls.add(verdict, digest)) is None:
            return
        self._stats.wall()
        copies = round(suspicion.share * suspicion.window)
        text = f"{copies} of the last {suspicion.window} pages are copies of {printable(suspicion.original)}."
        question = "Is it a login form, a ban, a soft 404 or a consent page?"
        consequence = f"CRAWLDEDUP_WALL is '{self._action}': the crawl {_ENDS[self._action]}."
        signals.say(self._crawler, logging.WARNING, f"{text} {question} {consequence}")
        await signals.send(signals.wall_suspected, self._crawler, **suspicion._asdict())
        if self._action == "close" and self._closing is None:
            self._closing = begin_to_close(self._crawler, WALL_REASON)
