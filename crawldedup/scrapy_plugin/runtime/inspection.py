"""Commands that show a page to a person: they must never change what crawls remember."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from scrapy.settings import SETTINGS_PRIORITIES

from crawldedup.scrapy_plugin.settings import PREFIX

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from crawldedup.scrapy_plugin.settings import CrawlOptions

_COMMANDS = "scrapy.commands."


def is_interactive(crawler: Crawler) -> bool:
    """Return True in `scrapy shell`, `fetch`, `view`, `parse`, `check` and `bench`, once the engine is being built.

    Scrapy tells nobody which command runs, and takes its name out of ``sys.argv``. But the shell builds the
    engine before there is a spider, and the other commands put a `start` of their own into the spider's class.
    """
    if crawler.spider is None:
        return True
    return str(getattr(crawler.spider.start, "__module__", "")).startswith(_COMMANDS)


def options_for_inspection(options: CrawlOptions, crawler: Crawler) -> CrawlOptions:
    """Return the options for such a command: nothing is remembered, unless the command line itself says so."""
    priority = crawler.settings.getpriority(f"{PREFIX}REMEMBER")
    if options.remember and priority is not None and priority >= SETTINGS_PRIORITIES["cmdline"]:
        return options
    return replace(options, remember=False)
