"""Reorder requests so the most promising URLs come first (``CRAWLDEDUP_POSTPONE``).

Nothing is skipped.
"""

from collections import deque
from collections.abc import Sequence
from typing import Final, Self

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from crawldedup.patterns import Pattern, matches
from crawldedup.recent import put_last
from crawldedup.scrapy_plugin import signals
from crawldedup.scrapy_plugin.responses import is_exempt
from crawldedup.scrapy_plugin.settings import crawl_options, is_interactive
from crawldedup.scrapy_plugin.signals import count
from crawldedup.urls import pattern_of
from crawldedup.verdict import Verdict, is_hardly_apart

_PAGES: Final = 20
"""How many of a pattern's last pages predict whether its next page is a copy."""

_LEVELS: Final = 3
"""By how much the priority of a request is lowered if its pattern leads only to copies."""

_MOST_PATTERNS: Final = 10_000
_LEVEL_KEY: Final = "_crawldedup_level"


class PostponeMiddleware:
    """Lowers the priority of requests for URL patterns whose last pages were mostly copies.

    Pages that were kept apart only by their texts or links count as copies, and so do URLs that are
    never checked (`unchecked_urls`). An endless calendar or a maze of sessions comes last, so a
    crawl that ends early has found more.

    Requests may wait for a long time, so the decision is made when a request's turn comes: it is
    then sent back to the queue with a lower priority.
    """

    def __init__(self, crawler: Crawler, unchecked_urls: Sequence[Pattern] = ()) -> None:
        self._crawler = crawler
        self._unchecked_urls = unchecked_urls
        self._recent: dict[str, deque[bool]] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Build the middleware from Scrapy's settings.

        Raises NotConfigured if it is switched off, if the settings are invalid or limit the depth,
        and in interactive commands.
        """
        with crawl_options(crawler) as options:
            # A page that is found later may be deeper, so its links may exceed the depth limit.
            if (
                not options.postpone
                or is_interactive(crawler)
                or crawler.settings.getint("DEPTH_LIMIT")
            ):
                raise NotConfigured
        middleware = cls(crawler, options.unchecked_urls)
        signals.listen(crawler, signals.page_judged, middleware.page_judged)
        return middleware

    def page_judged(self, verdict: Verdict, **_: object) -> None:
        """Note for the pattern of a page's URL whether the page was a copy, or nearly one."""
        pattern = pattern_of(verdict.url)
        recent = self._recent.get(pattern, deque(maxlen=_PAGES))
        recent.append(verdict.is_duplicate or is_hardly_apart(verdict))
        put_last(self._recent, pattern, recent, _MOST_PATTERNS)

    def process_request(self, request: Request) -> Request | None:
        """Let a request pass (None), or send it back with a lower priority."""
        # Spiders copy the meta of a page to their next requests.
        level, request.dont_filter = request.meta.pop(_LEVEL_KEY, (0, request.dont_filter))
        recent = self._recent.get(pattern_of(request.url), ())
        # Until more is known about a pattern, half of its pages are assumed to be copies.
        wanted = round(_LEVELS * (sum(recent) + 1) / (len(recent) + 2)) if recent else 0
        if any(matches(pattern, request.url) for pattern in self._unchecked_urls):
            wanted = _LEVELS
        if wanted <= level or is_exempt(request):
            return None
        count(self._crawler, "postponed")
        meta = {**request.meta, _LEVEL_KEY: (wanted, request.dont_filter)}
        return request.replace(
            priority=request.priority - (wanted - level), dont_filter=True, meta=meta
        )
