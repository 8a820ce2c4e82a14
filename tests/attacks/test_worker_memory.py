"""Pages that take or leave behind much memory in a worker cost themselves alone."""

import asyncio
import sys

import pytest

from crawldedup import AsyncDeduplicator

GREEDY = "tests.scrapy_plugin.deadly_extractor.greedy"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere memory is not bounded")


async def outcomes(dedup: AsyncDeduplicator, texts: list[str]) -> list[str]:
    words = " ".join(f"word{number}" for number in range(60))
    checks = [dedup.check(f"https://e.com/{at}", html=f"{text} {words}") for at, text in enumerate(texts)]
    results = await asyncio.gather(*checks, return_exceptions=True)
    return [str(getattr(result, "kind", None) or getattr(result, "reason", result)) for result in results]


def pids(dedup: AsyncDeduplicator) -> list[int]:
    return [worker.process.pid for worker in dedup._pool._workers]


def check(texts: list[str]) -> tuple[list[str], bool]:
    """Return what comes of texts, and whether the workers are still the same."""

    async def work() -> tuple[list[str], bool]:
        async with AsyncDeduplicator(extractor=GREEDY) as dedup:
            before = pids(dedup)
            return await outcomes(dedup, texts), pids(dedup) == before

    return asyncio.run(work())


def test_a_page_that_takes_too_much_memory_is_held() -> None:
    assert check(["first", "hungry", "behind"]) == (["new", "out_of_memory", "near_duplicate"], True)


@pytest.mark.nightly
def test_a_worker_that_stays_large_is_replaced() -> None:
    # Pages of which each makes its worker large, with others among them.
    texts = ["a", "keep", "b", *(f"keep {number}" for number in range(3)), "c"]
    assert check(texts) == (["new", *["near_duplicate"] * 6], False)
