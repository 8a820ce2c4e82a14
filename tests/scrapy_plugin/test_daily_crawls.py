"""Crawls of a second day: what has changed comes once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.scrapy_plugin.conftest import in_one_mode
from tests.scrapy_plugin.website import Site, article

if TYPE_CHECKING:
    from tests.scrapy_plugin.conftest import Crawler

pytestmark = in_one_mode

PAGES = ["/a", "/b", "/c"]


def test_a_new_text_at_two_known_urls_comes_once(crawl: Crawler, lasting_store: str) -> None:
    days = [
        ({"/a": 1, "/b": 2, "/c": 3}, ["/a", "/b", "/c"]),
        ({"/a": 7, "/b": 7, "/c": 3}, ["/a"]),
        ({"/a": 7, "/b": 7, "/c": 3}, []),
        # The text of /a is known, but was not delivered in this crawl: it is news of /c.
        ({"/a": 7, "/b": 7, "/c": 7}, ["/c"]),
        ({"/a": 7, "/b": 8, "/c": 9}, ["/b", "/c"]),
    ]
    settings = {"CRAWLDEDUP_STORE": lasting_store, "CRAWLDEDUP_REVISIT": "drop", "CONCURRENT_REQUESTS": 1}
    with Site({}) as site:
        for texts, wanted in days:
            site.pages = {url: article(text) for url, text in texts.items()}
            assert crawl(site, PAGES, **settings).passed == wanted
