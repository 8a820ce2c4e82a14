from __future__ import annotations

import asyncio
from typing import Any

import pytest
from crawldedup.scrapy_plugin.runtime.pending import Pending, within


def test_all_who_wait_get_the_result_and_so_does_who_comes_later() -> None:
    async def work() -> list[str]:
        pending: Pending[str] = Pending()

        async def wait() -> str:
            return await pending

        waiting = [asyncio.ensure_future(wait()) for _ in range(2)]
        await asyncio.sleep(0)
        pending.succeed("yes")
        return [*await asyncio.gather(*waiting), await pending]

    assert asyncio.run(work()) == ["yes"] * 3


def test_one_that_waits_no_longer_takes_it_from_nobody() -> None:
    async def work() -> str:
        pending: Pending[str] = Pending()

        async def wait() -> str:
            return await pending

        gone, waiting = asyncio.ensure_future(wait()), asyncio.ensure_future(wait())
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.sleep(0)
        pending.succeed("yes")
        assert gone.cancelled()
        return await waiting

    assert asyncio.run(work()) == "yes"


def test_an_error_is_raised_where_it_is_waited_for() -> None:
    async def work() -> None:
        pending: Pending[str] = Pending()
        pending.fail(ZeroDivisionError("no"))
        await pending

    with pytest.raises(ZeroDivisionError):
        asyncio.run(work())


def test_the_first_result_stands() -> None:
    pending: Pending[str] = Pending()
    calls: list[Any] = []
    pending.when_done(calls.append)
    pending.succeed("first")
    pending.succeed("second")
    pending.fail(ZeroDivisionError())
    assert pending.result() == "first"
    pending.when_done(calls.append)
    assert calls == [pending, pending]


def test_waiting_has_an_end() -> None:
    async def work() -> None:
        never: Pending[str] = Pending()
        with pytest.raises(TimeoutError):
            await within(0.01, never)
        soon: Pending[str] = Pending()
        asyncio.get_running_loop().call_later(0.01, soon.succeed, "yes")
        assert await within(30, soon) == "yes"
        failing: Pending[str] = Pending()
        asyncio.get_running_loop().call_later(0.01, failing.fail, ZeroDivisionError())
        with pytest.raises(ZeroDivisionError):
            await within(30, failing)

    asyncio.run(work())
