"""A spider with page objects that scrapy-poet builds: of the page, or of its URL alone, without a download."""

from typing import Any

import attrs
from page_spider import PageSpider
from scrapy.http import Response
from scrapy_poet import DummyResponse
from web_poet import ItemPage, RequestUrl, WebPage


class ArticlePage(WebPage[dict[str, Any]]):
    """The words of an article."""


@attrs.define
class AddressPage(ItemPage[dict[str, Any]]):
    request_url: RequestUrl


class PoetSpider(PageSpider):
    # Annotations are read at run time, by scrapy-poet.
    async def parse_article(self, response: Response, page: ArticlePage) -> None:
        self.report["passed"].append([self.shown(response.url), page.css("h1::text").get()])

    async def parse_address(self, response: DummyResponse, page: AddressPage) -> None:
        verdict = response.meta.get("crawldedup_verdict")
        self.report["passed"].append([self.shown(str(page.request_url)), type(response).__name__, verdict])
