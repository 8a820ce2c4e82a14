"""Warn about sites whose pages are shells: a script has yet to fill them with content."""

import logging
from typing import Final

from scrapy import Request
from scrapy.crawler import Crawler

from crawldedup.errors import PageError
from crawldedup.reading.shells import SHELL
from crawldedup.scope import site_of
from crawldedup.scrapy_plugin.signals import say
from crawldedup.text import printable

_MOST_SITES: Final = 100
_BROWSERS: Final = ("playwright", "splash", "zyte_api", "zyte_api_automap", "selenium", "nodriver")
"""The keys of `Request.meta` by which a request asks a browser to render the page."""


class ShellWarnings:
    """Logs that a site needs a browser, once for each site, and says how to provide one."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._sites: set[str] = set()

    def note(self, request: Request, url: str, error: Exception) -> None:
        """Warn about the site of a page that couldn't be checked because it's a shell.

        Args:
            request: The request for the page.
            url: The URL of the page.
            error: The reason why the page wasn't checked.
        """
        site = site_of(url)
        is_shell = isinstance(error, PageError) and error.reason == SHELL
        if not is_shell or site in self._sites or len(self._sites) >= _MOST_SITES:
            return
        self._sites.add(site)
        advice = (
            "Have a browser render its pages (scrapy-playwright or scrapy-splash), or crawl the "
            "JSON that its scripts load, and compare the items"
        )
        if any(request.meta.get(name) for name in _BROWSERS):
            advice = (
                "A browser has rendered it too early: wait for an element of the content, for "
                'instance with PageMethod("wait_for_selector", "h1") of scrapy-playwright'
            )
        message = (
            f"{printable(site)} needs a browser: a script has yet to fill {printable(url)}. Such "
            f"pages pass without a verdict (skipped/{SHELL}). {advice}"
        )
        say(self._crawler, logging.WARNING, message)
