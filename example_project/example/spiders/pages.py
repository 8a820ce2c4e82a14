"""A spider that visits every page of a site. It has no code for duplicates: they never reach it."""

from contextlib import ExitStack

import scrapy

from crawldedup.demo.folder import FolderSite
from crawldedup.demo.server import serving
from example.site_spider import SiteSpider


class PagesSpider(SiteSpider):
    name = "pages"

    def __init__(self, dir=None, **kwargs):
        super().__init__(**kwargs)
        self.directory = dir
        self.servers = ExitStack()

    def first_urls(self):
        if not self.directory:
            return super().first_urls()
        # Serve a directory of HTML files on this machine, and crawl it like any other site.
        site = FolderSite(self.directory)
        base_url = self.servers.enter_context(serving(site))
        return [base_url + path for path in site.start_paths]

    def parse(self, response):
        if not isinstance(response, scrapy.http.HtmlResponse):
            return
        yield {"url": response.url, "title": response.css("title::text").get("").strip()}
        yield from self.requests_to_links(response)

    def closed(self, _reason):
        self.servers.close()
