"""Clients who wait for each verdict share questions to the store, if they come back together."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from crawldedup import Page
from crawldedup.aio.questions import Questions


@pytest.mark.parametrize(("seconds", "most_batches"), [(0.5, 6), (0.0, 100)])
def test_clients_who_come_back_together_are_asked_about_together(
    seconds: float, most_batches: int
) -> None:
    sizes: list[int] = []

    async def ask(pages: Sequence[Page], _: Sequence[object]) -> Any:
        sizes.append(len(pages))
        await asyncio.sleep(0.01)
        return ["verdict"] * len(pages)

    async def client(questions: Questions, number: int) -> None:
        for turn in range(5):
            content: Any = None
            await questions.put(Page(f"https://{number}.example/{turn}", text="a"), content)
            # Each comes back a little later than the one before.
            await asyncio.sleep(0.001 * number)

    async def main() -> None:
        questions = Questions(ask)
        questions.returning_seconds = seconds
        await asyncio.gather(*[client(questions, number) for number in range(8)])

    asyncio.run(main())
    assert sum(sizes) == 40
    assert len(sizes) <= most_batches
    if not seconds:
        assert len(sizes) > 6
