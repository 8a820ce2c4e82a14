from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from scrapy import signals
from scrapy.exceptions import NotConfigured

from crawldedup.errors import ConfigurationError
from crawldedup.scrapy_plugin.runtime.failures import refuse
from tests.scrapy_plugin.fakes import FakeCrawler

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


def refused(crawler: Crawler, *messages: str) -> None:
    for message in messages:
        # The components themselves are gone by then.
        assert isinstance(refuse(crawler, ConfigurationError(message)), NotConfigured)

    async def start() -> None:
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
