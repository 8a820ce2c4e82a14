"""What the log says: whole sentences, that are true."""

from __future__ import annotations

import asyncio
import logging
from types import SimpleNamespace
from typing import Any

import pytest
from crawldedup.scrapy_plugin.failures import Failures
from scrapy.settings import Settings
from scrapy.statscollectors import MemoryStatsCollector

from crawldedup.errors import StoreUnavailableError
from crawldedup.scrapy_plugin.stats import Tally
from crawldedup.verdict import Kind, Verdict

ERROR = StoreUnavailableError("redis://host cannot be used: Connection refused")


def tally() -> Tally:
    return Tally(MemoryStatsCollector(SimpleNamespace(settings=Settings(), spider=None)))  # type: ignore[arg-type]


def failures(**options: Any) -> Failures:
    engine = SimpleNamespace(close_spider_async=_closed)
    return Failures(SimpleNamespace(spider=None, engine=engine), tally(), **options)  # type: ignore[arg-type]


async def _closed(**_: object) -> None:
    pass


def test_a_store_that_fails_is_told_in_sentences(caplog: pytest.LogCaptureFixture) -> None:
    failures(close_on_error=False).of_page(ERROR)
    (record,) = caplog.records
    assert record.getMessage() == (
        "crawldedup: redis://host cannot be used: Connection refused. Pages pass unjudged until the store answers"
    )


def test_where_it_closes_the_spider_no_page_is_said_to_pass(caplog: pytest.LogCaptureFixture) -> None:
    async def fail() -> None:
        failures(close_on_error=True).of_page(ERROR)

    asyncio.run(fail())
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert record.getMessage().endswith("Connection refused. CRAWLDEDUP_ON_ERROR is 'fail'.")


def test_nor_at_the_start(caplog: pytest.LogCaptureFixture) -> None:
    failed = failures(close_on_error=True)
    failed.of_start(ERROR)
    assert not caplog.records
    assert failed.fatal == f"{ERROR}. CRAWLDEDUP_ON_ERROR is 'fail'."


def test_what_a_person_looks_at_passes_all_the_same(caplog: pytest.LogCaptureFixture) -> None:
    failures(close_on_error=True, may_close=False).of_page(ERROR)
    assert "Pages pass unjudged" in caplog.text


def test_one_page_is_called_one_page() -> None:
    counted = tally()
    counted.checked(Verdict(Kind.REVISIT, "https://example.com/"), dropped=False)
    assert counted.summary().startswith("crawldedup checked 1 page: 0 new, ")
    assert "1 revisit, " in counted.summary()
