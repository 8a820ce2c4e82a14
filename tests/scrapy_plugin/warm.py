"""What a crawl does before its first page, done by importing this: it takes longer than many of the
crawls of tests.

None of it installs a reactor or starts a thread, so processes may be forked off one that has done
it.
"""

from importlib import import_module

import redis.cluster  # noqa: F401
import scrapy.cmdline  # noqa: F401
from scrapy.settings import default_settings

import crawldedup.scrapy_plugin.middleware
import crawldedup.workers.reading  # noqa: F401
from crawldedup import Deduplicator

for _name in (
    "DOWNLOAD_HANDLERS_BASE",
    "DOWNLOADER_MIDDLEWARES_BASE",
    "SPIDER_MIDDLEWARES_BASE",
    "EXTENSIONS_BASE",
):
    for _part in (*(_of := getattr(default_settings, _name)), *_of.values()):
        if str(_part).startswith("scrapy."):
            import_module(_part.rpartition(".")[0])

# The library makes the tables that it reads with.
for _extractor in ("blocks", "trafilatura", "text"):
    with Deduplicator(extractor=_extractor) as _dedup:
        _dedup.check(
            "https://example.com/", html=f"<title>Page</title><p>{'words of a page ' * 30}"
        )
