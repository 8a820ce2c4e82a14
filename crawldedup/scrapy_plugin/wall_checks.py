"""Make sure that a suspected wall is real before its site is closed: load earlier pages again.

Anyone who links to one page at seventy addresses, or owns seventy copies on a shared host, can make
a site look as if it answered with a wall. But only a real wall also replaces pages that had their
own content before.
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
_FIRST: Final = 2  # pages of a site, which seldom belong to other users
_LAST: Final = 2


@dataclass(slots=True)
class WallCheck:
    """A check in progress: earlier pages of a site are requested again and compared with the wall.

    Attributes:
        wall: The fingerprint of a page of the wall.
        waiting: The number of responses that are still to come.
        walls: The number of responses that read like the wall.
        contents: The number of other responses.
    """

    wall: Fingerprint
    waiting: int
    walls: int = 0
    contents: int = 0

    @property
    def is_confirmed(self) -> bool:
        """Whether there were responses, and all of them were the wall."""
        return self.walls > 0 and self.contents == 0

    def add(self, answer: Fingerprint) -> None:
        """Count the response for an earlier page, as the wall or as content."""
        if are_alike(self.wall, answer):
            self.walls += 1
        else:
            self.contents += 1


class WallGuard:
    """Decides which sites to stop crawling because they answer with a wall.

    Attributes:
        closed: These sites.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.closed: set[str] = set()
        self._crawler = crawler
        self._contents = Contents()
        self._checks: dict[str, WallCheck] = {}

    def note_content(self, request: Request, url: str) -> None:
        """Note a page with content of its own, which can be requested again to check for a wall."""
        self._contents.add(request, url)

    def check_of(self, request: Request) -> WallCheck | None:
        """Return the check that a request belongs to, if any."""
        return self._checks.get(request.meta.get(_SITE_KEY, ""))

    def suspect(self, site: str, original: str, wall: Fingerprint, *, is_one_path: bool) -> str:
        """React to a suspected wall: request earlier pages again, close the site, or just go on.

        Args:
            site: The site that seems to answer with a wall.
            original: The URL of the page that the others read like.
            wall: The fingerprint of one of them.
            is_one_path: Whether their URLs differ only in their queries. Anybody can link to one
                page with many queries before any other page of its site is known.

        Returns:
            What the crawl does now, as part of a sentence.
        """
        if site in self.closed or site in self._checks:
            return "goes on"
        pages = self._contents.at(site, without=original)
        if not pages and is_one_path:
            return "goes on"
        if not pages:
            self.closed.add(site)
            return f"sends no more requests to {site}"
        self._checks[site] = WallCheck(wall, len(pages))
        for page in pages:
            self._ask_again(page, site)
        return f"requests {len(pages)} earlier pages of {site} again, to see if they are gone"

    def _ask_again(self, page: Request, site: str) -> None:
        meta = {**page.meta, _SITE_KEY: site, "dont_cache": True, "dont_retry": True}
        # Nobody else requested it. The errback is what ends a check, even if a response came,
        # because no spider may see that response.
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
        """Note that an earlier page of a site was requested again, and that this request has ended.

        After the last one, the site is closed if all responses were the wall.
        """
        check = self._checks[site]
        check.waiting -= 1
        if check.waiting:
            return
        del self._checks[site]
        message = f"Earlier pages of {site} are still available: the crawl goes on with it."
        if check.is_confirmed:
            self.closed.add(site)
            message = f"Earlier pages of {site} are gone: the crawl sends no more requests to it."
        say(self._crawler, logging.WARNING, message)


class Contents:
    """The first two and last two requests of each site that led to pages with own content."""

    def __init__(self) -> None:
        self._first: dict[str, list[Request]] = {}
        self._last: dict[str, deque[Request]] = {}

    def add(self, request: Request, url: str) -> None:
        """Keep the request for a page with its own content, to repeat it if a wall is suspected."""
        site = site_of(url)
        first = self._first.get(site, [])
        last = self._last.get(site, deque(maxlen=_LAST))
        (first if len(first) < _FIRST else last).append(request)
        put_last(self._first, site, first, _MOST_SITES)
        put_last(self._last, site, last, _MOST_SITES)

    def at(self, site: str, without: str) -> Sequence[Request]:
        """Return the kept requests of a site, except for the page that the wall reads like."""
        requests = [*self._first.get(site, ()), *self._last.get(site, ())]
        return [request for request in requests if request.url != without]
