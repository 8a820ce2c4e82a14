"""Crawls of a second day: what has changed comes once."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from crawldedup import Deduplicator, Kind
from tests.scrapy_plugin.conftest import in_one_mode
from tests.scrapy_plugin.website import Answer, Site, article

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


def test_a_new_text_that_a_fellow_has_just_delivered_is_a_copy(crawl: Crawler, lasting_store: str) -> None:
    settings = {"CRAWLDEDUP_STORE": lasting_store, "CRAWLDEDUP_REVISIT": "drop", "CONCURRENT_REQUESTS": 1}
    with Site({"/a": article(1)}) as site:

        def deliver_the_partners_page() -> None:
            time.sleep(1)  # An index knows the second in which a page came.
            with Deduplicator(lasting_store, extractor="text") as fellow:
                assert fellow.check(f"{site.url}/x", html=article(7).body).kind is Kind.NEW

        assert crawl(site, ["/a"], **settings).passed == ["/a"]
        site.pages = {"/a": article(7)}
        site.actions = {"/missing": deliver_the_partners_page}
        assert crawl(site, ["/missing", "/a"], **settings).passed == []


def test_a_hub_of_few_words_comes_again_with_new_links(crawl: Crawler, lasting_store: str) -> None:
    def hub(load: int, links: str) -> Answer:
        leads = "".join(f"<a href='/{link}?sid=a1b2c3d{load}'>{link}</a>" for link in links)
        return Answer(f"<script>nonce = {load}</script><main><p>What is new</p>{leads}</main>".encode())

    days = [
        ({"/": "ab", "/list": "cd"}, ["/", "/list"]),
        ({"/": "ab", "/list": "cd"}, []),
        ({"/": "abe", "/list": "cd"}, ["/"]),
        ({"/": "abe", "/list": "c"}, ["/list"]),
    ]
    settings = {"CRAWLDEDUP_STORE": lasting_store, "CRAWLDEDUP_REVISIT": "drop", "CONCURRENT_REQUESTS": 1}
    with Site({}) as site:
        for day, (hubs, wanted) in enumerate(days):
            site.pages = {path: hub(day, links) for path, links in hubs.items()}
            assert crawl(site, ["/", "/list"], **settings).passed == wanted
