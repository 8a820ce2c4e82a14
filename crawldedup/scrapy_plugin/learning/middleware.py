"""The downloader middleware of ``CRAWLDEDUP_LEARN``: skips requests that would bring copies of what was delivered."""

from __future__ import annotations

import logging
from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple

from scrapy import signals as scrapy_signals
from scrapy.exceptions import DontCloseSpider, NotConfigured

from crawldedup.advice.address import Address
from crawldedup.advice.rules import Contrary
from crawldedup.errors import ConfigurationError
from crawldedup.scrapy_plugin import signals
from crawldedup.scrapy_plugin.errors import PredictedDuplicateError
from crawldedup.scrapy_plugin.learning.errands import (
    ERRAND_KEY,
    errand_of,
    is_exempt,
    key_of,
    postponed,
    send_out,
)
from crawldedup.scrapy_plugin.learning.targets import Targets
from crawldedup.scrapy_plugin.learning.teacher import Teacher
from crawldedup.scrapy_plugin.middleware import DedupMiddleware
from crawldedup.scrapy_plugin.runtime.failures import refuse
from crawldedup.scrapy_plugin.settings import CrawlOptions, is_enabled, is_interactive
from crawldedup.scrapy_plugin.stats import PREFIX

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from crawldedup.advice.rules import Rule
    from crawldedup.verdict import Verdict

logger = logging.getLogger(__name__)


MOST_SKIPPED: Final = 5_000
"""So many skipped requests, the last ones, are made after all if their rule proves wrong."""

_KNOWN: Final = 0.5
"""A target is asked for in place of its copy if at least this share of a rule's targets were seen."""


class _Aim(NamedTuple):
    """What a request would bring: the page at the URL that `rules` make of its own; `key` stands for it."""

    key: int
    target: Address
    rules: tuple[Rule, ...]


