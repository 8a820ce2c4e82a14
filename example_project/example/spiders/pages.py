"""A spider that visits every page of a site. It has no code for duplicates: crawldedup drops their
items.
"""

import scrapy

from example.site_spider import SiteSpider


class PagesSpider(SiteSpider):
    name = "pages"

    def parse(self, response):
        if not isinstance(response, scrapy.http.HtmlResponse):
            return
        yield {"url": response.url, "title": response.css("title::text").get("").strip()}
        yield from self.requests_to_links(response)
