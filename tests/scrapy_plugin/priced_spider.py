"""A spider whose items have fields with serializers, and texts in other scripts."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from page_spider import PageSpider
from scrapy import Field, Item
from scrapy.http import Response


def in_euros(value: Decimal) -> str:
    return f"€ {value:.2f}"


class Offer(Item):
    url = Field()
    price = Field(serializer=in_euros)
    words = Field(serializer=sorted)
    title = Field()


class PricedSpider(PageSpider):
    def parse(self, response: Response) -> Iterator[Any]:
        # In another order than the fields of the class.
        offer = Offer(title="Größe 北海道", words={"b", "a"}, price=Decimal("12.5"))
        offer["url"] = self.shown(response.url)
        yield offer


class UnfinishedSpider(PageSpider):
    """Leaves it to a pipeline to make the price a number."""

    def parse(self, response: Response) -> Iterator[Any]:
        yield Offer(url=self.shown(response.url), price="12 euros")
