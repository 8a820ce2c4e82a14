"""Pages that take or leave behind much memory in a worker cost themselves alone."""

import asyncio
import sys

import pytest

from crawldedup import AsyncDeduplicator

WORDS = " ".join(f"word{number}" for number in range(60))


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere memory is not bounded")
@pytest.mark.parametrize(
    ("texts", "expected", "is_replaced"),
    [
        (["first", "hungry", "behind"], ["new", "out_of_memory", "near_duplicate"], False),
        pytest.param(
            ["a", "keep", "b"], ["new", *["near_duplicate"] * 2], True, marks=pytest.mark.nightly
        ),
    ],
)
def test_a_greedy_page_is_held_and_a_worker_that_stays_large_replaced(
    texts: list[str], expected: list[str], is_replaced: bool
) -> None:
    async def work() -> None:
        async with AsyncDeduplicator(
            extractor="tests.scrapy_plugin.deadly_extractor.greedy"
        ) as dedup:
            workers = [worker.process.pid for worker in dedup._pool._workers]
            # On one site, pages at addresses of one form are siblings.
            checks = [
                dedup.check(f"https://e{at}.com/", html=f"{text} {WORDS}")
                for at, text in enumerate(texts)
            ]
            results = await asyncio.gather(*checks, return_exceptions=True)
            assert [
                getattr(each, "kind", None) or getattr(each, "reason", each) for each in results
            ] == expected
            assert (
                workers != [worker.process.pid for worker in dedup._pool._workers]
            ) is is_replaced

    asyncio.run(work())
