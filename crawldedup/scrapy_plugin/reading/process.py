"""One worker process, as the crawl sees it: started again after it died, and sent what it had not answered."""

from __future__ import annotations

import asyncio
import contextlib
import json
import mmap
import socket
import subprocess
import tempfile
import time
from collections import deque
from typing import TYPE_CHECKING, Any, Final

from crawldedup.errors import CrawlDedupError, PageError
from crawldedup.scrapy_plugin.reading.channel import Channel
from crawldedup.scrapy_plugin.reading.messages import Done, Ready, Retired, answer_from
from crawldedup.scrapy_plugin.reading.progress import PROGRESS, STORE_SECONDS
from crawldedup.stores.base import CrawlSession
from crawldedup.workers.breaker import Breaker
from crawldedup.workers.framing import WorkerError, request
from crawldedup.workers.starting import command_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawldedup.scrapy_plugin.reading.messages import Judged

_PROGRAM: Final = "crawldedup.scrapy_plugin.reading.program"
_SEND_BYTES: Final = 4 << 20
_START_SECONDS: Final = 60.0
_END_SECONDS: Final = 5.0


class Pending:
    """A request that waits for its answer. `was_resent` tells that an earlier worker may have dealt with it."""

    __slots__ = ("answer", "message", "was_resent")

    def __init__(self, message: bytes) -> None:
        self.message = message
        self.answer: asyncio.Future[Judged | Done] = asyncio.get_running_loop().create_future()
        self.was_resent = False

    def succeed(self, answer: Judged | Done) -> None:
        """Pass on the answer, unless nobody waits for it any more."""
        if not self.answer.done():
            self.answer.set_result(answer)

    def fail(self, error: CrawlDedupError) -> None:
        """Pass on an error, unless nobody waits for it any more."""
        if not self.answer.done():
            self.answer.set_exception(error)
            self.answer.exception()  # asyncio complains of errors that nobody waits for


