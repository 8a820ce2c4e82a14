"""Stop following URL patterns that bring nothing new (``CRAWLDEDUP_BUDGET``).

`crawling.budget` makes the decisions, and describes what keeps content from getting lost.
"""

import logging
from pathlib import Path
from typing import Final, Self

from scrapy import Request
from scrapy import signals as scrapy_signals
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest, NotConfigured

from crawldedup.crawling.budget import Budget, Step, is_barren
from crawldedup.journal import shown
from crawldedup.scrapy_plugin import signals
from crawldedup.scrapy_plugin.meta import REPEATS_KEY
from crawldedup.scrapy_plugin.responses import is_exempt
from crawldedup.scrapy_plugin.settings import crawl_options, is_interactive
from crawldedup.scrapy_plugin.signals import count, say
from crawldedup.scrapy_plugin.skipped import (
    file_of_job,
    read_requests,
    write_requests,
    write_to_journal,
)
from crawldedup.urls import places_of
from crawldedup.verdict import Verdict

FILE_NAME: Final = "crawldedup.budget"
"""The file in a job's directory that keeps the skipped requests while the job is paused."""

_WIDER: Final = 2
"""How many times as many barren pages it takes to end a whole folder, rather than a pattern."""

_ASKED_AGAIN_KEY: Final = "_crawldedup_asked_again"


class OverBudgetError(IgnoreRequest):
    """Raised for a request that is skipped because its URL `pattern` brought nothing new lately.

    The errback of the request receives it. If the pattern brings something new after all, the
    request is made then.
    """

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        super().__init__(f"the last pages of {pattern} brought nothing new")


class BudgetMiddleware:
    """Skips requests for URL patterns whose last pages all brought nothing new.

    Args:
        crawler: The crawler.
        pages: The number of pages in a row without anything new that end a pattern.
        job: The file for skipped requests if the job may be paused, else None.
    """

    def __init__(self, crawler: Crawler, pages: int, job: Path | None) -> None:
        self._crawler = crawler
        self._pages = pages
        self._job = job
        self._budget: Budget[Request] = Budget()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Build the middleware from Scrapy's settings.

        Raises NotConfigured if they are invalid or set no budget, and in interactive commands.
        """
        with crawl_options(crawler) as options:
            if options.budget is None or is_interactive(crawler):
                raise NotConfigured
        job = file_of_job(crawler, FILE_NAME)
        middleware = cls(crawler, options.budget, job)
        if job is not None:
            crawler.signals.connect(middleware.engine_started, signal=scrapy_signals.engine_started)
            crawler.signals.connect(middleware.spider_closed, signal=scrapy_signals.spider_closed)
        signals.listen(crawler, signals.page_judged, middleware.page_judged)
        return middleware

    def engine_started(self) -> None:
        """Load the requests that earlier runs of the job skipped."""
        assert self._job is not None
        for request in read_requests(self._job, self._crawler.spider):
            self._budget.take_over(places_of(request.url)[0], request)

    def spider_closed(self, reason: str) -> None:
        """Save the skipped requests for the next run of the job, unless the crawl has finished."""
        assert self._job is not None
        skipped = self._budget.all_skipped() if reason != "finished" else ()
        write_requests(self._job, skipped, self._crawler.spider)

    def process_request(self, request: Request) -> None:
        """Let a request pass, or raise OverBudgetError to skip it."""
        is_asked_again = request.meta.pop(_ASKED_AGAIN_KEY, False)
        if is_exempt(request, is_postponed=is_asked_again):
            return
        places = places_of(request.url)
        step = self._budget.step(places, request)
        if step is not Step.MADE:
            count(self._crawler, f"budget/{step}")
        if step is Step.SKIPPED:
            write_to_journal(
                self._crawler,
                {"skipped": shown(request.url), "rule": shown(f"budget of {places[0]}")},
            )
            raise OverBudgetError(places[0])

    def page_judged(self, request: Request, verdict: Verdict, **_: object) -> None:
        """Learn from a verdict whether a page brought something new.

        If it did, this also counts for the page that linked to it.
        """
        repeats = bool(request.meta.get(REPEATS_KEY))
        brought_nothing = is_barren(verdict, repeats_but_for_date=repeats)
        places = places_of(verdict.url)
        referer = (request.headers.get("Referer") or b"").decode("latin-1")
        all_places = {*places, *places_of(referer)}
        if brought_nothing is None:
            self._budget.note_known(verdict.url, all_places)
            return
        self._budget.note_met(verdict.url)
        if brought_nothing:
            for place, most in zip(places, (self._pages, _WIDER * self._pages), strict=True):
                if self._budget.note_barren(place, most):
                    self._end(place, most)
        else:
            for place in all_places:
                self._go_on(place, verdict.url)

    def _end(self, place: str, most: int) -> None:
        count(self._crawler, "budget/ended")
        say(
            self._crawler,
            logging.INFO,
            f"the last {most} pages of {place} brought nothing new: from now on, the crawl sends "
            "only one in twenty of its requests there, and fewer later (CRAWLDEDUP_BUDGET)",
        )
        write_to_journal(self._crawler, {"ended": shown(place), "pages": most})

    def _go_on(self, place: str, url: str) -> None:
        skipped = self._budget.note_new(place)
        if skipped is None:
            return
        count(self._crawler, "budget/reopened")
        say(self._crawler, logging.INFO, f"goes on with {place}: {url} is new")
        assert self._crawler.engine is not None
        for request in skipped:
            count(self._crawler, "budget/asked_again")
            # The filter of seen requests knows the request already. It waits in the queue like any
            # other, and the place may have ended again by then.
            meta = {**request.meta, _ASKED_AGAIN_KEY: True}
            self._crawler.engine.crawl(request.replace(dont_filter=True, meta=meta))
