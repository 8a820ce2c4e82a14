from __future__ import annotations

import asyncio

import pytest
from scrapy import Request

from crawldedup.scrapy_plugin.runtime.browser import close_browser_page


class Tab:
    def __init__(self, error: Exception | None = None) -> None:
        self.closed = 0
        self._error = error

    async def close(self) -> None:
        self.closed += 1
        if self._error is not None:
            raise self._error


def request(tab: object, **options: object) -> Request:
    return Request("https://e.com/", meta={"playwright_page": tab}, **options)  # type: ignore[arg-type]


def test_a_tab_that_nobody_will_close_is_closed() -> None:
    tab = Tab()
    asyncio.run(close_browser_page(request(tab)))
    assert tab.closed == 1


def test_an_errback_closes_its_tab_itself() -> None:
    tab = Tab()
    asyncio.run(close_browser_page(request(tab, errback=lambda failure: None)))
    assert tab.closed == 0


def test_a_page_without_a_tab_needs_nothing() -> None:
    asyncio.run(close_browser_page(Request("https://e.com/")))


def test_a_tab_that_cannot_be_closed_is_said(caplog: pytest.LogCaptureFixture) -> None:
    asyncio.run(close_browser_page(request(Tab(RuntimeError("gone \x1b[2J")))))
    (record,) = caplog.records
    assert record.getMessage().endswith("of a dropped response: RuntimeError")