class WorkerProcess:
    """A process, and the requests that it was sent and has not answered.

    When it dies, only the request that it was at fails; the others are sent to a new process.
    `setup` returns what a new process is told first. `on_session` takes the session of the crawl that a process joined.
    """

    def __init__(
        self,
        setup: Callable[[], dict[str, Any]],
        on_session: Callable[[CrawlSession], None],
        *,
        page_seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._setup = setup
        self._on_session = on_session
        self._page_seconds = page_seconds
        self._clock = clock
        self._waiting: deque[Pending] = deque()
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: Channel | None = None
        self._progress: mmap.mmap | None = None
        self._answered = 0
        self._is_ready = False
        self._busy_since = 0.0
        # A program that dies while it starts will do so again.
        self._starting = Breaker(clock=clock)

    def load(self) -> int:
        """Return how many requests it has not answered."""
        return len(self._waiting)

    def is_running(self) -> bool:
        """Return True if there is a process."""
        return self._process is not None

    def can_run(self) -> bool:
        """Return True if there is a process, or one may be started."""
        return self.is_running() or self._starting.allows()

    def send(self, pending: Pending) -> None:
        """Send a request, to a new process if there is none. It is answered, or fails with WorkerError."""
        try:
            channel = self._channel or self._start()
        except WorkerError as error:
            pending.fail(error)
            return
        if not self._waiting and self._is_ready:
            self._busy_since = self._clock()
        self._waiting.append(pending)
        channel.send(pending.message)

    def start(self) -> None:
        """Start the process if there is none, without waiting for it. Raises WorkerError."""
        if self._channel is None:
            self._start()

    def expire(self) -> None:
        """End a process that takes too long over a page, or over its start."""
        if self._process is None:
            return
        seconds = self._clock() - self._busy_since
        if not self._is_ready:
            if seconds >= _START_SECONDS:
                self._replace(WorkerError(f"A worker process was not ready after {_START_SECONDS:.0f} s."))
        elif self._waiting:
            _, asks_store = self._shared()
            if seconds >= self._page_seconds + (STORE_SECONDS if asks_store else 0):
                self._replace(PageError("too_slow", "Reading the page took too long."))

    async def end(self) -> None:
        """End an idle process, and wait until it has ended."""
        process, channel = self._process, self._channel
        self._process = self._channel = None
        if channel is not None:
            channel.close()
        if process is not None:
            await asyncio.to_thread(_wait, process)

    def kill(self) -> None:
        """End the process at once; what it was sent fails."""
        waiting, self._waiting = self._waiting, deque()
        if self._process is not None:
            self._drop()
        for pending in waiting:
            pending.fail(WorkerError("The worker process was ended."))

    def _start(self) -> Channel:
        if not self._starting.allows():
            raise WorkerError("The last worker process died while it started; for some seconds there is no other.")
        try:
            with contextlib.ExitStack() as on_error:
                own_end, its_end = socket.socketpair()
                on_error.callback(own_end.close)
                own_end.setblocking(False)
                # As much as the system allows: what waits here is at hand when the worker has read a page.
                own_end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BYTES)
                with its_end, tempfile.TemporaryFile() as progress:
                    its_end.setblocking(True)  # whatever socket.setdefaulttimeout says
                    progress.truncate(PROGRESS.size)
                    self._progress = mmap.mmap(progress.fileno(), PROGRESS.size)
                    self._process = subprocess.Popen(
                        command_of(_PROGRAM, f"main({progress.fileno()})"),
                        stdin=its_end.fileno(),
                        pass_fds=[progress.fileno()],
                        process_group=0,  # out of reach of the terminal's Ctrl-C
                    )
                on_error.pop_all()
        except OSError as error:
            self._starting.failed()
            raise WorkerError(f"Cannot start a worker process: {error}") from error
        self._busy_since, self._answered, self._is_ready = self._clock(), 0, False
        self._channel = Channel(self._take, self._died)
        self._channel.connect(own_end)
        self._channel.send(request({}, json.dumps(self._setup()).encode()))
        return self._channel

    def _take(self, body: bytes) -> None:
        """Take an answer. Raises ValueError for one that nobody waits for."""
        answer = answer_from(body)
        if isinstance(answer, Ready):
            self._begin_or_give_up(answer.error)
        elif not self._is_ready:
            raise ValueError("it answered before it was ready")
        elif isinstance(answer, CrawlSession):
            self._on_session(answer)
        elif isinstance(answer, Retired):
            self._renew()
        elif not self._waiting:
            raise ValueError("it answered without a request")
        else:
            self._busy_since = self._clock()
            self._answered += 1
            pending = self._waiting.popleft()
            if isinstance(answer, CrawlDedupError):
                pending.fail(answer)
            else:
                pending.succeed(answer)

    def _renew(self) -> None:
        """Send what the process has not begun to a new one."""
        if not self._answered:
            raise ValueError("it did nothing")
        self._drop()
        waiting, self._waiting = self._waiting, deque()
        for pending in waiting:
            self.send(pending)

    def _begin_or_give_up(self, error: CrawlDedupError | None) -> None:
        if self._is_ready:
            raise ValueError("it got ready twice")
        if error is None:
            self._is_ready = True
            self._busy_since = self._clock()
            self._starting.succeeded()
            return
        self._starting.failed()
        self._drop()
        waiting, self._waiting = self._waiting, deque()
        for pending in waiting:
            pending.fail(error)

    def _died(self, nonsense: ValueError | None) -> None:
        """Notice that the process has gone, or answers what is no answer."""
        self._replace(None if nonsense is None else WorkerError(f"A worker process was ended: {nonsense}."))

    def _replace(self, error: CrawlDedupError | None) -> None:
        """End the process, fail the request that it was at, and send the others to a new one."""
        at = self._place()
        if not self._is_ready:
            self._starting.failed()
        status = self._drop()
        if error is None:
            how = f"killed by signal {-status}" if status < 0 else f"exit status {status}"
            error = WorkerError(f"A worker process died ({how}).")
        waiting, self._waiting = self._waiting, deque()
        for place, pending in enumerate(waiting):
            if place != at:
                pending.was_resent = True
                self.send(pending)
        if at is not None:
            # Last: the one who waits for it may ask at once.
            waiting[at].fail(error)

    def _place(self) -> int | None:
        """Return the place of the request that the process is at; None if it is at none."""
        if not self._waiting:
            return None
        begun, _ = self._shared()
        at = begun - self._answered - 1
        if self._is_ready and 0 <= at < len(self._waiting):
            return int(at)
        # A process can die between two requests. What two have not begun is at fault, whatever they wrote.
        return 0 if not self._is_ready or self._waiting[0].was_resent else None

    def _shared(self) -> tuple[int, bool]:
        assert self._progress is not None
        begun, asks_store = PROGRESS.unpack_from(self._progress)
        return begun, asks_store

    def _drop(self) -> int:
        """End the process, and return its exit status, which is its own if it has ended by itself."""
        process, channel = self._process, self._channel
        self._process = self._channel = None
        assert process is not None
        assert channel is not None
        channel.close()
        process.kill()
        try:
            return process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            return -9  # the system will end it


def _wait(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(timeout=_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
