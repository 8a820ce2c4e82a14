from __future__ import annotations

import time

import pytest

from crawldedup.errors import PageError
from crawldedup.scrapy_plugin.pool import ReaderPool
from crawldedup.scrapy_plugin.workers import InlineWorker, Page, ProcessWorker, WorkerError

from .fakes import FakeReader, GatedReader


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def page(text: str) -> Page:
    return Page(text.encode(), "utf-8")


def test_a_page_that_never_ends_is_given_up_and_the_next_are_read() -> None:
    clock, reader = Clock(), GatedReader()
    pool = ReaderPool(lambda: InlineWorker(reader), 1, limit_seconds=60, clock=clock)  # type: ignore[arg-type]
    pool.start()
    stuck, behind = pool.read(page("wait")), pool.read(page("behind"))
    assert reader.entered.wait(10)
    clock.now = 59.0
    pool.expire()
    assert not stuck.done()
    clock.now = 60.0
    pool.expire()
    with pytest.raises(PageError) as given_up:
        stuck.result(10)
    assert given_up.value.reason == "too_slow"
    # Its time is counted from its own turn, not from when it was queued.
    assert behind.result(10) == "behind"
    pool.expire()
    assert pool.read(page("after")).result(10) == "after"
    reader.gate.set()
    pool.close().result(10)


def test_a_process_with_a_page_that_never_ends_is_killed() -> None:
    clock = Clock()
    workers: list[ProcessWorker] = []

    def make_worker() -> ProcessWorker:
        workers.append(ProcessWorker(FakeReader()))  # type: ignore[arg-type]
        return workers[-1]

    pool = ReaderPool(make_worker, 1, limit_seconds=60, clock=clock)
    pool.start()
    assert pool.read(page("first")).result(30) == "first"
    stuck, behind = pool.read(page("forever")), pool.read(page("behind"))
    # A page that was sent ahead is running, too.
    while not behind.running():
        time.sleep(0.01)
    while not stuck.done():
        time.sleep(0.01)
        clock.now += 60.0
        pool.expire()
    with pytest.raises(PageError):
        stuck.result(10)
    process = workers[0]._process
    assert process is None or process.wait(10) == -9
    assert behind.result(30) == "behind"
    assert pool.read(page("next")).result(30) == "next"
    pool.close().result(10)


def test_a_dying_worker_fails_its_page_only() -> None:
    pool = ReaderPool(lambda: ProcessWorker(FakeReader()), 1)  # type: ignore[arg-type]
    pool.start()
    results = [pool.read(page(text)) for text in ("one", "crash", "two", "three")]
    assert results[0].result(30) == "one"
    with pytest.raises(WorkerError):
        results[1].result(30)
    assert results[2].result(30) == "two"
    assert results[3].result(30) == "three"
    pool.close().result(10)


def test_pages_in_the_queue_are_read_before_the_pool_closes() -> None:
    pool = ReaderPool(lambda: InlineWorker(FakeReader()), 2)  # type: ignore[arg-type]
    pool.start()
    results = [pool.read(page(str(number))) for number in range(50)]
    pool.close().result(10)
    assert [future.result(0) for future in results] == [str(number) for number in range(50)]


def test_a_cancelled_page_is_not_read() -> None:
    reader = GatedReader()
    pool = ReaderPool(lambda: InlineWorker(reader), 1)  # type: ignore[arg-type]
    pool.start()
    first, second, third = (pool.read(page(text)) for text in ("wait", "second", "third"))
    assert second.cancel()
    reader.gate.set()
    assert first.result(10) == "wait"
    assert third.result(10) == "third"
    pool.close().result(10)
