"""One crawl after the other in one process, for starting a process takes longer than a small crawl."""

import asyncio
import io
import json
import logging
import os
import sys
import warnings
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from scrapy.crawler import AsyncCrawlerRunner
from scrapy.exceptions import ScrapyDeprecationWarning
from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.log import configure_logging
from scrapy.utils.misc import load_object
from scrapy.utils.reactor import install_reactor

FORMAT = "%(asctime)s [%(name)s] %(levelname)s: %(message)s"


async def crawl(task: dict[str, Any]) -> dict[str, Any]:
    from page_spider import SETTINGS, new_report, stats_of

    # Each crawl has a handler of its own.
    log, report = io.StringIO(), new_report()
    handler = logging.StreamHandler(log)
    handler.setFormatter(logging.Formatter(FORMAT))
    logging.root.addHandler(handler)
    runner = AsyncCrawlerRunner({**SETTINGS, **task["settings"]})
    crawler = runner.create_crawler(load_object(task["spider_class"]))
    try:
        await runner.crawl(crawler, task=task, report=report)
    finally:
        logging.root.removeHandler(handler)
    return {**report, "stats": stats_of(crawler), "log": log.getvalue()}


async def answer(tasks: Connection) -> None:
    """Do one task of JSON after the other, until nobody asks for more."""
    while task := await asyncio.to_thread(tasks.recv):
        tasks.send(await crawl(json.loads(task)))


def serve(mode: str, folder: str, tasks: Connection) -> None:
    """Crawl in a mode, one of `crawling.MODES`, and in a folder."""
    import tests.scrapy_plugin.forked_workers  # noqa: F401

    os.chdir(folder)
    sys.path.insert(0, str(Path(__file__).parent))
    warnings.simplefilter("error", ScrapyDeprecationWarning)
    # What other plugins still call is theirs to change.
    warnings.filterwarnings(
        "ignore", category=ScrapyDeprecationWarning, module=r"(scrapy_redis|spidermon)\."
    )
    configure_logging({"LOG_ENABLED": False})
    logging.root.setLevel(logging.DEBUG)
    if mode == "no reactor":
        from scrapy.utils.reactorless import install_reactor_import_hook

        install_reactor_import_hook()
        asyncio.run(answer(tasks))
    else:
        install_reactor("twisted.internet.asyncioreactor.AsyncioSelectorReactor")
        from twisted.internet.task import react

        react(lambda _: deferred_from_coro(answer(tasks)))
