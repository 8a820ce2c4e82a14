"""A spider that follows all links."""

from typing import Any

from page_spider import PageSpider
from scrapy.http import Response


class LinkSpider(PageSpider):
    def parse(self, response: Response) -> Any:
        yield from super().parse(response)
        yield from response.follow_all(css="a", errback=self.failed)
