"""The downloader middleware: has pages checked on their way to the spider, and drops or marks the duplicates."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from scrapy import signals as scrapy_signals
from scrapy.exceptions import NotConfigured
from scrapy.http import Response
from scrapy.utils.job import job_dir

from crawldedup.errors import ConfigurationError
from crawldedup.printable import printable
from crawldedup.scope import page_key
from crawldedup.scrapy_plugin import signals
from crawldedup.scrapy_plugin.errors import DuplicatePageError, OverrideError
from crawldedup.scrapy_plugin.items.verdict_fields import DropItemsMiddleware
from crawldedup.scrapy_plugin.policy import (
    DROP_ITEMS_KEY,
    VERDICT_KEY,
    PagePolicy,
    flags_of,
    identity_of,
    is_start,
    is_surplus,
    job_of,
    reason_to_skip,
    scope_key_of,
)
from crawldedup.scrapy_plugin.preference import Preference
from crawldedup.scrapy_plugin.reading.pool import WorkerPool
from crawldedup.scrapy_plugin.runtime.browser import close_browser_page
from crawldedup.scrapy_plugin.runtime.deliveries import Deliveries
from crawldedup.scrapy_plugin.runtime.failures import Failures, refuse
from crawldedup.scrapy_plugin.runtime.garbage import StartupObjects
from crawldedup.scrapy_plugin.runtime.guard import WallGuard
from crawldedup.scrapy_plugin.runtime.journal import CrawlJournal
from crawldedup.scrapy_plugin.runtime.progress import Progress, log_end
from crawldedup.scrapy_plugin.runtime.revisits import KeptRevisits
from crawldedup.scrapy_plugin.runtime.seen import FILE_NAME, SeenPages
from crawldedup.scrapy_plugin.settings import CrawlOptions, is_enabled, is_interactive, options_for_inspection
from crawldedup.scrapy_plugin.stats import CrawlStats
from crawldedup.stores.registry import is_persistent
from crawldedup.verdict import Kind, describe

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.crawler import Crawler

    from crawldedup.scrapy_plugin.reading.messages import Job, Judged

logger = logging.getLogger(__name__)

_DONE: Final = {"drop": "dropped", "drop-items": "drops the items of", "mark": "marks"}


class DedupMiddleware:
    """Checks every page that answers one of the spider's own requests, and drops or marks the duplicates.

    The verdict is left in ``request.meta["crawldedup_verdict"]``, which is `response.meta` in a callback. A page that
    cannot be checked passes, and is counted.

    In an interactive command such as `scrapy shell` the log says what each page is, and none is dropped.
    """

    def __init__(
        self,
        crawler: Crawler,
        options: CrawlOptions,
        pool: WorkerPool,
        *,
        seen: SeenPages | None = None,
        kept_revisits: KeptRevisits | None = None,
        is_interactive: bool = False,
    ) -> None:
        self._crawler = crawler
        self._options = options
        self.pool = pool
        self._seen = seen or SeenPages(None)
        self._is_interactive = is_interactive
        self._usual = PagePolicy.of_crawl(options)
        self._preference = Preference(options.prefer, options.trusted_sites)
        self._kept_revisits = kept_revisits or KeptRevisits(is_watching=False)
        self._startup_objects = StartupObjects()
        self._deliveries = Deliveries(crawler)
        self._forgetting: set[asyncio.Task[None]] = set()
        self._stats = CrawlStats(crawler.stats, by_site=options.stats_by_site, covers=options.paragraphs is not None)
        self._progress = Progress(crawler, self._stats)
        self.journal = CrawlJournal(crawler)
        self._walls = WallGuard(crawler, self._stats, "ignore" if is_interactive else options.wall)
        self._failures = Failures(
            crawler, self._stats, close_on_error=options.on_error == "fail", may_close=not is_interactive
        )

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> DedupMiddleware:
        """Build the middleware from Scrapy's settings.

        Args:
            crawler: The crawler. Wrong settings end its crawl at the start.

        Raises:
            NotConfigured: The settings are wrong, or crawldedup is disabled.
        """
        try:
            if not is_enabled(crawler.settings):
                raise NotConfigured
            options = CrawlOptions.from_settings(crawler.settings)
        except ConfigurationError as error:
            raise refuse(crawler, error) from None
        if interactive := is_interactive(crawler):
            options = options_for_inspection(options, crawler)
        elif options.revisit == "drop" and not is_persistent(options.store):
            logger.warning(
                "crawldedup: CRAWLDEDUP_REVISIT is 'drop', but CRAWLDEDUP_STORE remembers nothing of earlier crawls; "
                "sqlite:///seen.sqlite would."
            )
        pool = WorkerPool(options, workers=options.workers, page_seconds=options.page_seconds, stays=not interactive)
        directory = None if interactive else job_dir(crawler.settings)
        seen = SeenPages(Path(directory, FILE_NAME) if directory else None)
        # The runs of a paused job are one crawl.
        is_lasting = is_persistent(options.store) and not directory and not interactive
        kept_revisits = KeptRevisits(is_watching=is_lasting and options.revisit == "keep")
        middleware = cls(crawler, options, pool, seen=seen, kept_revisits=kept_revisits, is_interactive=interactive)
        for name in ("spider_opened", "engine_started", "spider_error", "item_error", "spider_closed"):
            crawler.signals.connect(getattr(middleware, name), signal=getattr(scrapy_signals, name))
        return middleware

    async def spider_opened(self, spider: Spider) -> None:
        """Start the workers, which get ready during the first downloads, and open the store."""
        # A crawl that is continued makes no start requests.
        self._preference.start_at(*getattr(spider, "start_urls", None) or ())
        if self._options.gc_freeze and not self._is_interactive:
            self._startup_objects.freeze()
        known = None
        try:
            self.pool.start()
            if not self._is_interactive:
                self._require_spider_middleware(self._usual)
                known = await self.pool.open(read_only=not self._usual.remember)
        except Exception as error:
            self._failures.at_start(error)
        if not self._is_interactive and self._failures.fatal is None:
            self._progress.begin(self._options, known)
            self.journal.begin(self._options, known)

    async def engine_started(self) -> None:
        """Close the spider before its first request if the index cannot be used at all."""
        # Not in spider_opened: before 2.19 Scrapy swallows every exception of that signal's handlers, and it
        # never could close a spider that is just being opened.
        await self._failures.close_before_start()

    async def spider_closed(self, spider: Spider, reason: str) -> None:
        """Close everything and log the summary."""
        self._progress.end()
        for forgetting in list(self._forgetting):
            await forgetting
        await self.pool.close(self._deliveries.take_delivered())
        self._startup_objects.unfreeze()
        try:
            self._seen.close(finished=reason == "finished")
        except OSError as error:
            logger.warning("crawldedup: closing failed: %r", error, extra={"spider": spider})
        self._kept_revisits.tell(spider)
        await self.journal.end(reason, self.pool.index_bytes)
        log_end(self._crawler, self._stats, complains=not self._is_interactive)

    async def process_response(self, request: Request, response: Response) -> Response | Request:
        """Check the page, if it is one to check.

        Args:
            request: The request that the page answers. Its meta receives the verdict.
            response: The page.

        Returns:
            The response, with flags; or a new request for a page behind a suspected wall that is to be retried.

        Raises:
            DuplicatePageError: The page is dropped.
        """
        # Spiders hand the meta of a page on to the next request.
        request.meta.pop(VERDICT_KEY, None)
        request.meta.pop(DROP_ITEMS_KEY, None)
        try:
            if (skipped := reason_to_skip(request, response, self._options.deny)) is not None:
                self._stats.skipped(skipped)
                self.journal.unchecked(request, response, skipped)
                return response
            policy = self._policy_for(request)
            delivered = self._deliveries.take_delivered()
            job = self._job_of(request, response, policy)
            with self._stats.waiting():
                try:
                    judged = await self.pool.check(replace(job, delivered=self._is_interactive, names=delivered))
                except Exception:
                    self._deliveries.put_back(delivered)
                    raise
            verdict = judged.verdict
            self._stats.worked(judged)
            if policy.remember and (not verdict.is_duplicate or verdict.replaces):
                self._deliveries.set_out(request, (job.url, job.identity, job.scope_key))
            unchanged = self._is_unchanged(job, judged, policy)
            if policy.revisit == "keep" and self._kept_revisits.is_watching:
                self._kept_revisits.add(_key_of(job), verdict, self._spider())
        except Exception as error:
            self._failures.at_response(response.url, error)
            self.journal.unchecked(request, response, error)
            return response
        self._failures.store_answered()
        return await self._act(request, response, judged, policy, unchanged=unchanged)

    def _policy_for(self, request: Request) -> PagePolicy:
        try:
            policy = self._usual.for_request(request)
            if self._is_interactive:
                policy = replace(policy, action="mark", remember=policy.remember and self._usual.remember)
            self._require_spider_middleware(policy)
        except ConfigurationError as error:
            raise OverrideError(str(error)) from None
        return policy

    def _require_spider_middleware(self, policy: PagePolicy) -> None:
        if policy.action == "drop-items" and not self._crawler.get_spider_middleware(DropItemsMiddleware):
            raise ConfigurationError(
                "The action 'drop-items' needs a spider middleware, which the add-on brings along: set "
                'ADDONS = {"crawldedup.Addon": 500}.'
            )

    def _job_of(self, request: Request, response: Response, policy: PagePolicy) -> Job:
        job = job_of(request, response, policy, self._spider().name, *self._preference.ranked(request, response))
        if job.revisit_similarity is not None and _key_of(job) in self._seen:
            # What this crawl has delivered is delivered again, and so the text that is remembered.
            return replace(job, revisit_similarity=None)
        return job

    def _is_unchanged(self, job: Job, judged: Judged, policy: PagePolicy) -> bool:
        """Return True for a page that is unwanted because an earlier crawl has seen the same of it."""
        verdict = judged.verdict
        if verdict.is_duplicate or (policy.revisit == "keep" and self._usual.revisit == "keep"):
            return False
        key = _key_of(job)
        is_same = verdict.kind is Kind.REVISIT and not verdict.changed
        # What a worker, or a crawler, remembered before it died was not delivered.
        is_lost = judged.is_repeated or verdict.abandoned
        if policy.revisit == "drop" and is_same and not is_lost and key not in self._seen:
            return True
        if policy.remember:
            self._seen.add(key)
        return False

    def spider_error(self, response: Response | None) -> None:
        """Forget a page whose callback failed, where the next crawl would not see it again for being unchanged."""
        # A spider may fail before there is any response.
        if response is None or (request := response.request) is None or VERDICT_KEY not in request.meta:
            return
        policy = self._policy_for(request)
        if policy.revisit == "drop" and policy.remember:
            # Scrapy does not wait for handlers of this signal.
            forgetting = asyncio.ensure_future(self._forget(request, response, policy))
            self._forgetting.add(forgetting)
            forgetting.add_done_callback(self._forgetting.discard)

    def item_error(self, response: object) -> None:
        """Forget a page with an item that failed in a pipeline, as one whose callback failed."""
        # An item need not come from a response.
        if isinstance(response, Response):
            self.spider_error(response)

    async def _forget(self, request: Request, response: Response, policy: PagePolicy) -> None:
        identity, scope_key = identity_of(request, response), scope_key_of(policy, response, self._spider().name)
        try:
            await self.pool.forget(response.url, identity=identity, scope_key=scope_key)
        except Exception as error:
            self._log(logging.DEBUG, "cannot forget %s: %s", response.url, str(error))

    async def _act(
        self, request: Request, response: Response, judged: Judged, policy: PagePolicy, *, unchanged: bool
    ) -> Response | Request:
        verdict = judged.verdict
        again = await self._walls.judged(request, verdict, judged.face)
        refused = unchanged or is_surplus(verdict, policy)
        action = "drop-items" if policy.action == "drop" and is_start(request) else policy.action
        dropped = refused and action == "drop" and again is None
        itemless = refused and action == "drop-items" and again is None
        fate = {"dropped": dropped, "itemless": itemless, "unchanged": unchanged}
        self._stats.checked(verdict, **fate, size=len(response.body))
        self.journal.checked(request, response, judged, **fate, retried=again is not None, marks=action == "mark")
        if is_start(request) and action != "mark":
            self._stats.started(lost=refused and verdict.is_duplicate)
        request.meta[VERDICT_KEY] = verdict
        event = {"request": request, "response": response, "verdict": verdict, "dropped": dropped or bool(again)}
        await signals.send(signals.page_judged, self._crawler, **event)
        if verdict.is_duplicate:
            await signals.send(signals.page_deduplicated, self._crawler, **event)
        if self._is_interactive:
            self._log(logging.INFO, "%s is %s", response.url, describe(verdict))
        elif refused or verdict.is_duplicate or verdict.is_partial or verdict.difference:
            done = _DONE[action] if refused else "delivers"
            self._log(logging.DEBUG, "%s %s: %s", "retries" if again else done, response.url, describe(verdict))
        if again is not None:
            return again
        if dropped:
            await close_browser_page(request)
            signals.count_as_received(self._crawler, request, response)
            raise DuplicatePageError(describe(verdict), verdict)
        if itemless:
            request.meta[DROP_ITEMS_KEY] = True
        response.flags += flags_of(verdict, policy, unchanged=unchanged, refused=refused)
        return response

    def _spider(self) -> Spider:
        assert self._crawler.spider is not None  # responses come to open spiders only
        return self._crawler.spider

    def _log(self, level: int, message: str, *values: str) -> None:
        logger.log(level, f"crawldedup: {message}", *map(printable, values), extra={"spider": self._crawler.spider})


def _key_of(job: Job) -> int:
    return page_key(job.scope_key or "", job.url, job.identity)
