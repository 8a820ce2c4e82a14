"""Real crawls whose store is shared, goes away, or cannot be used at all."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from crawldedup import Deduplicator
from tests.scrapy_plugin.conftest import with_every_lasting_store
from tests.scrapy_plugin.website import Site, article
from tests.servers import RedisServer, free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.scrapy_plugin.conftest import Crawler

WORDS = article(1)


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with Site(
        {"/a": WORDS, "/a-copy": WORDS, "/a-near": article(1, changed_words=2), "/b": article(2), "/pause": WORDS}
    ) as running:
        yield running


@with_every_lasting_store
def test_crawls_share_an_index(site: Site, crawl: Crawler, lasting_store: str) -> None:
    settings = {"CRAWLDEDUP_STORE": lasting_store}
    assert crawl(site, ["/a"], **settings).counts["new"] == 1
    second = crawl(site, ["/a-near", "/a"], **settings)
    assert second.passed == ["/a"]
    assert second.report["duplicates"] == [["/a-near", "/a", True]]
    assert second.counts["revisit"] == 1


@with_every_lasting_store
def test_the_log_tells_what_changed_since_an_earlier_crawl(crawl: Crawler, lasting_store: str) -> None:
    settings = {"CRAWLDEDUP_STORE": lasting_store, "CRAWLDEDUP_KEEP_TEXTS": "true", "CRAWLDEDUP_REVISIT": "drop"}
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


def test_a_store_that_goes_and_comes_back_costs_no_page(site: Site, crawl: Crawler) -> None:
    with RedisServer() as redis:

        def restart() -> None:
            redis.start()
            time.sleep(1.5)  # longer than the pauses after two failures

        site.actions = {"/missing?stop": redis.stop, "/missing?start": restart}
        pages = ["/a", "/missing?stop", "/b", "/a-copy", "/missing?start", "/a-near", "/a"]
        result = crawl(site, pages, CRAWLDEDUP_STORE=redis.url)
    # The index was lost with the server, so what came first afterwards is new.
    assert result.passed == ["/a", "/b", "/a-copy", "/a-near"]
    assert result.counts == {
        "error/unavailable": 2,
        "checked": 3,
        "new": 2,
        "duplicate/near": 1,
        "dropped": 1,
        "skipped/http_404": 2,
    }
    assert result.log.count("Pages pass unchecked") == 1
    assert result.log.count("the store answers again") == 1
    assert result.report["stats"].get("log_count/ERROR", 0) == 0


def test_a_store_that_is_never_there_costs_no_page(site: Site, crawl: Crawler) -> None:
    result = crawl(site, ["/a", "/b", "/a-near"], CRAWLDEDUP_STORE=f"redis://127.0.0.1:{free_port()}/0")
    assert result.passed == ["/a", "/b", "/a-near"]
    assert result.counts == {"error/unavailable": 3}
    assert result.log.count("Pages pass unchecked") == 1
    assert result.report["stats"].get("log_count/ERROR", 0) == 0


def test_a_crawl_that_loses_its_store_can_be_told_to_stop(site: Site, crawl: Crawler) -> None:
    with RedisServer() as redis:
        site.actions = {"/missing?stop": redis.stop}
        pages = ["/a", "/missing?stop", "/b", *(f"/a?{number}" for number in range(20))]
        result = crawl(site, pages, CRAWLDEDUP_STORE=redis.url, CRAWLDEDUP_ON_ERROR="fail")
    # The page at hand is not lost.
    assert result.passed[:2] == ["/a", "/b"]
    assert len(result.passed) < 20
    assert result.report["stats"]["finish_reason"] == "crawldedup_error"
