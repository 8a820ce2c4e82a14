"""``CRAWLDEDUP_POSTPONE``: what promises new content is fetched first. Nothing is skipped."""

import re
from collections import deque
from typing import Final, Self

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Response
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware

from crawldedup.reading.volatile import put_last
from crawldedup.scrapy_plugin import signals
from crawldedup.scrapy_plugin.failures import crawl_options
from crawldedup.scrapy_plugin.policy import VERDICT_KEY
from crawldedup.verdict import Verdict

_PAGES: Final = 20
"""So many pages of a pattern that are all copies tell that others of it will be."""
_MOST_PATTERNS: Final = 10_000
_BEHIND_LINKS: Final = 10  # The priority of links on a duplicate is lower by this,
_BEHIND_ALL: Final = 20  # and that of a pattern of copies by this.
_WORD: Final = re.compile(r"[a-z.]{1,20}")


class PostponeMiddleware(BaseSpiderMiddleware):
    """Lets requests wait behind all others that were found on a duplicate, or whose pattern of URLs has led to copies.

    An endless calendar or a maze of sessions comes last, so a crawl that ends early has found more.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._recent: dict[str, deque[bool]] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Build it from Scrapy's settings. Raises NotConfigured if it is not wanted, or the settings are wrong."""
        with crawl_options(crawler) as options:
            if not options.postpone:
                raise NotConfigured
        middleware = cls(crawler)
        crawler.signals.connect(middleware.page_judged, signal=signals.page_judged)
        return middleware

    def page_judged(self, verdict: Verdict) -> None:
        """Note whether a page of a pattern was a copy."""
        pattern = pattern_of(verdict.url)
        recent = self._recent.get(pattern, deque(maxlen=_PAGES))
        recent.append(verdict.is_duplicate)
        put_last(self._recent, pattern, recent, _MOST_PATTERNS)

    def get_processed_request(self, request: Request, response: Response | None) -> Request:
        """Return a request that a page has led to, with its priority."""
        verdict = response.meta.get(VERDICT_KEY) if response is not None and response.request else None
        recent = self._recent.get(pattern_of(request.url), ())
        behind = _BEHIND_LINKS * (verdict is not None and verdict.is_duplicate)
        behind += _BEHIND_ALL * (len(recent) == _PAGES and all(recent))
        if behind:
            self.crawler.stats.inc_value("crawldedup/postponed")
        return request.replace(priority=request.priority - behind) if behind else request


def pattern_of(url: str) -> str:
    """Return the pattern of a URL: its host, the plain words of its path, and the names of its parameters."""
    address, _, query = url.partition("?")
    scheme, _, host, *parts = [*address.split("/"), "", ""]
    path = "/".join(part if _WORD.fullmatch(part) else "*" for part in parts)
    return f"{scheme}{host}/{path}?{'&'.join(sorted(part.partition('=')[0] for part in query.split('&')))}"
