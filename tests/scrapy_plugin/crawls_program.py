"""One crawl after the other in one process: each line of stdin is a task, each of stdout says that one is done.

Starting a process takes longer than a small crawl. The argument is the mode, one of `crawling.MODES`.
"""

from __future__ import annotations

import asyncio
import io
import json
import logging
import sys
import warnings
from pathlib import Path
from typing import Any

import forked_workers  # noqa: F401
from page_spider import crawler_of, new_report, settings_of, stats_of
from scrapy.crawler import AsyncCrawlerRunner
from scrapy.exceptions import ScrapyDeprecationWarning
from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.log import configure_logging
from scrapy.utils.reactor import install_reactor

FORMAT = "%(asctime)s [%(name)s] %(levelname)s: %(message)s"

warnings.simplefilter("error", ScrapyDeprecationWarning)
# What other plugins still call is theirs to change.
warnings.filterwarnings("ignore", category=ScrapyDeprecationWarning, module=r"(scrapy_redis|spidermon)\.")


async def crawl(task: dict[str, Any]) -> None:
    """Do what a task says, and write what came of it where it says."""
    log, report = io.StringIO(), new_report()
    handler = logging.StreamHandler(log)
    handler.setFormatter(logging.Formatter(FORMAT))
    logging.root.addHandler(handler)
    runner = AsyncCrawlerRunner(settings_of(task))
    crawler = crawler_of(runner, task)
    try:
        await runner.crawl(crawler, task=task, report=report)
    finally:
        logging.root.removeHandler(handler)
    Path(task["report"]).write_text(json.dumps({**report, "stats": stats_of(crawler), "log": log.getvalue()}))


async def serve() -> None:
    """Crawl as long as there are tasks."""
    while line := await asyncio.to_thread(sys.stdin.readline):
        await crawl(json.loads(line))
        print("done", flush=True)


def main(mode: str) -> None:
    # Each crawl has a handler of its own.
    configure_logging({"LOG_ENABLED": False})
    logging.root.setLevel(logging.DEBUG)
    if mode == "no reactor":
        from scrapy.utils.reactorless import install_reactor_import_hook

        install_reactor_import_hook()
        asyncio.run(serve())
    else:
        install_reactor("twisted.internet.asyncioreactor.AsyncioSelectorReactor")
        from twisted.internet.task import react

        react(lambda _: deferred_from_coro(serve()))


main(sys.argv[1])
