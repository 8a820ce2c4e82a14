"""The downloader middleware: judges pages on their way to the spider, beside the event loop."""

from __future__ import annotations

import logging
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from scrapy import signals as scrapy_signals
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import create_looping_call

from crawldedup.deduplicator import Deduplicator
from crawldedup.errors import ConfigurationError, PageError
from crawldedup.printable import printable
from crawldedup.scrapy_plugin import signals
from crawldedup.scrapy_plugin.bridge import result_of
from crawldedup.scrapy_plugin.exceptions import DuplicatePageError
from crawldedup.scrapy_plugin.failures import Failures, OverrideError
from crawldedup.scrapy_plugin.items import DropItemsMiddleware
from crawldedup.scrapy_plugin.policy import (
    DROP_ITEMS_KEY,
    VERDICT_KEY,
    PagePolicy,
    identity_of,
    page_of,
    policy_for,
    reason_to_skip,
    scope_key_of,
)
from crawldedup.scrapy_plugin.pool import ReaderPool
from crawldedup.scrapy_plugin.settings import DedupSettings, is_enabled
from crawldedup.scrapy_plugin.store_thread import StoreThread
from crawldedup.scrapy_plugin.tally import Tally
from crawldedup.scrapy_plugin.workers import InlineWorker, PageWorker, ProcessWorker
from crawldedup.verdict import Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from crawldedup.verdict import Verdict

logger = logging.getLogger(__name__)

HEARTBEAT_SECONDS = 20.0
_EXPIRE_SECONDS = 1.0
_CLOSE_LIMIT_SECONDS = 10.0


