"""A site that is visited again and again: of every visit, only what is new or has changed.

The index outlives the crawl. Unchanged pages are fetched, and their links are followed, but they yield nothing.
"""

import scrapy
from scrapy.linkextractors import LinkExtractor

from crawldedup.scrapy_plugin.items import add_verdict


class UpdatesSpider(scrapy.Spider):
    name = "updates"
    custom_settings = {
        "CRAWLDEDUP_STORE": "sqlite:///.scrapy/updates.sqlite",
        "CRAWLDEDUP_ACTION": "drop-items",
        "CRAWLDEDUP_REVISIT": "drop",
        # Pages that were not seen for so long are gone; if they come back, they are news.
        "CRAWLDEDUP_TTL": "90d",
    }
    links = LinkExtractor()

    def __init__(self, start=None, **kwargs):
        super().__init__(**kwargs)
        self.start_url = start

    async def start(self):
        yield scrapy.Request(self.start_url or self.settings["START_URL"])

    def parse(self, response):
        if not isinstance(response, scrapy.http.HtmlResponse):
            return
        item = {"url": response.url, "title": response.css("title::text").get("").strip()}
        # "new", or "revisit" for a page that has changed.
        yield add_verdict(item, response, {"kind": "news"})
        for link in self.links.extract_links(response):
            yield scrapy.Request(link.url)
