"""Crawls of a second day: what is unchanged does not come again, and what has changed comes once."""

from __future__ import annotations

import pytest

from crawldedup import Deduplicator, Kind
from tests.scrapy_plugin.conftest import Crawler
from tests.scrapy_plugin.website import Site, article

PAGES = ["/a", "/b", "/c"]


@pytest.fixture
def daily(lasting_store: str) -> dict[str, object]:
    """The settings of a crawl that leaves out what an earlier one has delivered."""
    return {"CRAWLDEDUP_STORE": lasting_store, "CRAWLDEDUP_REVISIT": "drop", "CONCURRENT_REQUESTS": 1}


def test_a_crawl_can_leave_out_what_is_unchanged_since_the_last_one(crawl: Crawler, daily: dict[str, object]) -> None:
    with Site({"/a": article(1), "/b": article(2)}) as site:
        # What this crawl has let pass may be asked for again.
        assert crawl(site, ["/a", "/b"], again=["/b"], **daily).items == ["/a", "/b", "/b"]
        site.pages |= {"/b": article(3), "/c": article(4), "/d": article(5)}
        settings = {**daily, "CRAWLDEDUP_ACTION": "drop-items"}
        second = crawl(site, ["/a", "/b", "/c"], follow={"/a": "/d"}, **settings)
        assert sorted(second.passed) == ["/a", "/b", "/c", "/d"]
        assert sorted(second.items) == ["/b", "/c", "/d"]
        assert (second.counts["changed"], second.counts["unchanged"]) == (1, 1)


def test_a_page_whose_callback_failed_is_seen_again(crawl: Crawler, daily: dict[str, object]) -> None:
    broken = {"url": "/a", "callback": "broken"}
    with Site({"/a": article(1), "/b": article(2)}) as site:
        for pages, passed in (([broken], ["/a"]), (["/a", "/b"], ["/a", "/b"]), (["/a", "/b"], [])):
            assert crawl(site, pages, **daily).passed == passed


def test_the_log_tells_what_changed_since_an_earlier_crawl(
    crawl: Crawler, daily: dict[str, object], lasting_store: str
) -> None:
    settings = {**daily, "CRAWLDEDUP_KEEP_TEXTS": "true"}
    with Site({"/a": article(1), "/b": article(2)}) as site:
        crawl(site, ["/a", "/b"], **settings)
        site.pages["/a"] = article(1, changed_words=1)
        changed = crawl(site, ["/a", "/b"], **settings)
        third = crawl(site, ["/a", "/b"], **settings)
    assert (changed.passed, third.passed) == (["/a"], [])
    (line,) = [line for line in changed.log.splitlines() if f"delivers {site.url}/a: known, with other text (" in line]
    assert line.partition("): ")[2].startswith("Article Home Article [-")
    assert " {+Changed0+} " in line
    assert "with other text" not in third.log
    with Deduplicator(lasting_store, extractor="text") as dedup:
        assert "Changed0" in str(dedup.text_of(f"{site.url}/a"))


def test_a_new_text_at_two_known_urls_comes_once(crawl: Crawler, daily: dict[str, object]) -> None:
    days = [
        ({"/a": 1, "/b": 2, "/c": 3}, ["/a", "/b", "/c"]),
        ({"/a": 7, "/b": 7, "/c": 3}, ["/a"]),
        ({"/a": 7, "/b": 7, "/c": 3}, []),
        # The text of /a is known, but was not delivered in this crawl: it is news of /c.
        ({"/a": 7, "/b": 7, "/c": 7}, ["/c"]),
        ({"/a": 7, "/b": 8, "/c": 9}, ["/b", "/c"]),
    ]
    with Site({}) as site:
        for texts, wanted in days:
            site.pages = {url: article(text) for url, text in texts.items()}
            assert crawl(site, PAGES, **daily).passed == wanted


def test_a_new_text_that_a_fellow_has_just_delivered_is_a_copy(
    crawl: Crawler, daily: dict[str, object], lasting_store: str
) -> None:
    with Site({"/a": article(1)}) as site:

        def deliver_the_partners_page() -> None:
            with Deduplicator(lasting_store, extractor="text") as fellow:
                assert fellow.check(f"{site.url}/x", html=article(7).body).kind is Kind.NEW

        assert crawl(site, ["/a"], **daily).passed == ["/a"]
        site.pages = {"/a": article(7)}
        site.actions = {"/missing": deliver_the_partners_page}
        assert crawl(site, ["/missing", "/a"], **daily).passed == []
