"""The spider of a crawl that has room for a few skipped requests alone. It needs a process of its own."""

from __future__ import annotations

from page_spider import PageSpider

from crawldedup.advice import prediction

prediction.MOST_SKIPPED = 3  # type: ignore[misc]


class RoomlessSpider(PageSpider):
    """Asks for the pages of a task."""
