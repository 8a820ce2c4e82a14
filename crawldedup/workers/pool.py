"""Worker processes as one asyncio service: started when needed, bounded in time and memory, replaced when they die."""

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar

import msgspec

from crawldedup.errors import CrawlDedupError, PageError, WorkerError
from crawldedup.workers.breaker import FIRST_PAUSE_SECONDS, Breaker
from crawldedup.workers.frames import LARGEST_ANSWER, Plain, decode_answer, framed, take_frame

_T = TypeVar("_T")

_SEND_BYTES: Final = 4 << 20
_START_SECONDS: Final = 60.0
_CLOSE_SECONDS: Final = 5.0
_AHEAD: Final = 32
"""So many requests are sent to a worker ahead of its answers: one at a time, both would stand still by turns."""
_MOST_TRIES: Final = 2
_VARIABLES: Final = ("PATH", "HOME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "SYSTEMROOT")


def command_of(module: str, call: str = "main()") -> list[str]:
    """Return the command that imports `main` from a module, by the paths of this process, and makes a call."""
    # -P keeps the working directory out of sys.path until ours is set.
    boot = f"import sys\nsys.path[:] = {sys.path!r}\nfrom {module} import main\n{call}\n"
    return [sys.executable or "", "-P", "-c", boot]


def environment() -> dict[str, str]:
    """Return what a worker may know of this process' environment: no password and no token."""
    return {
        name: value
        for name, value in os.environ.items()
        if name in _VARIABLES or name.startswith(("LC_", "PYTHON", "OMP_", "OPENBLAS_", "MKL_"))
    }


class _Task:
    """A request, and who waits for its answer."""

    __slots__ = ("answer", "decode", "frame", "seconds", "tries")

    def __init__(self, frame: bytearray, decode: Callable[[bytes], Any], seconds: float) -> None:
        self.frame = frame
        self.decode = decode
        self.seconds = seconds
        self.tries = 0
        self.answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def fail(self, error: Exception) -> None:
        """Pass on an error, unless nobody waits for it any more."""
        if not self.answer.done():
            self.answer.set_exception(error)
            self.answer.exception()  # asyncio complains of errors that nobody waits for


class WorkerPool:
    """Up to `workers` processes that answer requests, each with the handler "package.module:function".

    A process calls the function with `setup` once, and what it returns with each message; `call` returns what that
    returns. Messages and answers are plain data. A handler must be pure: a request is sent again if its worker dies,
    once if it was the one that the worker was at. For one event loop.
    """

    def __init__(self, handler: str, setup: Plain, *, workers: int = 1, page_seconds: float = 30) -> None:
        self._handler = handler
        self._setup = framed(setup)
        self._most = max(1, workers)
        self._page_seconds = page_seconds
        self._workers: list[_Worker] = []
        self._backlog: deque[_Task] = deque()
        self._starting = Breaker()
        self._start_error: CrawlDedupError | None = None
        self._retrying: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Start the first worker ahead of the first request, without waiting for it."""
        if not self._workers and self._starting.allows():
            self._start()

    async def call(
        self, message: Plain, decode: Callable[[bytes], _T] = msgspec.msgpack.decode, *, seconds: float | None = None
    ) -> _T:
        """Return what a worker answers, as `decode` makes it of MessagePack; it raises ValueError for nonsense.

        Args:
            message: The request.
            decode: Makes the answer.
            seconds: The time limit, if it is another than `page_seconds`.

        Raises:
            PageError: "too_slow" or "out_of_memory", or what the handler raised.
            UnexpectedReadError: The handler raised what is no error of this package.
            WorkerError: Two workers died at the request, or none can be started.
        """
        seconds = self._page_seconds if seconds is None else seconds
        task = _Task(framed((seconds, message)), decode, seconds)
        self._backlog.append(task)
        self._fill()
        return await task.answer  # type: ignore[no-any-return]

    async def close(self) -> None:
        """Answer what was asked, and end the processes."""
        tasks = [task.answer for task in self._tasks() if not task.answer.done()]
        if tasks:
            await asyncio.wait(tasks)
        self.kill()

    def kill(self) -> None:
        """End the processes at once; requests without an answer fail. A later `call` starts others."""
        tasks = list(self._tasks())
        self._backlog.clear()
        for worker in self._workers:
            worker.end()
        self._workers.clear()
        if self._retrying is not None:
            self._retrying.cancel()
            self._retrying = None
        for task in tasks:
            task.fail(WorkerError("The worker processes have ended."))

    def pids(self) -> list[int]:
        """Return the numbers of the processes."""
        return [worker.process.pid for worker in self._workers]

    def _tasks(self) -> Iterable[_Task]:
        return [*(task for worker in self._workers for task in worker.tasks), *self._backlog]

    def _fill(self) -> None:
        """Send requests on, to another worker if all are busy."""
        while self._backlog:
            worker = min(self._workers, key=_Worker.load, default=None)
            if (worker is None or worker.tasks) and len(self._workers) < self._most and self._starting.allows():
                worker = self._start() or worker
            if worker is None:
                self._wait_or_give_up()
                return
            if len(worker.tasks) >= _AHEAD:
                return
            task = self._backlog.popleft()
            if not task.answer.done():
                worker.send(task)

    def _start(self) -> "_Worker | None":
        try:
            worker = _Worker(self._handler, self._setup, self._begun, self._answered, self._ended)
        except OSError as error:
            self._starting.failed()
            self._start_error = WorkerError(f"Cannot start a worker process: {error}")
            return None
        self._workers.append(worker)
        return worker

    def _wait_or_give_up(self) -> None:
        """Try once more soon after a first failed start. Then requests fail at once, until the pause is over."""
        seconds = self._starting.pause_left()
        if seconds <= FIRST_PAUSE_SECONDS:
            if self._retrying is None:
                self._retrying = asyncio.get_running_loop().call_later(seconds, self._retry)
            return
        tasks, self._backlog = self._backlog, deque()
        for task in tasks:
            task.fail(self._start_error or WorkerError("No worker process can be started."))

    def _retry(self) -> None:
        self._retrying = None
        self._fill()

    def _begun(self) -> None:
        self._starting.succeeded()

    def _answered(self, worker: "_Worker", is_last: bool) -> None:
        if is_last:
            self._drop(worker)
            self._backlog.extendleft(reversed(worker.tasks))
        if self._backlog:
            self._fill()

    def _ended(self, worker: "_Worker", error: CrawlDedupError) -> None:
        """Send what a worker has not answered to others, but for the request that it was at, once that is at fault."""
        self._drop(worker)
        tasks = worker.tasks
        if not worker.is_ready:
            # A program that dies while it starts may do so again.
            self._starting.failed()
            self._start_error = error
        elif tasks:
            tasks[0].tries += 1
            if tasks[0].tries >= _MOST_TRIES or isinstance(error, PageError):
                tasks.popleft().fail(error)
        self._backlog.extendleft(reversed(tasks))
        self._fill()

    def _drop(self, worker: "_Worker") -> None:
        self._workers.remove(worker)
        worker.end()


class _Worker(asyncio.Protocol):
    """One process, and the requests that it was sent and has not answered."""

    def __init__(
        self,
        handler: str,
        setup: bytearray,
        on_begun: Callable[[], None],
        on_answer: Callable[["_Worker", bool], None],
        on_end: Callable[["_Worker", CrawlDedupError], None],
    ) -> None:
        self.tasks: deque[_Task] = deque()
        self.is_ready = False
        self._on_begun, self._on_answer, self._on_end = on_begun, on_answer, on_end
        self._received = bytearray()
        self._unsent: list[bytes | bytearray] = [setup]
        self._transport: asyncio.Transport | None = None
        self._is_ended = False
        self._loop = asyncio.get_running_loop()
        own_end, its_end = socket.socketpair()
        try:
            with its_end:
                own_end.setblocking(False)
                # As much as the system allows: what waits here is at hand when the worker has read a page.
                own_end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BYTES)
                self.process = subprocess.Popen(
                    command_of("crawldedup.workers.program", f"main({handler!r})"),
                    stdin=its_end.fileno(),
                    env=environment(),
                    process_group=0,  # out of reach of the terminal's Ctrl-C
                )
        except OSError:
            own_end.close()
            raise
        self._socket = own_end
        self._connecting = self._loop.create_task(self._connect())
        self._busy_since = time.monotonic()
        self._timer = self._loop.call_later(_START_SECONDS, self._expire)

    def load(self) -> int:
        """Return how many requests it has not answered, and one more until it is ready."""
        return len(self.tasks) + (not self.is_ready)

    def send(self, task: _Task) -> None:
        """Send a request."""
        if not self.tasks and self.is_ready:
            self._busy_since = time.monotonic()
            self._watch()
        self.tasks.append(task)
        if self._transport is None:
            self._unsent.append(task.frame)
        elif not self._transport.is_closing():
            self._transport.write(task.frame)

    def end(self) -> int:
        """End the process at once. Return its exit status, which is its own if it has ended by itself."""
        self._is_ended = True
        self._timer.cancel()
        if self._transport is not None:
            self._transport.abort()
        self.process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.process.wait(timeout=1)
        return -9  # the system will end it

    async def _connect(self) -> None:
        try:
            await self._loop.create_connection(lambda: self, sock=self._socket)
        except OSError:
            self._socket.close()
            self._die(None)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See `asyncio.Protocol`."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        if self._is_ended:
            transport.abort()
            return
        for frame in self._unsent:
            transport.write(frame)
        self._unsent.clear()

    def data_received(self, data: bytes) -> None:
        """See `asyncio.Protocol`."""
        self._received += data
        try:
            while not self._is_ended and (content := take_frame(self._received, LARGEST_ANSWER)) is not None:
                self._take(content)
        except (ValueError, msgspec.MsgspecError) as nonsense:
            self._die(WorkerError(f"A worker process was ended: {nonsense}."))

    def connection_lost(self, _: Exception | None) -> None:
        """See `asyncio.Protocol`."""
        # A request that cannot be written ends the transport before it has read what was answered.
        with contextlib.suppress(OSError):
            while not self._is_ended and (data := self._socket.recv(1 << 16)):
                self.data_received(data)
        self._die(None)

    def _take(self, content: bytes) -> None:
        answer = decode_answer(content)
        if not self.is_ready:
            if answer.failure is not None:
                self._die(answer.failure.error())
                return
            self.is_ready = True
            self._busy_since = time.monotonic()
            self._watch()
            self._on_begun()
            return
        if not self.tasks:
            raise ValueError("it answered without a request")
        task = self.tasks[0]
        value = task.decode(bytes(answer.value)) if answer.failure is None else None
        self.tasks.popleft()
        self._busy_since = time.monotonic()
        if answer.failure is not None:
            task.fail(answer.failure.error())
        elif not task.answer.done():
            task.answer.set_result(value)
        self._on_answer(self, answer.is_last)

    def _watch(self) -> None:
        """Look again when the request that the process is at may have taken too long."""
        self._timer.cancel()
        if self.tasks:
            due = self._busy_since + self.tasks[0].seconds
            self._timer = self._loop.call_later(max(0.01, due - time.monotonic()), self._expire)

    def _expire(self) -> None:
        if not self.is_ready:
            self._die(WorkerError(f"A worker process was not ready after {_START_SECONDS:.0f} s."))
        elif self.tasks and time.monotonic() >= self._busy_since + self.tasks[0].seconds:
            self._die(PageError("too_slow", f"reading the page took more than {self.tasks[0].seconds:g} s"))
        else:
            self._watch()

    def _die(self, error: CrawlDedupError | None) -> None:
        """End the process, and say why; None if it has ended by itself."""
        if self._is_ended:
            return
        if error is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=0.1)
        status = self.end()
        how = f"killed by signal {-status}" if status < 0 else f"exit status {status}"
        self._on_end(self, error or WorkerError(f"A worker process died ({how})."))
