"""The worker processes of one crawl as one service: opened, asked, and closed together."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
import tempfile
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from crawldedup.errors import ConfigurationError
from crawldedup.scrapy_plugin.reading.messages import error_from, request
from crawldedup.scrapy_plugin.reading.process import Pending, WorkerProcess
from crawldedup.stores.process import own_process
from crawldedup.stores.registry import is_persistent
from crawldedup.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crawldedup.options import Options
    from crawldedup.scrapy_plugin.reading.messages import Job

logger = logging.getLogger(__name__)

_EXPIRE_SECONDS: Final = 1.0
_CLOSE_SECONDS: Final = 10.0
# So many requests wait in a worker, so that it can ask the store about several at once.
_REQUESTS_A_WORKER: Final = 16


class Checked(NamedTuple):
    """A verdict. `is_repeated` tells that a worker died after it may have remembered the page."""

    verdict: Verdict
    is_repeated: bool


class WorkerPool:
    """Checks pages in worker processes that share one index and count as one crawler.

    An index in memory cannot be shared, and would be lost with a worker, so that one is kept in a private file. With
    `stays` False the workers leave the crawl after each page. All calls belong to the event loop's thread.
    """

    def __init__(self, options: Options, *, workers: int, page_seconds: float, stays: bool = True) -> None:
        self._options = options
        self._page_seconds = page_seconds
        self._stays = stays
        self._session: list[Any] = [0, 0, own_process()]
        self._private: tempfile.TemporaryDirectory[str] | None = None
        self._workers = [
            WorkerProcess(self._setup, self._joined, page_seconds=page_seconds) for _ in range(max(1, workers))
        ]
        self._watching: asyncio.Task[None] | None = None

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

    async def open(self, *, read_only: bool = False) -> None:
        """Open the store, and join the crawl unless `read_only`. Raises StoreError, ProfileMismatchError and the like.

        A later `check` tries again.
        """
        await self._ask({"do": "look" if read_only else "open"})

    async def check(self, job: Job) -> Checked:
        """Return the verdict on a page.

        Raises PageError ("too_slow" after the limit), StoreError, WorkerError, UnexpectedReadError, and
        ConfigurationError or ProfileMismatchError if the index can never be used.
        """
        pending = Pending(job.request())
        self._least_busy().send(pending)
        answer = _sound(await pending.answer)
        return Checked(Verdict.from_dict(answer["verdict"]), pending.was_resent)

    async def forget(self, url: str, *, identity: str | None, scope_key: str | None) -> None:
        """Forget a page."""
        await self._ask({"do": "forget", "url": url, "identity": identity, "scope_key": scope_key})

    async def close(self) -> None:
        """Answer what is queued, leave the crawl, and end the workers. Logs what does not end in time."""
        if self._watching is not None:
            self._watching.cancel()
        try:
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self._leave()
        except Exception as error:
            logger.warning("crawldedup: closing failed: %r", error)
        for worker in self._workers:
            worker.kill()
        if self._private is not None:
            self._private.cleanup()

    async def _leave(self) -> None:
        running = [worker for worker in self._workers if worker.is_running()]
        for worker in running:
            # The last one ends the crawl's lease.
            await _asked(worker, {"do": "close", "leave": worker is running[-1]})
        for worker in running:
            await worker.end()

    async def _ask(self, header: Mapping[str, Any]) -> None:
        await _asked(self._least_busy(), header)

    def _least_busy(self) -> WorkerProcess:
        # Until the first worker has joined the crawl, others would join as other crawlers.
        able = [worker for worker in self._workers[: None if self._session[0] else 1] if worker.can_run()]
        return min(able or self._workers[:1], key=WorkerProcess.load)

    def _joined(self, session: list[Any]) -> None:
        is_first = not self._session[0]
        self._session = session
        if is_first:
            for worker in self._workers[1:]:
                with contextlib.suppress(Exception):
                    worker.start()

    def _setup(self) -> dict[str, Any]:
        private = None if self._private is None else self._private.name
        options = self._options
        if private is not None:
            options = replace(options, store=f"sqlite:///{private}/index.sqlite")
        return {
            "options": {"store": options.store, **options.index_values()},
            "session": self._session,
            "stays": self._stays,
            "page_seconds": self._page_seconds,
            "private": private,
            "parent": os.getpid(),
            "sys_path": sys.path,
        }

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(_EXPIRE_SECONDS)
            for worker in self._workers:
                worker.expire()


async def _asked(worker: WorkerProcess, header: Mapping[str, Any]) -> dict[str, Any]:
    pending = Pending(request(dict(header)))
    worker.send(pending)
    return _sound(await pending.answer)


def _sound(answer: dict[str, Any]) -> dict[str, Any]:
    if "error" in answer:
        raise error_from(answer)
    return answer
