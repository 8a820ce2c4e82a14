"""Read pages in several processes, in their order, and outlive pages that a process does not."""

from __future__ import annotations

import subprocess
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from socket import socketpair
from typing import TYPE_CHECKING, Any, Final, Generic, Self, TypeVar

from crawldedup.batch.reading import ReadPages, UnsoundError
from crawldedup.batch.worker import READY
from crawldedup.workers.framing import WorkerError
from crawldedup.workers.starting import command_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crawldedup.page import Page

T = TypeVar("T")

_SECONDS: Final = 30.0
_SECONDS_A_PAGE: Final = 0.5
"""A process that takes longer than both together is given up."""
_START_SECONDS: Final = 60.0
_LONGEST_ANSWER: Final = 1 << 26
_TASKS_A_WORKER: Final = 4
"""So many wait to be read, or to be taken in their order."""


@dataclass(slots=True)
class _Part:
    """Pages that one process reads at once."""

    pages: Sequence[Page]
    result: ReadPages | None = None
    is_tried: bool = False


@dataclass(slots=True)
class _Task(Generic[T]):
    """Pages that were given together. Where they end a process, their halves are read apart."""

    tag: T
    pages: Sequence[Page]
    parts: list[_Part]

    @property
    def is_done(self) -> bool:
        return all(part.result is not None for part in self.parts)

    def halve(self, part: _Part) -> None:
        place, middle = self.parts.index(part), len(part.pages) // 2
        self.parts[place : place + 1] = [_Part(part.pages[:middle]), _Part(part.pages[middle:])]

    def joined(self) -> ReadPages:
        results = [part.result for part in self.parts if part.result is not None]
        return ReadPages.joined(results, [len(part.pages) for part in self.parts])


@dataclass(slots=True, eq=False)
class _Worker:
    """A process, and what it reads."""

    process: subprocess.Popen[bytes]
    connection: Connection
    work: tuple[_Task[Any], _Part] | None = None
    due: float = field(default=0.0)


class WorkerPool:
    """Worker processes that read pages as a `BatchReader` of this setup does."""

    def __init__(self, workers: int, setup: dict[str, Any]) -> None:
        self._most = workers
        self._setup = setup
        self._workers: list[_Worker] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in list(self._workers):
            self._end(worker)

    def read(self, chunks: Iterator[tuple[T, Sequence[Page]]]) -> Iterator[tuple[T, Sequence[Page], ReadPages]]:
        """Yield what was read of each chunk of pages, in their order, after its tag and its pages.

        A page that ends its process is skipped as "crashed", and one that takes too long as "too_slow".
        """
        tasks: deque[_Task[T]] = deque()
        more = True
        while more or tasks:
            while more and len(tasks) < self._most * _TASKS_A_WORKER:
                chunk = next(chunks, None)
                if chunk is None:
                    more = False
                else:
                    tag, pages = chunk
                    tasks.append(_Task(tag, pages, [_Part(pages)]))
                self._hand_out(tasks)
            while tasks and tasks[0].is_done:
                task = tasks.popleft()
                yield task.tag, task.pages, task.joined()
            self._hand_out(tasks)
            if tasks and not tasks[0].is_done:
                self._take_in()

    def _hand_out(self, tasks: deque[_Task[T]]) -> None:
        busy = {id(worker.work[1]) for worker in self._workers if worker.work}
        waiting = [
            (task, part) for task in tasks for part in task.parts if part.result is None and id(part) not in busy
        ]
        for work in waiting:
            worker = next((each for each in self._workers if each.work is None), None)
            if worker is None:
                if len(self._workers) >= self._most:
                    return
                worker = self._start()
            worker.work = work
            worker.due = time.monotonic() + _SECONDS + _SECONDS_A_PAGE * len(work[1].pages)
            # A process that has died meanwhile is noticed where its answer is read.
            with suppress(BrokenPipeError, ConnectionResetError):
                worker.connection.send(work[1].pages)

    def _take_in(self) -> None:
        """Wait for one answer at least, or for a process that dies or takes too long."""
        busy = {worker.connection: worker for worker in self._workers if worker.work}
        due = min(worker.due for worker in busy.values())
        for connection in wait(list(busy), max(0.0, due - time.monotonic())):
            worker = busy[connection]  # type: ignore[index]
            assert worker.work is not None
            try:
                message = worker.connection.recv_bytes(_LONGEST_ANSWER)
                worker.work[1].result = ReadPages.unpacked(message[1:], len(worker.work[1].pages))
            except (EOFError, OSError, UnsoundError):
                self._give_up(worker, "crashed")
                continue
            worker.work = None
            if message[0]:
                self._end(worker)
        for worker in [each for each in self._workers if each.work and each.due <= time.monotonic()]:
            self._give_up(worker, "too_slow")

    def _give_up(self, worker: _Worker, reason: str) -> None:
        assert worker.work is not None
        task, part = worker.work
        self._end(worker)
        if len(part.pages) > 1:
            task.halve(part)
        elif reason == "crashed" and not part.is_tried:
            # Something else may have ended the process.
            part.is_tried = True
        else:
            part.result = ReadPages.none_of(1, reason)

    def _start(self) -> _Worker:
        ours, theirs = socketpair()
        with theirs:
            # In a group of its own: Ctrl-C is for this process, which ends that one.
            process = subprocess.Popen(command_of("crawldedup.batch.worker"), stdin=theirs.fileno(), process_group=0)
        worker = _Worker(process, Connection(ours.detach()))
        self._workers.append(worker)
        is_ready = False
        with suppress(EOFError, OSError):
            worker.connection.send(self._setup)
            is_ready = worker.connection.poll(_START_SECONDS) and worker.connection.recv_bytes() == READY
        if not is_ready:
            raise WorkerError("A worker process did not start; what it printed tells why.")
        return worker

    def _end(self, worker: _Worker) -> None:
        self._workers.remove(worker)
        worker.connection.close()
        worker.process.kill()
        worker.process.wait()
