"""A spider that visits every page of a site. It contains nothing about duplicates: they never reach it."""

from contextlib import ExitStack
from urllib.parse import urlsplit

import scrapy
from scrapy.linkextractors import LinkExtractor

from crawldedup.demo.folder import FolderSite
from crawldedup.demo.server import serving


class PagesSpider(scrapy.Spider):
    name = "pages"
    links = LinkExtractor()

    def __init__(self, start=None, dir=None, **kwargs):
        super().__init__(**kwargs)
        self.start_url = start
        self.directory = dir
        self.servers = ExitStack()

    async def start(self):
        if self.directory:
            # A directory of HTML files is served on this machine, and crawled like any other site.
            site = FolderSite(self.directory)
            base_url = self.servers.enter_context(serving(site))
            urls = [base_url + path for path in site.start_paths]
        else:
            urls = [self.start_url or self.settings["START_URL"]]
        self.allowed_domains = [urlsplit(url).hostname for url in urls[:1]]
        for url in urls:
            yield scrapy.Request(url)

    def parse(self, response):
        if not isinstance(response, scrapy.http.HtmlResponse):
            return
        yield {"url": response.url, "title": response.css("title::text").get("").strip()}
        for link in self.links.extract_links(response):
            yield scrapy.Request(link.url)

    def closed(self, _reason):
        self.servers.close()
