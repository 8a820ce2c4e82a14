"""Run one crawl in a separate process, and report which content was fetched and delivered, in
order.

A page is delivered when its item has passed the pipelines.
"""

from __future__ import annotations

import json
import logging
import resource
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if __name__ == "__main__":
    # In place of this folder, whose modules have names of the standard library.
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from scrapy import signals
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule

from benchmarks.shared.crawling import cpu_seconds, crawl, run_apart
from benchmarks.whole_site_parts.site import CONTENT_HEADER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from scrapy.http import Response


@dataclass(frozen=True)
class Delivered:
    """A page whose item was delivered when so many were `fetched`; `replaces` if it is better than
    a delivered copy.
    """

    url: str
    content: str
    replaces: bool
    fetched: int


@dataclass(frozen=True)
class Outcome:
    """What a crawl did.

    `cpu_seconds` are those of its process and of its workers; `error` is the first in its log.
    """

    fetched: int
    delivered: list[Delivered]
    seconds: float
    cpu_seconds: float
    error: str


def run_crawl(start_url: str, settings: Mapping[str, Any]) -> Outcome:
    """Crawl from a URL. Raises CrawlError if the crawl's process fails."""
    told = run_apart(__file__, {"start_url": start_url, "settings": dict(settings)})
    return Outcome(**told | {"delivered": [Delivered(**page) for page in told["delivered"]]})


class SiteSpider(CrawlSpider):
    """The spider as users write it."""

    name = "site"
    rules = (Rule(LinkExtractor(), callback="parse_page", follow=True),)

    def parse_page(self, response: Response) -> Iterator[dict[str, str]]:
        yield {
            "url": response.url,
            "title": response.css("title::text").get(""),
            "html": response.text,
        }


class Ledger(logging.Handler):
    """Writes down what the crawl's signals and its log say."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.fetched = 0
        self.delivered: list[Delivered] = []
        self.error = ""
        self._started = self._stopped = _clocks()

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the first error."""
        if not self.error:
            reason = record.exc_info and record.exc_info[1]
            self.error = f"{type(reason).__name__}: {reason}" if reason else record.getMessage()

    def engine_started(self) -> None:
        self._started = _clocks()

    def response_downloaded(self, response: Response) -> None:
        self.fetched += CONTENT_HEADER in response.headers

    def item_scraped(self, response: Response) -> None:
        content = response.headers.get(CONTENT_HEADER)
        if content is not None:
            replaces = bool(getattr(response.meta.get("crawldedup_verdict"), "replaces", False))
            self.delivered.append(Delivered(response.url, content.decode(), replaces, self.fetched))

    def engine_stopped(self) -> None:
        self._stopped = _clocks()

    def outcome(self) -> Outcome:
        """Return what the crawl did, when the workers have ended."""
        seconds, own = (
            end - start for start, end in zip(self._started, self._stopped, strict=True)
        )
        return Outcome(
            self.fetched,
            self.delivered,
            seconds,
            own + cpu_seconds(resource.RUSAGE_CHILDREN),
            self.error,
        )


def _clocks() -> tuple[float, float]:
    return time.perf_counter(), cpu_seconds(resource.RUSAGE_SELF)


def main() -> None:
    task, ledger = json.load(sys.stdin), Ledger()
    logging.getLogger().addHandler(ledger)
    names = ("engine_started", "response_downloaded", "item_scraped", "engine_stopped")
    handlers = {getattr(signals, name): getattr(ledger, name) for name in names}
    crawl(SiteSpider, task["settings"], handlers, start_urls=[task["start_url"]])
    print(json.dumps(asdict(ledger.outcome())))


if __name__ == "__main__":
    main()
