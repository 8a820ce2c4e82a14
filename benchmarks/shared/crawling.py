"""Run a crawl in a separate process, which gets its task as JSON on standard input and reports with
lines of JSON.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING, Any, Final

from scrapy.crawler import AsyncCrawlerProcess

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from scrapy import Spider
    from scrapy.crawler import Crawler

CONCURRENT_REQUESTS: Final = 16
_SHOWN_LOG_CHARACTERS: Final = 3000


class CrawlError(Exception):
    """A crawl did not do what was to be measured; the message holds the end of its log."""


def run_apart(
    program: str, task: Mapping[str, Any], on_pages: Callable[[int], None] = lambda _: None
) -> Any:
    """Run a program that crawls.

    Return what it says last. `on_pages` hears of the numbers that it prints before.

    Raises CrawlError if it ends too early.
    """
    outcome = None
    # A crawl leaves its journal where it runs, and so may other tools their files.
    with tempfile.TemporaryFile() as log, tempfile.TemporaryDirectory() as folder:
        with subprocess.Popen(
            [sys.executable, program],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            with process.stdin:
                json.dump(task, process.stdin)
            for line in process.stdout:
                outcome = json.loads(line)
                if isinstance(outcome, int):
                    on_pages(outcome)
        log.seek(0)
        tail = log.read().decode(errors="replace")[-_SHOWN_LOG_CHARACTERS:]
    if process.returncode or not isinstance(outcome, dict):
        raise CrawlError(f"a crawl failed. The end of its log:\n{tail}")
    return outcome


def crawl(
    spider: type[Spider],
    settings: Mapping[str, Any],
    handlers: Mapping[object, Callable[..., Any]],
    **arguments: Any,
) -> Crawler:
    """Crawl in this process.

    `handlers` hear of signals, and `arguments` are those of the spider.
    """
    process = AsyncCrawlerProcess(
        {
            "CONCURRENT_REQUESTS": CONCURRENT_REQUESTS,
            "CONCURRENT_REQUESTS_PER_DOMAIN": CONCURRENT_REQUESTS,
            "DOWNLOAD_DELAY": 0,
            "LOG_LEVEL": "INFO",
            "TELNETCONSOLE_ENABLED": False,
            **settings,
        }
    )
    crawler = process.create_crawler(spider)
    for signal, handler in handlers.items():
        crawler.signals.connect(handler, signal)
    process.crawl(crawler, **arguments)
    process.start()
    return crawler


def cpu_seconds(who: int) -> float:
    """Return the processor time of this process, or of its children that have ended:
    resource.RUSAGE_SELF or others.
    """
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime
