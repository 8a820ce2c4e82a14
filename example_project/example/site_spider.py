"""The common part of the spiders: where they begin, and that they stay on that host."""

from urllib.parse import urlsplit

import scrapy
from scrapy.linkextractors import LinkExtractor


class SiteSpider(scrapy.Spider):
    """Start at the URL of `-a start=URL`, or at `first_path` of the site in the settings."""

    first_path = ""
    links = LinkExtractor()

    def __init__(self, start=None, **kwargs):
        super().__init__(**kwargs)
        self.start_url = start

    async def start(self):
        urls = self.first_urls()
        self.allowed_domains = [urlsplit(url).hostname for url in urls[:1]]
        for url in urls:
            yield scrapy.Request(url)

    def first_urls(self):
        return [self.start_url or self.settings["START_URL"] + self.first_path]

    def requests_to_links(self, response):
        return [scrapy.Request(link.url) for link in self.links.extract_links(response)]
