"""The worker processes of a crawl as one service, with real workers."""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from crawldedup import Deduplicator
from crawldedup.errors import ConfigurationError, PageError, ProfileMismatchError, StoreUnavailableError
from crawldedup.options import Options
from crawldedup.scrapy_plugin.reading import pool as pool_module
from crawldedup.scrapy_plugin.reading import process as process_module
from crawldedup.scrapy_plugin.reading.messages import Job
from crawldedup.scrapy_plugin.reading.pool import WorkerPool
from crawldedup.verdict import Kind
from crawldedup.workers.framing import UnexpectedReadError, WorkerError
from tests.scrapy_plugin.reading.processes import is_there
from tests.servers import free_port

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from crawldedup.scrapy_plugin.reading.messages import Judged

OBEDIENT = "tests.scrapy_plugin.deadly_extractor.obedient"
WORDS = " ".join(f"word{number}" for number in range(60))


def job(text: str, url: str = "", **rules: object) -> Job:
    """A page that begins with this text."""
    url = url or f"https://e.com/{text.split(' ')[0]}"
    return Job(url, f"{text} {WORDS}".encode(), **rules)  # type: ignore[arg-type]


def run(
    work: Callable[[WorkerPool], Awaitable[None]],
    *,
    store: str = "memory://",
    workers: int = 1,
    page_seconds: float = 30,
    extractor: str = OBEDIENT,
    stays: bool = True,
) -> None:
    async def whole() -> None:
        options = Options(store=store, extractor=extractor)
        pool = WorkerPool(options, workers=workers, page_seconds=page_seconds, stays=stays)
        pool.start()
        async with asyncio.timeout(110):
            try:
                await work(pool)
            finally:
                await pool.close()

    asyncio.run(whole())


def pids(pool: WorkerPool) -> list[int]:
    return [worker._process.pid for worker in pool._workers if worker._process is not None]


async def outcomes(pool: WorkerPool, jobs: list[Job]) -> list[object]:
    """The kinds of pages that come at once, or the errors in their places."""
    results = await asyncio.gather(*map(pool.check, jobs), return_exceptions=True)
    return [type(result) if isinstance(result, BaseException) else result.verdict.kind for result in results]


def test_pages_are_read_in_workers_without_scrapy_whatever_they_do_there(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    shown = tmp_path / "shown"
    found: list[int] = []

    async def work(pool: WorkerPool) -> None:
        await pool.open()
        found.extend(pids(pool))
        other = Job("https://e.com/show", f"show {shown} {WORDS.replace('word', 'other')}".encode())
        assert (await pool.check(other)).verdict.kind == Kind.NEW
        assert shown.read_text().split() == [str(found[0])]
        # What prints, what reads stdin, a Ctrl-C that got there, what raises, and what ends the program.
        texts = ("print", "stdin", "interrupt", "raise", "leave", "next")
        assert await outcomes(pool, [job(text) for text in texts]) == [
            Kind.NEW,
            *[Kind.NEAR_DUPLICATE] * 2,
            PageError,
            UnexpectedReadError,
            Kind.NEAR_DUPLICATE,
        ]
        assert pids(pool) == found

    run(work)
    assert "noise that must not break the protocol" in capfd.readouterr().err
    assert not is_there(found[0])


def test_a_page_that_kills_its_worker_costs_that_page_only() -> None:
    async def work(pool: WorkerPool) -> None:
        texts = ["a", "crash", "b", "exit", "c"]
        kinds = await outcomes(pool, [job(text) for text in texts])
        assert [kind for kind in kinds if kind is not WorkerError] == [Kind.NEW, *[Kind.NEAR_DUPLICATE] * 2]
        assert [text for text, kind in zip(texts, kinds, strict=True) if kind is WorkerError] == ["crash", "exit"]
        # The index outlives its workers.
        again = await pool.check(job("a"))
        assert (again.verdict.kind, again.is_repeated) == (Kind.REVISIT, False)

    run(work)


def test_a_page_that_was_sent_again_says_so() -> None:
    async def work(pool: WorkerPool) -> None:
        await pool.open()
        crash, behind = await asyncio.gather(
            pool.check(job("crash")), pool.check(job("behind")), return_exceptions=True
        )
        assert isinstance(crash, WorkerError)
        assert not isinstance(behind, BaseException)
        assert (behind.verdict.kind, behind.is_repeated) == (Kind.NEW, True)

    run(work)


# The time that a store has is not the page's.
@pytest.mark.timeout(40)
def test_a_page_that_never_ends_costs_that_page_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "_EXPIRE_SECONDS", 0.1)

    async def work(pool: WorkerPool) -> None:
        stuck = asyncio.ensure_future(pool.check(job("forever")))
        behind = asyncio.ensure_future(pool.check(job("behind")))
        with pytest.raises(PageError) as given_up:
            await stuck
        assert given_up.value.reason == "too_slow"
        assert (await behind).verdict.kind == Kind.NEW

    run(work, page_seconds=1)


