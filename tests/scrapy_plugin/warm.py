"""What a crawl does before its first page, done by importing this: it takes longer than many of the crawls of tests.

Scrapy imports its own parts, by what its settings name, and the library makes the tables that it reads with. None of it
installs a reactor or starts a thread, so processes may be forked off one that has done it.
"""

from importlib import import_module

import redis.cluster  # noqa: F401
import scrapy.cmdline  # noqa: F401
from scrapy.settings import default_settings

import crawldedup.scrapy_plugin.middleware
import crawldedup.workers.reading  # noqa: F401
from crawldedup import Deduplicator

_SETTINGS = (
    *("DOWNLOAD_HANDLERS_BASE", "DOWNLOADER_MIDDLEWARES_BASE", "SPIDER_MIDDLEWARES_BASE", "EXTENSIONS_BASE"),
    *("DUPEFILTER_CLASS", "FEED_EXPORTERS_BASE", "FEED_STORAGES_BASE", "LOG_FORMATTER", "SCHEDULER", "STATS_CLASS"),
)
_PAGE = f"<html><title>Page</title><body><p>{' '.join(f'word{number}' for number in range(100))}</p></body></html>"


def _names(value: object) -> list[str]:
    names = [*value, *value.values()] if isinstance(value, dict) else [value]
    return [name for name in names if isinstance(name, str) and name.startswith("scrapy.")]


for _setting in _SETTINGS:
    for _name in _names(getattr(default_settings, _setting)):
        import_module(_name.rpartition(".")[0])

for _extractor in ("blocks", "trafilatura", "text"):
    with Deduplicator(extractor=_extractor) as _dedup:
        _dedup.check("https://example.com/", html=_PAGE)
