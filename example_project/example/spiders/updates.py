"""A site that is visited again and again: of every visit, only what is new or has changed.

The index outlives the crawl. Unchanged pages are fetched, and their links are followed, but they yield nothing.
"""

import scrapy

from crawldedup.scrapy_plugin.items.verdict_fields import add_verdict
from example.site_spider import SiteSpider


class UpdatesSpider(SiteSpider):
    name = "updates"
    custom_settings = {
        "CRAWLDEDUP_STORE": "sqlite:///.scrapy/updates.sqlite",
        "CRAWLDEDUP_ACTION": "drop-items",
        "CRAWLDEDUP_REVISIT": "drop",
        # Pages that were not seen for so long are gone; if they come back, they are news.
        "CRAWLDEDUP_TTL": "90d",
    }

    def parse(self, response):
        if not isinstance(response, scrapy.http.HtmlResponse):
            return
        item = {"url": response.url, "title": response.css("title::text").get("").strip()}
        # "new", or "revisit" for a page that has changed.
        yield add_verdict(item, response, {"kind": "news"})
        yield from self.requests_to_links(response)