@pytest.mark.parametrize("store", ["memory", "sqlite"])
def test_workers_of_a_crawl_are_one_crawler_and_share_its_index(tmp_path: Path, store: str) -> None:
    async def work(pool: WorkerPool) -> None:
        await pool.open()
        assert len(pids(pool)) == 3
        jobs = [job("slow", f"https://e.com/{number}") for number in range(9)]
        first = await asyncio.gather(*map(pool.check, jobs))
        # Of each content one page passes.
        assert sorted(str(checked.verdict.kind) for checked in first) == ["exact_duplicate"] * 8 + ["new"]
        (kept,) = [checked.verdict.url for checked in first if checked.verdict.kind == Kind.NEW]
        again = await asyncio.gather(*(pool.check(job("slow", kept)) for _ in range(9)))
        assert {checked.verdict.kind for checked in again} == {Kind.REVISIT}
        assert all(worker._answered > 1 for worker in pool._workers)

    run(work, workers=3, store="memory://" if store == "memory" else f"sqlite:///{tmp_path}/index.sqlite")


def test_a_crawl_that_only_looks_uses_all_its_workers_and_joins_as_one_if_a_page_asks_for_it(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/index.sqlite"
    with Deduplicator(store, extractor=OBEDIENT) as earlier:
        earlier.check("https://e.com/earlier", html=f"slow {WORDS}")

    async def work(pool: WorkerPool) -> None:
        await pool.open(read_only=True)
        looks = [job("slow", f"https://e.com/{number}", remember=False) for number in range(4)]
        assert set(await outcomes(pool, looks)) == {Kind.EXACT_DUPLICATE}
        assert len(pids(pool)) == 2
        assert not pool._session.number
        # Both workers run, and only one may join as a new crawler.
        body = " ".join(f"other{number}" for number in range(60)).encode()
        pages = [pool.check(Job("https://e.com/other", body)) for _ in range(8)]
        first = [checked.verdict.kind for checked in await asyncio.gather(*pages)]
        assert sorted(first) == [Kind.NEW, *[Kind.REVISIT] * 7]
        pages = [pool.check(Job("https://e.com/other", body)) for _ in range(8)]
        assert {checked.verdict.kind for checked in await asyncio.gather(*pages)} == {Kind.REVISIT}

    run(work, workers=2, store=store)


def test_the_crawl_is_left_even_if_its_last_worker_died(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/index.sqlite"

    async def work(pool: WorkerPool) -> None:
        await pool.open()
        assert await outcomes(pool, [job("a")]) == [Kind.NEW]
        with pytest.raises(WorkerError):
            await pool.check(job("crash"))
        assert pids(pool) == []

    run(work, store=store)
    # The lease would be held by this process, and the next crawl in it would take the page for another one's.
    with Deduplicator(store, extractor=OBEDIENT) as next_crawl:
        assert next_crawl.check("https://e.com/a", html=f"a {WORDS}").kind == Kind.REVISIT


def test_a_page_can_be_forgotten() -> None:
    async def work(pool: WorkerPool) -> None:
        assert await outcomes(pool, [job("a")]) == [Kind.NEW]
        await pool.forget("https://e.com/a", identity=None, scope_key=None)
        assert await outcomes(pool, [job("a")]) == [Kind.NEW]

    run(work)


def test_the_private_index_ends_with_the_crawl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Signs that mean something in a URL are no trouble.
    folder = tmp_path / "50% #1 ?"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))

    async def work(pool: WorkerPool) -> None:
        assert await outcomes(pool, [job("a")]) == [Kind.NEW]
        assert len(list(folder.glob("crawldedup-*/index.sqlite"))) == 1

    for _ in range(2):
        run(work, extractor="text")
        assert list(folder.iterdir()) == []


