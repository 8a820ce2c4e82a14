"""Collect the pages of many sources in a folder, read by several processes."""

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import islice
from threading import Thread
from typing import Any, Final, Self

import msgspec

from crawldedup.batch.folder import ScanFolder
from crawldedup.batch.reading import ReadPages
from crawldedup.errors import NoWorkerError, PageError, UnexpectedReadError, WorkerError
from crawldedup.page import Page
from crawldedup.workers.pool import WorkerPool
from crawldedup.workers.reading import plain_page

OnSkipped = Callable[[Page, str], None]
Place = tuple[int, int, int]
"""A source, its items up to there, and the errors before it."""

_PAGES_A_CHUNK: Final = 64
_CHARACTERS_A_CHUNK: Final = 1 << 22
_CHUNKS_A_WORKER: Final = 4
"""So many wait to be read, or to be taken in their order."""
_STEP_SECONDS: Final = 2.0
# A process that takes longer than both together over a chunk is given up.
_SECONDS: Final = 30.0
_SECONDS_A_PAGE: Final = 0.5


class ChunkReader:
    """Reads chunks of pages in worker processes, while the caller's thread opens sources and takes results.

    `setup` is that of `BatchReader`.
    """

    def __init__(self, setup: dict[str, Any], workers: int) -> None:
        plain = {"options": setup["options"].index_values(), "key": setup["key"].secret, "ranks": setup["ranks"]}
        self._pool = WorkerPool("crawldedup.batch.reading:reader", plain, workers=workers, page_seconds=_SECONDS)
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="crawldedup-workers", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._start(self._end()).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def read(self, pages: Sequence[Page]) -> Future[ReadPages]:
        """Begin to read pages. A page that ends its process is skipped as "crashed", a slow one as "too_slow".

        The result raises NoWorkerError if no process can be started.
        """
        return self._start(self._read(pages))

    def _start(self, work: Coroutine[Any, Any, Any]) -> Future[Any]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    async def _read(self, pages: Sequence[Page]) -> ReadPages:
        def unpacked(answer: bytes) -> ReadPages:
            return ReadPages.unpacked(msgspec.msgpack.decode(answer, type=bytes), len(pages))

        # What ends a process with many pages is found by halves; one alone has a second try.
        tries, seconds = 1 if len(pages) > 1 else 2, _SECONDS + _SECONDS_A_PAGE * len(pages)
        try:
            read: ReadPages = await self._pool.call(list(map(plain_page, pages)), unpacked, seconds, tries)
            return read
        except NoWorkerError:
            raise
        except (PageError, WorkerError, UnexpectedReadError) as error:
            reason = error.reason if isinstance(error, PageError) else "crashed"
        if len(pages) == 1:
            return ReadPages.none_of(1, reason)
        halves = pages[: len(pages) // 2], pages[len(pages) // 2 :]
        return ReadPages.joined(await asyncio.gather(*map(self._read, halves)), list(map(len, halves)))

    async def _end(self) -> None:
        self._pool.close()
        # Transports close, and tasks end, in the next turns of the loop.
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)


@dataclass
class Collector:
    """Reads sources into a folder, from where an earlier run of the same scan ended.

    `open_source` returns the pages of a source, always in the same order, and hands what is wrong with items to
    `on_error`. `setup` is that of `BatchReader`.
    """

    folder: ScanFolder
    open_source: Callable[[str, Callable[[Exception], None]], Iterator[Page]]
    on_error: Callable[[Exception], None]
    on_skipped: OnSkipped
    setup: dict[str, Any]
    workers: int
    progress: Callable[[int], None] = lambda _pages: None
    _errors: int = field(default=0, init=False)

    def collect(self, names: Sequence[str]) -> None:
        """Read the sources of these names."""
        self._errors = self.folder.step.errors
        skipped = Counter(self.folder.step.skipped)
        last_step = float("-inf")
        with ChunkReader(self.setup, self.workers) as reader:
            for (source, items, errors), pages, read in self._read(reader, names):
                self.folder.add(read, [page.url for at, page in enumerate(pages) if at not in read.skipped])
                for at, reason in read.skipped.items():
                    self.on_skipped(pages[at], reason)
                skipped.update(read.skipped.values())
                if time.monotonic() > last_step + _STEP_SECONDS:
                    self.folder.finish_step(source, items, errors, skipped)
                    last_step = time.monotonic()
                self.progress(self.folder.step.pages)
        self.folder.finish_step(len(names), 0, self._errors, skipped)

    def _read(self, reader: ChunkReader, names: Sequence[str]) -> Iterator[tuple[Place, list[Page], ReadPages]]:
        """Yield what was read of each chunk, in their order."""
        waiting: deque[tuple[Place, list[Page], Future[ReadPages]]] = deque()
        for place, pages in self._chunks(names):
            waiting.append((place, pages, reader.read(pages)))
            while waiting and (len(waiting) >= self.workers * _CHUNKS_A_WORKER or waiting[0][2].done()):
                place, pages, read = waiting.popleft()
                yield place, pages, read.result()
        for place, pages, read in waiting:
            yield place, pages, read.result()

    def _chunks(self, names: Sequence[str]) -> Iterator[tuple[Place, list[Page]]]:
        """Yield the pages that are not read yet."""
        begun = self.folder.step
        for source in range(begun.source, len(names)):
            before = self._errors
            items = begun.items if source == begun.source else 0
            pages = islice(self.open_source(names[source], self._note), items, None)
            chunk: list[Page] = []
            size = 0
            for page in pages:
                chunk.append(page)
                items += 1
                size += len(page.html or page.text or "")
                if len(chunk) == _PAGES_A_CHUNK or size > _CHARACTERS_A_CHUNK:
                    yield (source, items, before), chunk
                    chunk, size = [], 0
            if chunk:
                yield (source, items, before), chunk

    def _note(self, error: Exception) -> None:
        self._errors += 1
        self.on_error(error)
