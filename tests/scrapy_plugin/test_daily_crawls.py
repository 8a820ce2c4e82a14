"""Crawls of a second day: what is unchanged does not come again, and what has changed comes once."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

import pytest

from crawldedup import AsyncDeduplicator, Deduplicator, Kind
from crawldedup.scrapy_plugin import DuplicatePageError
from tests.scrapy_plugin.conftest import Crawler
from tests.scrapy_plugin.test_middleware import Crawl
from tests.scrapy_plugin.website import Site, article


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
    assert changed.passed == ["/a"]
    (line,) = [line for line in changed.log.splitlines() if f"delivers {site.url}/a: known, with other text (" in line]
    assert line.partition("): ")[2].startswith("Article Home Article [-")
    assert " {+Changed0+} " in line
    with Deduplicator(lasting_store, extractor="text") as dedup:
        assert "Changed0" in str(dedup.text_of(f"{site.url}/a"))


class Day(Crawl):
    """A crawl of texts with a real index, one after the other."""

    def __init__(self, store: str) -> None:
        super().__init__(dedup=AsyncDeduplicator(store), revisit="drop")

    def passed(self, pages: Mapping[str, int]) -> list[str]:
        """The pages that are delivered, of those that show articles of these numbers."""
        passed = []

        async def work(_: Crawl) -> None:
            for path, number in pages.items():
                with suppress(DuplicatePageError):
                    await self.plain_page(path, article(number).body.decode())
                    passed.append(path)

        self.run(work)
        return passed


def test_a_new_text_at_two_known_urls_comes_once(lasting_store: str) -> None:
    days = [
        ({"a": 1, "b": 2, "c": 3}, ["a", "b", "c"]),
        ({"a": 7, "b": 7, "c": 3}, ["a"]),
        ({"a": 7, "b": 7, "c": 3}, []),
        # The text of a is known, but was not delivered in this crawl: it is news of c.
        ({"a": 7, "b": 7, "c": 7}, ["c"]),
        ({"a": 7, "b": 8, "c": 9}, ["b", "c"]),
    ]
    assert [Day(lasting_store).passed(texts) for texts, _ in days] == [wanted for _, wanted in days]


def test_a_new_text_that_a_fellow_has_just_delivered_is_a_copy(lasting_store: str) -> None:
    assert Day(lasting_store).passed({"a": 1}) == ["a"]
    day = Day(lasting_store)
    day.middleware._began -= 1  # an index knows the second in which a page came
    with Deduplicator(lasting_store) as fellow:
        assert fellow.check("https://e.com/x", text=article(7).body.decode()).kind is Kind.NEW
        assert day.passed({"a": 7}) == []
