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
from scrapy.exceptions import DropItem, NotConfigured

from crawldedup.errors import ConfigurationError, PageError
from crawldedup.printable import printable
from crawldedup.scrapy_plugin.failures import Failures
from crawldedup.scrapy_plugin.inspection import is_inspection
from crawldedup.scrapy_plugin.items.reader import ItemReader
from crawldedup.scrapy_plugin.items.text import ItemSettings, identity_in, page_in, site_in
from crawldedup.scrapy_plugin.items.verdict_fields import add_verdict
from crawldedup.scrapy_plugin.middleware import deduplicator_for
from crawldedup.scrapy_plugin.policy import is_surplus
from crawldedup.scrapy_plugin.reading.thread_reader import ThreadReader
from crawldedup.scrapy_plugin.refusal import LONGEST_MESSAGE, refuse
from crawldedup.scrapy_plugin.runtime.judge import Judge
from crawldedup.scrapy_plugin.runtime.store_calls import StoreCalls
from crawldedup.scrapy_plugin.settings import DedupSettings, is_enabled
from crawldedup.scrapy_plugin.stats import Tally
from crawldedup.verdict import describe

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from crawldedup.verdict import Verdict

logger = logging.getLogger(__name__)


class DuplicateItemError(DropItem):
    """Raised for an item that is dropped as a duplicate; `verdict` says of which item."""

    def __init__(self, reason: str, verdict: Verdict) -> None:
        self.verdict = verdict
        super().__init__(reason, log_level="DEBUG")


class DedupItemPipeline:
    """Judges every item that has the fields named in ``CRAWLDEDUP_ITEM_FIELDS``, and drops or marks the duplicates.

    An item that cannot be judged passes, and is counted.
    """

    def __init__(
        self,
        crawler: Crawler,
        settings: DedupSettings,
        item_settings: ItemSettings,
        judge: Judge,
    ) -> None:
        self._crawler = crawler
        self._settings = settings
        self._item_settings = item_settings
        self._judge = judge
        self._tally = ItemTally(crawler.stats)
        self._failures = Failures(crawler, self._tally, close_on_error=settings.on_error == "fail", noun="item")
        self._unmarkable: set[type] = set()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> DedupItemPipeline:
        """Build it from Scrapy's settings. Raises `NotConfigured`; wrong settings end the crawl at its start, too."""
        # Where a person looks at a page, `scrapy parse --pipelines` shows its items, and they are not a crawl's.
        if is_inspection(crawler):
            raise NotConfigured
        try:
            if not is_enabled(crawler.settings):
                raise NotConfigured
            item_settings = ItemSettings.from_settings(crawler.settings)
            settings = items_index_of(DedupSettings.from_settings(crawler.settings))
            deduplicator = deduplicator_for(settings)
        except ConfigurationError as error:
            raise refuse(crawler, error) from None
        # Texts of items are short work beside the extraction of a page: one thread reads them.
        readers = ThreadReader(ItemReader(deduplicator.reader), limit_seconds=settings.page_seconds)
        pipeline = cls(crawler, settings, item_settings, Judge(readers, StoreCalls(deduplicator)))
        crawler.signals.connect(pipeline.engine_started, signal=scrapy_signals.engine_started)
        return pipeline

    async def open_spider(self) -> None:
        """Start reading, and open the store."""
        self._judge.start()
        try:
            await self._judge.open(to_look=not self._settings.remember)
        except Exception as error:
            self._failures.of_start(error)

    async def engine_started(self) -> None:
        """Close the spider before its first request if the index cannot be used at all."""
        await self._failures.close_before_start()

    async def close_spider(self) -> None:
        """Close everything after the items that are queued, and log the summary."""
        await self._judge.close(self._crawler)
        logger.info("%s", self._tally.summary(), extra={"spider": self._crawler.spider})

    async def process_item(self, item: Any) -> Any:
        """Judge the item, if it is one to judge. Raises `DuplicateItemError` for an item that is dropped."""
        verdict = await self._verdict_on(item)
        if verdict is not None:
            refused = is_surplus(verdict, self._settings.keep_per_cluster)
            dropped = refused and self._item_settings.action == "drop"
            self._tally.checked(verdict, dropped=dropped)
            if dropped:
                raise DuplicateItemError(describe(verdict, unnamed="an item without URL"), verdict)
        if self._item_settings.action == "mark":
            self._mark(item, verdict)
        return item

    async def _verdict_on(self, item: Any) -> Verdict | None:
        """The verdict; None for an item that passes without one."""
        spider = self._crawler.spider
        assert spider is not None  # items come from open spiders only
        try:
            if not ItemAdapter.is_item(item):
                raise PageError("not_an_item", f"{type(item)} is no kind of item that Scrapy knows")
            page = page_in(item, self._item_settings)
            url, identity = identity_in(item, self._item_settings)
            scope_key = spider.name if self._settings.scope == "spider" else None
            if self._settings.scope == "site":
                scope_key = site_in(item, url)
            verdict = await self._judge.verdict(
                page, url, identity=identity, scope_key=scope_key, remember=self._settings.remember
            )
        except PageError as error:
            self._tally.skipped(error.reason)
            logger.debug("crawldedup: an item is not judged: %s", printable(str(error)), extra={"spider": spider})
            return None
        except Exception as error:
            self._failures.of_page(error)
            return None
        self._failures.store_answered()
        return verdict

    def _mark(self, item: Any, verdict: Verdict | None) -> None:
        try:
            if ItemAdapter.is_item(item):
                add_verdict(item, verdict)
        # What raises here, be it the code of an item's class, costs no item.
        except Exception as error:
            self._tally.error("mark")
            if type(item) not in self._unmarkable:
                self._unmarkable.add(type(item))
                message = str(error) if isinstance(error, ConfigurationError) else f"cannot mark an item: {error!r}"
                extra = {"spider": self._crawler.spider}
                logger.error("crawldedup: %s", printable(message, LONGEST_MESSAGE), extra=extra)


class ItemTally(Tally):
    """Counts items as `Tally` counts pages, under ``crawldedup/item/``."""

    _noun = "item"

    def _add(self, name: str) -> None:
        self._counts[name] += 1
        self._stats.inc_value(f"crawldedup/item/{name}")


def items_index_of(settings: DedupSettings) -> DedupSettings:
    """The settings of the index of items: a namespace of its own, for items and pages must never meet.

    Items come as text, so that the extractor of the pages is no part of their profile: changing it keeps the index.
    """
    return replace(settings, namespace=f"{settings.namespace}.items", extractor="text", workers=0)
