"""Reading pages in a thread of this process: for quick extractors, and where there is one core."""

from __future__ import annotations

import math
import time
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any

from crawldedup.scrapy_plugin.reading.base import PAGE_LIMIT_SECONDS, Job, too_slow
from crawldedup.scrapy_plugin.reading.worker import answer_of, read_page
from crawldedup.scrapy_plugin.runtime.call_thread import CallThread
from crawldedup.scrapy_plugin.runtime.pending import Pending

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawldedup.fingerprinting.fingerprint import Fingerprint
    from crawldedup.scrapy_plugin.reading.base import Page, TextReader


class ThreadReader:
    """One thread, which reads one page at a time.

    Nothing can end a thread: one whose page takes too long is left behind, and another takes its place.
    """

    def __init__(
        self,
        reader: TextReader,
        *,
        limit_seconds: float = PAGE_LIMIT_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._reader = reader
        self._limit_seconds = limit_seconds
        self._clock = clock
        self._thread = CallThread("crawldedup-read")
        # The first is being read.
        self._jobs: deque[Job] = deque()
        self._busy_since = math.inf
        self._closed: Pending[None] | None = None

    def start(self) -> None:
        """See `Readers`; the thread begins with the first page."""

    def read(self, page: Page) -> Pending[Fingerprint]:
        """See `Readers`."""
        job = Job(page, Pending())
        self._jobs.append(job)
        if len(self._jobs) == 1:
            self._go_on()
        return job.answer

    def expire(self) -> None:
        """See `Readers`."""
        if self._clock() - self._busy_since >= self._limit_seconds:
            self._thread.end()  # of it; the next page begins another
            self._jobs.popleft().answer.fail(too_slow())
            self._go_on()

    def close(self) -> Pending[None]:
        """See `Readers`."""
        self._closed = Pending()
        if not self._jobs:
            self._go_on()
        return self._closed

    def kill(self) -> None:
        """See `Readers`; the thread is a daemon."""

    def _go_on(self) -> None:
        self._busy_since = self._clock() if self._jobs else math.inf
        if self._jobs:
            job = self._jobs[0]
            read = partial(read_page, self._reader, job.page)
            self._thread.submit(partial(answer_of, read)).when_done(partial(self._take, job))
        elif self._closed is not None:
            self._thread.end()
            self._closed.succeed(None)

    def _take(self, job: Job, done: Pending[tuple[str, Any]]) -> None:
        if not self._jobs or self._jobs[0] is not job:
            return  # given up meanwhile
        self._jobs.popleft()
        job.take(done.result())
        self._go_on()
