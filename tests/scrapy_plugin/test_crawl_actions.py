"""Real crawls under every action: what becomes of pages, and what users read in the log and in the stats."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.scrapy_plugin.conftest import Crawler
from tests.scrapy_plugin.website import Site, article
from tests.servers import free_port

WORDS = article(1)


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with Site(
        {
            "/a": WORDS,
            "/a-copy": WORDS,
            "/a-near": article(1, changed_words=2),
            "/b": article(2),
        }
    ) as running:
        yield running


def test_a_dropped_page_is_told_to_all_who_ask(site: Site, crawl: Crawler) -> None:
    result = crawl(site, ["/a", "/a-near", "/a-copy"], follow={"/a-near": "/b"})
    # No callback, no links followed, no items.
    assert result.passed == result.items == ["/a"]
    near, copy = result.failed
    assert near[0] == "/a-near"
    assert re.fullmatch(r"near duplicate \(0\.9\d\d\) of /a", near[1])
    assert copy == ["/a-copy", "exact duplicate of /a"]
    assert result.report["signals"] == [
        ["/a", "new", False],
        ["/a-near", "near_duplicate", True],
        ["/a-copy", "exact_duplicate", True],
    ]
    assert result.report["duplicates"] == [["/a-near", "/a", True], ["/a-copy", "/a", True]]
    assert result.counts == {"checked": 3, "new": 1, "duplicate/near": 1, "duplicate/exact": 1, "dropped": 2}
    dropped = [line for line in result.log.splitlines() if "crawldedup: dropped " in line]
    assert len(dropped) == 2
    assert f"DEBUG: crawldedup: dropped {site.url}/a-copy: exact duplicate of {site.url}/a" in dropped[1]
    assert "INFO: crawldedup checked 3 pages: 1 new, 1 near and 1 exact duplicates (2 dropped)" in result.log
    # Scrapy counts dropped pages, too.
    assert result.report["stats"]["response_received_count"] == 3
    assert result.errors == []


def test_links_of_a_duplicate_are_followed_without_its_items(site: Site, crawl: Crawler) -> None:
    result = crawl(
        site,
        ["/a", "/a-near"],
        follow={"/a-near": "/b"},
        CRAWLDEDUP_ACTION="drop-items",
    )
    assert result.passed == ["/a", "/a-near", "/b"]
    assert result.items == ["/a", "/b"]
    assert (result.counts["items_dropped"], result.counts.get("dropped", 0)) == (1, 0)


def test_marked_duplicates_come_with_their_verdicts(site: Site, crawl: Crawler) -> None:
    pages = ["/a", "/a-near", "/a-copy", {"url": "/b", "meta": {"crawldedup": False}}]
    result = crawl(site, pages, CRAWLDEDUP_ACTION="mark")
    assert result.passed == ["/a", "/a-near", "/a-copy", "/b"]
    assert result.report["flags"] == [
        ["/a-near", ["crawldedup:near_duplicate"]],
        ["/a-copy", ["crawldedup:exact_duplicate"]],
    ]
    assert [[item["dedup_kind"], item["dedup_original"]] for item in result.report["items"]] == [
        ["new", None],
        ["near_duplicate", "/a"],
        ["exact_duplicate", "/a"],
        [None, None],
    ]
    assert "dropped" not in result.counts


def lines_of(log: str, level: str) -> list[str]:
    return [line.partition(f" {level}: ")[2] for line in log.splitlines() if f" {level}: crawldedup" in line]


def test_start_pages_that_were_all_delivered_before_are_a_warning(site: Site, crawl: Crawler, tmp_path: Path) -> None:
    store = {"CRAWLDEDUP_STORE": f"sqlite:///{tmp_path}/seen.sqlite"}

    def starts(*paths: str) -> list[dict[str, object]]:
        return [{"url": path, "meta": {"is_start_request": True}} for path in paths]

    first = crawl(site, starts("/a", "/a-copy"), **store)
    assert first.errors == []
    second = crawl(site, starts("/a-copy", "/a-near"), **store)
    assert "namespace 'default', 1 page known, action drop" in second.log
    (warning,) = lines_of(second.log, "WARNING")
    assert warning.startswith("crawldedup: nothing new was found: all start pages (2) were duplicates")


def test_pages_that_passed_unchecked_are_a_warning(site: Site, crawl: Crawler) -> None:
    store = f"redis://127.0.0.1:{free_port()}/0"
    pages = ["/missing", *(f"/a?{number}" for number in range(10))]
    *_, warning = lines_of(crawl(site, pages, CRAWLDEDUP_STORE=store).log, "WARNING")
    assert warning == "crawldedup: 10 of 10 pages passed unchecked after an error: unavailable 10."
