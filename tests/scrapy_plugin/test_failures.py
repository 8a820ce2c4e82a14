"""What the log says: whole sentences, that are true."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from crawldedup.aio import Judged
from crawldedup.errors import (
    ConfigurationError,
    PageError,
    StoreUnavailableError,
    UnexpectedReadError,
    WorkerError,
)
from crawldedup.page import ReadPage
from crawldedup.scrapy_plugin.policy import Fate, Outcome
from crawldedup.scrapy_plugin.settings import CrawlOptions, crawl_options
from crawldedup.scrapy_plugin.stats import SILENT_SECONDS, CrawlStats
from crawldedup.verdict import Kind, Verdict
from tests.scrapy_plugin.fakes import FINGERPRINTS, Clock, FakeCrawler

ERROR = StoreUnavailableError("redis://host cannot be used: Connection refused")


def failures(noun: str = "page", *, on_error: str = "pass", **options: Any) -> CrawlStats:
    return CrawlStats(FakeCrawler(), CrawlOptions(workers=1, on_error=on_error), noun, **options)  # type: ignore[arg-type]


def answered(failing: CrawlStats) -> None:
    judged = Judged(Verdict(Kind.NEW, "u"), ReadPage(FINGERPRINTS.fingerprint(text="words")), 0, 0, 0)
    failing.checked(judged, Outcome(Fate.DELIVERED))


def test_a_store_that_fails_is_told_in_sentences(caplog: pytest.LogCaptureFixture) -> None:
    failures().failed("http://a/", ERROR)
    (record,) = caplog.records
    assert record.getMessage() == (
        "crawldedup: redis://host cannot be used: Connection refused. Pages pass unchecked until the store answers"
    )


def test_the_first_failure_of_an_extractor_is_told(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    failing = failures()
    for url in ("http://a/1", "http://a/2"):
        failing.failed(url, PageError("empty", "the body is empty"))
        failing.failed(url, PageError("broken", "reading with 'mine.text' failed: ValueError: boom"))
    (told,) = (record for record in caplog.records if record.levelno > logging.DEBUG)
    assert told.levelno == logging.WARNING
    assert told.getMessage() == (
        "crawldedup: cannot read http://a/1: reading with 'mine.text' failed: ValueError: boom; "
        "pages like this pass (further ones are only counted)"
    )


def test_where_it_closes_the_spider_no_page_is_said_to_pass(caplog: pytest.LogCaptureFixture) -> None:
    async def fail() -> None:
        failures(on_error="fail").failed("http://a/", ERROR)

    asyncio.run(fail())
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert record.getMessage().endswith("Connection refused. CRAWLDEDUP_ON_ERROR is 'fail'.")


def test_nor_at_the_start(caplog: pytest.LogCaptureFixture) -> None:
    assert failures(on_error="fail").ends_at_start(ERROR)
    assert not caplog.records


def test_a_store_that_fails_again_and_again_is_mentioned_now_and_then(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crawldedup.scrapy_plugin.stats.monotonic", clock := Clock())
    failing = failures()
    for _ in range(5):
        failing.failed("http://a/", ERROR)
        failing.failed("http://a/", ERROR)
        answered(failing)
        answered(failing)
    assert (caplog.text.count("Connection refused"), caplog.text.count("the store answers again")) == (1, 1)
    clock.now = SILENT_SECONDS
    failing.failed("http://a/", ERROR)
    answered(failing)
    assert (caplog.text.count("Connection refused"), caplog.text.count("the store answers again")) == (2, 2)


def test_the_log_speaks_of_items_where_items_are_checked(caplog: pytest.LogCaptureFixture) -> None:
    failing = failures(noun="item")
    assert not failing.ends_at_start(KeyError("x"))
    for error in (ERROR, KeyError("y"), UnexpectedReadError("Oops", "a trace"), WorkerError("It died.")):
        failing.failed("http://a/", error)
    answered(failing)
    said = [record.getMessage() for record in caplog.records]
    assert [line for line in said if "page" in line.lower()] == []
    assert sum("tems pass" in line or "tems are checked" in line or "he item passes" in line for line in said) == 5


def refused(crawler: Crawler, *messages: str) -> None:
    async def start() -> None:
        for message in messages:
            with pytest.raises(NotConfigured), crawl_options(crawler):
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
