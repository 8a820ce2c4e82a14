"""What waits behind all other requests: links on duplicates, and URLs of a pattern that has led to copies alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from scrapy import Request, Spider
from scrapy.utils.test import get_crawler

from crawldedup.scrapy_plugin.postpone import PostponeMiddleware, pattern_of
from crawldedup.verdict import Kind, Verdict
from tests.scrapy_plugin.conftest import in_one_mode
from tests.scrapy_plugin.website import Answer, Site, article

if TYPE_CHECKING:
    from tests.scrapy_plugin.conftest import Crawler

NEW, COPY = Kind.NEW, Kind.NEAR_DUPLICATE
MONTHS = [f"http://a/calendar/2026-{month}?view=list" for month in range(40)]


@pytest.fixture
def postpone() -> PostponeMiddleware:
    return PostponeMiddleware(get_crawler(Spider))


def judge(postpone: PostponeMiddleware, kind: Kind, urls: list[str]) -> None:
    for url in urls:
        postpone.page_judged(Verdict(kind, url))


def waits(postpone: PostponeMiddleware, request: Request) -> list[int]:
    """With which priorities a request is sent back, before it passes."""
    priorities: list[int] = []
    while (again := postpone.process_request(request)) is not None:
        assert again.dont_filter
        priorities.append(again.priority)
        request = again
    assert "_crawldedup_level" not in request.meta
    return priorities


def test_a_pattern_of_copies_waits_behind_others(postpone: PostponeMiddleware) -> None:
    assert waits(postpone, Request(MONTHS[30])) == []
    judge(postpone, COPY, MONTHS[:20])
    assert waits(postpone, Request(MONTHS[30], priority=7)) == [4]
    assert waits(postpone, Request(f"{MONTHS[30]}&day=2")) == []
    judge(postpone, NEW, MONTHS[20:30])
    assert waits(postpone, Request(MONTHS[30])) == [-2]
    judge(postpone, NEW, MONTHS[:10])
    assert waits(postpone, Request(MONTHS[30])) == []


def test_a_request_waits_again_when_more_is_known(postpone: PostponeMiddleware) -> None:
    judge(postpone, COPY, MONTHS[:1])
    request = postpone.process_request(Request(MONTHS[30]))
    assert request is not None
    judge(postpone, COPY, MONTHS[1:20])
    assert waits(postpone, request) == [-3]


@pytest.mark.parametrize(
    "values",
    [{"method": "POST"}, {"dont_filter": True}, {"meta": {"is_start_request": True}}, {"meta": {"crawldedup": False}}],
)
def test_what_was_asked_for_by_name_does_not_wait(postpone: PostponeMiddleware, values: dict[str, Any]) -> None:
    judge(postpone, COPY, MONTHS[:20])
    assert waits(postpone, Request(MONTHS[30], **values)) == []


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
def test_new_content_comes_before_an_endless_calendar(crawl: Crawler, wanted: bool) -> None:
    months = [f"/calendar/{month}" for month in range(10)]
    stories = [f"/story-{number}" for number in range(10)]
    pages = {month: article(1) for month in months} | {story: article(number) for number, story in enumerate(stories)}
    with Site({"/": Answer(b"<h1>All</h1>"), **pages}) as site:
        result = crawl(
            site,
            [*stories, *months],
            spider_class="linking_spider.LinkingSpider",
            CRAWLDEDUP_ACTION="drop-items",
            CRAWLDEDUP_POSTPONE=wanted,
            CONCURRENT_REQUESTS=1,
        )
    assert bool(result.counts.get("postponed")) == wanted
    # Scrapy takes the last request first.
    asked = [path for path in site.asked if path in pages]
    assert asked[:3] == months[:-4:-1]
    assert (set(asked[3:13]) <= {*stories}) == wanted
    assert {*asked} == {*pages}
