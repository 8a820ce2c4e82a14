"""The spider of crawls that find all their pages at once, as the links of one page."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from page_spider import PageSpider
from scrapy import Request
from scrapy.http import Response


class LinkingSpider(PageSpider):
    """Asks for the pages of a task when the first page has come."""

    async def start(self) -> AsyncIterator[Request]:
        yield Request(f"{self.task['base']}/", callback=self.linked)

    def linked(self, response: Response) -> Any:
        for each in self.task["pages"]:
            yield Request(**{"callback": self.parse, "errback": self.failed, **each})
