"""Fetch first what promises new content: the downloader middleware of ``CRAWLDEDUP_POSTPONE``. Nothing is skipped."""

import re
from collections import deque
from collections.abc import Sequence
from typing import Final, Self

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from crawldedup.reading.volatile import put_last
from crawldedup.scrapy_plugin import signals
from crawldedup.scrapy_plugin.policy import is_exempt
from crawldedup.scrapy_plugin.settings import Pattern, crawl_options, is_interactive, matches
from crawldedup.verdict import Verdict

_PAGES: Final = 20  # of a pattern tell what its next one will be
_LEVELS: Final = 3  # A request whose pattern leads to copies alone has a priority that is lower by this.
_MOST_PATTERNS: Final = 10_000
_LEVEL_KEY: Final = "_crawldedup_level"
_WORD: Final = re.compile(r"[a-z.]{1,20}")


class PostponeMiddleware:
    """Lets a request wait behind others if the last pages of its pattern of URLs were copies: the more, the longer.

    An endless calendar or a maze of sessions comes last, so a crawl that ends early has found more. Requests wait for
    long, so what is known when one has its turn decides: it is sent back into the queue then. URLs that the setting
    `deny` names bring nothing new either.
    """

    def __init__(self, crawler: Crawler, deny: Sequence[Pattern] = ()) -> None:
        self._crawler = crawler
        self._deny = deny
        self._recent: dict[str, deque[bool]] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Build it from Scrapy's settings. Raises NotConfigured if it is not wanted, or the settings are wrong."""
        with crawl_options(crawler) as options:
            # A page that is met later may be deeper, and its links beyond the limit.
            if not options.postpone or is_interactive(crawler) or crawler.settings.getint("DEPTH_LIMIT"):
                raise NotConfigured
        middleware = cls(crawler, options.deny)
        crawler.signals.connect(middleware.page_judged, signal=signals.page_judged)
        return middleware

    def page_judged(self, verdict: Verdict) -> None:
        """Note whether a page of a pattern was a copy."""
        pattern = pattern_of(verdict.url)
        recent = self._recent.get(pattern, deque(maxlen=_PAGES))
        recent.append(verdict.is_duplicate)
        put_last(self._recent, pattern, recent, _MOST_PATTERNS)

    def process_request(self, request: Request) -> Request | None:
        """Let a request pass, or send it back with a lower priority."""
        # Spiders hand the meta of a page on to the next request.
        level, request.dont_filter = request.meta.pop(_LEVEL_KEY, (0, request.dont_filter))
        recent = self._recent.get(pattern_of(request.url), ())
        # Of a pattern that is hardly known, half of the pages may be copies.
        wanted = round(_LEVELS * (sum(recent) + 1) / (len(recent) + 2)) if recent else 0
        if any(matches(pattern, request.url) for pattern in self._deny):
            wanted = _LEVELS
        if wanted <= level or is_exempt(request):
            return None
        assert self._crawler.stats is not None
        self._crawler.stats.inc_value("crawldedup/postponed")
        meta = {**request.meta, _LEVEL_KEY: (wanted, request.dont_filter)}
        return request.replace(priority=request.priority - (wanted - level), dont_filter=True, meta=meta)


def pattern_of(url: str) -> str:
    """Return the pattern of a URL: its host, the plain words of its path, and the names of its parameters."""
    address, _, query = url.partition("?")
    scheme, _, host, *parts = [*address.split("/"), "", ""]
    path = "/".join(part if _WORD.fullmatch(part) else "*" for part in parts)
    return f"{scheme}{host}/{path}?{'&'.join(sorted(part.partition('=')[0] for part in query.split('&')))}"
