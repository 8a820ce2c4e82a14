"""``CRAWLDEDUP_ACTION = "drop-items"``: the spider follows a duplicate's links, its items go nowhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.spidermiddlewares.base import BaseSpiderMiddleware

from crawldedup.scrapy_plugin.policy import DROP_ITEMS_KEY

if TYPE_CHECKING:
    from scrapy.http import Response


class DropItemsMiddleware(BaseSpiderMiddleware):
    """Drops the items of pages that the downloader middleware has marked, before any pipeline sees them."""

    def get_processed_item(self, item: Any, response: Response | None) -> Any:
        """Return the item, or None for an item of a duplicate page."""
        if response is None or response.request is None or not response.request.meta.get(DROP_ITEMS_KEY):
            return item
        self.crawler.stats.inc_value("crawldedup/items_dropped")
        return None
