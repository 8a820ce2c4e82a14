"""One crawl in a process of its own: reads what to do as JSON from stdin, writes what happened to a file.

There is no ``if __name__ == "__main__"`` guard here, as in many users' scripts: workers must not need one.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

from page_spider import crawler_of, new_report, settings_of, stats_of
from scrapy.crawler import AsyncCrawlerProcess, CrawlerProcess
from scrapy.exceptions import ScrapyDeprecationWarning

warnings.simplefilter("error", ScrapyDeprecationWarning)


def run() -> None:
    task = json.load(sys.stdin)
    report = new_report()
    settings = settings_of(task)
    needs_reactor = settings.get("TWISTED_REACTOR") is not None
    process = CrawlerProcess(settings) if needs_reactor else AsyncCrawlerProcess(settings)
    crawler = crawler_of(process, task)
    process.crawl(crawler, task=task, report=report)
    process.start()
    Path(task["report"]).write_text(json.dumps({**report, "stats": stats_of(crawler)}))
    sys.exit(int(process.bootstrap_failed))


run()