class LearnMiddleware:
    """Learns rules for URLs from the verdicts of a crawl, and skips the requests that they take for copies.

    A request is skipped only if its target, the page at the rewritten URL, was delivered. Until then it waits, and goes
    out if the target fails. Some are fetched all the same, as samples; a rule that they refute is withdrawn, and what
    it has skipped lately is fetched after all. The rules are kept with the index.
    """

    def __init__(self, crawler: Crawler, options: CrawlOptions) -> None:
        assert crawler.stats is not None
        self._crawler = crawler
        self._stats = crawler.stats
        self._teacher = Teacher(crawler, options, self._make_up_for)
        self._trials = self._teacher.trials
        self._targets = Targets()
        self._origins: set[str] = set()
        self._delivered: set[int] = set()
        # The URLs that other crawls have delivered, and this one may deliver again.
        self._elsewhere: set[int] = set()
        self._samples: dict[str, _Aim] = {}
        self._skipped: deque[tuple[Request, tuple[Rule, ...]]] = deque(maxlen=MOST_SKIPPED)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> LearnMiddleware:
        """Build it from Scrapy's settings. Raises NotConfigured unless ``CRAWLDEDUP_LEARN`` is True."""
        try:
            if not is_enabled(crawler.settings):
                raise NotConfigured
            options = CrawlOptions.from_settings(crawler.settings)
            if not options.learn or is_interactive(crawler):
                raise NotConfigured
            if options.keep_per_cluster > 1:
                raise ConfigurationError(
                    "CRAWLDEDUP_LEARN is True, and CRAWLDEDUP_KEEP_PER_CLUSTER above 1: copies cannot be skipped where "
                    "they are wanted."
                )
        except ConfigurationError as error:
            raise refuse(crawler, error) from None
        middleware = cls(crawler, options)
        connect = crawler.signals.connect
        connect(middleware._teacher.begin, signal=scrapy_signals.engine_started)
        connect(middleware.spider_idle, signal=scrapy_signals.spider_idle)
        connect(middleware._teacher.end, signal=scrapy_signals.spider_closed)
        connect(middleware.page_judged, signal=signals.page_judged)
        return middleware

    def process_request(self, request: Request) -> Request | None:
        """Let a request pass, or give another in its place. Raises PredictedDuplicateError for one that is skipped."""
        if errand_of(request) is not None or is_exempt(request):
            return None
        aim = self._aim_of(request)
        if aim is None:
            return None
        if not aim.rules and self._targets.was_fetched_instead(aim.key):
            raise self._skip(request, aim)
        if not aim.rules and not self._targets.is_asked_instead(aim.key):
            if (lowered := self._postponed(request)) is not None:
                return lowered
            self._targets.ask(aim.key)
            send_out(request, "target", aim.key)
        elif self._targets.is_delivered(aim.key):
            if not self._is_wanted(request, aim):
                raise self._skip(request, aim)
        elif self._targets.is_on_its_way(aim.key):
            if self._targets.wait(aim.key, request):
                raise PredictedDuplicateError(aim.target.url(), aim.rules)
        else:
            return self._postponed(request) or self._ask(request, aim)
        return None

    def process_response(self, request: Request, response: Response) -> Response:
        """Note that a request has brought no page that was judged."""
        self._came_to_nothing(request)
        return response

    def process_exception(self, request: Request, exception: Exception) -> None:  # noqa: ARG002
        """Note that a request has failed."""
        self._came_to_nothing(request)

    def page_judged(self, request: Request, verdict: Verdict) -> None:
        """Learn from a verdict, and deal with the requests that waited for this page."""
        referer = request.headers.get(b"Referer")
        self._teacher.judged(verdict, referer.decode("latin-1") if referer else None)
        if (address := Address.of(verdict.url)) is not None:
            self._origins.add(address.origin)
        brought = self._brought(request, verdict)
        for waiting in self._targets.came(brought) if brought is not None else ():
            self._decide_again(waiting)
        errand = errand_of(request)
        request.meta.pop(ERRAND_KEY, None)
        if errand is None or errand.role != "sample":
            self._trials.fetched()
        if errand is None:
            return
        if errand.role == "sample":
            if (aim := self._samples.pop(errand.url, None)) is not None:
                self._teacher.sampled(aim.rules, verdict, Contrary(errand.url, aim.target.url()))
            return
        if errand.role == "instead":
            self._targets.came_instead(errand.key)
        # What was redirected may be another page.
        if errand.key != brought:
            self._fail(errand.key)

    def spider_idle(self) -> None:
        """Make the requests whose target does not come: it was filtered, or lost with an earlier run.

        Then look at the rules once more, and wait until the index has them: it is to keep none that was refuted.
        """
        for request in self._targets.give_up():
            self._make(request)
        self._teacher.look_again()
        if self._teacher.is_busy:
            raise DontCloseSpider

    def _ask(self, request: Request, aim: _Aim) -> Request | None:
        """Ask for a target that nobody has asked for, or for its copy where nobody knows whether the target exists."""
        self._targets.ask(aim.key)
        # The filter of other sites lets requests pass that are not filtered as seen.
        is_known = aim.target.origin in self._origins and all(rule.targets >= _KNOWN for rule in aim.rules)
        if not aim.rules or not is_known or not self._targets.wait(aim.key, request):
            send_out(request, "target", aim.key)
            return None
        self._targets.ask_instead(aim.key)
        # The filter of seen requests must not take the target, or the spider's own request for it would be lost there.
        instead = request.replace(url=aim.target.url(), dont_filter=True)
        # The page that led to the copy does not lead here.
        instead.headers.pop(b"Referer", None)
        send_out(instead, "instead", aim.key)
        return instead

    def _is_wanted(self, request: Request, aim: _Aim) -> bool:
        """Return True for a request to be made although its target was delivered.

        It is a sample, or for the very URL that another crawl has delivered.
        """
        address = Address.of(request.url)
        if address is not None and address.key() in self._elsewhere:
            return True
        if not (aim.rules and self._trials.is_sample(aim.rules)):
            return False
        self._count("sampled")
        self._samples[request.url] = aim
        send_out(request, "sample", aim.key)
        return True

    def _skip(self, request: Request, aim: _Aim) -> PredictedDuplicateError:
        self._count("skipped")
        self._skipped.append((request, aim.rules))
        # Without a rule it is what was fetched in place of its copy.
        if aim.rules and (checking := self._crawler.get_downloader_middleware(DedupMiddleware)) is not None:
            checking.journal.skipped(request.url, aim.rules)
        return PredictedDuplicateError(aim.target.url(), aim.rules)

    def _decide_again(self, request: Request) -> None:
        """Deal with a request whose target has come."""
        aim = self._aim_of(request)
        assert aim is not None  # or it would not have waited
        if not self._targets.is_delivered(aim.key) or self._is_wanted(request, aim):
            self._make(request)
        else:
            self._skip(request, aim)

    def _came_to_nothing(self, request: Request) -> None:
        errand = errand_of(request)
        request.meta.pop(ERRAND_KEY, None)
        if errand is not None and errand.role == "sample":
            self._samples.pop(errand.url, None)
        elif errand is not None:
            self._fail(errand.key)

    def _fail(self, key: int) -> None:
        while (waiting := self._targets.failed(key)) is not None:
            aim = self._aim_of(waiting)
            if aim is None or aim.rules or not self._targets.was_fetched_instead(key):
                send_out(waiting, "target", key)
                self._make(waiting)
                break
            self._skip(waiting, aim)

    def _make(self, request: Request) -> None:
        """Make a request that was skipped or has waited, and that is known to the filter of seen requests."""
        assert self._crawler.engine is not None
        made = request.replace(dont_filter=True)
        self._crawler.engine.crawl(made)

    def _make_up_for(self, wrong: set[Rule]) -> None:
        """Make the requests that rules have skipped lately."""
        skipped = list(self._skipped)
        self._skipped.clear()
        for request, used in skipped:
            if wrong.isdisjoint(used):
                self._skipped.append((request, used))
            else:
                self._make(request)

    def _postponed(self, request: Request) -> Request | None:
        lowered = postponed(request, self._teacher.traps)
        if lowered is not None:
            self._count("postponed")
        return lowered

    def _aim_of(self, request: Request) -> _Aim | None:
        address = Address.of(request.url)
        if address is None:
            return None
        target, rules = self._trials.book.rewritten(address)
        return _Aim(key_of(request, target), target, rules)

    def _brought(self, request: Request, verdict: Verdict) -> int | None:
        """Return the key of the target that a page is, or that it has the content of; None for one that may be a wall.

        Such are copies of anything else.
        """
        own, original = Address.of(verdict.url), Address.of(verdict.original or "")
        if own is None:
            return None
        key = key_of(request, self._rewritten(own))
        if not verdict.is_duplicate or verdict.replaces:
            self._delivered.add(own.key())
            self._elsewhere.discard(own.key())
            return key
        if original is None or key_of(request, self._rewritten(original)) != key:
            return None
        if original.key() not in self._delivered:
            self._elsewhere.add(original.key())
        return key

    def _rewritten(self, address: Address) -> Address:
        return self._trials.book.rewritten(address)[0]

    def _count(self, name: str) -> None:
        self._stats.inc_value(f"{PREFIX}learn/{name}")
