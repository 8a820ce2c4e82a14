"""A shop: products share their descriptions, and one product has many URLs.

Products that differ in name, lead picture or declared data stay apart, however alike their pages
read. The same product at another URL, with a campaign or a sort order in it, yields no item; its
links are followed.
"""

from scrapy.linkextractors import LinkExtractor

from example.site_spider import DEMO_SITE, SiteSpider


class ShopSpider(SiteSpider):
    name = "shop"
    custom_settings = {
        # Whichever URL of a product comes first will do.
        "CRAWLDEDUP_PREFER": [],
    }
    first_path = "shop/"
    links = LinkExtractor(allow=r"/shop/")
    # In the demo site's shop every product has one URL. The links of its newsletters add further
    # ones, with campaigns. For a shop of your own, give -a start=URL.
    newsletters = [
        f"shop/{category}/1/?utm_source=newsletter&utm_content={week}"
        for category in ("lanterns", "ropes", "notebooks", "teas")
        for week in (1, 2)
    ]

    def first_urls(self):
        urls = super().first_urls()
        return urls if self.start_url else urls + [DEMO_SITE + path for path in self.newsletters]

    def parse(self, response):
        if response.css(".sku"):
            yield {
                "url": response.url,
                "name": response.css("h1::text").get("").strip(),
                "price": response.css(".price::text").get("").strip(),
                "sku": response.css(".sku::text").get("").strip(),
            }
        yield from self.requests_to_links(response)
