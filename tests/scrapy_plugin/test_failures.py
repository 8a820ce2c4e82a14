"""What the log says: whole sentences, that are true."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import pytest
from scrapy import signals
from scrapy.exceptions import NotConfigured

from crawldedup.errors import (
    ConfigurationError,
    PageError,
    StoreUnavailableError,
    UnexpectedReadError,
    WorkerError,
)
from crawldedup.scrapy_plugin.failures import SILENT_SECONDS, Failures, refusing
from crawldedup.scrapy_plugin.stats import CrawlStats
from tests.scrapy_plugin.fakes import Clock, FakeCrawler

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

ERROR = StoreUnavailableError("redis://host cannot be used: Connection refused")


def failures(noun: str = "page", **options: Any) -> Failures:
    crawler = FakeCrawler()
    return Failures(crawler, CrawlStats(crawler, noun), **options)  # type: ignore[arg-type]


def test_a_store_that_fails_is_told_in_sentences(caplog: pytest.LogCaptureFixture) -> None:
    failures(close_on_error=False).passed("http://a/", ERROR)
    (record,) = caplog.records
    assert record.getMessage() == (
        "crawldedup: redis://host cannot be used: Connection refused. Pages pass unchecked until the store answers"
    )


def test_the_first_failure_of_an_extractor_is_told(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    failing = failures(close_on_error=False)
    for url in ("http://a/1", "http://a/2"):
        failing.passed(url, PageError("empty", "the body is empty"))
        failing.passed(url, PageError("broken", "reading with 'mine.text' failed: ValueError: boom"))
    (told,) = (record for record in caplog.records if record.levelno > logging.DEBUG)
    assert told.levelno == logging.WARNING
    assert told.getMessage() == (
        "crawldedup: cannot read http://a/1: reading with 'mine.text' failed: ValueError: boom; "
        "pages like this pass (further ones are only counted)"
    )


def test_where_it_closes_the_spider_no_page_is_said_to_pass(caplog: pytest.LogCaptureFixture) -> None:
    async def fail() -> None:
        failures(close_on_error=True).passed("http://a/", ERROR)

    asyncio.run(fail())
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert record.getMessage().endswith("Connection refused. CRAWLDEDUP_ON_ERROR is 'fail'.")


def test_nor_at_the_start(caplog: pytest.LogCaptureFixture) -> None:
    failed = failures(close_on_error=True)
    failed.at_start(ERROR)
    assert not caplog.records
    assert failed.fatal == f"{ERROR}. CRAWLDEDUP_ON_ERROR is 'fail'."


def test_what_a_person_looks_at_passes_all_the_same(caplog: pytest.LogCaptureFixture) -> None:
    failures(close_on_error=True, may_close=False).passed("http://a/", ERROR)
    assert "Pages pass unchecked" in caplog.text


def test_a_store_that_fails_again_and_again_is_mentioned_now_and_then(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    failing = failures(close_on_error=False, clock=clock)
    for _ in range(5):
        failing.passed("http://a/", ERROR)
        failing.passed("http://a/", ERROR)
        failing.store_answered()
        failing.store_answered()
    assert (caplog.text.count("Connection refused"), caplog.text.count("the store answers again")) == (1, 1)
    clock.now = SILENT_SECONDS
    failing.passed("http://a/", ERROR)
    failing.store_answered()
    assert (caplog.text.count("Connection refused"), caplog.text.count("the store answers again")) == (2, 2)


def test_the_log_speaks_of_items_where_items_are_checked(caplog: pytest.LogCaptureFixture) -> None:
    failing = failures(close_on_error=False, noun="item")
    failing.at_start(KeyError("x"))
    for error in (ERROR, KeyError("y"), UnexpectedReadError("Oops", "a trace"), WorkerError("It died.")):
        failing.passed("http://a/", error)
    failing.store_answered()
    said = [record.getMessage() for record in caplog.records]
    assert [line for line in said if "page" in line.lower()] == []
    assert sum("tems pass" in line or "tems are checked" in line or "he item passes" in line for line in said) == 5


def refused(crawler: Crawler, *messages: str) -> None:
    async def start() -> None:
        for message in messages:
            with pytest.raises(NotConfigured), refusing(crawler):
                raise ConfigurationError(message)
        await crawler.signals.send_catch_log_async(signals.engine_started)

    asyncio.run(start())


def test_the_crawl_ends_and_each_reason_is_given_once(caplog: pytest.LogCaptureFixture) -> None:
    crawler = FakeCrawler()
    refused(crawler, "X is \x1b[31m1.", "X is \x1b[31m1.", "Y is 2.")  # type: ignore[arg-type]
    assert set(crawler.engine.closed) == {"crawldedup_error"}
    assert sorted(caplog.messages) == ["crawldedup: X is \\x1b[31m1.", "crawldedup: Y is 2."]


def test_a_shell_that_has_no_spider_yet_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    crawler = FakeCrawler()
    crawler.engine.spider = None
    refused(crawler, "X is 1.")  # type: ignore[arg-type]
    assert crawler.engine.closed == []
    assert caplog.messages == ["crawldedup: X is 1."]
