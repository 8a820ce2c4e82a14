"""``ADDONS = {"crawldedup.Addon": 500}``: puts the middlewares, and the pipeline if it is wanted,
where they belong.

Beside those of pages and items, these are two middlewares that look at requests. The one of
``CRAWLDEDUP_POSTPONE`` fetches first what promises new content, and skips nothing. That of
``CRAWLDEDUP_RULES`` skips requests that a rule for URLs calls copies: `advice.rules` decides, and
tells what keeps content from getting lost.
"""

import logging
import pickle
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Self

from scrapy import Request
from scrapy import signals as scrapy_signals
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest, NotConfigured
from scrapy.settings import BaseSettings
from scrapy.utils.job import job_dir
from scrapy.utils.request import request_from_dict

from crawldedup.advice.rules import Aim, Predictor, Rule, Step, read_rules
from crawldedup.crawling.patterns import Pattern, matches
from crawldedup.journal import shown
from crawldedup.recent import put_last
from crawldedup.scrapy_plugin import signals
from crawldedup.scrapy_plugin.items import DedupItemPipeline, DropItemsMiddleware
from crawldedup.scrapy_plugin.middleware import DedupMiddleware
from crawldedup.scrapy_plugin.responses import is_exempt, pattern_of
from crawldedup.scrapy_plugin.settings import PREFIX, crawl_options, is_interactive
from crawldedup.scrapy_plugin.signals import count, say
from crawldedup.verdict import Kind, Verdict, is_hardly_apart

_PAGES: Final = 20  # of a pattern tell what its next one will be
# A request whose pattern leads to copies alone has a priority that is lower by this.
_LEVELS: Final = 3
_MOST_PATTERNS: Final = 10_000
_LEVEL_KEY: Final = "_crawldedup_level"

# Has what was skipped, in the directory of a job that may be paused.
FILE_NAME: Final = "crawldedup.rules"
_POSTPONED_KEY: Final = "_crawldedup_postponed"
_MOST_POSTPONED: Final = 2


class Addon:
    """Adds the middlewares to a crawl, unless the project has already placed or disabled (None)
    them.

    The item pipeline is added if ``CRAWLDEDUP_ITEM_FIELDS`` is set.
    """

    def update_settings(self, settings: BaseSettings) -> None:
        """Place the middlewares; called by Scrapy before the crawl starts."""
        place = settings.setdefault_in_component_priority_dict
        # Responses come up from the download with falling order. Below 545 lie redirects (600),
        # decompression (590), meta refresh (580) and retries (550): what reaches 545 is a decoded
        # page that the spider is about to get.
        place("DOWNLOADER_MIDDLEWARES", DedupMiddleware, 545)
        # Before all others, so that it sees a request once, however often it is sent back.
        place("DOWNLOADER_MIDDLEWARES", PostponeMiddleware, 40)
        if settings.get(f"{PREFIX}RULES") is not None:
            # After the middlewares that refuse requests (offsite 50, robots.txt 100), and before
            # anything is sent.
            place("DOWNLOADER_MIDDLEWARES", RulesMiddleware, 544)
        # Next to the engine, after every other spider middleware had its say about the items.
        place("SPIDER_MIDDLEWARES", DropItemsMiddleware, 40)
        # Fields that are named wrongly, as an empty list is, are for the pipeline to refuse.
        if settings.get(f"{PREFIX}ITEM_FIELDS") is not None:
            # After pipelines that clean or refuse items (by convention 100 to 300), before those
            # that store them.
            place("ITEM_PIPELINES", DedupItemPipeline, 400)


