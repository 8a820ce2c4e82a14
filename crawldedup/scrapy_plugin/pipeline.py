"""The item pipeline: drops or marks items whose text repeats that of an earlier item, whatever their pages look like.

``ITEM_PIPELINES = {"crawldedup.DedupItemPipeline": 400}`` and ``CRAWLDEDUP_ITEM_FIELDS`` are all it needs. It works
with and without the middleware, on an index of its own beside the one of the pages.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from itemadapter import ItemAdapter
from scrapy import signals as scrapy_signals
from scrapy.exceptions import NotConfigured

from crawldedup.errors import ConfigurationError, PageError
from crawldedup.printable import printable
from crawldedup.scrapy_plugin.errors import DuplicateItemError
from crawldedup.scrapy_plugin.items.text import identity_in, joined_fields, site_of_name
from crawldedup.scrapy_plugin.items.verdict_fields import add_verdict
from crawldedup.scrapy_plugin.policy import is_surplus
from crawldedup.scrapy_plugin.reading.messages import Job
from crawldedup.scrapy_plugin.reading.pool import WorkerPool
from crawldedup.scrapy_plugin.runtime.failures import LONGEST_MESSAGE, Failures, refuse
from crawldedup.scrapy_plugin.runtime.progress import Progress, log_end
from crawldedup.scrapy_plugin.settings import PREFIX, CrawlOptions, is_enabled, is_interactive
from crawldedup.scrapy_plugin.stats import CrawlStats
from crawldedup.verdict import describe

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler

    from crawldedup.verdict import Verdict

logger = logging.getLogger(__name__)


class DedupItemPipeline:
    """Checks every item that has the fields named in ``CRAWLDEDUP_ITEM_FIELDS``, and drops or marks the duplicates.

    An item that cannot be checked passes, and is counted.

    Example:
        .. code-block:: python

            ITEM_PIPELINES = {"crawldedup.DedupItemPipeline": 400}
            CRAWLDEDUP_ITEM_FIELDS = ["title", "body"]
    """

    def __init__(self, crawler: Crawler, options: CrawlOptions, pool: WorkerPool) -> None:
        self._crawler = crawler
        self._options = options
        self._pool = pool
        self._stats = CrawlStats(crawler.stats, "item")
        self._progress = Progress(crawler, self._stats, "item")
        self._failures = Failures(crawler, self._stats, close_on_error=options.on_error == "fail", noun="item")
        self._unmarkable: set[type] = set()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> DedupItemPipeline:
        """Build the pipeline from Scrapy's settings.

        Args:
            crawler: The crawler. Wrong settings end its crawl at the start.

        Raises:
            NotConfigured: The settings are wrong, crawldedup is disabled, or a person looks at a page.
        """
        # Where a person looks at a page, `scrapy parse --pipelines` shows its items, and they are not a crawl's.
        if is_interactive(crawler):
            raise NotConfigured
        try:
            if not is_enabled(crawler.settings):
                raise NotConfigured
            options = items_index_of(CrawlOptions.from_settings(crawler.settings))
        except ConfigurationError as error:
            raise refuse(crawler, error) from None
        # Texts of items are short work beside the extraction of a page: one worker reads them.
        pipeline = cls(crawler, options, WorkerPool(options, workers=1, page_seconds=options.page_seconds))
        crawler.signals.connect(pipeline.engine_started, signal=scrapy_signals.engine_started)
        return pipeline

    async def open_spider(self) -> None:
        """Start the worker, and open the store."""
        known = None
        try:
            self._pool.start()
            known = await self._pool.open(read_only=not self._options.remember)
        except Exception as error:
            self._failures.at_start(error)
        if self._failures.fatal is None:
            self._progress.begin(self._options, known)

    async def engine_started(self) -> None:
        """Close the spider before its first request if the index cannot be used at all."""
        await self._failures.close_before_start()

    async def close_spider(self) -> None:
        """Close everything after the items that are queued, and log the summary."""
        self._progress.end()
        await self._pool.close()
        log_end(self._crawler, self._stats)

    async def process_item(self, item: Any) -> Any:
        """Check the item, if it is one to check.

        Args:
            item: An item of any kind that Scrapy knows.

        Returns:
            The same item, with its verdict if the action is "mark".

        Raises:
            DuplicateItemError: The item is dropped.
        """
        verdict = await self._verdict_on(item)
        if verdict is not None:
            refused = is_surplus(verdict, self._options)
            dropped = refused and self._options.item_action == "drop"
            self._stats.checked(verdict, dropped=dropped)
            if verdict.is_duplicate:
                reason = describe(verdict, unnamed="an item without URL")
                if dropped:
                    raise DuplicateItemError(reason, verdict)
                shown = printable(verdict.url or "an item without URL")
                extra = {"spider": self._crawler.spider}
                logger.debug("crawldedup: %s %s: %s", "marks" if refused else "delivers", shown, reason, extra=extra)
        if self._options.item_action == "mark":
            self._mark(item, verdict)
        return item

    async def _verdict_on(self, item: Any) -> Verdict | None:
        """Return the verdict, or None for an item that passes without one."""
        spider = self._crawler.spider
        assert spider is not None  # items come from open spiders only
        try:
            job = self._job_of(item, spider)
            with self._stats.waiting():
                judged = await self._pool.check(job)
            self._stats.worked(judged)
        except PageError as error:
            self._stats.skipped(error.reason)
            logger.debug("crawldedup: an item is not checked: %s", printable(str(error)), extra={"spider": spider})
            return None
        except Exception as error:
            self._failures.at_page(error)
            return None
        self._failures.store_answered()
        return judged.verdict

    def _job_of(self, item: Any, spider: Spider) -> Job:
        if not ItemAdapter.is_item(item):
            raise PageError("not_an_item", f"{type(item)} is no kind of item that Scrapy knows")
        assert self._options.item_fields is not None
        body = joined_fields(item, self._options.item_fields)
        url, identity = identity_in(item)
        scope_key = spider.name if self._options.scope == "spider" else None
        if self._options.scope == "site":
            scope_key = site_of_name(url)
        remember = self._options.remember
        return Job(url, body, form="fields", identity=identity, scope_key=scope_key, remember=remember)

    def _mark(self, item: Any, verdict: Verdict | None) -> None:
        try:
            if ItemAdapter.is_item(item):
                add_verdict(item, verdict)
        # What raises here, be it the code of an item's class, costs no item.
        except Exception as error:
            self._stats.error("mark")
            if type(item) not in self._unmarkable:
                self._unmarkable.add(type(item))
                message = str(error) if isinstance(error, ConfigurationError) else f"cannot mark an item: {error!r}"
                extra = {"spider": self._crawler.spider}
                logger.error("crawldedup: %s", printable(message, LONGEST_MESSAGE), extra=extra)


def items_index_of(options: CrawlOptions) -> CrawlOptions:
    """Return the options of the index of items: a namespace of its own, so that items and pages never meet.

    Items come as text, so that the extractor of the pages is no part of their profile: changing it keeps the index.
    Raises ConfigurationError if no fields are named.
    """
    if options.item_fields is None:
        name = f"{PREFIX}ITEM_FIELDS"
        raise ConfigurationError(
            f'{name} is not set; name the fields whose text is compared, as in {name} = ["title", "body"].'
        )
    return replace(options, namespace=f"{options.namespace}.items", extractor="text", paragraphs=None)
