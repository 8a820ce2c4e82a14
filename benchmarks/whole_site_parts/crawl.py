"""One crawl in a process of its own: which contents were fetched, and which were delivered, in their order.

`run_crawl` starts this file as a program: the task comes as JSON on stdin, the outcome leaves as JSON on stdout. A page
is delivered when its item has passed the pipelines.
"""

from __future__ import annotations

import json
import logging
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if __name__ == "__main__":
    # In place of this folder, whose modules have names of the standard library.
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from scrapy import signals
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule

from benchmarks.whole_site_parts.server import CONTENT_HEADER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from scrapy.http import Response

_VERDICT: Final = "crawldedup_verdict"
_SHOWN_LOG_CHARACTERS: Final = 3000


class CrawlError(Exception):
    """A crawl ended before it told its outcome; the message holds the end of its log."""


@dataclass(frozen=True)
class Delivered:
    """A page whose item was delivered; `replaces` where the verdict says that it does so for a worse copy."""

    url: str
    content: str
    replaces: bool


@dataclass(frozen=True)
class Outcome:
    """What a crawl did. `cpu_seconds` are those of its process and of its workers; `error` is the first in its log."""

    fetched: int
    delivered: list[Delivered]
    seconds: float
    cpu_seconds: float
    error: str


def run_crawl(start_url: str, settings: Mapping[str, Any]) -> Outcome:
    """Crawl from a URL. Raises CrawlError if the crawl's process fails."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log")
        # A tool may leave files, such as deltafetch its `.scrapy`.
        with log.open("wb") as written:
            done = subprocess.run(
                [sys.executable, __file__],
                input=json.dumps({"start_url": start_url, "settings": dict(settings)}),
                stdout=subprocess.PIPE,
                stderr=written,
                text=True,
                cwd=folder,
                check=False,
            )
        if done.returncode or not done.stdout:
            raise CrawlError(f"A crawl failed. The end of its log:\n{log.read_text()[-_SHOWN_LOG_CHARACTERS:]}")
    told = json.loads(done.stdout)
    told["delivered"] = [Delivered(**page) for page in told["delivered"]]
    return Outcome(**told)


class SiteSpider(CrawlSpider):
    """The spider as users write it."""

    name = "site"
    rules = (Rule(LinkExtractor(), callback="parse_page", follow=True),)

    def parse_page(self, response: Response) -> Iterator[dict[str, str]]:
        yield {"url": response.url, "title": response.css("title::text").get(""), "html": response.text}


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
            replaces = bool(getattr(response.meta.get(_VERDICT), "replaces", False))
            self.delivered.append(Delivered(response.url, content.decode(), replaces))

    def engine_stopped(self) -> None:
        self._stopped = _clocks()

    def outcome(self) -> Outcome:
        """To be asked for when the workers have ended."""
        seconds, own = (end - start for start, end in zip(self._started, self._stopped, strict=True))
        return Outcome(self.fetched, self.delivered, seconds, own + _cpu_seconds(resource.RUSAGE_CHILDREN), self.error)


def _clocks() -> tuple[float, float]:
    return time.perf_counter(), _cpu_seconds(resource.RUSAGE_SELF)


def _cpu_seconds(who: int) -> float:
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    task = json.load(sys.stdin)
    settings: dict[str, Any] = {
        "CONCURRENT_REQUESTS": 16,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
        "DOWNLOAD_DELAY": 0,
        "LOG_LEVEL": "INFO",
        "TELNETCONSOLE_ENABLED": False,
        **task["settings"],
    }
    process = AsyncCrawlerProcess(settings)
    ledger = Ledger()
    logging.getLogger().addHandler(ledger)
    crawler = process.create_crawler(SiteSpider)
    for handler, signal in (
        (ledger.engine_started, signals.engine_started),
        (ledger.response_downloaded, signals.response_downloaded),
        (ledger.item_scraped, signals.item_scraped),
        (ledger.engine_stopped, signals.engine_stopped),
    ):
        crawler.signals.connect(handler, signal)
    process.crawl(crawler, start_urls=[task["start_url"]])
    process.start()
    print(json.dumps(asdict(ledger.outcome())))


if __name__ == "__main__":
    main()
