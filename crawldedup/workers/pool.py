"""A pool of worker processes. They start when needed, and are replaced when they die.

Their time and memory are limited.
"""

import asyncio
import os
import re
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from crawldedup.errors import CrawlDedupError, NoWorkerError, PageError, WorkerError
from crawldedup.workers.program import LENGTH, START_SECONDS, Answer, framed

_Decode = Callable[[bytes], Any]

FIRST_PAUSE_SECONDS: Final = 0.5
LONGEST_PAUSE_SECONDS: Final = 15.0
# The number of requests that a worker has at the same time. With one, both sides would be idle in
# turns.
_AHEAD: Final = 32
_LARGEST_ANSWER: Final = 1 << 26
# As much as the system allows, so the next request is there when the worker has read a page.
_SEND_BYTES: Final = 4 << 20
# Workers get no password of a store, and no token.
_VARIABLES: Final = re.compile(
    r"PATH|HOME|LANG|TZ|TMPDIR|LD_LIBRARY_PATH|(?:LC_|PYTHON|OMP_|OPENBLAS_).*"
)
_answers: Final = msgspec.msgpack.Decoder(Answer)


class Breaker:
    """Says how long to wait before trying something again that has failed.

    Each failure in a row doubles the pause, and a success ends it.
    """

    def __init__(self) -> None:
        self._pause = 0.0
        self._closed_until = 0.0

    def seconds_left(self) -> float:
        """Return how many seconds to wait before the next try, 0 if it can be made now."""
        return max(0.0, self._closed_until - time.monotonic()) if self._pause else 0.0

    def failed(self) -> None:
        """Note a failure, and start the pause before the next try.

        It starts now rather than with the try, which may itself have taken a long time.
        """
        self._pause = min(self._pause * 2 or FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS)
        self._closed_until = time.monotonic() + self._pause

    def succeeded(self) -> None:
        self._pause = 0.0


def settle(future: asyncio.Future[Any], result: object) -> None:
    """Set the result or error of a future, unless nobody is waiting for it anymore."""
    if future.done():
        return
    if isinstance(result, Exception):
        future.set_exception(result)
    else:
        future.set_result(result)


@dataclass(slots=True, eq=False)
class _Task:
    """A request to a worker, and the future for its answer.

    It fails after it has killed `tries` workers.
    """

    frame: bytes
    decode: _Decode
    seconds: float
    tries: int
    answer: asyncio.Future[Any] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )


class WorkerPool:
    """Up to `workers` processes, each running a handler that answers requests.

    A process calls the function once with `setup`, and calls the result with each message. Messages
    and answers are plain data. Use a pool in one event loop only. A handler must be pure, because
    the requests that a dying worker hasn't answered are sent once more.
    """

    def __init__(
        self, handler: str, setup: dict[str, Any], *, workers: int, page_seconds: float
    ) -> None:
        self._handler = handler
        self._setup = framed(setup)
        self._most = workers
        self._page_seconds = page_seconds
        self._workers: list[_Worker] = []
        self._backlog: deque[_Task] = deque()
        self._starting = Breaker()
        self._start_error: CrawlDedupError = NoWorkerError("No worker process can be started.")

    def start(self) -> None:
        """Start the first worker before the first request, without waiting for it."""
        if not self._workers:
            self._start()

    async def call(
        self,
        message: Any,
        decode: _Decode = msgspec.msgpack.decode,
        seconds: float | None = None,
        tries: int = 2,
    ) -> Any:
        """Send a request to a worker and return its answer, decoded with `decode` from MessagePack.

        `decode` raises ValueError for an invalid answer. `seconds` is the time limit if it isn't
        `page_seconds`. If a worker dies, another one tries.

        Raises the errors of the handler, or UnexpectedReadError for those that aren't errors of
        this package, PageError ("too_slow", "out_of_memory"), WorkerError if `tries` workers died,
        and NoWorkerError.
        """
        seconds = seconds or self._page_seconds
        task = _Task(framed((int(seconds), message)), decode, seconds, tries)
        self._backlog.append(task)
        self._fill()
        return await task.answer

    def close(self) -> None:
        """End the processes at once. Requests without an answer fail.

        A later `call` starts new processes.
        """
        while self._workers:
            worker = self._workers.pop()
            worker.serving.cancel()
            worker.end()
            self._backlog.extend(worker.tasks)
        while self._backlog:
            settle(self._backlog.popleft().answer, WorkerError("The worker processes have ended."))

    def _fill(self) -> None:
        """Hand waiting requests to the least busy worker, or start one if all are busy."""
        while self._backlog:
            worker = min(self._workers, key=lambda each: len(each.tasks), default=None)
            if (worker is None or worker.tasks) and len(self._workers) < self._most:
                worker = self._start() or worker
            if worker is None:
                # A single failed start may have been bad luck. After more, requests fail until the
                # pause is nearly over.
                if (seconds := self._starting.seconds_left()) <= FIRST_PAUSE_SECONDS:
                    asyncio.get_running_loop().call_later(seconds, self._fill)
                    return
                settle(self._backlog.popleft().answer, self._start_error)
                continue
            if len(worker.tasks) >= _AHEAD:
                return
            task = self._backlog.popleft()
            if not task.answer.done():
                worker.send(task)

    def _start(self) -> "_Worker | None":
        if self._starting.seconds_left():
            return None
        try:
            worker = _Worker(self._handler)
        except OSError as error:
            self._starting.failed()
            self._start_error = NoWorkerError(f"Cannot start a worker process: {error}")
            return None
        self._workers.append(worker)
        worker.serving = asyncio.get_running_loop().create_task(self._serve(worker))
        return worker

    async def _serve(self, worker: "_Worker") -> None:
        """Receive a worker's answers until it ends, then send its unanswered requests to others."""
        error: CrawlDedupError | None = None
        try:
            async with asyncio.timeout(START_SECONDS) as worker.limit:
                answer = await worker.connect(self._setup)
                error = answer.error()
                worker.is_ready = error is None
                while not answer.is_last:
                    self._starting.succeeded()
                    worker.limit_time()
                    answer = await worker.take()
                    task = worker.tasks[0]
                    settle(task.answer, answer.error() or task.decode(answer.value))
                    worker.tasks.popleft()
                    if self._backlog:
                        self._fill()
        except TimeoutError:
            seconds = worker.tasks[0].seconds if worker.is_ready else START_SECONDS
            due = worker.limit.when() or 0.0
            error = WorkerError(f"A worker process did not answer for {seconds:g} s.")
            # If the event loop itself was blocked, that says nothing about the page, which gets
            # another try.
            if worker.is_ready and asyncio.get_running_loop().time() < due + 1:
                error = PageError("too_slow", f"reading the page took more than {seconds:g} s")
        except (EOFError, OSError):
            error = WorkerError(f"A worker process died: {worker.end()}.")
        except Exception as nonsense:
            error = WorkerError(
                f"A worker process was stopped because its answer made no sense: {nonsense!r}"
            )
        self._workers.remove(worker)
        worker.end()
        if error is not None and not worker.is_ready:
            # A program that dies while it starts may do so again.
            self._starting.failed()
            self._start_error = (
                NoWorkerError(str(error)) if isinstance(error, WorkerError) else error
            )
        elif error is not None and worker.tasks:
            # The worker reads one request after the other, so the first one is at fault.
            worker.tasks[0].tries -= 1
            if not worker.tasks[0].tries or isinstance(error, PageError):
                settle(worker.tasks.popleft().answer, error)
        self._backlog.extendleft(reversed(worker.tasks))
        self._fill()


