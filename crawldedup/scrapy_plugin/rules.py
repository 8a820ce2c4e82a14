"""Skip requests that URL rules predict to be copies (``CRAWLDEDUP_RULES``).

`advice.rules` makes the decisions, and describes what keeps content from getting lost.
"""

import logging
from pathlib import Path
from typing import Any, Final, Self

from scrapy import Request
from scrapy import signals as scrapy_signals
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest, NotConfigured

from crawldedup.advice.rules import Aim, Predictor, Rule, Step, read_rules
from crawldedup.journal import shown
from crawldedup.scrapy_plugin import signals
from crawldedup.scrapy_plugin.responses import is_exempt
from crawldedup.scrapy_plugin.settings import crawl_options, is_interactive
from crawldedup.scrapy_plugin.signals import count, say
from crawldedup.scrapy_plugin.skipped import (
    file_of_job,
    read_requests,
    write_requests,
    write_to_journal,
)
from crawldedup.verdict import Kind, Verdict

FILE_NAME: Final = "crawldedup.rules"
"""The file in a job's directory that keeps the skipped requests while the job is paused."""

_POSTPONED_KEY: Final = "_crawldedup_postponed"
_MOST_POSTPONED: Final = 2


class PredictedDuplicateError(IgnoreRequest):
    """Raised for a request that is skipped because `rules` predict a copy of the page at `target`.

    The errback of the request receives it. If a rule proves wrong, the request is made after all.
    """

    def __init__(self, target: str, rules: tuple[Any, ...]) -> None:
        self.target = target
        self.rules = rules
        super().__init__(f"predicted to be a copy of {target}")


class RulesMiddleware:
    """Skips requests if rules predict copies of pages that have already arrived.

    Args:
        crawler: The crawler.
        rules: The URL rules.
        job: The file for skipped requests if the job may be paused, else None.
    """

    def __init__(self, crawler: Crawler, rules: list[Rule], job: Path | None) -> None:
        self._crawler = crawler
        self._job = job
        self._predictor: Predictor[Request] = Predictor(rules)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Build the middleware from Scrapy's settings.

        Raises NotConfigured if they are invalid or name no rules, and in interactive commands.
        """
        with crawl_options(crawler) as options:
            if options.rules is None or is_interactive(crawler):
                raise NotConfigured
            rules = read_rules(Path(options.rules))
        job = file_of_job(crawler, FILE_NAME)
        middleware = cls(crawler, rules, job)
        if job is not None:
            crawler.signals.connect(middleware.engine_started, signal=scrapy_signals.engine_started)
            crawler.signals.connect(middleware.spider_closed, signal=scrapy_signals.spider_closed)
        signals.listen(crawler, signals.page_judged, middleware.page_judged)
        return middleware

    def engine_started(self) -> None:
        """Load the requests that earlier runs of the job skipped.

        A request that the rules no longer take for a copy is made now.
        """
        assert self._job is not None
        for request in read_requests(self._job, self._crawler.spider):
            aim = self._aim_of(request.url, request)
            if aim is not None and aim.rules:
                self._predictor.skipped.append((request, aim))
            else:
                self._ask(request)

    def spider_closed(self, reason: str) -> None:
        """Save the skipped requests for the next run of the job, unless the crawl has finished."""
        assert self._job is not None
        skipped = self._predictor.skipped if reason != "finished" else ()
        requests = [request for request, _ in skipped]
        write_requests(self._job, requests, self._crawler.spider)

    def process_request(self, request: Request) -> Request | None:
        """Let a request pass (None), or postpone it while its supposed original is being fetched.

        Raises PredictedDuplicateError to skip it.
        """
        # Spiders copy the meta of a page to their next requests.
        times = request.meta.pop(_POSTPONED_KEY, 0)
        aim = (
            None
            if is_exempt(request, is_postponed=times > 0)
            else self._aim_of(request.url, request)
        )
        if aim is None:
            return None
        step = self._predictor.step(aim, request, may_wait=times < _MOST_POSTPONED)
        if step is not Step.MADE:
            count(self._crawler, f"rules/{step}")
        if step is Step.POSTPONED:
            meta = {**request.meta, _POSTPONED_KEY: times + 1}
            return request.replace(priority=request.priority - 1, dont_filter=True, meta=meta)
        if step is Step.SKIPPED:
            names = sorted(aim.rules)
            write_to_journal(
                self._crawler, {"skipped": shown(request.url), "rule": shown("; ".join(names))}
            )
            raise PredictedDuplicateError(
                aim.rewritten.url(), tuple(self._predictor.rules[name] for name in names)
            )
        return None

    def page_judged(self, request: Request, verdict: Verdict, **_: object) -> None:
        """Learn from a verdict whether the rules predicted it correctly."""
        aim = self._aim_of(verdict.url, request)
        if aim is None or verdict.kind is Kind.THIN:
            return
        original = self._aim_of(verdict.original or "", request) if verdict.is_duplicate else aim
        if verdict.kind is Kind.REVISIT and aim.rules:
            original = None  # remembered under this URL, which does not show whether it is a copy
        wanted, rule = self._predictor.learn(aim, original)
        if rule is not None:
            count(self._crawler, "rules/withdrawn")
            contrary = f"{aim.address.url()} is not a copy of {aim.rewritten.url()}"
            say(self._crawler, logging.WARNING, f"leaves out the rule {rule.name}, for {contrary}")
            named = {part: getattr(rule, part) for part in ("kind", "site", "find", "replace")}
            write_to_journal(
                self._crawler,
                {
                    "withdrawn": {**named, "folders": [rule.folder_of(aim.address)]},
                    "rule": shown(rule.name),
                },
            )
        for skipped in wanted:
            self._ask(skipped)

    def _ask(self, request: Request) -> None:
        count(self._crawler, "rules/asked_again")
        assert self._crawler.engine is not None
        # The filter of seen requests knows this one already.
        self._crawler.engine.crawl(request.replace(dont_filter=True))

    def _aim_of(self, url: str, request: Request) -> Aim | None:
        """Return the page to which the rules say a request leads, or None if no rule applies.

        The callback and the rule of a CrawlSpider are part of the result, because different
        callbacks yield different items from the same page.
        """
        number = request.meta.get("rule")
        callback = (
            getattr(request.callback, "__name__", "parse"),
            number if isinstance(number, int) else None,
        )
        return self._predictor.aim_of(url, callback)
