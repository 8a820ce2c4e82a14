"""One worker process, with all that a page that has taken it over can do to the crawl."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import socket
import sys
from typing import TYPE_CHECKING, Any

import pytest

from crawldedup.errors import ConfigurationError, PageError
from crawldedup.scrapy_plugin.reading import process as process_module
from crawldedup.scrapy_plugin.reading.messages import Judged
from crawldedup.scrapy_plugin.reading.process import Pending, WorkerProcess
from crawldedup.scrapy_plugin.reading.progress import STORE_SECONDS
from crawldedup.stores.base import CrawlSession
from crawldedup.workers.framing import WorkerError, request
from tests.scrapy_plugin.fakes import Clock
from tests.scrapy_plugin.reading import fake_worker
from tests.scrapy_plugin.reading.processes import is_there

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


@pytest.fixture(autouse=True)
def fake_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_module, "_PROGRAM", fake_worker.__name__)


class Asked:
    """A worker process, and the pages that it is asked about. `start` is how each process begins."""

    def __init__(self, start: str, clock: Callable[[], float]) -> None:
        self.start = start
        self.sessions: list[CrawlSession] = []
        self.worker = WorkerProcess(self.setup, self.sessions.append, page_seconds=60, clock=clock)

    def setup(self) -> dict[str, Any]:
        return {"start": self.start}

    def page(self, text: str) -> Pending:
        pending = Pending(request({"do": "check"}, text.encode()))
        self.worker.send(pending)
        return pending

    @property
    def pid(self) -> int:
        assert self.worker._process is not None
        return self.worker._process.pid

    async def until_ready(self) -> None:
        await url(self.page("first"))


async def url(page: Pending) -> str:
    judged = await page.answer
    assert isinstance(judged, Judged)
    return judged.verdict.url


async def urls(pages: list[Pending]) -> list[str]:
    return [await url(page) for page in pages]


def run(work: Callable[[Asked], Awaitable[None]], start: str = "", clock: Clock | None = None) -> None:
    async def whole() -> None:
        asked = Asked(start, clock or asyncio.get_running_loop().time)
        try:
            async with asyncio.timeout(100):
                await work(asked)
        finally:
            asked.worker.kill()

    asyncio.run(whole())


def test_pages_are_answered_in_their_order_by_another_process() -> None:
    async def work(asked: Asked) -> None:
        pages = [asked.page(str(number)) for number in range(50)]
        assert asked.worker.load() == 50
        assert await urls(pages) == [str(number) for number in range(50)]
        assert asked.worker.load() == 0
        assert int(await url(asked.page("pid"))) == asked.pid != os.getpid()
        assert not any(page.was_resent for page in pages)

    run(work)


def test_pages_larger_than_any_buffer_do_not_hold_up_the_loop() -> None:
    async def work(asked: Asked) -> None:
        texts = [letter * 3_000_000 for letter in "abcdef"]
        assert await urls([asked.page(text) for text in texts]) == texts

    # What this says is for the program's own sockets.
    socket.setdefaulttimeout(0.01)
    try:
        run(work)
    finally:
        socket.setdefaulttimeout(None)


def test_an_error_of_a_page_is_no_end() -> None:
    async def work(asked: Asked) -> None:
        await asked.until_ready()
        pid = asked.pid
        with pytest.raises(PageError) as refused:
            await asked.page("error").answer
        assert refused.value.reason == "too_deep"
        assert int(await url(asked.page("pid"))) == pid

    run(work)


@pytest.mark.parametrize(
    ("deed", "message"),
    [
        ("crash", r"A worker process died \(killed by signal 9\)"),
        ("exit", r"A worker process died \(exit status 3\)"),
        ("mute", "A worker process died"),
        ("json", "was ended: it answered nonsense"),
        ("shape", "was ended: it answered with a broken verdict"),
        ("huge", "was ended: it answered with 4,294,967,295 bytes"),
        ("ready", "was ended: it got ready twice"),
    ],
)
def test_of_the_pages_of_a_process_that_ends_only_its_own_fails(deed: str, message: str) -> None:
    async def work(asked: Asked) -> None:
        await asked.until_ready()
        pid = asked.pid
        before, bad, behind, last = (asked.page(text) for text in ("before", deed, "behind", "pid"))
        assert await url(before) == "before"
        with pytest.raises(WorkerError, match=message):
            await bad.answer
        assert await url(behind) == "behind"
        assert int(await url(last)) == asked.pid != pid
        assert not is_there(pid)
        assert [page.was_resent for page in (before, behind, last)] == [False, True, True]

    run(work)


def test_an_answer_to_no_request_ends_the_process() -> None:
    async def work(asked: Asked) -> None:
        await asked.until_ready()
        pid = asked.pid
        assert await url(asked.page("twice")) == "twice"
        while asked.worker.is_running():
            await asyncio.sleep(0.01)
        assert not is_there(pid)
        assert await url(asked.page("next")) == "next"

    run(work)


@pytest.mark.parametrize("deed", ["lie", "deny"])
def test_one_that_lies_about_where_it_was_costs_its_page_in_the_end(deed: str) -> None:
    async def work(asked: Asked) -> None:
        await asked.until_ready()
        bad, behind = asked.page(deed), asked.page("behind")
        with pytest.raises(WorkerError, match="exit status 0"):
            await bad.answer
        assert await url(behind) == "behind"

    run(work)


def test_a_process_that_dies_while_idle_costs_no_page() -> None:
    async def work(asked: Asked) -> None:
        await asked.until_ready()
        pid = asked.pid
        os.kill(pid, signal.SIGKILL)
        # It may not have been noticed yet.
        assert int(await url(asked.page("pid"))) != pid

    run(work)


def test_nobody_waits_for_a_page_that_was_given_up() -> None:
    async def work(asked: Asked) -> None:
        await asked.until_ready()
        cancelled, behind = asked.page("cancelled"), asked.page("behind")
        cancelled.answer.cancel()
        assert await url(behind) == "behind"
        crash, behind = asked.page("crash"), asked.page("behind")
        crash.answer.cancel()
        assert await url(behind) == "behind"

    run(work)


def test_a_page_that_never_ends_is_given_up_with_its_process() -> None:
    clock = Clock()

    async def work(asked: Asked) -> None:
        await asked.until_ready()
        pid = asked.pid
        clock.now = 100.0
        stuck, behind = asked.page("forever"), asked.page("behind")
        clock.now = 159.0
        asked.worker.expire()
        await asyncio.sleep(0.05)
        assert not stuck.answer.done()
        clock.now = 160.0
        asked.worker.expire()
        with pytest.raises(PageError) as given_up:
            await stuck.answer
        assert given_up.value.reason == "too_slow"
        assert not is_there(pid)
        assert await url(behind) == "behind"

    run(work, clock=clock)


def test_the_stores_time_is_no_pages_but_has_an_end() -> None:
    clock = Clock()

    async def work(asked: Asked) -> None:
        await asked.until_ready()
        stuck = asked.page("store")
        while not asked.worker._shared()[1]:
            await asyncio.sleep(0.01)
        clock.now = 59.0 + STORE_SECONDS
        asked.worker.expire()
        assert not stuck.answer.done()
        clock.now = 60.0 + STORE_SECONDS
        asked.worker.expire()
        with pytest.raises(PageError):
            await stuck.answer

    run(work, clock=clock)


def test_the_time_it_takes_to_start_is_no_pages_time_but_has_an_end() -> None:
    clock = Clock()

    async def work(asked: Asked) -> None:
        first, second = asked.page("first"), asked.page("second")
        clock.now = 59.9
        asked.worker.expire()
        assert not first.answer.done()
        clock.now = 60.0
        asked.worker.expire()
        with pytest.raises(WorkerError, match="not ready after 60 s"):
            await first.answer
        with pytest.raises(WorkerError, match="died while it started"):
            await second.answer
        assert not asked.worker.can_run()
        clock.now = 61.0
        assert asked.worker.can_run()
        asked.start = ""
        assert await url(asked.page("later")) == "later"

    run(work, "hang", clock)


@pytest.mark.parametrize(("start", "message"), [("die", "exit status 3"), ("early", "answered before it was ready")])
def test_a_process_that_cannot_start_is_not_started_for_every_page(start: str, message: str) -> None:
    async def work(asked: Asked) -> None:
        one, two = asked.page("one"), asked.page("two")
        with pytest.raises(WorkerError, match=message):
            await one.answer
        for page in (two, asked.page("three")):
            with pytest.raises(WorkerError, match="died while it started"):
                await page.answer

    run(work, start, Clock())


def test_one_that_cannot_be_set_up_says_why() -> None:
    async def work(asked: Asked) -> None:
        for page in [asked.page("one"), asked.page("two")]:
            with pytest.raises(ConfigurationError, match="No such extractor"):
                await page.answer
        with pytest.raises(WorkerError, match="died while it started"):
            await asked.page("three").answer

    run(work, "unusable", Clock())


@pytest.mark.parametrize("executable", [None, "/nowhere/python"])
def test_a_missing_interpreter_is_a_worker_error(monkeypatch: pytest.MonkeyPatch, executable: str | None) -> None:
    monkeypatch.setattr(sys, "executable", executable)

    async def work(asked: Asked) -> None:
        with pytest.raises(WorkerError, match="Cannot start a worker process"):
            await asked.page("one").answer
        with pytest.raises(WorkerError, match="died while it started"):
            asked.worker.start()

    run(work, clock=Clock())


def test_without_descriptors_pages_fail_and_get_no_others_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    make_pair, clock = socket.socketpair, Clock()

    def refuse(*arguments: Any) -> Any:
        raise OSError(errno.EMFILE, "Too many open files")

    async def work(asked: Asked) -> None:
        texts = ["before", "crash", *(str(number) for number in range(20))]
        pages = {text: asked.page(text) for text in texts}
        monkeypatch.setattr(socket, "socketpair", refuse)
        for text, page in pages.items():
            if text == "before":
                assert await url(page) == text
            else:
                with pytest.raises(WorkerError):
                    await page.answer
        monkeypatch.setattr(socket, "socketpair", make_pair)
        clock.now = 60.0
        assert await url(asked.page("later")) == "later"

    run(work, clock=clock)


def test_the_session_that_it_joined_is_passed_on() -> None:
    async def work(asked: Asked) -> None:
        assert await url(asked.page("session")) == "session"
        assert asked.sessions == [CrawlSession(7, "host:1:")]

    run(work)


def test_ctrl_c_in_the_terminal_does_not_reach_it() -> None:
    async def work(asked: Asked) -> None:
        await asked.until_ready()
        assert os.getpgid(asked.pid) == asked.pid != os.getpgid(0)

    run(work)


def test_an_idle_one_ends_and_a_killed_one_fails_what_waits() -> None:
    async def work(asked: Asked) -> None:
        await asked.until_ready()
        pid = asked.pid
        await asked.worker.end()
        assert not is_there(pid)
        assert not asked.worker.is_running()
        await asked.until_ready()
        pid, stuck = asked.pid, asked.page("forever")
        asked.worker.kill()
        with pytest.raises(WorkerError, match="was ended"):
            await stuck.answer
        assert not is_there(pid)
        asked.worker.kill()
        await asked.worker.end()

    run(work)
