"""The downloader middleware: judges pages on their way to the spider, beside the event loop."""

from __future__ import annotations

import logging
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy import signals as scrapy_signals
from scrapy.exceptions import NotConfigured
from scrapy.utils.job import job_dir

from crawldedup.deduplicator import Deduplicator
from crawldedup.errors import ConfigurationError, PageError
from crawldedup.printable import printable
from crawldedup.scope import page_key
from crawldedup.scrapy_plugin import signals
from crawldedup.scrapy_plugin.browser import close_browser_page
from crawldedup.scrapy_plugin.exceptions import DuplicatePageError
from crawldedup.scrapy_plugin.failures import Failures, OverrideError
from crawldedup.scrapy_plugin.inspection import is_inspection, settings_for_inspection
from crawldedup.scrapy_plugin.items.verdict_fields import DropItemsMiddleware
from crawldedup.scrapy_plugin.policy import (
    DROP_ITEMS_KEY,
    VERDICT_KEY,
    PagePolicy,
    UrlPatterns,
    canonical_of,
    identity_of,
    page_of,
    policy_for,
    reason_to_skip,
    scope_key_of,
)
from crawldedup.scrapy_plugin.reading.process_readers import ProcessReaders
from crawldedup.scrapy_plugin.reading.read_once import ReadOnce
from crawldedup.scrapy_plugin.reading.thread_reader import ThreadReader
from crawldedup.scrapy_plugin.refusal import refuse
from crawldedup.scrapy_plugin.runtime.garbage import StartupObjects
from crawldedup.scrapy_plugin.runtime.judge import Judge
from crawldedup.scrapy_plugin.runtime.store_calls import StoreCalls
from crawldedup.scrapy_plugin.seen import FILE_NAME, Visits
from crawldedup.scrapy_plugin.settings import DedupSettings, is_enabled
from crawldedup.scrapy_plugin.stats import Tally
from crawldedup.stores.registry import scheme_of
from crawldedup.verdict import Kind, describe

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from crawldedup.page import PageReader
    from crawldedup.scrapy_plugin.reading.base import Readers
    from crawldedup.verdict import Verdict

logger = logging.getLogger(__name__)


