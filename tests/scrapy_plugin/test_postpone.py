"""What waits behind all other requests: links on duplicates, and URLs of a pattern that has led to copies alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from scrapy import Request, Spider
from scrapy.http import HtmlResponse
from scrapy.utils.test import get_crawler

from crawldedup.scrapy_plugin.postpone import PostponeMiddleware, pattern_of
from crawldedup.verdict import Kind, Verdict
from tests.scrapy_plugin.conftest import in_one_mode
from tests.scrapy_plugin.website import Site, article

if TYPE_CHECKING:
    from tests.scrapy_plugin.conftest import Crawler

NEW, COPY = Kind.NEW, Kind.NEAR_DUPLICATE


@pytest.fixture
def postpone() -> PostponeMiddleware:
    return PostponeMiddleware(get_crawler(Spider))


def priority(postpone: PostponeMiddleware, url: str, kind: Kind | None = None, *, own: int = 0) -> int:
    """The priority of a link on a page of this verdict; on one that was not judged for None."""
    meta = {} if kind is None else {"crawldedup_verdict": Verdict(kind, "http://a/")}
    response = HtmlResponse("http://a/", request=Request("http://a/", meta=meta))
    return postpone.get_processed_request(Request(url, priority=own), response).priority


def judge(postpone: PostponeMiddleware, kind: Kind, urls: list[str]) -> None:
    for url in urls:
        postpone.page_judged(Verdict(kind, url))


def test_links_on_duplicates_wait(postpone: PostponeMiddleware) -> None:
    assert priority(postpone, "http://a/1", own=5) == priority(postpone, "http://a/1", NEW, own=5) == 5
    assert priority(postpone, "http://a/1", COPY, own=5) < 5
    assert postpone.get_processed_request(Request("http://a/"), None).priority == 0


def test_a_pattern_of_copies_waits_until_it_has_led_to_something_new(postpone: PostponeMiddleware) -> None:
    months = [f"http://a/calendar/2026-{month}?view=list" for month in range(25)]
    judge(postpone, COPY, months[:19])
    assert priority(postpone, months[20]) == 0
    judge(postpone, COPY, months[19:20])
    assert priority(postpone, months[20]) < priority(postpone, "http://a/x", COPY) < 0
    assert priority(postpone, "http://a/calendar/2026-1?view=list&day=2") == 0
    judge(postpone, NEW, months[21:22])
    assert priority(postpone, months[20]) == 0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://a/story/a-long-name-1", "http://a/story/another-name-2"),
        ("http://a/t?id=1&sid=x", "http://a/t?sid=y&id=2"),
        ("http://a/2026/01/", "http://a/2025/12/"),
    ],
)
def test_urls_of_one_pattern(one: str, other: str) -> None:
    assert pattern_of(one) == pattern_of(other)


def test_urls_of_other_patterns() -> None:
    urls = ["http://a/t?id=1", "http://a/t?id=1&sid=1", "http://b/t?id=1", "http://a/t/1", "http://a/u/1", "http://[/"]
    assert len(set(map(pattern_of, urls))) == len(urls)


def test_memory_is_bounded(postpone: PostponeMiddleware) -> None:
    judge(postpone, COPY, [f"http://{host}.example/" for host in range(10_050)])
    assert len(postpone._recent) <= 10_000


@in_one_mode
@pytest.mark.parametrize("wanted", [True, False])
def test_a_crawl_counts_what_waits(crawl: Crawler, wanted: bool) -> None:
    with Site({"/a": article(1), "/copy": article(1), "/b": article(2)}) as site:
        settings = {"CRAWLDEDUP_ACTION": "drop-items", "CRAWLDEDUP_POSTPONE": wanted}
        result = crawl(site, ["/a", "/copy"], follow={"/a": "/b", "/copy": "/b?from=copy"}, **settings)
    assert result.counts.get("postponed", 0) == wanted
    assert site.asked["/b?from=copy"] == 1
