"""A shop: products share their descriptions, and one product hangs in many lists under many URLs.

Products are told apart by name, price and specification, however alike their pages read. What is the same product
again, at a URL with a campaign or a sort order in it, yields no item; its links are followed all the same.
"""

import scrapy
from scrapy.linkextractors import LinkExtractor


class ShopSpider(scrapy.Spider):
    name = "shop"
    custom_settings = {
        "CRAWLDEDUP_ACTION": "drop-items",
        "CRAWLDEDUP_DISTINGUISH": "products",
    }
    links = LinkExtractor(allow=r"/shop/")

    def __init__(self, start=None, **kwargs):
        super().__init__(**kwargs)
        self.start_url = start

    async def start(self):
        yield scrapy.Request(self.start_url or self.settings["START_URL"] + "shop/")

    def parse(self, response):
        if response.css(".sku"):
            yield {
                "url": response.url,
                "name": response.css("h1::text").get("").strip(),
                "price": response.css(".price::text").get("").strip(),
                "sku": response.css(".sku::text").get("").strip(),
            }
        for link in self.links.extract_links(response):
            yield scrapy.Request(link.url)
