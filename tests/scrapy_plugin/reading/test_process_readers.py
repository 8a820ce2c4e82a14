from __future__ import annotations

import asyncio
import errno
import os
import signal
import socket
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from crawldedup.scrapy_plugin.reading.base import Page, UnexpectedReadError, WorkerError
from crawldedup.scrapy_plugin.reading.process_readers import AHEAD, ProcessReaders

from crawldedup.errors import ConfigurationError, PageError
from tests.scrapy_plugin.fakes import BrokenReader, Clock, FakeReader, SlowToStart, page

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


def run(work: Callable[[ProcessReaders], Awaitable[None]], reader: Any = None, size: int = 1, **limits: Any) -> None:
    async def whole() -> None:
        readers = ProcessReaders(reader or FakeReader(), size, **limits)
        readers.start()
        try:
            async with asyncio.timeout(120):
                await work(readers)
                await readers.close()
        finally:
            readers.kill()

    asyncio.run(whole())


def test_pages_are_read_elsewhere_and_without_scrapy() -> None:
    async def work(readers: ProcessReaders) -> None:
        assert await readers.read(page("Grüße")) == "Grüße"
        assert await readers.read(page("plain", is_html=False)) == "plain"
        other = Page("Grüße".encode("latin-1"), "utf-8", is_html=False)
        assert await readers.read(other) == "Gr\ufffd\ufffde"
        assert await readers.read(page("pid")) != str(os.getpid())
        assert await readers.read(page("modules")) == ""

    run(work)


def test_pages_larger_than_any_buffer_do_not_hold_up_the_loop() -> None:
    async def work(readers: ProcessReaders) -> None:
        texts = [letter * 3_000_000 for letter in "abcdef"]
        pages = [readers.read(page(text)) for text in texts]
        assert [await pending for pending in pages] == texts

    run(work)


def test_errors_of_a_page_arrive_and_the_process_goes_on() -> None:
    async def work(readers: ProcessReaders) -> None:
        with pytest.raises(PageError) as refused:
            await readers.read(page("page error"))
        assert refused.value.reason == "too_deep"
        with pytest.raises(ConfigurationError, match="No such extractor"):
            await readers.read(page("configuration error"))
        with pytest.raises(UnexpectedReadError) as unexpected:
            await readers.read(page("unexpected"))
        assert unexpected.value.kind == "ZeroDivisionError"
        assert r"bad \x1b[31m page" in str(unexpected.value)
        assert "\x1b" not in str(unexpected.value)
        assert await readers.read(page("next")) == "next"

    run(work)


def test_output_of_a_library_does_not_break_the_protocol() -> None:
    async def work(readers: ProcessReaders) -> None:
        assert await readers.read(page("print")) == "print"
        assert await readers.read(page("next")) == "next"

    run(work)


def test_of_the_pages_of_a_process_that_died_only_the_first_fails() -> None:
    async def work(readers: ProcessReaders) -> None:
        before, crash, behind, pid = (readers.read(page(text)) for text in ("before", "crash", "behind", "pid"))
        assert await before == "before"
        with pytest.raises(WorkerError, match="killed by signal 9"):
            await crash
        assert await behind == "behind"
        assert int(str(await pid)) != os.getpid()

    run(work)


def test_a_process_that_died_while_idle_costs_no_page() -> None:
    async def work(readers: ProcessReaders) -> None:
        pid = int(str(await readers.read(page("pid"))))
        os.kill(pid, signal.SIGKILL)
        while readers._workers[0].is_running():
            await asyncio.sleep(0.01)
        assert int(str(await readers.read(page("pid")))) != pid

    run(work)


def test_a_page_that_never_ends_is_given_up_with_its_process() -> None:
    clock = Clock()

    async def work(readers: ProcessReaders) -> None:
        pid = int(str(await readers.read(page("pid"))))
        stuck, behind = readers.read(page("forever")), readers.read(page("behind"))
        clock.now = 59.0
        readers.expire()
        assert not stuck.is_done()
        clock.now = 60.0
        readers.expire()
        with pytest.raises(PageError) as given_up:
            await stuck
        assert given_up.value.reason == "too_slow"
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
        assert await behind == "behind"
        assert await readers.read(page("next")) == "next"

    run(work, limit_seconds=60, clock=clock)


def test_the_time_it_takes_to_start_is_no_pages_time() -> None:
    clock = Clock()

    async def work(readers: ProcessReaders) -> None:
        first = readers.read(page("first"))
        clock.now = 59.0
        readers.expire()
        assert not first.is_done()
        assert await first == "first"

    run(work, SlowToStart(), limit_seconds=1, clock=clock)