class DedupMiddleware:
    """Judges every page that answers one of the spider's own requests, and drops or marks the duplicates.

    The verdict is left in ``request.meta["crawldedup_verdict"]``, which is `response.meta` in a callback. A
    page that cannot be judged passes, and is counted.
    """

    def __init__(self, crawler: Crawler, settings: DedupSettings, store: StoreThread, readers: ReaderPool) -> None:
        self._crawler = crawler
        self._settings = settings
        self._store = store
        self._readers = readers
        self._usual = PagePolicy(settings.action, settings.scope, settings.keep_per_cluster)
        self._tally = Tally(crawler.stats)
        self._failures = Failures(crawler, self._tally, close_on_error=settings.on_error == "fail")
        self._loops: list[Any] = []

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> DedupMiddleware:
        """Build it from Scrapy's settings. Raises `ConfigurationError`, which ends the crawl at its start."""
        if not is_enabled(crawler.settings):
            raise NotConfigured
        settings = DedupSettings.from_settings(crawler.settings)
        deduplicator = deduplicator_for(settings)
        reader = deduplicator.reader

        def make_worker() -> PageWorker:
            return ProcessWorker(reader) if settings.workers else InlineWorker(reader)

        readers = ReaderPool(make_worker, max(1, settings.workers))
        middleware = cls(crawler, settings, StoreThread(deduplicator), readers)
        for handler in (middleware.spider_opened, middleware.engine_started, middleware.spider_closed):
            crawler.signals.connect(handler, signal=getattr(scrapy_signals, handler.__name__))
        return middleware

    async def spider_opened(self) -> None:
        """Start the workers, which get ready during the first downloads, and open the store."""
        self._readers.start()
        try:
            self._require_what(self._usual)
            await result_of(self._store.open())
        except Exception as error:
            self._failures.of_start(error)
        self._every(HEARTBEAT_SECONDS, self._store.heartbeat)
        self._every(_EXPIRE_SECONDS, self._readers.expire)

    async def engine_started(self) -> None:
        """Close the spider before its first request if the index cannot be used at all."""
        # Not in spider_opened: before 2.19 Scrapy swallows every exception of that signal's handlers, and it
        # never could close a spider that is just being opened.
        await self._failures.close_before_start()

    async def spider_closed(self, spider: Spider) -> None:
        """Close everything and log the summary."""
        for loop in self._loops:
            if loop.running:
                loop.stop()
        for closing in (self._readers.close(), self._store.close()):
            try:
                await result_of(closing, _CLOSE_LIMIT_SECONDS)
            except Exception as error:
                logger.warning("crawldedup: closing failed: %r", error, extra={"spider": spider})
        logger.info("%s", self._tally.summary(), extra={"spider": spider})

    async def process_response(self, request: Request, response: Response) -> Response:
        """Judge the page, if it is one to judge. Raises `DuplicatePageError` for a page that is dropped."""
        # Spiders hand the meta of a page on to the next request.
        request.meta.pop(VERDICT_KEY, None)
        request.meta.pop(DROP_ITEMS_KEY, None)
        try:
            skipped = reason_to_skip(request, response, judge_by_default=self._settings.default)
            if skipped is not None:
                self._tally.skipped(skipped)
                return response
            policy = self._policy_for(request)
            verdict = await self._judge(request, response, policy)
        except PageError as error:
            self._tally.skipped(error.reason)
            self._debug("cannot read %s: %s", response.url, str(error))
            return response
        except Exception as error:
            self._failures.of_page(error)
            return response
        self._failures.store_answered()
        return await self._act(request, response, verdict, policy)

    def _policy_for(self, request: Request) -> PagePolicy:
        try:
            policy = policy_for(request, self._usual)
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

    async def _judge(self, request: Request, response: Response, policy: PagePolicy) -> Verdict:
        spider = self._crawler.spider
        assert spider is not None  # responses come to open spiders only
        fingerprint = await result_of(self._readers.read(page_of(response)))
        return await result_of(
            self._store.judge(
                response.url,
                fingerprint,
                identity=identity_of(request, response),
                scope_key=scope_key_of(policy, response, spider),
                similarity=policy.similarity,
            )
        )

    async def _act(self, request: Request, response: Response, verdict: Verdict, policy: PagePolicy) -> Response:
        refused = policy.refuses(verdict)
        dropped = refused and policy.action == "drop"
        self._tally.checked(verdict, dropped=dropped)
        request.meta[VERDICT_KEY] = verdict
        await self._crawler.signals.send_catch_log_async(
            signals.page_judged,
            request=request,
            response=response,
            verdict=verdict,
            dropped=dropped,
            spider=self._crawler.spider,
        )
        if dropped:
            reason = explanation(verdict)
            self._debug("dropped %s: %s", response.url, reason)
            raise DuplicatePageError(reason, verdict)
        if refused and policy.action == "drop-items":
            self._debug("drops the items of %s: %s", response.url, explanation(verdict))
            request.meta[DROP_ITEMS_KEY] = True
        if verdict.is_duplicate and policy.action == "mark":
            response.flags.append(f"crawldedup:{verdict.kind}")
        return response

    def _every(self, seconds: float, call: Callable[[], object]) -> None:
        loop = create_looping_call(call)
        loop.start(seconds, now=False)
        self._loops.append(loop)

    def _debug(self, message: str, *values: str) -> None:
        shown = [printable(value) for value in values]
        logger.debug(f"crawldedup: {message}", *shown, extra={"spider": self._crawler.spider})


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
            method=settings.method,
            weighting=settings.weighting,
            **optional,
        )
    except ConfigurationError as error:
        # Arguments and settings go by the same names, and messages begin with them.
        name, _, rest = str(error).partition(" ")
        known = name in {field.name for field in fields(settings)}
        raise ConfigurationError(f"CRAWLDEDUP_{name.upper()} {rest}" if known else str(error)) from None


def explanation(verdict: Verdict) -> str:
    """Why a page was dropped, in a form that is safe to log."""
    original = printable(verdict.original or "an unknown page")
    if verdict.kind is Kind.EXACT_DUPLICATE:
        return f"exact duplicate of {original}"
    return f"near duplicate ({verdict.similarity or 0:.2f}) of {original}"
