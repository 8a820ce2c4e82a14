"""The worker processes of one crawl as one service: opened, asked, and closed together."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import tempfile
import time
from dataclasses import astuple, replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from crawldedup.errors import ConfigurationError
from crawldedup.scrapy_plugin.reading.messages import Done, Judged
from crawldedup.scrapy_plugin.reading.process import Pending, WorkerProcess
from crawldedup.stores.base import CrawlSession
from crawldedup.stores.process import own_process
from crawldedup.stores.registry import is_persistent
from crawldedup.workers.framing import WorkerError, request

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawldedup.options import Options
    from crawldedup.scrapy_plugin.reading.messages import Job, Name

logger = logging.getLogger(__name__)

_EXPIRE_SECONDS: Final = 1.0
_CLOSE_SECONDS: Final = 10.0


class WorkerPool:
    """Checks pages in worker processes that share one index and count as one crawler.

    An index in memory cannot be shared, and would be lost with a worker, so that one is kept in a private file. With
    `stays` False the workers leave the crawl after each page. `index_bytes` is the size of the index at the end. All
    calls belong to the event loop's thread.
    """

    def __init__(self, options: Options, *, workers: int, page_seconds: float, stays: bool = True) -> None:
        self.index_bytes: int | None = None
        self._options = options
        self._page_seconds = page_seconds
        self._stays = stays
        self._session = CrawlSession(0, own_process())
        self._private: tempfile.TemporaryDirectory[str] | None = None
        self._workers = [
            WorkerProcess(self._setup, self._joined, page_seconds=page_seconds) for _ in range(max(1, workers))
        ]
        self._watching: asyncio.Task[None] | None = None
        self._is_closed = False

    def start(self) -> None:
        """Start the first worker, which gets ready during the first downloads.

        Raises ConfigurationError without asyncio, WorkerError and OSError.
        """
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            raise ConfigurationError(
                "crawldedup needs asyncio; leave TWISTED_REACTOR at Scrapy's default, "
                "'twisted.internet.asyncioreactor.AsyncioSelectorReactor'."
            ) from None
        if not is_persistent(self._options.store):
            self._private = tempfile.TemporaryDirectory(prefix="crawldedup-", ignore_cleanup_errors=True)
        self._watching = asyncio.ensure_future(self._watch())
        self._workers[0].start()

    async def open(self, *, read_only: bool = False) -> int:
        """Open the store, join the crawl unless `read_only`, and return how many pages the index has.

        Raises StoreError, ProfileMismatchError and the like. A later `check` tries again.
        """
        done = await self._ask(self._workers[0], {"do": "look" if read_only else "open"})
        return done.pages

    async def check(self, job: Job) -> Judged:
        """Return the verdict on a page.

        Raises PageError ("too_slow" after the limit), StoreError, WorkerError, UnexpectedReadError, and
        ConfigurationError or ProfileMismatchError if the index can never be used.
        """
        begun = time.perf_counter()
        pending = self._sent(self._least_busy(joins=job.remember), job.request())
        judged = await pending.answer
        if not isinstance(judged, Judged):
            raise WorkerError("A worker process gave no verdict.")
        return judged._replace(waited=time.perf_counter() - begun, is_repeated=pending.was_resent)

    async def forget(self, url: str, *, identity: str | None, scope_key: str | None) -> None:
        """Forget a page."""
        header = {"do": "forget", "url": url, "identity": identity, "scope_key": scope_key}
        await self._ask(self._least_busy(), header)

    async def note(self, name: str, text: str | None = None) -> str:
        """Return a note of the index, written before if a text is given. Raises StoreError and the like."""
        done = await self._ask(self._workers[0], {"do": "note", "name": name, "text": text})
        return done.note

    async def close(self, delivered: Sequence[Name] = ()) -> None:
        """Answer what is queued, leave the crawl, and end the workers. Logs what does not end in time.

        Other pages that were checked as not delivered yet are abandoned.
        """
        if self._watching is None:
            return
        try:
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self._leave(delivered)
        except TimeoutError as error:
            logger.warning("crawldedup: closing failed: %r", error)
        self._is_closed = True
        self._watching.cancel()
        for worker in self._workers:
            worker.kill()
        if self._private is not None:
            self._private.cleanup()

    async def _leave(self, delivered: Sequence[Name]) -> None:
        running = [worker for worker in self._workers if worker.is_running()]
        if not running and self._session.number and self._private is None:
            # The lease would last for minutes, and a crawl that begins meanwhile would join this one.
            running = self._workers[:1]
        for worker in running:
            try:
                # The last one ends the crawl's lease.
                done = await self._ask(worker, {"do": "close", "leave": worker is running[-1], "names": delivered})
                self.index_bytes = int(done.note) if done.note else None
            except Exception as error:
                logger.warning("crawldedup: closing failed: %r", error)
        for worker in running:
            await worker.end()

    async def _ask(self, worker: WorkerProcess, header: dict[str, Any]) -> Done:
        done = await self._sent(worker, request(header)).answer
        if not isinstance(done, Done):
            raise WorkerError("A worker process gave a verdict that nobody asked for.")
        for warning in done.warnings:
            logger.warning("crawldedup: %s", warning)
        return done

    def _sent(self, worker: WorkerProcess, message: bytes) -> Pending:
        if self._is_closed:
            raise WorkerError("The worker processes have ended with the crawl.")
        if self._watching is None:
            self.start()
        pending = Pending(message)
        worker.send(pending)
        return pending

    def _least_busy(self, *, joins: bool = True) -> WorkerProcess:
        # Until the first worker has joined the crawl, others would join as other crawlers.
        workers = self._workers[:1] if joins and not self._session.number else self._workers
        able = [worker for worker in workers if worker.can_run()]
        return min(able or workers[:1], key=WorkerProcess.load)

    def _joined(self, session: CrawlSession) -> None:
        if self._session.number:
            return
        self._session = session
        for worker in self._workers[1:]:
            if worker.is_running():
                worker.send(Pending(request({"do": "join", "session": astuple(session)})))
            else:
                with contextlib.suppress(WorkerError):
                    worker.start()

    def _setup(self) -> dict[str, Any]:
        private = None if self._private is None else self._private.name
        options = self._options
        if private is not None:
            options = replace(options, store=f"sqlite:///{quote(private)}/index.sqlite")
        return {
            "options": {"store": options.store, **options.index_values()},
            "session": astuple(self._session),
            "stays": self._stays,
            "page_seconds": self._page_seconds,
            "private": private,
            "parent": os.getpid(),
        }

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(_EXPIRE_SECONDS)
            for worker in self._workers:
                worker.expire()
