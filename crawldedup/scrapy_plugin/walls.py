"""Watch for walls: pages such as a login form that a site sends in response to many requests.

`crawling.walls` decides when to suspect a wall. Before a site is closed, `wall_checks` requests
some of its earlier pages again.
"""

import logging

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest

from crawldedup.aio import Judged
from crawldedup.crawling.walls import Walls
from crawldedup.journal import shown
from crawldedup.scope import site_of
from crawldedup.scrapy_plugin import signals
from crawldedup.scrapy_plugin.crawl_journal import CrawlJournal
from crawldedup.scrapy_plugin.signals import say
from crawldedup.scrapy_plugin.stats import CrawlStats
from crawldedup.scrapy_plugin.wall_checks import WallCheck, WallGuard
from crawldedup.text import printable
from crawldedup.verdict import Kind, is_hardly_apart


class WallWatch:
    """Logs each suspected wall once, and stops crawling sites that answer with one.

    Args:
        crawler: The crawler.
        action: What happens at a wall (the option `wall`).
        stats: The stats of the crawl, which count walls.
        journal: The journal of the crawl, which records them.
    """

    def __init__(
        self, crawler: Crawler, action: str, stats: CrawlStats, journal: CrawlJournal
    ) -> None:
        self._crawler = crawler
        self._action = action
        self._stats = stats
        self._journal = journal
        self._walls = Walls()
        self._guard = WallGuard(crawler)

    @property
    def are_all_that_is_left(self) -> bool:
        """Whether all sites that pages came from lately were closed because of a wall."""
        closed = self._guard.closed
        return bool(closed) and closed >= self._walls.sites.keys()

    def let_pass(self, request: Request) -> None:
        """Let a request pass, or raise IgnoreRequest if its site answers with a wall."""
        if self._guard.closed and site_of(request.url) in self._guard.closed:
            self._stats.count("walls/ignored")
            raise IgnoreRequest("its site answers with a wall, and CRAWLDEDUP_WALL is 'close'")

    def check_of(self, request: Request) -> WallCheck | None:
        """Return the check that a request was made for, or None for other requests."""
        return self._guard.check_of(request)

    async def look_at(self, request: Request, judged: Judged) -> None:
        """Check a page for a wall, and log each suspected wall once.

        If the action is "close", also check whether to close the site.
        """
        verdict = judged.verdict
        if self._action == "ignore":
            return
        read = judged.read
        asked = next(iter(request.meta.get("redirect_urls", ())), None)
        suspicion = self._walls.add(verdict, read.fingerprint.digest, read.marks, asked)
        if suspicion is None:
            is_content = verdict.kind is Kind.NEW and not is_hardly_apart(verdict)
            if self._action == "close" and is_content:
                self._guard.note_content(request, verdict.url)
            return
        self._stats.count("walls/suspected")
        original, share, window, is_one_path = suspicion
        consequence = "goes on"
        # Pages that were kept may be real content, and a suspicion must not lose them.
        if self._action == "close" and (verdict.is_duplicate or verdict.kind is Kind.REVISIT):
            consequence = self._guard.suspect(
                site_of(verdict.url), original, read.fingerprint, is_one_path=is_one_path
            )
        message = (
            f"{round(share * window)} of the last {window} pages read like "
            f"{printable(original)}. Is it a login form, a ban, a soft 404 or a consent page? "
            f"CRAWLDEDUP_WALL is '{self._action}': the crawl {consequence}."
        )
        say(self._crawler, logging.WARNING, message)
        self._journal.put({"wall": shown(original), "share": round(share, 4), "window": window})
        await signals.send(
            signals.wall_suspected, self._crawler, original=original, share=share, window=window
        )
