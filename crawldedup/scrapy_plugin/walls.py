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

logger = logging.getLogger(__name__)

WALL_REASON: Final = "crawldedup_wall"

WINDOWS: Final = ((100, 0.6), (500, 0.3))
"""So many of the last judged pages, and the share of them that makes an original suspect.

The first finds a wall before all of a site, the second one before each third page. A template that honest pages share
stays below: 2,000 pages of a calendar, one after the other, came to 35 of 100 and 123 of 500.
"""

MOST_SUSPECTED: Final = 100
"""So many originals are suspected in one crawl, and no more."""

_CONSEQUENCES: Final = {
    "warn": "CRAWLDEDUP_WALL is 'warn': the crawl goes on.",
    "close": "CRAWLDEDUP_WALL is 'close': the crawl ends.",
}


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
        key = _wall_key(verdict, digest)
        copy = None if key is None else (key, hash(verdict.url))
        full = [window for window in self._windows if window.add(copy)]
        if key is None or not full or key in self._suspected or len(self._suspected) == MOST_SUSPECTED:
            return None
        self._suspected.add(key)
        original = verdict.original if verdict.is_duplicate else None
        return Suspicion(original or verdict.url, full[0].share_of(key), full[0].pages())


class WallGuard:
    """Says once of each wall what is suspected, and ends the crawl with the `action` "close"."""

    def __init__(self, crawler: Crawler, stats: CrawlStats, action: str) -> None:
        self._crawler = crawler
        self._stats = stats
        self._action = action
        self._walls = Walls()
        self._closing: object | None = None

    async def judged(self, verdict: Verdict, digest: int) -> None:
        """Note a judged page."""
        if self._action == "ignore" or (suspicion := self._walls.add(verdict, digest)) is None:
            return
        self._stats.wall()
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


def _wall_key(verdict: Verdict, digest: int) -> int | None:
    """Return what the pages of one wall share: their original or, where a lasting index knows them, their text."""
    if verdict.is_duplicate:
        return None if verdict.original is None else hash(verdict.original)
    return hash(("text", digest)) if verdict.kind is Kind.REVISIT and digest else None


class _Window:
    def __init__(self, size: int, share: float) -> None:
        self._size = size
        self._needed = size * share
        self._recent: deque[tuple[int, int] | None] = deque()
        self._visits: Counter[tuple[int, int]] = Counter()
        self._urls: Counter[int] = Counter()

    def pages(self) -> int:
        return len(self._recent)

    def share_of(self, original: int) -> float:
        return self._urls[original] / len(self._recent)

    def add(self, copy: tuple[int, int] | None) -> bool:
        """Note an original and the URL of its copy, or None. Returns True if it has attracted its share."""
        self._recent.append(copy)
        if len(self._recent) > self._size:
            self._leave(self._recent.popleft())
        if copy is None:
            return False
        self._visits[copy] += 1
        if self._visits[copy] == 1:
            self._urls[copy[0]] += 1
        return self._urls[copy[0]] >= self._needed

    def _leave(self, copy: tuple[int, int] | None) -> None:
        if copy is None:
            return
        self._visits[copy] -= 1
        if not self._visits[copy]:
            del self._visits[copy]
            self._urls[copy[0]] -= 1
            if not self._urls[copy[0]]:
                del self._urls[copy[0]]