class DedupMiddleware:
    """Judges every page that answers one of the spider's own requests, and drops or marks the duplicates.

    The verdict is left in ``request.meta["crawldedup_verdict"]``, which is `response.meta` in a callback. A
    page that cannot be judged passes, and is counted.

    With `inspects` the pages are those that a person looks at, not a crawl's: the log says what each is, and
    whatever is set, none is dropped.
    """

    def __init__(
        self,
        crawler: Crawler,
        settings: DedupSettings,
        judge: Judge,
        *,
        visits: Visits | None = None,
        inspects: bool = False,
    ) -> None:
        self._crawler = crawler
        self._settings = settings
        self._judge = judge
        self._visits = visits or Visits(None)
        self._inspects = inspects
        self._urls = UrlPatterns(settings.allow, settings.deny)
        self._usual = PagePolicy(
            action=settings.action,
            scope=settings.scope,
            keep_per_cluster=settings.keep_per_cluster,
            remember=settings.remember,
            canonical=settings.canonical,
            revisit=settings.revisit,
        )
        self._tally = Tally(crawler.stats)
        close_on_error = settings.on_error == "fail"
        self._startup_objects = StartupObjects()
        self._failures = Failures(crawler, self._tally, close_on_error=close_on_error, may_close=not inspects)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> DedupMiddleware:
        """Build it from Scrapy's settings. Raises `NotConfigured`; wrong settings end the crawl at its start, too."""
        try:
            if not is_enabled(crawler.settings):
                raise NotConfigured
            settings = DedupSettings.from_settings(crawler.settings)
            if inspects := is_inspection(crawler):
                settings = settings_for_inspection(settings, crawler)
            deduplicator = deduplicator_for(settings)
        except ConfigurationError as error:
            raise refuse(crawler, error) from None
        if settings.revisit == "drop" and not inspects and scheme_of(settings.store) == "memory":
            logger.warning(
                "crawldedup: CRAWLDEDUP_REVISIT is 'drop', but CRAWLDEDUP_STORE remembers nothing of earlier crawls; "
                "sqlite:///seen.sqlite would."
            )
        directory = None if inspects else job_dir(crawler.settings)
        readers = readers_for(settings, deduplicator.reader)
        judge = Judge(readers, StoreCalls(deduplicator, stays=not inspects), ReadOnce(readers.read))
        visits = Visits(Path(directory, FILE_NAME) if directory else None)
        middleware = cls(crawler, settings, judge, visits=visits, inspects=inspects)
        for name in ("spider_opened", "engine_started", "spider_error", "spider_closed"):
            crawler.signals.connect(getattr(middleware, name), signal=getattr(scrapy_signals, name))
        return middleware

    async def spider_opened(self) -> None:
        """Start the workers, which get ready during the first downloads, and open the store."""
        self._judge.start()
        if self._inspects:
            return
        try:
            self._require_what(self._usual)
            await self._judge.open(to_look=not self._usual.remember)
        except Exception as error:
            self._failures.of_start(error)

    async def engine_started(self) -> None:
        """Close the spider before its first request if the index cannot be used at all."""
        # Not in spider_opened: before 2.19 Scrapy swallows every exception of that signal's handlers, and it
        # never could close a spider that is just being opened.
        await self._failures.close_before_start()
        if self._settings.gc_freeze and not self._inspects:
            self._startup_objects.hold()

    async def spider_closed(self, spider: Spider, reason: str) -> None:
        """Close everything and log the summary."""
        self._startup_objects.release()
        await self._judge.close(self._crawler)
        try:
            self._visits.close(finished=reason == "finished")
        except OSError as error:
            logger.warning("crawldedup: closing failed: %r", error, extra={"spider": spider})
        logger.info("%s", self._tally.summary(), extra={"spider": spider})

    async def process_response(self, request: Request, response: Response) -> Response:
        """Judge the page, if it is one to judge. Raises `DuplicatePageError` for a page that is dropped."""
        # Spiders hand the meta of a page on to the next request.
        request.meta.pop(VERDICT_KEY, None)
        request.meta.pop(DROP_ITEMS_KEY, None)
        try:
            skipped = reason_to_skip(request, response, judge_by_default=self._settings.default, urls=self._urls)
            if skipped is not None:
                self._tally.skipped(skipped)
                return response
            policy = self._policy_for(request)
            verdict, unchanged = await self._verdict_on(request, response, policy)
        except PageError as error:
            self._tally.skipped(error.reason)
            self._log(logging.DEBUG, "cannot read %s: %s", response.url, str(error))
            return response
        except Exception as error:
            self._failures.of_page(error)
            return response
        self._failures.store_answered()
        return await self._act(request, response, verdict, policy, unchanged=unchanged)

    def _policy_for(self, request: Request) -> PagePolicy:
        try:
            policy = policy_for(request, self._usual)
            if self._inspects:
                policy = replace(policy, action="mark", remember=policy.remember and self._usual.remember)
            self._require_what(policy)
        except ConfigurationError as error:
            raise OverrideError(str(error)) from None
        return policy

    def _require_what(self, policy: PagePolicy) -> None:
        if policy.action == "drop-items" and not self._crawler.get_spider_middleware(DropItemsMiddleware):
            raise ConfigurationError(
                "The action 'drop-items' needs a spider middleware, which the add-on brings along: set "
                'ADDONS = {"crawldedup.Addon": 500}.'
            )

    async def _verdict_on(self, request: Request, response: Response, policy: PagePolicy) -> tuple[Verdict, bool]:
        """The verdict, and whether the page is unwanted because earlier crawls have seen the same of it."""
        spider = self._crawler.spider
        assert spider is not None  # responses come to open spiders only
        identity, scope_key = identity_of(request, response), scope_key_of(policy, response, spider)
        verdict = await self._judge.verdict(
            page_of(response),
            response.url,
            identity=identity,
            scope_key=scope_key,
            similarity=policy.similarity,
            canonical=partial(canonical_of, policy, response),
            remember=policy.remember,
        )
        if verdict.is_duplicate or (policy.revisit == "keep" and self._usual.revisit == "keep"):
            return verdict, False
        key = page_key(scope_key, response.url, identity)
        if (
            policy.revisit == "drop"
            and verdict.kind is Kind.REVISIT
            and not verdict.changed
            and key not in self._visits
        ):
            return verdict, True
        if policy.remember:
            self._visits.add(key)
        return verdict, False

    def spider_error(self, response: Response) -> None:
        """Forget a page whose callback failed, where the next crawl would not see it again for being unchanged."""
        request, spider = response.request, self._crawler.spider
        if request is None or spider is None or VERDICT_KEY not in request.meta:
            return
        policy = self._policy_for(request)
        if policy.revisit == "drop" and policy.remember:
            identity, scope_key = identity_of(request, response), scope_key_of(policy, response, spider)
            self._judge.forget(response.url, identity=identity, scope_key=scope_key)

    async def _act(
        self, request: Request, response: Response, verdict: Verdict, policy: PagePolicy, *, unchanged: bool
    ) -> Response:
        refused = unchanged or policy.refuses(verdict)
        dropped = refused and policy.action == "drop"
        self._tally.checked(verdict, dropped=dropped, unchanged=unchanged)
        request.meta[VERDICT_KEY] = verdict
        await self._tell(signals.page_judged, request, response, verdict, dropped)
        if verdict.is_duplicate:
            await self._tell(signals.page_deduplicated, request, response, verdict, dropped)
        if self._inspects:
            self._log(logging.INFO, "%s is %s", response.url, describe(verdict))
        if dropped:
            reason = describe(verdict)
            self._log(logging.DEBUG, "dropped %s: %s", response.url, reason)
            await close_browser_page(request)
            raise DuplicatePageError(reason, verdict)
        if refused and policy.action == "drop-items":
            self._log(logging.DEBUG, "drops the items of %s: %s", response.url, describe(verdict))
            request.meta[DROP_ITEMS_KEY] = True
        if policy.action == "mark" and (verdict.is_duplicate or unchanged):
            response.flags.append(f"crawldedup:{'unchanged' if unchanged else verdict.kind}")
        return response

    async def _tell(
        self, signal: object, request: Request, response: Response, verdict: Verdict, dropped: bool
    ) -> None:
        manager = self._crawler.signals
        if signals.has_receivers(signal, manager):
            await manager.send_catch_log_async(
                signal,
                request=request,
                response=response,
                verdict=verdict,
                dropped=dropped,
                spider=self._crawler.spider,
            )

    def _log(self, level: int, message: str, *values: str) -> None:
        shown = [printable(value) for value in values]
        logger.log(level, f"crawldedup: {message}", *shown, extra={"spider": self._crawler.spider})


