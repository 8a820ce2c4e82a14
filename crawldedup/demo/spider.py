"""The demo's spider: follows every link of a site, and yields one item for each page it gets to see."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy import Request, Spider
from scrapy.http import HtmlResponse, TextResponse
from scrapy.linkextractors import LinkExtractor

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.http import Response


class SiteSpider(Spider):
    """Knows nothing of duplicates: those that are dropped never arrive here."""

    name = "demo"

    def __init__(self, start_urls: list[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_urls = start_urls
        # Scrapy's filter of foreign hosts looks at the name without the port.
        self.allowed_domains = sorted({urlsplit(url).hostname or "" for url in start_urls})
        self._links = LinkExtractor()

    async def start(self) -> AsyncIterator[Request]:
        """Ask for the start URLs, each once."""
        for url in self.start_urls:
            yield Request(url)

    def parse(self, response: Response) -> Iterator[dict[str, str] | Request]:
        """Yield the page, and follow its links."""
        if not isinstance(response, TextResponse):
            return
        title = response.css("title::text").get("") if isinstance(response, HtmlResponse) else ""
        yield {"url": response.url, "title": title.strip()}
        if isinstance(response, HtmlResponse):
            for link in self._links.extract_links(response):
                yield Request(link.url)