class PostponeMiddleware:
    """Lets a request wait behind others if the last pages of its pattern of URLs were copies: the
    more, the longer. Pages that their texts or links alone kept apart count as copies.

    An endless calendar or a maze of sessions comes last, so a crawl that ends early has found more.
    Requests wait for long, so what is known when one has its turn decides: it is sent back into the
    queue then. URLs that nobody checks (`unchecked_urls`) bring nothing new either.
    """

    def __init__(self, crawler: Crawler, unchecked_urls: Sequence[Pattern] = ()) -> None:
        self._crawler = crawler
        self._unchecked_urls = unchecked_urls
        self._recent: dict[str, deque[bool]] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Build it from Scrapy's settings.

        Raises NotConfigured if it is not wanted, or the settings are wrong.
        """
        with crawl_options(crawler) as options:
            # A page that is met later may be deeper, and its links beyond the limit.
            if (
                not options.postpone
                or is_interactive(crawler)
                or crawler.settings.getint("DEPTH_LIMIT")
            ):
                raise NotConfigured
        middleware = cls(crawler, options.unchecked_urls)
        crawler.signals.connect(middleware.page_judged, signal=signals.page_judged)
        return middleware

    def page_judged(self, verdict: Verdict) -> None:
        """Note whether a page of a pattern was a copy, or hardly told from another page."""
        pattern = pattern_of(verdict.url)
        recent = self._recent.get(pattern, deque(maxlen=_PAGES))
        recent.append(verdict.is_duplicate or is_hardly_apart(verdict))
        put_last(self._recent, pattern, recent, _MOST_PATTERNS)

    def process_request(self, request: Request) -> Request | None:
        """Let a request pass, or send it back with a lower priority."""
        # Spiders hand the meta of a page on to the next request.
        level, request.dont_filter = request.meta.pop(_LEVEL_KEY, (0, request.dont_filter))
        recent = self._recent.get(pattern_of(request.url), ())
        # Of a pattern that is hardly known, half of the pages may be copies.
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


class PredictedDuplicateError(IgnoreRequest):
    """Raised for a request that is not made, because `rules` take it for a copy of the URL
    `target`.

    The errback of the request receives it. If the rule proves wrong, the request is made after all.
    """

    def __init__(self, target: str, rules: tuple[Any, ...]) -> None:
        self.target = target
        self.rules = rules
        super().__init__(f"predicted to be a copy of {target}")


class RulesMiddleware:
    """Skips requests that rules call copies of pages that came.

    `job` is the file of a job that may be paused.
    """

    def __init__(self, crawler: Crawler, rules: list[Rule], job: Path | None) -> None:
        self._crawler = crawler
        self._job = job
        self._predictor: Predictor[Request] = Predictor(rules)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Build it from Scrapy's settings.

        Raises NotConfigured if they are wrong, or name no rules.
        """
        with crawl_options(crawler) as options:
            if options.rules is None or is_interactive(crawler):
                raise NotConfigured
            rules = read_rules(Path(options.rules))
        job = Path(directory, FILE_NAME) if (directory := job_dir(crawler.settings)) else None
        middleware = cls(crawler, rules, job)
        if job is not None:
            crawler.signals.connect(middleware.engine_started, signal=scrapy_signals.engine_started)
            crawler.signals.connect(middleware.spider_closed, signal=scrapy_signals.spider_closed)
        crawler.signals.connect(middleware.page_judged, signal=signals.page_judged)
        return middleware

    def engine_started(self) -> None:
        """Take over what earlier runs of a job have skipped; ask for what no rule calls a copy any
        more.
        """
        assert self._job is not None
        for plain in pickle.loads(self._job.read_bytes()) if self._job.exists() else ():
            request = request_from_dict(pickle.loads(plain), spider=self._crawler.spider)
            aim = self._aim_of(request.url, request)
            if aim is not None and aim.rules:
                self._predictor.skipped.append((request, aim))
            else:
                self._ask(request)

    def spider_closed(self, reason: str) -> None:
        """Write what was skipped for the next run of a job.

        Scrapy's own queues are pickled, too.
        """
        assert self._job is not None
        plain = []
        for request, _ in self._predictor.skipped if reason != "finished" else ():
            # Its callback or its meta cannot be written, and Scrapy would not keep it either.
            with suppress(ValueError, TypeError, AttributeError, pickle.PicklingError):
                plain.append(pickle.dumps(request.to_dict(spider=self._crawler.spider)))
        self._job.write_bytes(pickle.dumps(plain))

    def process_request(self, request: Request) -> Request | None:
        """Let a request pass, or put it off while its target is on its way.

        Raises PredictedDuplicateError.
        """
        # Spiders hand the meta of a page on to the next request.
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
            self._write({"skipped": shown(request.url), "rule": shown("; ".join(names))})
            raise PredictedDuplicateError(
                aim.rewritten.url(), tuple(self._predictor.rules[name] for name in names)
            )
        return None

    def page_judged(self, request: Request, verdict: Verdict) -> None:
        """Learn from a verdict whether the rules hold for its page."""
        aim = self._aim_of(verdict.url, request)
        if aim is None or verdict.kind is Kind.THIN:
            return
        original = self._aim_of(verdict.original or "", request) if verdict.is_duplicate else aim
        if verdict.kind is Kind.REVISIT and aim.rules:
            original = None  # it was remembered under this URL, which does not tell if it is a copy
        wanted, rule = self._predictor.learn(aim, original)
        if rule is not None:
            count(self._crawler, "rules/withdrawn")
            contrary = f"{aim.address.url()} is no copy of {aim.rewritten.url()}"
            say(self._crawler, logging.WARNING, f"leaves out the rule {rule.name}, for {contrary}")
            named = {part: getattr(rule, part) for part in ("kind", "site", "find", "replace")}
            self._write(
                {
                    "withdrawn": {**named, "folders": [aim.address.folder()]},
                    "rule": shown(rule.name),
                }
            )
        for skipped in wanted:
            self._ask(skipped)

    def _ask(self, request: Request) -> None:
        count(self._crawler, "rules/asked_again")
        assert self._crawler.engine is not None
        # The filter of seen requests knows it already.
        self._crawler.engine.crawl(request.replace(dont_filter=True))

    def _aim_of(self, url: str, request: Request) -> Aim | None:
        """Return the aim of a request.

        Another callback, or rule of a CrawlSpider, makes other items of a page.
        """
        number = request.meta.get("rule")
        callback = (
            getattr(request.callback, "__name__", "parse"),
            number if isinstance(number, int) else None,
        )
        return self._predictor.aim_of(url, callback)

    def _write(self, record: dict[str, Any]) -> None:
        if (dedup := self._crawler.get_downloader_middleware(DedupMiddleware)) is not None:
            dedup.journal.put(record)
