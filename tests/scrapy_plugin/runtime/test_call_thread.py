from __future__ import annotations

import asyncio
import threading

import pytest
from crawldedup.scrapy_plugin.runtime.call_thread import CallThread


def test_calls_are_made_in_turn_in_one_thread_and_answered_in_the_loop() -> None:
    seen: list[int] = []

    def call(number: int) -> int:
        seen.append(number)
        return threading.get_ident()

    async def work() -> set[int]:
        thread = CallThread("calls")
        pending = [thread.submit(lambda number=number: call(number)) for number in range(20)]  # type: ignore[misc]
        threads = {await each for each in pending}
        thread.end()
        return threads

    threads = asyncio.run(work())
    assert seen == list(range(20))
    assert len(threads) == 1
    assert threading.get_ident() not in threads


def test_errors_are_answers() -> None:
    async def work() -> None:
        thread = CallThread("calls")
        with pytest.raises(ZeroDivisionError):
            await thread.submit(lambda: 1 / 0)
        assert await thread.submit(lambda: "next") == "next"
        thread.end()

    asyncio.run(work())


def test_a_call_that_ends_after_the_loop_is_nobodys() -> None:
    gate = threading.Event()
    done = threading.Event()

    async def work() -> None:
        thread = CallThread("calls")
        thread.submit(lambda: gate.wait(30))
        thread.submit(lambda: done.set())
        thread.end()

    asyncio.run(work())
    gate.set()
    # The thread has gone on: handing the first answer to a closed loop did not end it.
    assert done.wait(30)
