"""The base class of the spiders, which chooses the start URL and stays on its host."""

from urllib.parse import urlsplit

import scrapy
from scrapy.linkextractors import LinkExtractor

# `python -m crawldedup.demo.site --port 8000` serves it.
DEMO_SITE = "http://127.0.0.1:8000/"


class SiteSpider(scrapy.Spider):
    """Start at the URL of `-a start=URL`, or else at `first_path` of the demo site."""

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
        return [self.start_url or DEMO_SITE + self.first_path]

    def requests_to_links(self, response):
        return [scrapy.Request(link.url) for link in self.links.extract_links(response)]
