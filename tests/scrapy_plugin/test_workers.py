from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from crawldedup.errors import ConfigurationError, PageError
from crawldedup.scrapy_plugin.workers import (
    InlineWorker,
    Page,
    PageWorker,
    ProcessWorker,
    UnexpectedReadError,
    WorkerError,
)

from .fakes import BrokenReader, FakeReader

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def process() -> Iterator[ProcessWorker]:
    worker = ProcessWorker(FakeReader())  # type: ignore[arg-type]
    yield worker
    worker.close()


@pytest.fixture(params=["process", "inline"])
def worker(request: pytest.FixtureRequest) -> PageWorker:
    if request.param == "process":
        return request.getfixturevalue("process")  # type: ignore[no-any-return]
    return InlineWorker(FakeReader())  # type: ignore[arg-type]


def read(worker: PageWorker, text: str, **how: Any) -> object:
    worker.send(page(text, **how))
    return worker.receive()


def page(text: str, **how: Any) -> Page:
    return Page(text.encode("utf-8"), how.pop("encoding", "utf-8"), **how)


def test_pages_are_read(worker: PageWorker) -> None:
    assert read(worker, "Grüße") == "Grüße"
    assert read(worker, "plain", is_html=False) == "plain"
    worker.send(Page("Grüße".encode("latin-1"), "utf-8", is_html=False))
    assert worker.receive() == "Gr\ufffd\ufffde"
    assert len(str(read(worker, "x" * 3_000_000))) == 3_000_000


def test_errors_of_a_page_arrive_and_the_worker_goes_on(worker: PageWorker) -> None:
    with pytest.raises(PageError) as refused:
        read(worker, "page error")
    assert refused.value.reason == "too_deep"
    with pytest.raises(ConfigurationError, match="No such extractor"):
        read(worker, "configuration error")
    with pytest.raises(UnexpectedReadError) as unexpected:
        read(worker, "unexpected")
    assert unexpected.value.kind == "ZeroDivisionError"
    assert r"bad \x1b[31m page" in str(unexpected.value)
    assert "\x1b" not in str(unexpected.value)
    assert read(worker, "next") == "next"


def test_pages_are_received_in_the_order_in_which_they_were_sent(worker: PageWorker) -> None:
    for text in ("one", "page error", "three"):
        worker.send(page(text))
    assert worker.receive() == "one"
    with pytest.raises(PageError):
        worker.receive()
    assert worker.receive() == "three"


def test_output_of_a_library_does_not_break_the_protocol(process: ProcessWorker) -> None:
    assert read(process, "print") == "print"
    assert read(process, "next") == "next"


def test_a_process_reads_elsewhere_and_without_scrapy(process: ProcessWorker) -> None:
    assert read(process, "pid") != str(os.getpid())
    assert read(process, "modules") == ""


def test_a_page_that_kills_its_process_costs_itself_only(process: ProcessWorker) -> None:
    with pytest.raises(WorkerError, match="killed by signal 9"):
        read(process, "crash")
    assert read(process, "next") == "next"


def test_pages_behind_one_that_kills_its_process_are_read_by_the_next(process: ProcessWorker) -> None:
    for text in ("before", "crash", "behind", "pid"):
        process.send(page(text))
    assert process.receive() == "before"
    with pytest.raises(WorkerError, match="killed by signal 9"):
        process.receive()
    assert process.receive() == "behind"
    assert int(str(process.receive())) != os.getpid()
    assert read(process, "next") == "next"


def test_a_process_that_died_while_idle_fails_the_page_that_finds_out(process: ProcessWorker) -> None:
    os.kill(int(str(read(process, "pid"))), signal.SIGKILL)
    with pytest.raises(WorkerError, match="killed by signal 9"):
        read(process, "one")
    assert read(process, "two") == "two"


def test_a_process_that_cannot_start_is_not_started_for_every_page() -> None:
    worker = ProcessWorker(BrokenReader())  # type: ignore[arg-type]
    with pytest.raises(WorkerError, match="exit status 3"):
        read(worker, "one")
    with pytest.raises(WorkerError, match="did not start"):
        read(worker, "two")
    worker.close()


def test_a_missing_interpreter_is_a_worker_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", None)
    with pytest.raises(WorkerError, match="Cannot start"):
        read(ProcessWorker(FakeReader()), "one")  # type: ignore[arg-type]


def test_a_closed_worker_leaves_no_process() -> None:
    worker = ProcessWorker(FakeReader())  # type: ignore[arg-type]
    worker.start()
    pid = int(str(read(worker, "pid")))
    worker.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    worker.close()


def test_a_script_without_a_main_guard_is_not_run_again() -> None:
    script = (
        "import sys\n"
        "from crawldedup.scrapy_plugin.workers import Page, ProcessWorker\n"
        "from scrapy_plugin_fakes import FakeReader\n"
        "print('the script runs')\n"
        "worker = ProcessWorker(FakeReader())\n"
        "worker.send(Page(b'hello', None))\n"
        "print(worker.receive())\n"
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
