"""A site that is crawled again and again: each crawl yields what is new or has changed.

The index outlives the crawl. Unchanged pages are fetched and their links are followed, but they
yield no items.
"""

import scrapy

from crawldedup import add_verdict
from example.site_spider import SiteSpider


class UpdatesSpider(SiteSpider):
    name = "updates"
    custom_settings = {
        "CRAWLDEDUP_STORE": "sqlite:///.scrapy/updates.sqlite",
        "CRAWLDEDUP_REVISIT": "drop",
        # Forget pages that were not seen for this long.
        "CRAWLDEDUP_TTL": "90d",
    }

    def parse(self, response):
        if not isinstance(response, scrapy.http.HtmlResponse):
            return
        item = {"url": response.url, "title": response.css("title::text").get("").strip()}
        # The field is "new", or "revisit" for a page that has changed.
        yield add_verdict(item, response, {"kind": "news"})
        yield from self.requests_to_links(response)
