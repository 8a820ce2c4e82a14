"""A shop: products share their descriptions, and one product hangs in many lists under many URLs.

Products are told apart by name, price and specification, however alike their pages read. What is the same product
again, at a URL with a campaign or a sort order in it, yields no item; its links are followed all the same.
"""

from scrapy.linkextractors import LinkExtractor

from example.site_spider import SiteSpider


class ShopSpider(SiteSpider):
    name = "shop"
    custom_settings = {
        "CRAWLDEDUP_ACTION": "drop-items",
        "CRAWLDEDUP_DISTINGUISH": "products",
    }
    first_path = "shop/"
    links = LinkExtractor(allow=r"/shop/")

    def parse(self, response):
        if response.css(".sku"):
            yield {
                "url": response.url,
                "name": response.css("h1::text").get("").strip(),
                "price": response.css(".price::text").get("").strip(),
                "sku": response.css(".sku::text").get("").strip(),
            }
        yield from self.requests_to_links(response)
