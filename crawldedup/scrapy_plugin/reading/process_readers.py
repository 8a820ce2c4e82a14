"""Reading pages in processes of their own: for slow extractors, and wherever there is a second core.

The processes are plain programs on sockets (`worker.py`) and not a `multiprocessing` pool. A fork of a process
that runs Twisted is dangerous, and both other start methods import the user's main script again, which starts
a second crawl unless the script guards against it. And a page that kills its process (a crash in C code, the
out-of-memory killer) costs itself only, where a broken pool fails every page in flight.

No thread waits for a process: the event loop itself watches the sockets. A thread would have to get the interpreter
lock from a busy loop, up to 5 ms each time, to do work of microseconds.
"""

from __future__ import annotations

import contextlib
import math
import socket
import subprocess
import sys
import time
from collections import deque
from typing import TYPE_CHECKING, Any, Final

from crawldedup.scrapy_plugin.reading.base import PAGE_LIMIT_SECONDS, Job, WorkerError, too_slow
from crawldedup.scrapy_plugin.reading.channel import Channel
from crawldedup.scrapy_plugin.runtime.breaker import Breaker
from crawldedup.scrapy_plugin.runtime.bridge import later
from crawldedup.scrapy_plugin.runtime.pending import Pending

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawldedup.fingerprinting.fingerprint import Fingerprint
    from crawldedup.page import PageReader
    from crawldedup.scrapy_plugin.reading.base import Page

AHEAD: Final = 4
"""So many pages are sent to a process before the one that it reads is done: the loop is often late to fetch an answer,
by as long as a quick extractor needs for some pages. More would wait behind a slow page while others are idle."""

_START_SECONDS: Final = 60.0
_END_SECONDS: Final = 1.0

# -P keeps a pickle.py in the current directory from being imported instead of the standard library's.
_BOOT = (
    "import os, pickle, sys; requests = os.fdopen(os.dup(0), 'rb'); os.dup2(os.open(os.devnull, os.O_RDONLY), 0); "
    "sys.path[:] = pickle.load(requests); from crawldedup.scrapy_plugin.reading.worker import main; main(requests)"
)


