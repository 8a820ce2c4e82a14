"""A spider that is handed the browser's tab with each page, as scrapy-playwright's `playwright_include_page` does."""

from collections.abc import AsyncIterator
from typing import Any

from page_spider import PageSpider
from scrapy import Request
from scrapy.http import Response
from scrapy_playwright.page import PageMethod
from twisted.python.failure import Failure


class PlaywrightSpider(PageSpider):
    """Closes its tabs, as it should."""

    async def start(self) -> AsyncIterator[Request]:
        async for request in super().start():
            # What the page's script writes must be there.
            methods = [PageMethod("wait_for_selector", "article")]
            request.meta.update(playwright=True, playwright_include_page=True, playwright_page_methods=methods)
            yield request

    async def parse(self, response: Response) -> Any:
        await response.meta["playwright_page"].close()
        for result in super().parse(response):
            yield result

    async def failed(self, failure: Failure) -> None:  # type: ignore[override]
        await failure.request.meta["playwright_page"].close()
        super().failed(failure)
