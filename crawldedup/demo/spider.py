"""A spider without code for duplicates. `scrapy runspider` runs it in a separate process."""

from collections.abc import Iterator
from typing import Any

from scrapy import Request, Spider
from scrapy.http import HtmlResponse, Response
from scrapy.linkextractors import LinkExtractor


class SiteSpider(Spider):
    """Follows every link of a site and yields one item per page. Duplicates never arrive here."""

    name = "demo"

    def __init__(self, start: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_urls = [start]
        self.allowed_domains = ["127.0.0.1"]
        self._links = LinkExtractor()

    def parse(self, response: Response) -> Iterator[dict[str, str] | Request]:
        """Yield the page, and follow its links."""
        yield {"url": response.url}
        if isinstance(response, HtmlResponse):
            yield from (Request(link.url) for link in self._links.extract_links(response))