class ProcessReaders:
    """Some worker processes, fed from one queue. `reader` is sent to them as a pickle.

    Every page is answered within `limit_seconds` of its turn, as long as `expire` is called now and then.
    """

    def __init__(
        self,
        reader: PageReader,
        size: int,
        *,
        limit_seconds: float = PAGE_LIMIT_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limit_seconds = limit_seconds
        self._workers = [_Worker((reader, limit_seconds), self._go_on, clock) for _ in range(size)]
        self._queue: deque[Job] = deque()
        self._closed: Pending[None] | None = None

    def start(self) -> None:
        """See `Readers`."""
        for worker in self._workers:
            worker.start()

    def read(self, page: Page) -> Pending[Fingerprint]:
        """See `Readers`."""
        job = Job(page, Pending())
        self._queue.append(job)
        self._go_on()
        return job.answer

    def expire(self) -> None:
        """See `Readers`; the process of such a page is ended, and another begun."""
        for worker in self._workers:
            worker.expire(self._limit_seconds)

    def close(self) -> Pending[None]:
        """See `Readers`; done when the processes have ended."""
        self._closed = Pending()
        self._go_on()
        return self._closed

    def kill(self) -> None:
        """See `Readers`; pages that are being read end with `WorkerError`."""
        for worker in self._workers:
            worker.kill()

    def _go_on(self) -> None:
        """Hand on what is queued, as far as the processes take it; end them when all is done and nothing comes."""
        while self._queue:
            able = [worker for worker in self._workers if worker.can_read()]
            worker = min(able or self._workers, key=_Worker.pages)
            if worker.pages() > AHEAD:
                return
            worker.read(self._queue.popleft())
        if self._closed is not None and not self._closed.is_done():
            idle = [worker for worker in self._workers if not worker.pages()]
            for worker in idle:
                worker.finish()
            if len(idle) == len(self._workers) and not any(worker.is_running() for worker in idle):
                self._closed.succeed(None)


class _Worker:
    """One process, which is started again after it died.

    Of the pages of a process that died only the first fails, which it was reading; those behind it are sent to the
    next one.
    """

    def __init__(
        self, setup: tuple[PageReader, float], on_progress: Callable[[], None], clock: Callable[[], float]
    ) -> None:
        self._setup = setup
        self._on_progress = on_progress
        self._clock = clock
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: Channel | None = None
        # The first is being read, the others were sent ahead.
        self._jobs: deque[Job] = deque()
        self._busy_since = math.inf
        self._is_ready = False
        self._is_finishing = False
        # A program that dies while it starts will do so again: do not spend the machine on trying.
        self._starting = Breaker(clock=clock)

    def pages(self) -> int:
        """How many pages it was sent and has not answered."""
        return len(self._jobs)

    def can_read(self) -> bool:
        """Whether it has a process, or may start one."""
        return self._channel is not None or self._starting.allows()

    def is_running(self) -> bool:
        return self._process is not None

    def expire(self, limit_seconds: float) -> None:
        """Give up a page that takes too long, or a process that does not get ready."""
        seconds = self._clock() - self._busy_since
        if self._is_ready and seconds >= limit_seconds:
            self._give_up_page()
        elif not self._is_ready and seconds >= _START_SECONDS:
            self._starting.failed()
            self._end_process(kill=True)
            self._fail_first(f"not ready after {_START_SECONDS:.0f} s")

    def start(self) -> None:
        """Start the process, if there is none, without waiting until it is ready."""
        with contextlib.suppress(WorkerError):
            self._running_channel()

    def read(self, job: Job) -> None:
        """Send a page over; this ends with an answer in any case."""
        try:
            channel = self._running_channel()
        except WorkerError as error:
            job.answer.fail(error)
            return
        self._jobs.append(job)
        if len(self._jobs) == 1 and self._is_ready:
            self._busy_since = self._clock()
        channel.send(job.page)

    def _give_up_page(self) -> None:
        """The page that is being read takes too long: end its process."""
        job = self._first_job()
        self._end_process(kill=True)
        self._send_again()
        # Last: who waits for it may ask for a page at once.
        job.answer.fail(too_slow())

    def finish(self) -> None:
        """Let an idle process end by itself, and make sure that it does."""
        if self._channel is not None and not self._is_finishing:
            self._is_finishing = True
            self._channel.finish()
            later(_END_SECONDS, self.kill)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()

    def _running_channel(self) -> Channel:
        if self._channel is not None:
            return self._channel
        if not self._starting.allows():
            raise WorkerError("The last worker process died while it started; for some seconds there is no other.")
        own_end: socket.socket | None = None
        try:
            own_end, its_end = socket.socketpair()
            with its_end:
                its_end.setblocking(True)  # whatever socket.setdefaulttimeout says
                self._process = subprocess.Popen(
                    [sys.executable or "", "-P", "-c", _BOOT],
                    stdin=its_end.fileno(),
                    stdout=its_end.fileno(),
                    process_group=0,  # out of reach of the terminal's Ctrl-C
                )
        except OSError as error:
            if own_end is not None:
                own_end.close()
            self._starting.failed()
            raise WorkerError(f"Cannot start a worker process: {error}") from error
        self._busy_since = self._clock()
        self._channel = Channel(own_end, self._take, self._died)
        self._channel.send(sys.path)
        self._channel.send(self._setup)
        return self._channel

    def _take(self, answer: tuple[str, Any]) -> None:
        if not self._is_ready:
            self._is_ready = True
            self._busy_since = self._clock() if self._jobs else math.inf
            self._starting.succeeded()
            return
        self._first_job().take(answer)
        self._on_progress()

    def _first_job(self) -> Job:
        job = self._jobs.popleft()
        self._busy_since = self._clock() if self._jobs else math.inf
        return job

    def _died(self) -> None:
        """The process has gone, or speaks no sense."""
        if not (self._is_ready or self._is_finishing):
            self._starting.failed()
        status = self._end_process()
        self._fail_first(f"killed by signal {-status}" if status < 0 else f"exit status {status}")

    def _fail_first(self, how: str) -> None:
        job = self._first_job() if self._jobs else None
        self._send_again()
        if job is not None:
            job.answer.fail(WorkerError(f"A worker process died ({how})."))

    def _send_again(self) -> None:
        jobs, self._jobs = self._jobs, deque()
        for job in jobs:
            self.read(job)
        self._on_progress()

    def _end_process(self, *, kill: bool = False) -> int:
        """Leave no process behind; its exit status."""
        process, channel = self._process, self._channel
        assert process is not None
        assert channel is not None
        self._process, self._channel, self._is_ready, self._is_finishing = None, None, False, False
        self._busy_since = math.inf
        channel.close()
        if kill:
            process.kill()
        try:
            return process.wait(timeout=_END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()
