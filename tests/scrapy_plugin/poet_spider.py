"""A spider with page objects that scrapy-poet builds of the page."""

from typing import Any

from page_spider import PageSpider
from scrapy.http import Response
from web_poet import WebPage


class ArticlePage(WebPage[dict[str, Any]]):
    """The words of an article."""


class PoetSpider(PageSpider):
    # Annotations are read at run time, by scrapy-poet.
    async def parse_article(self, response: Response, page: ArticlePage) -> None:
        self.report["passed"].append([self.shown(response.url), page.css("h1::text").get()])
