"""A spider with page objects that scrapy-poet builds: of the page, or of its URL alone, without a download."""

from __future__ import annotations

from typing import Any

import attrs
from page_spider import PageSpider
from scrapy.http import Response
from scrapy_poet import DummyResponse
from web_poet import ItemPage, RequestUrl, WebPage, field


class ArticlePage(WebPage[dict[str, Any]]):
    @field
    def words(self) -> int:
        return len(" ".join(self.css("p::text").getall()).split())


@attrs.define
class AddressPage(ItemPage[dict[str, Any]]):
    request_url: RequestUrl

    @field
    def address(self) -> str:
        return str(self.request_url)


class PoetSpider(PageSpider):
    # Annotations are read at run time, by scrapy-poet.
    async def parse_article(self, response: Response, page: ArticlePage) -> Any:
        item = await page.to_item()
        self.report["passed"].append([self.shown(response.url), item["words"]])

    async def parse_address(self, response: DummyResponse, page: AddressPage) -> Any:
        item = await page.to_item()
        verdict = response.meta.get("crawldedup_verdict")
        self.report["passed"].append([self.shown(item["address"]), type(response).__name__, verdict])
