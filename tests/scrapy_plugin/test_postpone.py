"""What waits behind all other requests: links on duplicates, and URLs of a pattern that has led to copies alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from scrapy import Request, Spider
from scrapy.utils.test import get_crawler

from crawldedup.scrapy_plugin.postpone import PostponeMiddleware, pattern_of
from crawldedup.verdict import Kind, Verdict
from tests.scrapy_plugin.website import Site, article

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


@pytest.mark.parametrize("wanted", [True, False])
def test_nothing_is_skipped_in_a_crawl(crawl: Crawler, wanted: bool) -> None:
    months, stories = ([f"/{kind}/{number}" for number in range(10)] for kind in ("calendar", "stories"))
    answers = {path: article(1) for path in months} | {path: article(number) for number, path in enumerate(stories)}
    pages = [{"url": path, "dont_filter": False, "priority": 1} for path in months]
    pages += [{"url": path, "dont_filter": False, "priority": -1} for path in stories]
    settings = {"CRAWLDEDUP_ACTION": "drop-items", "CRAWLDEDUP_POSTPONE": wanted, "CONCURRENT_REQUESTS": 1}
    with Site(answers) as site:
        result = crawl(site, pages, **settings)
    assert bool(result.counts.get("postponed")) == wanted
    assert site.asked == dict.fromkeys(answers, 1)
    assert result.counts["checked"] == 20
