"""Syndicated news: each story appears at several publishers, in different templates and with
different links around it.

The pages differ, but their articles don't. So all pages pass, and the item pipeline compares the
extracted stories. Titles are left out, because every editor writes a different one.
"""

import scrapy

from example.site_spider import SiteSpider

STORY = "article > p, .story-body > p, td > p, body > p"


class NewsSpider(SiteSpider):
    name = "news"
    custom_settings = {
        # Don't check any pages: this expression matches every URL.
        "CRAWLDEDUP_UNCHECKED_URLS": ".",
        "CRAWLDEDUP_ITEM_FIELDS": ["body"],
    }

    def parse(self, response):
        if not isinstance(response, scrapy.http.HtmlResponse):
            return
        body = [
            paragraph
            for paragraph in response.css(STORY).css("::text").getall()
            if paragraph.strip()
        ]
        # Lists, forms and notices have less text than stories.
        if len(" ".join(body)) > 500:
            yield {
                "url": response.url,
                "title": response.css("h1::text, h2::text").get("").strip(),
                "body": body,
            }
        yield from self.requests_to_links(response)
