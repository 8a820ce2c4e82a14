"""The pool of worker processes, with real processes that are killed, stopped, filled and taken
over.
"""

import asyncio
import functools
import inspect
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from crawldedup.errors import ConfigurationError, NoWorkerError, UnexpectedReadError, WorkerError
from crawldedup.workers import pool as pools
from crawldedup.workers.pool import WorkerPool
from tests.processes import is_there
from tests.servers import wait_until

HANDLER = "tests.workers.handlers:obedient"


def run(
    work: Callable[[WorkerPool], Awaitable[None]],
    *,
    workers: int = 1,
    seconds: float = 30,
    **setup: str,
) -> None:
    async def whole() -> None:
        pool = WorkerPool(HANDLER, setup, workers=workers, page_seconds=seconds)
        try:
            async with asyncio.timeout(100):
                await work(pool)
        finally:
            pool.close()
            await asyncio.sleep(0)
        assert not pool._workers

    asyncio.run(whole())


def pooled(
    workers: int = 1, **how: Any
) -> Callable[[Callable[..., Awaitable[None]]], Callable[..., None]]:
    """Run a test with a pool, which is its first argument; the others are fixtures, of which
    `workers` may be one.
    """

    def decorate(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
        @functools.wraps(test)
        def with_pool(**fixtures: Any) -> None:
            run(
                lambda pool: test(pool, **fixtures), workers=fixtures.get("workers", workers), **how
            )

        _, *others = inspect.signature(test).parameters.values()
        with_pool.__signature__ = inspect.Signature(others)  # type: ignore[attr-defined]
        return with_pool

    return decorate


def pids(pool: WorkerPool) -> list[int]:
    return [worker.process.pid for worker in pool._workers]


def called(pool: WorkerPool, message: object, number: int = 1) -> list[asyncio.Future[Any]]:
    return [asyncio.ensure_future(pool.call(message)) for _ in range(number)]


async def outcomes(pool: WorkerPool, messages: list[object]) -> list[object]:
    """Return the messages that were answered, and the errors of the others, or the reasons of
    pages.
    """
    results = await asyncio.gather(*map(pool.call, messages), return_exceptions=True)
    return [
        getattr(result, "reason", type(result)) if isinstance(result, BaseException) else result[1]  # type: ignore[index]
        for result in results
    ]


@pytest.mark.parametrize("workers", [1, pytest.param(3, marks=pytest.mark.nightly)])
@pooled(seconds=1)
async def test_what_ends_a_worker_costs_itself_alone(pool: WorkerPool, workers: int) -> None:
    ends = {"crash": WorkerError, "stop": "too_slow", "forever": "too_slow", "exit": WorkerError}
    ends |= {"nonsense": WorkerError, "huge": WorkerError}
    messages = [each for end in ends for each in (f"before {end}", end)]
    assert await outcomes(pool, [*messages, "last"]) == [
        *(ends.get(each, each) for each in messages),
        "last",
    ]
    assert len(pool._workers) <= workers


@pooled()
async def test_what_raises_in_a_worker_leaves_it_alive(pool: WorkerPool) -> None:
    messages: list[object] = ["a", "raise", "refuse", "leave", "hungry", "interrupt", "print", "z"]
    assert await outcomes(pool, messages) == [
        *(
            "a",
            UnexpectedReadError,
            "binary",
            UnexpectedReadError,
            "out_of_memory",
            "interrupt",
            "print",
            "z",
        )
    ]
    with pytest.raises(
        UnexpectedReadError, match=r"ZeroDivisionError: bad \\x1b\[31m page"
    ) as raised:
        await pool.call("raise")
    assert raised.value.kind == "ZeroDivisionError"
    assert len({(await pool.call("a"))[0] for _ in range(3)} | set(pids(pool))) == 1


@pooled()
async def test_a_worker_that_was_killed_from_outside_costs_nothing(
    pool: WorkerPool, tmp_path: Path
) -> None:
    (tmp_path / "once").touch()
    messages: list[object] = ["a", ["once", str(tmp_path / "once")], "b"]
    assert await outcomes(pool, messages) == messages
    reading = called(pool, ["sleep", 0.3], 4)
    await asyncio.sleep(0.1)
    os.kill(pids(pool)[0], signal.SIGKILL)
    assert len(await asyncio.gather(*reading)) == 4


@pytest.mark.parametrize("number", [1, pytest.param(20, marks=pytest.mark.nightly)])
@pooled(workers=2)
async def test_killing_workers_over_and_over_costs_no_request(
    pool: WorkerPool, number: int
) -> None:
    reading = called(pool, ["sleep", 0.005], 300 * number)
    kills = 0
    while not all(each.done() for each in reading):
        await asyncio.sleep(random.uniform(0.2, 0.6))
        # Nobody promises anything to a request at which two workers are killed.
        if ready := [
            each
            for each in pool._workers
            if each.is_ready and each.tasks and each.tasks[0].tries == 2
        ]:
            os.kill(random.choice(ready).process.pid, signal.SIGKILL)
            kills += 1
    assert kills
    assert [each for each in reading if each.exception()] == []


@pytest.mark.nightly
@pooled(workers=2)
async def test_thousands_of_requests_are_answered_to_whom_they_belong(pool: WorkerPool) -> None:
    bodies = [os.urandom(random.randrange(2000)) for _ in range(10_000)]
    answers = await asyncio.gather(*map(pool.call, bodies))
    assert [body for _, body in answers] == bodies
    assert len({pid for pid, _ in answers}) == 2
    large = os.urandom(40 << 20)
    assert (await asyncio.gather(*called(pool, large, 3)))[2][1] == large


@pooled()
async def test_a_worker_that_stays_large_is_replaced_between_two_requests(pool: WorkerPool) -> None:
    messages: list[object] = ["a", "keep", "b", "keep", "keep", "c"]
    answers = await asyncio.gather(*map(pool.call, messages))
    assert [message for _, message in answers] == messages
    assert [answers[place][0] == answers[place + 1][0] for place in range(5)] == [
        True,
        False,
        True,
        False,
        False,
    ]


@pooled(seconds=0.6)
async def test_the_time_limit_is_that_of_the_request(pool: WorkerPool) -> None:
    slow = pool.call(["sleep", 0.8], seconds=5)
    assert (await asyncio.gather(slow, *called(pool, ["sleep", 2]), return_exceptions=True))[0][
        1
    ] == ["sleep", 0.8]
    # Idle time is nobody's.
    await asyncio.sleep(0.8)
    assert (await pool.call("a"))[1] == "a"


@pooled(seconds=1)
async def test_a_blocked_event_loop_costs_no_request(pool: WorkerPool) -> None:
    await pool.call("a")
    reading = called(pool, ["sleep", 0.2], 2)
    await asyncio.sleep(0.05)
    time.sleep(2.5)
    assert len(await asyncio.gather(*reading)) == 2


@pooled()
async def test_a_client_that_leaves_delays_nobody(pool: WorkerPool) -> None:
    left = called(pool, ["sleep", 0.1], 200)
    await asyncio.sleep(0.3)
    for each in left:
        each.cancel()
    begun = time.monotonic()
    assert (await pool.call("a"))[1] == "a"
    assert time.monotonic() - begun < 6  # what was sent ahead is read still, and no more
    assert all(each.cancelled() for each in left[4:])


@pooled(workers=2)
async def test_a_closed_pool_ends_its_processes_and_starts_others_when_asked(
    pool: WorkerPool,
) -> None:
    waiting = called(pool, "forever", 40)
    await asyncio.sleep(0.5)
    before = pids(pool)
    pool.close()
    assert set(map(type, await asyncio.gather(*waiting, return_exceptions=True))) == {WorkerError}
    assert not any(map(is_there, before))
    assert (await pool.call("a"))[0] not in before


@pooled(refuse="no such thing")
async def test_a_handler_that_refuses_its_setup_is_told_as_it_is(pool: WorkerPool) -> None:
    for _ in range(2):
        with pytest.raises(ConfigurationError, match=r"^no such thing$"):
            await pool.call("a")
    begun = time.monotonic()
    assert await outcomes(pool, ["b"] * 50) == [ConfigurationError] * 50
    assert time.monotonic() - begun < 1  # it is left alone for a while


@pytest.mark.parametrize(("deaths", "expected"), [(1, "a"), (2, NoWorkerError)])
def test_a_worker_that_dies_while_it_starts_is_tried_once_more(
    tmp_path: Path, deaths: int, expected: object
) -> None:
    for number in range(deaths):
        (tmp_path / str(number)).touch()

    async def work(pool: WorkerPool) -> None:
        assert await outcomes(pool, ["a", "a"]) == [expected] * 2
        await asyncio.sleep(1)
        assert await outcomes(pool, ["b"]) == ["b"]

    run(work, die=str(tmp_path))


@pytest.mark.parametrize("program", ["/no/such/program", "false"])
@pooled()
async def test_a_file_that_is_not_a_program_fails_at_once(
    pool: WorkerPool, program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "command_of", lambda *_: [program])
    pool.start()
    assert await outcomes(pool, ["a", "b"]) == [NoWorkerError] * 2


@pooled()
async def test_a_worker_knows_no_secret_of_its_parent(
    pool: WorkerPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (
        "CRAWLDEDUP_TOKEN",
        "REDIS_URL",
        "AWS_SECRET_ACCESS_KEY",
        "HOMEBREW_GITHUB_API_TOKEN",
        "TZ_PASSWORD",
    ):
        monkeypatch.setenv(name, "hunter2")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    await pool.call(["environment", str(tmp_path / "shown")])
    known = (tmp_path / "shown").read_text()
    assert "hunter2" not in known
    assert {"PATH", "HOME", "LC_ALL"} <= eval(known).keys()


PARENT = """
import asyncio, sys
from crawldedup.workers.pool import WorkerPool
async def main():
    pool = WorkerPool("tests.workers.handlers:obedient", {}, workers=2, page_seconds=1)
    asyncio.ensure_future(pool.call("%s"))
    await pool.call("a")
    print(*(worker.process.pid for worker in pool._workers), flush=True)
    await asyncio.sleep(100)
if __name__ == "__main__":
    asyncio.run(main())
"""


@pytest.mark.parametrize(
    ("message", "seconds"), [("b", 5.0), pytest.param("forever", 20.0, marks=pytest.mark.nightly)]
)
def test_workers_end_with_a_parent_that_is_killed(
    message: str, seconds: float, tmp_path: Path
) -> None:
    script = tmp_path / "parent.py"
    script.write_text(PARENT % message)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, text=True, env=environment
    ) as parent:
        assert parent.stdout is not None
        running = list(map(int, parent.stdout.readline().split()))
        assert len(running) == 2
        parent.kill()
        wait_until(lambda: not any(map(is_there, running)), seconds)
