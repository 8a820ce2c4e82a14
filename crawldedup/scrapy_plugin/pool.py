"""The pool of workers that read pages beside the event loop."""

from __future__ import annotations

import math
import queue
import threading
import time
from collections import deque
from concurrent.futures import Future
from typing import TYPE_CHECKING

from crawldedup.errors import PageError
from crawldedup.scrapy_plugin.workers import PAGE_LIMIT_SECONDS, Page, PageWorker

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawldedup.hashing.fingerprint import Fingerprint


class ReaderPool:
    """Some workers, each with a thread that waits for it, fed from one queue.

    Every page is answered within `limit_seconds` of its turn, as long as `expire` is called now and then. The
    threads are daemons: no page can keep the program from ending. Scrapy bounds the pages that wait here,
    since a page in a downloader middleware counts towards CONCURRENT_REQUESTS.
    """

    def __init__(
        self,
        make_worker: Callable[[], PageWorker],
        size: int,
        *,
        limit_seconds: float = PAGE_LIMIT_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._make_worker = make_worker
        self._size = size
        self._limit_seconds = limit_seconds
        self._clock = clock
        self._queue: _Queue = queue.SimpleQueue()
        self._lanes: list[_Lane] = []

    def start(self) -> None:
        """Start the workers, which get ready in the background."""
        while len(self._lanes) < self._size:
            self._lanes.append(_Lane(self._make_worker(), self._queue, self._clock))

    def read(self, page: Page) -> Future[Fingerprint]:
        """Queue a page. The future fails with `PageError` ("too_slow" after the limit) or another error of
        `PageWorker.read`."""
        future: Future[Fingerprint] = Future()
        self._queue.put((page, future))
        return future

    def expire(self) -> None:
        """Give up pages that have taken too long, with their workers; call it about once a second."""
        latest_start = self._clock() - self._limit_seconds
        for position, lane in enumerate(self._lanes):
            if lane.abandon_if_busy_since(latest_start):
                self._lanes[position] = _Lane(self._make_worker(), self._queue, self._clock)

    def close(self) -> Future[None]:
        """End the workers after the pages that are queued; the future is done when they have ended."""
        everyone: Future[None] = Future()
        lanes, self._lanes = self._lanes, []
        for _ in lanes:
            self._queue.put(None)

        def wait() -> None:
            for lane in lanes:
                lane.thread.join()
            everyone.set_result(None)

        threading.Thread(target=wait, name="crawldedup-close", daemon=True).start()
        return everyone


_Job = tuple[Page, "Future[Fingerprint]"]
_Queue = queue.SimpleQueue["_Job | None"]


class _Lane:
    """One worker and its thread."""

    def __init__(self, worker: PageWorker, pages: _Queue, clock: Callable[[], float]) -> None:
        self._worker = worker
        self._queue = pages
        self._clock = clock
        self._lock = threading.Lock()
        # The first is being read, the others were sent ahead.
        self._jobs: deque[_Job] = deque()
        self._busy_since = math.inf
        self._abandoned = False
        self._ending = False
        self.thread = threading.Thread(target=self._run, name="crawldedup-read", daemon=True)
        self.thread.start()

    def abandon_if_busy_since(self, moment: float) -> bool:
        # The lock keeps the thread from turning to its next page between the look and the deed.
        with self._lock:
            if self._busy_since > moment or self._abandoned:
                return False
            self._abandoned = True
        (_, slow), *behind = self._jobs
        for job in behind:
            self._queue.put(job)
        slow.set_exception(PageError("too_slow", "Reading the page took too long."))
        self._worker.kill()
        return True

    def _run(self) -> None:
        self._worker.start()
        while not self._abandoned and self._fill():
            self._receive()
        self._worker.close()

    def _fill(self) -> bool:
        """Send what is queued, as far as the worker takes it; wait if it has nothing. False at the end."""
        while not (self._ending or self._abandoned) and len(self._jobs) <= self._worker.ahead:
            try:
                job = self._queue.get(block=not self._jobs)
            except queue.Empty:
                break
            if job is None:
                self._ending = True
            # One that an abandoned lane had sent ahead is running already.
            elif job[1].running() or job[1].set_running_or_notify_cancel():
                self._send(job)
        return bool(self._jobs)

    def _send(self, job: _Job) -> None:
        with self._lock:
            if self._abandoned:
                self._queue.put(job)
                return
            if not self._jobs:
                self._busy_since = self._clock()
            self._jobs.append(job)
        self._worker.send(job[0])

    def _receive(self) -> None:
        fingerprint: Fingerprint | None = None
        error: BaseException | None = None
        try:
            fingerprint = self._worker.receive()
        except BaseException as raised:
            error = raised
        with self._lock:
            if self._abandoned:
                return
            _, future = self._jobs.popleft()
            self._busy_since = self._clock() if self._jobs else math.inf
        if fingerprint is not None:
            future.set_result(fingerprint)
        else:
            future.set_exception(error)
