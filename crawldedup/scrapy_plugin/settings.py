"""Read and check the ``CRAWLDEDUP_*`` settings of a Scrapy project."""

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
# Why a crawl does not start. Several components may reject the same settings, or fail to start.
_reasons: WeakKeyDictionary[Crawler, list[str]] = WeakKeyDictionary()


def read_settings(settings: BaseSettings) -> CrawlOptions:
    """Read the options from Scrapy's settings.

    Raises ConfigurationError, which names the setting and its allowed values.
    """
    declared = crawl_settings()
    for name in settings:
        if isinstance(name, str) and name.startswith(PREFIX) and name not in declared:
            # If unknown settings were ignored, users would think that they work.
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
    """Return all settings of a Scrapy crawl by their names, such as "CRAWLDEDUP_STORE"."""
    declared = options_of(CrawlOptions)
    return {
        PREFIX + each.name.upper(): each
        for each in declared
        if each.owner not in ("library", "request")
    }


def default_workers(extractor: str) -> int:
    """Return the default number of worker processes: one fewer than there are cores, at most 4.

    For extractors that keep up with Scrapy, it is one. Two would read pages in a different order
    than they arrive, and read more of them before the crawl has learned what changes on a site.
    """
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    return 1 if extractor in ("blocks", "text") else max(1, min(4, cores - 1))


def _value(settings: BaseSettings, name: str, declared: Option) -> Any:
    value = settings.get(name)
    if value is None:
        return None
    # Scrapy's command line passes strings, and settings.py may use 1 for True.
    if isinstance(value, str) or (declared.kind is bool and isinstance(value, int)):
        value = declared.from_text(str(value))
    return declared.check(name, value)


def _default_store(settings: BaseSettings) -> str:
    if redis_url := settings.get("REDIS_URL"):
        return check_store_url("REDIS_URL", redis_url)
    # Scrapy's job_dir would create the directory, but interactive commands must leave no trace.
    directory = settings.get("JOBDIR")
    return f"sqlite:///{quote(directory)}/crawldedup.sqlite" if directory else "memory://"


def is_interactive(crawler: Crawler) -> bool:
    """Return whether a person is trying things out with a command such as `scrapy shell`.

    The commands are `shell`, `fetch`, `view`, `parse`, `check` and `bench`. This works from the
    moment when the engine is built. Scrapy doesn't say which command is running, and removes its
    name from ``sys.argv``. But the shell builds the engine before there is a spider, and the other
    commands set their own `start` on the spider's class.
    """
    spider = crawler.spider
    return spider is None or str(getattr(spider.start, "__module__", "")).startswith(
        "scrapy.commands."
    )


@contextmanager
def crawl_options(crawler: Crawler) -> Iterator[CrawlOptions]:
    """Provide the options of a crawl to a `with` block that makes a component from them.

    Raises NotConfigured if crawldedup is disabled, or can't start.

    An error ends the crawl with nothing but the error's message. If the error itself were raised,
    Scrapy would print a traceback, as it does for every error at the start of a crawl.
    """
    try:
        # If the plugin is switched off, its other settings are not checked.
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
    """Log once why a crawl can't start, and close the spider before its first request.

    Scrapy can't close a spider before the engine has started. The process of `scrapy crawl` ends
    with exit status 1. `scrapy shell` opens its spider later, so it only shows the message.
    """

    async def engine_started() -> None:
        crawler.signals.disconnect(engine_started, signal=signals.engine_started)
        for reason in dict.fromkeys(reasons):
            say(crawler, logging.ERROR, reason)
        assert crawler.engine is not None
        if crawler.engine.spider is not None:
            await crawler.engine.close_spider_async(reason=CLOSE_REASON)
            # Other components start on the same signal, and may still need the spider.
            for _ in range(100 if is_asyncio_available() else 0):
                await asyncio.sleep(0.001)
            # To Scrapy, a crawler without a spider is one that could not start.
            crawler.spider = None

    reasons = _reasons.setdefault(crawler, [])
    if not reasons:
        crawler.signals.connect(engine_started, signal=signals.engine_started, weak=False)
    reasons.append(message)
