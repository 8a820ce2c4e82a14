"""What waits behind all other requests: URLs of a pattern that has led to copies alone."""

import asyncio
from contextlib import nullcontext
from typing import Any

import pytest
import regex
from scrapy import Request
from scrapy.exceptions import NotConfigured

from crawldedup.scrapy_plugin import signals
from crawldedup.scrapy_plugin.postpone import PostponeMiddleware
from crawldedup.urls import pattern_of
from crawldedup.verdict import Kind, Verdict
from tests.scrapy_plugin.fakes import FakeCrawler

NEW, COPY = Kind.NEW, Kind.NEAR_DUPLICATE
MONTHS = [f"http://a/calendar/2026-{month}?view=list" for month in range(40)]


@pytest.fixture
def postpone() -> PostponeMiddleware:
    return PostponeMiddleware(FakeCrawler())  # type: ignore[arg-type]


def judge(postpone: PostponeMiddleware, kind: Kind, urls: list[str]) -> None:
    for url in urls:
        postpone.page_judged(Verdict(kind, url))


def waits(postpone: PostponeMiddleware, request: Request) -> list[int]:
    """With which priorities a request is sent back, before it passes."""
    again = postpone.process_request(request)
    if again is None:
        assert "_crawldedup_level" not in request.meta
        return []
    assert again.dont_filter
    return [again.priority, *waits(postpone, again)]


def test_a_pattern_of_copies_waits_behind_others(postpone: PostponeMiddleware) -> None:
    assert waits(postpone, Request(MONTHS[30])) == []
    judge(postpone, COPY, MONTHS[:1])
    waiting = postpone.process_request(Request(MONTHS[30]))
    judge(postpone, COPY, MONTHS[1:20])
    assert waits(postpone, Request(MONTHS[30], priority=7)) == [4]
    assert waits(postpone, Request(f"{MONTHS[30]}&day=2")) == []
    # It waits again when more is known.
    assert waiting is not None
    assert waits(postpone, waiting) == [-3]
    judge(postpone, NEW, MONTHS[20:30])
    assert waits(postpone, Request(MONTHS[30])) == [-2]
    judge(postpone, NEW, MONTHS[:10])
    assert waits(postpone, Request(MONTHS[30])) == []


@pytest.mark.parametrize(
    ("by", "priorities"),
    [
        ("text", [-3]),
        ("links", [-3]),
        *((by, []) for by in ("name", "picture", "data", "player", "listing", "numbers")),
        *((by, []) for by in ("similarity", "crowd")),
    ],
)
def test_a_pattern_of_pages_that_are_hardly_apart_waits(
    postpone: PostponeMiddleware, by: str, priorities: list[int]
) -> None:
    """Empty months repeat their address, so they are kept, but content still comes first."""
    for url in MONTHS[:20]:
        postpone.page_judged(Verdict(NEW, url, rejected=MONTHS[0], rejected_by=by))
    assert waits(postpone, Request(MONTHS[30])) == priorities


@pytest.mark.parametrize(
    "values",
    [
        {"method": "POST"},
        {"dont_filter": True},
        {"meta": {"is_start_request": True}},
        {"meta": {"crawldedup": False}},
    ],
)
def test_what_was_asked_for_by_name_does_not_wait(
    postpone: PostponeMiddleware, values: dict[str, Any]
) -> None:
    judge(postpone, COPY, MONTHS[:20])
    assert waits(postpone, Request(MONTHS[30], **values)) == []


def test_pages_that_are_not_checked_wait_from_the_first_on() -> None:
    crawler: Any = FakeCrawler()
    postpone = PostponeMiddleware(crawler, unchecked_urls=(regex.compile("/login"),))
    assert waits(postpone, Request("http://a/login?to=1")) == [-3]
    assert waits(postpone, Request("http://a/topic?id=1")) == []


def test_patterns_of_urls() -> None:
    assert pattern_of("http://a/story/a-long-name-1") == pattern_of("http://a/story/another-name-2")
    assert pattern_of("http://a/t?id=1&sid=x") == pattern_of("http://a/t?sid=y&id=2")
    urls = [
        "http://a/t?id=1",
        "http://a/t?id=1&sid=1",
        "http://b/t?id=1",
        "http://a/t/1",
        "http://a/u/1",
        "http://[/",
    ]
    assert len(set(map(pattern_of, urls))) == len(urls)


def test_a_part_of_the_plugin_that_fails_keeps_no_other_from_listening(
    caplog: pytest.LogCaptureFixture,
) -> None:
    crawler: Any = FakeCrawler()
    heard: list[object] = []

    def fail(**_: object) -> None:
        raise ZeroDivisionError("a bad part")

    signals.listen(crawler, signals.page_judged, fail)
    signals.listen(crawler, signals.page_judged, lambda verdict: heard.append(verdict))
    signals.listen(crawler, signals.wall_suspected, fail)
    asyncio.run(signals.send(signals.page_judged, crawler, verdict="a copy"))
    assert heard == ["a copy"]
    assert caplog.text.count("ZeroDivisionError: a bad part") == 1


def test_memory_is_bounded(postpone: PostponeMiddleware) -> None:
    judge(postpone, COPY, [f"http://{host}.example/" for host in range(10_050)])
    assert len(postpone._recent) <= 10_000


@pytest.mark.parametrize("settings", [{}, {"CRAWLDEDUP_POSTPONE": "False"}, {"DEPTH_LIMIT": 3}])
def test_nothing_waits_where_that_is_off_or_depth_is_limited(settings: dict[str, object]) -> None:
    async def build() -> None:
        crawler: Any = FakeCrawler(**settings)
        postpone = PostponeMiddleware.from_crawler(crawler)
        await signals.send(signals.page_judged, crawler, verdict=Verdict(COPY, MONTHS[0]))
        assert waits(postpone, Request(MONTHS[30])) == [-2]
        assert crawler.stats.get_value("crawldedup/postponed") == 1

    with pytest.raises(NotConfigured) if settings else nullcontext():
        asyncio.run(build())