class _Worker:
    """A worker process, and the requests that it hasn't answered yet."""

    serving: asyncio.Task[None]
    limit: asyncio.Timeout
    _source: asyncio.StreamReader

    def __init__(self, handler: str) -> None:
        self.tasks: deque[_Task] = deque()
        self.is_ready = False
        self._sink: asyncio.StreamWriter | None = None
        self._own_end, its_end = socket.socketpair()
        try:
            with its_end:
                its_end.setblocking(True)  # no matter what socket.setdefaulttimeout says
                self._own_end.setblocking(False)
                self._own_end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BYTES)
                self.process = subprocess.Popen(
                    command_of(handler),
                    stdin=its_end.fileno(),
                    env={
                        name: value
                        for name, value in os.environ.items()
                        if _VARIABLES.fullmatch(name)
                    },
                    process_group=0,  # out of reach of the terminal's Ctrl-C
                )
        except OSError:
            self._own_end.close()
            raise

    async def connect(self, setup: bytes) -> Answer:
        """Send the setup and the waiting requests to the process, and return its first answer."""
        self._source, self._sink = await asyncio.open_connection(sock=self._own_end, limit=1 << 20)
        self._sink.writelines([setup, *(task.frame for task in self.tasks)])
        return await self.take()

    def send(self, task: _Task) -> None:
        self.tasks.append(task)
        if self._sink is not None:
            self._sink.write(task.frame)
        if len(self.tasks) == 1 and self.is_ready:
            self.limit_time()

    def limit_time(self) -> None:
        seconds = self.tasks[0].seconds if self.tasks else None
        self.limit.reschedule(seconds and asyncio.get_running_loop().time() + seconds)

    async def take(self) -> Answer:
        """Return the next answer of the process.

        Raises EOFError at the end, and ValueError for an invalid answer.
        """
        (length,) = LENGTH.unpack(await self._source.readexactly(LENGTH.size))
        if length > _LARGEST_ANSWER:
            raise ValueError(f"{length:,} bytes")
        return _answers.decode(await self._source.readexactly(length))

    def end(self) -> str:
        """End the process at once.

        Return how it ended, even if it had already ended by itself.
        """
        if self._sink is None:
            self._own_end.close()
        else:
            self._sink.transport.abort()
        self.process.kill()
        try:
            status = self.process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            return "the system is to end it"
        return f"killed by signal {-status}" if status < 0 else f"exit status {status}"


def command_of(handler: str) -> list[str]:
    """Return the command that starts a worker, with the import paths of this process."""
    # -P keeps the working directory out of sys.path until ours is set.
    call = f"from crawldedup.workers.program import main\nmain({handler!r})"
    return [sys.executable or "", "-P", "-c", f"import sys\nsys.path[:] = {sys.path!r}\n{call}"]
