"""Check a wall before its site is closed: ask again for earlier pages of the site.

Whoever links to one page at seventy addresses, or owns seventy copies on a host that many share,
makes a site look as if it answered with a wall. Only a wall stands in place of pages that had a
content of their own as well.
"""

import logging
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http.request import NO_CALLBACK

from crawldedup.crawling.dated import are_alike
from crawldedup.fingerprinting.bits import Fingerprint
from crawldedup.recent import put_last
from crawldedup.scope import site_of
from crawldedup.scrapy_plugin.signals import say

_SITE_KEY: Final = "_crawldedup_wall"
_FIRST_OF_ALL: Final = 1 << 30
_MOST_SITES: Final = 100
_FIRST: Final = 2  # pages of a site, which are seldom those of others
_LAST: Final = 2


@dataclass(slots=True)
class WallCheck:
    """Earlier pages of a site that are asked for again.

    Attributes:
        wall: The fingerprint of a page of the wall.
        waiting: How many answers are still to come.
        walls: How many read like the wall.
        contents: How many read otherwise.
    """

    wall: Fingerprint
    waiting: int
    walls: int = 0
    contents: int = 0

    @property
    def is_confirmed(self) -> bool:
        """Whether the wall stands in place of the earlier pages."""
        return self.walls > 0 and self.contents == 0

    def add(self, answer: Fingerprint) -> None:
        """Count an answer."""
        if are_alike(self.wall, answer):
            self.walls += 1
        else:
            self.contents += 1


class WallGuard:
    """Decides which sites are asked for nothing more.

    Attributes:
        closed: These sites.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.closed: set[str] = set()
        self._crawler = crawler
        self._contents = Contents()
        self._checks: dict[str, WallCheck] = {}

    def note_content(self, request: Request, url: str) -> None:
        """Note a page that reads like no other one."""
        self._contents.add(request, url)

    def check_of(self, request: Request) -> WallCheck | None:
        """Return the check that a request was made for, if it was."""
        return self._checks.get(request.meta.get(_SITE_KEY, ""))

    def suspect(self, site: str, original: str, wall: Fingerprint, *, is_one_path: bool) -> str:
        """Ask again for earlier pages of a site, if there are any, before it is closed.

        Args:
            site: The site that seems to answer with a wall.
            original: The URL of the page that the others read like.
            wall: The fingerprint of one of them.
            is_one_path: Whether their URLs differ in their queries alone. Anybody can link to one
                page by so many queries, before any other page of its site is known.

        Returns:
            What the crawl does, in words.
        """
        if site in self.closed or site in self._checks:
            return "goes on"
        pages = self._contents.at(site, without=original)
        if not pages and is_one_path:
            return "goes on"
        if not pages:
            self.closed.add(site)
            return f"asks for no more of {site}"
        self._checks[site] = WallCheck(wall, len(pages))
        for page in pages:
            self._ask_again(page, site)
        return f"asks again for {len(pages)} earlier pages of {site}, to see if they are gone"

    def _ask_again(self, page: Request, site: str) -> None:
        meta = {**page.meta, _SITE_KEY: site, "dont_cache": True, "dont_retry": True}
        # Nobody else has asked for it. The end of a check is learned from the errback alone: even
        # of an answer that came, since no spider is to see it.
        again = page.replace(
            meta=meta,
            dont_filter=True,
            priority=_FIRST_OF_ALL,
            callback=NO_CALLBACK,
            errback=lambda _: self._end_one(site),
        )
        assert self._crawler.engine is not None
        self._crawler.engine.crawl(again)

    def _end_one(self, site: str) -> None:
        """Close a site once all of its earlier pages turn out to be gone."""
        check = self._checks[site]
        check.waiting -= 1
        if check.waiting:
            return
        del self._checks[site]
        message = f"Earlier pages of {site} can still be had: the crawl goes on with it."
        if check.is_confirmed:
            self.closed.add(site)
            message = f"Earlier pages of {site} are gone: the crawl asks for no more of it."
        say(self._crawler, logging.WARNING, message)


class Contents:
    """Requests for pages with a content of their own: the first and the last ones of each site."""

    def __init__(self) -> None:
        self._first: dict[str, list[Request]] = {}
        self._last: dict[str, deque[Request]] = {}

    def add(self, request: Request, url: str) -> None:
        """Add a page that reads like no other one."""
        site = site_of(url)
        first = self._first.get(site, [])
        last = self._last.get(site, deque(maxlen=_LAST))
        (first if len(first) < _FIRST else last).append(request)
        put_last(self._first, site, first, _MOST_SITES)
        put_last(self._last, site, last, _MOST_SITES)

    def at(self, site: str, without: str) -> Sequence[Request]:
        """Return requests for pages of a site, except for that of the original of a wall."""
        requests = [*self._first.get(site, ()), *self._last.get(site, ())]
        return [request for request in requests if request.url != without]