def test_a_process_that_never_gets_ready_is_given_up() -> None:
    clock = Clock()

    async def work(readers: ProcessReaders) -> None:
        first, second = readers.read(page("first")), readers.read(page("second"))
        clock.now = 60.0
        readers.expire()
        with pytest.raises(WorkerError, match="not ready after 60 s"):
            await first
        with pytest.raises(WorkerError, match="died while it started"):
            await second
        clock.now = 61.0
        assert await readers.read(page("later")) == "later"

    run(work, SlowToStart(), limit_seconds=1, clock=clock)


def test_without_descriptors_pages_fail_and_get_no_others_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    make_pair, clock = socket.socketpair, Clock()

    def refuse(*arguments: Any) -> Any:
        raise OSError(errno.EMFILE, "Too many open files")

    async def work(readers: ProcessReaders) -> None:
        texts = ["before", "crash", *(str(number) for number in range(20))]
        pages = {text: readers.read(page(text)) for text in texts}
        monkeypatch.setattr(socket, "socketpair", refuse)
        answers = {}
        for text, pending in pages.items():
            try:
                answers[text] = await pending
            except WorkerError:
                answers[text] = None
        assert all(answer in (None, text) for text, answer in answers.items())
        assert answers["crash"] is None
        monkeypatch.setattr(socket, "socketpair", make_pair)
        clock.now = 60.0
        assert await readers.read(page("later")) == "later"

    run(work, size=2, clock=clock)


def test_time_limits_of_the_programs_sockets_are_no_workers() -> None:
    socket.setdefaulttimeout(5.0)
    try:
        test_pages_larger_than_any_buffer_do_not_hold_up_the_loop()
    finally:
        socket.setdefaulttimeout(None)


def test_what_ends_a_program_ends_no_worker_and_what_reads_stdin_gets_no_page() -> None:
    async def work(readers: ProcessReaders) -> None:
        pid = await readers.read(page("pid"))
        with pytest.raises(UnexpectedReadError, match="SystemExit"):
            await readers.read(page("panic"))
        assert await readers.read(page("stdin")) == "nothing"
        assert await readers.read(page("pid")) == pid

    run(work)


def test_no_process_is_idle_while_pages_wait_for_another() -> None:
    async def work(readers: ProcessReaders) -> None:
        pids = [readers.read(page("pid")) for _ in range(4 * AHEAD)]
        assert len({await pending for pending in pids}) == 2

    run(work, size=2)


def test_a_process_that_cannot_start_is_not_started_for_every_page() -> None:
    async def work(readers: ProcessReaders) -> None:
        one, two = readers.read(page("one")), readers.read(page("two"))
        with pytest.raises(WorkerError, match="exit status 3"):
            await one
        with pytest.raises(WorkerError, match="died while it started"):
            await two
        with pytest.raises(WorkerError, match="died while it started"):
            await readers.read(page("three"))

    run(work, BrokenReader(), clock=lambda: 0.0)


def test_a_missing_interpreter_is_a_worker_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", None)

    async def work(readers: ProcessReaders) -> None:
        with pytest.raises(WorkerError, match=r"Cannot start|died while it started"):
            await readers.read(page("one"))

    run(work)


def test_pages_in_the_queue_are_read_before_it_closes_and_no_process_is_left() -> None:
    async def work(readers: ProcessReaders) -> None:
        pid = int(str(await readers.read(page("pid"))))
        pages = [readers.read(page(str(number))) for number in range(50)]
        await readers.close()
        assert [pending.result() for pending in pages] == [str(number) for number in range(50)]
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)

    run(work)


def test_one_that_was_never_used_closes() -> None:
    async def work(readers: ProcessReaders) -> None:
        assert not readers._queue

    run(work, size=2)


def test_a_script_without_a_main_guard_is_not_run_again() -> None:
    script = (
        "import asyncio\n"
        "from crawldedup.scrapy_plugin.reading.process_readers import ProcessReaders\n"
        "from crawldedup.scrapy_plugin.reading.base import Page\n"
        "from scrapy_plugin_fakes import FakeReader\n"
        "print('the script runs')\n"
        "async def work():\n"
        "    readers = ProcessReaders(FakeReader(), 1)\n"
        "    print(await readers.read(Page(b'hello', None)))\n"
        "    await readers.close()\n"
        "asyncio.run(work())\n"
    ).replace("scrapy_plugin_fakes", FakeReader.__module__)
    run = subprocess.run(
        [sys.executable, "-"],
        input=script,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert run.stdout.split("\n") == ["the script runs", "hello", ""]
    assert "Traceback" not in run.stderr
