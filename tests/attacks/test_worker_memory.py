"""Pages that take or leave behind much memory in a worker cost themselves alone."""

from __future__ import annotations

import asyncio
import sys

import pytest

from crawldedup.errors import PageError
from crawldedup.scrapy_plugin.reading.pool import WorkerPool
from crawldedup.verdict import Kind
from tests.scrapy_plugin.reading.test_pool import job, outcomes, pids, run

GREEDY = "tests.scrapy_plugin.deadly_extractor.greedy"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere memory is not bounded")


def test_a_page_that_takes_too_much_memory_is_held() -> None:
    async def work(pool: WorkerPool) -> None:
        await pool.open()
        before = pids(pool)
        first, hungry, behind = await asyncio.gather(
            *(pool.check(job(text)) for text in ("first", "hungry", "behind")), return_exceptions=True
        )
        assert isinstance(hungry, PageError)
        assert hungry.reason == "out_of_memory"
        assert not isinstance(first, BaseException)
        assert not isinstance(behind, BaseException)
        assert pids(pool) == before

    run(work, extractor=GREEDY)


@pytest.mark.exhaustive
def test_a_worker_that_stays_large_is_held() -> None:
    async def work(pool: WorkerPool) -> None:
        await pool.open()
        before = pids(pool)
        # Pages of which each makes its worker large, with others among them.
        texts = ["a", "keep", "b", *(f"keep {number}" for number in range(3)), "c"]
        jobs = [job(text, f"https://e.com/{number}") for number, text in enumerate(texts)]
        assert await outcomes(pool, jobs) == [Kind.NEW, *[Kind.NEAR_DUPLICATE] * 6]
        assert pids(pool) != before
        again = await pool.check(jobs[0])
        assert (again.verdict.kind, again.is_repeated) == (Kind.REVISIT, False)

    run(work, extractor=GREEDY)
