"""Real crawls: what users read in the log, and in the stats that they alert on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.scrapy_plugin.conftest import in_one_mode
from tests.scrapy_plugin.website import Answer, Site, article
from tests.servers import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.scrapy_plugin.conftest import Crawler
    from tests.servers import RedisServer

pytestmark = in_one_mode

WORDS = article(1)


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    pages = {
        "/a": WORDS,
        "/a-copy": WORDS,
        "/a-near": article(1, changed_words=2),
        "/b": article(2),
        "/b-copy": article(2),
    }
    pages["/data"] = Answer(b"{}", content_type="application/json")
    with Site(pages) as running:
        yield running


def lines_of(log: str, level: str) -> list[str]:
    return [line.partition(f" {level}: ")[2] for line in log.splitlines() if f" {level}: crawldedup" in line]


def test_the_first_line_says_what_is_compared_with_what(site: Site, crawl: Crawler, tmp_path: Path) -> None:
    settings = {"CRAWLDEDUP_STORE": f"sqlite:///{tmp_path}/seen.sqlite", "CRAWLDEDUP_WORKERS": 2}
    for known in ("0 pages", "1 page"):
        first, *_ = lines_of(crawl(site, ["/a"], **settings).log, "INFO")
        assert first == (
            f"crawldedup: checks pages: store sqlite:///{tmp_path}/seen.sqlite, namespace 'default', {known} known, "
            f"action drop, similarity 0.9, extractor text, 2 workers"
        )


def test_no_password_is_shown(site: Site, crawl: Crawler, session_redis: RedisServer) -> None:
    store = f"redis://:topsecret@127.0.0.1:{free_port()}/0"
    result = crawl(site, ["/a"], CRAWLDEDUP_STORE=store)
    (line,) = [line for line in lines_of(result.log, "INFO") if "checks pages" in line]
    assert ":***@127.0.0.1:" in line
    assert "an unknown number of pages known" in line
    assert "topsecret" not in result.log.replace("'CRAWLDEDUP_STORE': 'redis://:topsecret", "")


@pytest.mark.parametrize(
    ("action", "done"), [("drop", "dropped"), ("drop-items", "drops the items of"), ("mark", "marks")]
)
def test_each_duplicate_is_named_with_its_original(site: Site, crawl: Crawler, action: str, done: str) -> None:
    result = crawl(site, ["/a", "/a-copy", "/b"], CRAWLDEDUP_ACTION=action)
    (line,) = lines_of(result.log, "DEBUG")
    assert line == f"crawldedup: {done} {site.url}/a-copy: exact duplicate of {site.url}/a"


def test_so_is_one_that_is_delivered_and_one_among_items(site: Site, crawl: Crawler) -> None:
    result = crawl(site, ["/a", "/a-copy"], CRAWLDEDUP_KEEP_PER_CLUSTER=2, CRAWLDEDUP_ITEM_FIELDS=["body"])
    assert lines_of(result.log, "DEBUG") == [
        f"crawldedup: delivers {site.url}/a-copy: exact duplicate of {site.url}/a",
        "crawldedup: delivers /a-copy: exact duplicate of /a",
    ]


def test_scrapy_counts_dropped_pages_too(site: Site, crawl: Crawler) -> None:
    pages = ["/a", "/a-copy", "/b"]
    dropping = crawl(site, pages).report["stats"]
    marking = crawl(site, pages, CRAWLDEDUP_ACTION="mark").report["stats"]
    for stats in (dropping, marking):
        assert stats["response_received_count"] == stats["downloader/response_count"] == 3


def test_scrapy_closes_a_crawl_after_so_many_pages_dropped_or_not(site: Site, crawl: Crawler) -> None:
    pages = ["/a", *(f"/a-copy?{number}" for number in range(50))]
    site.asked.clear()
    result = crawl(site, pages, CLOSESPIDER_PAGECOUNT=5)
    assert result.report["stats"]["finish_reason"] == "closespider_pagecount"
    # Requests that were on their way are answered.
    assert 5 <= sum(site.asked.values()) < 10


def test_start_pages_that_were_all_delivered_before_are_a_warning(site: Site, crawl: Crawler, tmp_path: Path) -> None:
    store = {"CRAWLDEDUP_STORE": f"sqlite:///{tmp_path}/seen.sqlite"}

    def starts(*paths: str) -> list[dict[str, object]]:
        return [{"url": path, "meta": {"is_start_request": True}} for path in paths]

    first = crawl(site, starts("/a", "/a-copy"), **store)
    assert first.errors == []
    second = crawl(site, starts("/a-copy", "/a-near"), **store)
    (warning,) = lines_of(second.log, "WARNING")
    assert warning.startswith("crawldedup: nothing new was found: all start pages (2) were duplicates")
    # With one new page it is a crawl like others, and who marks gets all of them.
    assert crawl(site, starts("/a-copy", "/b"), **store).errors == []
    assert crawl(site, starts("/a-copy"), CRAWLDEDUP_ACTION="mark", **store).errors == []


def test_pages_that_passed_unchecked_are_a_warning(site: Site, crawl: Crawler) -> None:
    store = f"redis://127.0.0.1:{free_port()}/0"
    pages = ["/missing", *(f"/a?{number}" for number in range(10))]
    *_, warning = lines_of(crawl(site, pages, CRAWLDEDUP_STORE=store).log, "WARNING")
    assert warning == "crawldedup: 10 of 10 pages passed unchecked after an error: unavailable 10."
