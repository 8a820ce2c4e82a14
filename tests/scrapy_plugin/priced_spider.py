"""Spiders whose items have serializers for their fields, and characters beyond ASCII."""

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
        # The order is different from that of the fields in the class.
        offer = Offer(title="Größe 北海道", words={"b", "a"}, price=Decimal("12.5"))
        offer["url"] = self.shown(response.url)
        yield offer


class UnfinishedSpider(PageSpider):
    """Yields prices that a pipeline would have to convert to numbers before they are serialized."""

    def parse(self, response: Response) -> Iterator[Any]:
        yield Offer(url=self.shown(response.url), price="12 euros")
