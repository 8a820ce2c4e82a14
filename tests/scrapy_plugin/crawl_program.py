"""One crawl in a process of its own: reads what to do as JSON from stdin, writes what happened to a
file.

There is no ``if __name__ == "__main__"`` guard here, as in many users' scripts: workers must not
need one.
"""

import json
import sys
import warnings
from pathlib import Path

from page_spider import SETTINGS, new_report, stats_of
from scrapy.crawler import AsyncCrawlerProcess, CrawlerProcess
from scrapy.exceptions import ScrapyDeprecationWarning
from scrapy.utils.misc import load_object

warnings.simplefilter("error", ScrapyDeprecationWarning)
task, report = json.load(sys.stdin), new_report()
settings = {**SETTINGS, **task["settings"]}
process = (CrawlerProcess if settings.get("TWISTED_REACTOR") else AsyncCrawlerProcess)(settings)
crawler = process.create_crawler(load_object(task["spider_class"]))
process.crawl(crawler, task=task, report=report)
process.start()
Path(task["report"]).write_text(json.dumps({**report, "stats": stats_of(crawler)}))
sys.exit(int(process.bootstrap_failed))