def readers_for(settings: DedupSettings, reader: PageReader) -> Readers:
    """Those that read the pages of a crawl."""
    if settings.workers:
        return ProcessReaders(reader, settings.workers, limit_seconds=settings.page_seconds)
    return ThreadReader(reader, limit_seconds=settings.page_seconds)


def deduplicator_for(settings: DedupSettings) -> Deduplicator:
    """The library's object for these settings, not opened yet. Raises `ConfigurationError`."""
    optional: dict[str, Any] = {} if settings.min_words is None else {"min_words": settings.min_words}
    try:
        return Deduplicator(
            settings.store,
            namespace=settings.namespace,
            scope=settings.scope,
            similarity=settings.similarity,
            recall=settings.recall,
            ttl=settings.ttl,
            ttl_refresh=settings.ttl_refresh,
            max_pages=settings.max_pages,
            store_urls=settings.store_urls,
            extractor=settings.extractor,
            distinguish=settings.distinguish,
            **optional,
        )
    except ConfigurationError as error:
        # Arguments and settings go by the same names, and messages begin with them.
        name, _, rest = str(error).partition(" ")
        known = name in {field.name for field in fields(settings)}
        raise ConfigurationError(f"CRAWLDEDUP_{name.upper()} {rest}" if known else str(error)) from None
