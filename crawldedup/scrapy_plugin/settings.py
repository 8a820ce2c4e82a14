"""The ``CRAWLDEDUP_*`` settings: the options of an index and of a crawl, read once and checked
strictly.
"""

import asyncio
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import quote
from weakref import WeakKeyDictionary

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.settings import BaseSettings
from scrapy.utils.asyncio import is_asyncio_available

from crawldedup import checks
from crawldedup.crawling.options import CrawlOptions
from crawldedup.errors import ConfigurationError
from crawldedup.options import Option, options_of
from crawldedup.scrapy_plugin.signals import say
from crawldedup.stores.registry import check_store_url

PREFIX: Final = "CRAWLDEDUP_"
CLOSE_REASON: Final = "crawldedup_error"

_RENAMED: Final = {
    f"{PREFIX}DENY": f"is called {PREFIX}UNCHECKED_URLS now: its pages are fetched last, not "
    "checked, and delivered. If you do not want to fetch them, use the `deny` of your "
    "LinkExtractor."
}
# Why a crawl does not start: several components may refuse the same settings, or to start at all.
_reasons: WeakKeyDictionary[Crawler, list[str]] = WeakKeyDictionary()


def read_settings(settings: BaseSettings) -> CrawlOptions:
    """Read Scrapy's settings.

    Raises ConfigurationError, which names the setting and what it allows.
    """
    declared = crawl_settings()
    for name in settings:
        if isinstance(name, str) and name.startswith(PREFIX) and name not in declared:
            # A setting that nothing reads would be thought to work.
            if name in _RENAMED:
                raise ConfigurationError(f"{name} {_RENAMED[name]}")
            raise ConfigurationError(
                f"{name} is not a setting of crawldedup{checks.did_you_mean(name, declared)}"
            )
    values = {each.name: _value(settings, name, each) for name, each in declared.items()}
    given = {name: value for name, value in values.items() if value is not None}
    given.setdefault("store", _default_store(settings))
    given.setdefault("volatile", True)
    given.setdefault(
        "workers",
        default_workers(given.get("extractor", declared[f"{PREFIX}EXTRACTOR"].default)),
    )
    options = CrawlOptions(**given)
    if options.report and options.journal is False:
        raise ConfigurationError(f"{PREFIX}REPORT needs a journal, and {PREFIX}JOURNAL is False")
    if options.rules and options.keep_per_cluster > 1:
        raise ConfigurationError(
            f"{PREFIX}RULES skips copies, but {PREFIX}KEEP_PER_CLUSTER asks for some"
        )
    return options


def crawl_settings() -> dict[str, Option]:
    """Return all settings by name."""
    declared = options_of(CrawlOptions)
    return {
        PREFIX + each.name.upper(): each
        for each in declared
        if each.owner not in ("library", "request")
    }


def default_workers(extractor: str) -> int:
    """Return one process less than there are cores, at most 4.

    For extractors that keep up with Scrapy, return one. With two, pages are read in another order
    than they come, and more of them before the crawl has learned what changes on a site.
    """
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    return 1 if extractor in ("blocks", "text") else max(1, min(4, cores - 1))


def _value(settings: BaseSettings, name: str, declared: Option) -> Any:
    value = settings.get(name)
    if value is None:
        return None
    # Scrapy's command line gives texts, and settings.py may say 1 for True.
    if isinstance(value, str) or (declared.kind is bool and isinstance(value, int)):
        value = declared.from_text(str(value))
    return declared.check(name, value)


def _default_store(settings: BaseSettings) -> str:
    if redis_url := settings.get("REDIS_URL"):
        return check_store_url("REDIS_URL", redis_url)
    # Not by Scrapy's job_dir, which makes the directory: interactive commands leave no trace.
    directory = settings.get("JOBDIR")
    return f"sqlite:///{quote(directory)}/crawldedup.sqlite" if directory else "memory://"


def is_interactive(crawler: Crawler) -> bool:
    """Return True in `scrapy shell`, `fetch`, `view`, `parse`, `check` and `bench`, once the engine
    is being built.

    Scrapy doesn't say which command is running, and removes its name from ``sys.argv``. But the
    shell builds the engine before there is a spider, and the other commands put a `start` of their
    own into the spider's class.
    """
    spider = crawler.spider
    return spider is None or str(getattr(spider.start, "__module__", "")).startswith(
        "scrapy.commands."
    )


@contextmanager
def crawl_options(crawler: Crawler) -> Iterator[CrawlOptions]:
    """Make a component from the options of its crawl.

    Raises NotConfigured if crawldedup is disabled, or can't start.

    What is wrong ends the crawl with the error's message alone. The error itself would come under a
    traceback, which Scrapy writes for whatever is raised at a crawl's start, by an add-on, too.
    """
    try:
        # A plugin that is switched off does not check its other settings.
        name = f"{PREFIX}ENABLED"
        if _value(crawler.settings, name, crawl_settings()[name]) is False:
            raise NotConfigured
        if not is_asyncio_available():
            raise ConfigurationError(
                "crawldedup needs asyncio; leave TWISTED_REACTOR at Scrapy's default, "
                "'twisted.internet.asyncioreactor.AsyncioSelectorReactor'."
            )
        yield read_settings(crawler.settings)
    except ConfigurationError as error:
        end_unstarted(crawler, str(error))
        raise NotConfigured from None


def end_unstarted(crawler: Crawler, message: str) -> None:
    """Log the reason once, and close the spider before its first request, because Scrapy can't do
    that before the engine has started.

    The process of `scrapy crawl` ends with the exit status 1. In `scrapy shell`, which opens its
    spider later, there's only the message.
    """

    async def engine_started() -> None:
        crawler.signals.disconnect(engine_started, signal=signals.engine_started)
        for reason in dict.fromkeys(reasons):
            say(crawler, logging.ERROR, reason)
        assert crawler.engine is not None
        if crawler.engine.spider is not None:
            await crawler.engine.close_spider_async(reason=CLOSE_REASON)
            # Other components start at the same signal, and may use the spider when they go on.
            for _ in range(100 if is_asyncio_available() else 0):
                await asyncio.sleep(0.001)
            # To Scrapy a crawler that is left without a spider is one that could not start.
            crawler.spider = None

    reasons = _reasons.setdefault(crawler, [])
    if not reasons:
        crawler.signals.connect(engine_started, signal=signals.engine_started, weak=False)
    reasons.append(message)