def test_pages_in_the_queue_are_answered_before_it_closes_and_none_afterwards() -> None:
    async def whole() -> list[Judged]:
        pool = WorkerPool(Options(extractor="text"), workers=1, page_seconds=30)
        pool.start()
        pages = [asyncio.ensure_future(pool.check(job(str(number)))) for number in range(50)]
        await asyncio.sleep(0)
        await pool.close()
        with pytest.raises(WorkerError, match="ended with the crawl"):
            await pool.check(job("late"))
        await pool.close()
        return await asyncio.gather(*pages)

    assert len(asyncio.run(whole())) == 50


def test_what_does_not_end_cannot_hold_up_the_close(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(pool_module, "_CLOSE_SECONDS", 0.2)

    async def whole() -> None:
        pool = WorkerPool(Options(extractor=OBEDIENT), workers=1, page_seconds=30)
        pool.start()
        await pool.open()
        stuck = asyncio.ensure_future(pool.check(job("forever")))
        await asyncio.sleep(0)
        await pool.close()
        with pytest.raises(WorkerError):
            await stuck

    asyncio.run(whole())
    assert "closing failed: TimeoutError" in caplog.text


def test_errors_of_the_index_are_what_they_were(tmp_path: Path) -> None:
    other = f"sqlite:///{tmp_path}/other.sqlite"
    with Deduplicator(other, extractor="trafilatura") as earlier:
        earlier.check("https://e.com/", text=WORDS)

    async def other_profile(pool: WorkerPool) -> None:
        for _ in range(2):
            with pytest.raises(ProfileMismatchError, match="trafilatura"):
                await pool.open()
        with pytest.raises(ProfileMismatchError):
            await pool.check(job("a"))

    async def nobody_there(pool: WorkerPool) -> None:
        with pytest.raises(StoreUnavailableError):
            await pool.open()
        with pytest.raises(StoreUnavailableError, match="left alone"):
            await pool.check(job("a"))

    run(other_profile, store=other, extractor="text")
    run(nobody_there, store=f"redis://127.0.0.1:{free_port()}/0", extractor="text")


def test_an_extractor_that_only_the_workers_cannot_use_is_refused_there(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(pool: WorkerPool) -> None:
        with pytest.raises(ConfigurationError, match="extractor"):
            await pool.check(job("a"))

    module = type(sys)("only_here")
    module.extract = lambda html: html  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "only_here", module)
    run(work, extractor="only_here.extract")


def test_one_that_was_never_used_closes(caplog: pytest.LogCaptureFixture) -> None:
    async def nothing(pool: WorkerPool) -> None:
        pass

    run(nothing, workers=2, extractor="text")
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_without_asyncio_it_says_what_it_needs() -> None:
    pool = WorkerPool(Options(), workers=1, page_seconds=30)
    with pytest.raises(ConfigurationError, match="needs asyncio; leave TWISTED_REACTOR at Scrapy's default"):
        pool.start()
    # So it has nothing to close.
    with pytest.raises(StopIteration):
        pool.close().send(None)


def test_a_worker_that_cannot_start_is_an_error_of_its_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_module, "_PROGRAM", "no.such.program")

    async def work(pool: WorkerPool) -> None:
        assert await outcomes(pool, [job("a"), job("b"), job("c")]) == [WorkerError] * 3

    run(work, workers=2)


def test_a_script_without_a_main_guard_is_not_run_again() -> None:
    script = (
        "import asyncio\n"
        "from crawldedup.options import Options\n"
        "from crawldedup.scrapy_plugin.reading.messages import Job\n"
        "from crawldedup.scrapy_plugin.reading.pool import WorkerPool\n"
        "print('the script runs')\n"
        "async def work():\n"
        "    pool = WorkerPool(Options(extractor='text'), workers=1, page_seconds=30)\n"
        "    pool.start()\n"
        "    print((await pool.check(Job('https://e.com/', b'some words'))).verdict.kind)\n"
        "    await pool.close()\n"
        "asyncio.run(work())\n"
    )
    run = subprocess.run(
        [sys.executable, "-"],
        input=script,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    )
    assert run.stdout.split("\n") == ["the script runs", "thin", ""]
    assert "Traceback" not in run.stderr
