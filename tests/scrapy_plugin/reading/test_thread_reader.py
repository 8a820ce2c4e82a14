from __future__ import annotations

import asyncio

import pytest
from crawldedup.scrapy_plugin.reading.base import UnexpectedReadError
from crawldedup.scrapy_plugin.reading.thread_reader import ThreadReader

from crawldedup.errors import ConfigurationError, PageError
from tests.scrapy_plugin.fakes import Clock, FakeReader, GatedReader, page


def test_pages_are_read_in_order_and_errors_concern_their_page_only() -> None:
    async def work() -> None:
        reader = ThreadReader(FakeReader())  # type: ignore[arg-type]
        reader.start()
        pages = [
            reader.read(page(text))
            for text in ("one", "page error", "configuration error", "unexpected", "panic", "two")
        ]
        pages.append(reader.read(page("plain", is_html=False)))
        assert await pages[0] == "one"
        errors = (PageError, ConfigurationError, UnexpectedReadError, UnexpectedReadError)
        for pending, error in zip(pages[1:5], errors, strict=True):
            with pytest.raises(error):
                await pending
        assert [await pending for pending in pages[5:]] == ["two", "plain"]
        await reader.close()

    asyncio.run(work())


def test_a_page_that_never_ends_is_given_up_and_the_next_are_read() -> None:
    gated, clock = GatedReader(), Clock()

    async def work() -> None:
        reader = ThreadReader(gated, limit_seconds=60, clock=clock)  # type: ignore[arg-type]
        stuck, behind = reader.read(page("wait")), reader.read(page("behind"))
        await asyncio.to_thread(gated.entered.wait, 10)
        clock.now = 59.0
        reader.expire()
        assert not stuck.is_done()
        clock.now = 60.0
        reader.expire()
        with pytest.raises(PageError) as given_up:
            await stuck
        assert given_up.value.reason == "too_slow"
        # Its time is counted from its own turn, not from when it was queued.
        assert await behind == "behind"
        clock.now = 200.0
        reader.expire()
        # What was given up ends after all, and is nobody's.
        gated.gate.set()
        assert await reader.read(page("after")) == "after"
        await reader.close()

    asyncio.run(work())


def test_pages_in_the_queue_are_read_before_it_closes() -> None:
    async def work() -> None:
        reader = ThreadReader(FakeReader())  # type: ignore[arg-type]
        pages = [reader.read(page(str(number))) for number in range(50)]
        await reader.close()
        assert [pending.result() for pending in pages] == [str(number) for number in range(50)]

    asyncio.run(work())
