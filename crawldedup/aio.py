"""`Deduplicator` for asyncio."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Self, TypeVar

from crawldedup.deduplicator import BATCH, BATCH_SECONDS, Deduplicator
from crawldedup.errors import ConfigurationError, PageError, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from crawldedup.deduplicator import CopyResult, OnUnreadable, Progress
    from crawldedup.fingerprinting.fingerprint import Fingerprint
    from crawldedup.page_input import PageInput
    from crawldedup.stores.base import StoreInfo
    from crawldedup.verdict import Match, Verdict

T = TypeVar("T")


class AsyncDeduplicator:
    """`Deduplicator` for asyncio: the same calls, awaited, with the work done in threads beside the event loop.

    Pages are read in up to `readers` threads; the store is asked by one, so verdicts come in the order of the
    questions. Takes the arguments of `Deduplicator`. `progress` is called in the store's thread.
    """

    def __init__(self, store: str = "memory://", *, readers: int = 2, **options: object) -> None:
        self._dedup = Deduplicator(store, **options)  # type: ignore[arg-type]
        self._readers = ThreadPoolExecutor(readers, thread_name_prefix="crawldedup-read")
        self._asker = ThreadPoolExecutor(1, thread_name_prefix="crawldedup-store")
        self._closed = False

    async def __aenter__(self) -> Self:
        await self._ask(self._dedup.open)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def check(
        self,
        url: str,
        *,
        html: bytes | str | None = None,
        text: str | None = None,
        encoding: str | None = None,
        identity: str | None = None,
        scope_key: str | None = None,
    ) -> Verdict:
        """See `Deduplicator.check`."""
        page = await self.fingerprint(html=html, text=text, encoding=encoding)
        return await self._ask(lambda: self._dedup.check_fingerprint(url, page, identity=identity, scope_key=scope_key))

    async def check_many(
        self,
        pages: Iterable[PageInput] | AsyncIterable[PageInput],
        *,
        batch: int = BATCH,
        on_unreadable: OnUnreadable | None = None,
    ) -> AsyncIterator[Verdict]:
        """See `Deduplicator.check_many`. Pages are read while further ones come; `on_unreadable` is called in the loop.

        An iterable that waits should be an asynchronous one. Up to `batch` pages may have been taken beyond an error.
        """
        if batch < 1:
            raise ConfigurationError(f"batch is {batch!r}; it must be a whole number from 1")
        source = aiter(pages) if isinstance(pages, AsyncIterable) else _asynchronous(pages)
        while True:
            taken, error = await self._take(source, batch, skip=on_unreadable is not None)
            readable = [
                replace(page, html=None, text=None, fingerprint=read)
                for page, read in taken
                if not isinstance(read, PageError)
            ]
            verdicts, failure = await self._judge_all(readable)
            for page, read in taken:
                if not isinstance(read, PageError):
                    if not verdicts:
                        break
                    if self._dedup.heartbeat_is_due:
                        with suppress(StoreError):
                            await self.heartbeat()
                    yield verdicts.popleft()
                elif on_unreadable is not None:
                    on_unreadable(page, read)
            if failure is not None:
                raise failure
            if error is not None:
                raise error
            if not taken:
                return

    async def _take(
        self, pages: AsyncIterator[PageInput], batch: int, *, skip: bool
    ) -> tuple[list[tuple[PageInput, Fingerprint | PageError]], BaseException | None]:
        """See `Deduplicator._take`."""
        taken: list[PageInput] = []
        reading: list[asyncio.Task[Fingerprint]] = []
        deadline = time.monotonic() + BATCH_SECONDS
        error: BaseException | None = None
        try:
            async for page in pages:
                taken.append(page)
                reading.append(asyncio.create_task(self._fingerprint_of(page)))
                if len(taken) >= batch or time.monotonic() >= deadline:
                    break
        except Exception as problem:
            error = problem
        read: list[tuple[PageInput, Fingerprint | PageError]] = []
        for page, result in zip(taken, await asyncio.gather(*reading, return_exceptions=True), strict=True):
            if isinstance(result, BaseException) and not (skip and isinstance(result, PageError)):
                return read, result
            read.append((page, result))
        return read, error

    async def _fingerprint_of(self, page: PageInput) -> Fingerprint:
        if page.fingerprint is not None:
            return page.fingerprint
        return await self.fingerprint(html=page.html, text=page.text, encoding=page.encoding)

    async def _judge_all(self, pages: list[PageInput]) -> tuple[deque[Verdict], Exception | None]:
        """The verdicts up to the first error, and that."""
        verdicts: deque[Verdict] = deque()

        def judge() -> Exception | None:
            try:
                verdicts.extend(self._dedup.check_many(pages, batch=max(1, len(pages))))
            except Exception as error:
                return error
            return None

        return verdicts, await self._ask(judge)

    async def find(
        self,
        *,
        html: bytes | str | None = None,
        text: str | None = None,
        encoding: str | None = None,
        url: str = "",
        scope_key: str | None = None,
        similarity: float | None = None,
    ) -> list[Match]:
        """See `Deduplicator.find`."""
        return await self._ask(
            lambda: self._dedup.find(
                html=html, text=text, encoding=encoding, url=url, scope_key=scope_key, similarity=similarity
            )
        )

    async def forget(
        self, page: str | Fingerprint, *, identity: str | None = None, scope_key: str | None = None
    ) -> int:
        """See `Deduplicator.forget`."""
        return await self._ask(lambda: self._dedup.forget(page, identity=identity, scope_key=scope_key))

    async def prune(self, *, progress: Progress | None = None) -> int:
        """See `Deduplicator.prune`; other questions wait until it is done."""
        return await self._ask(lambda: self._dedup.prune(progress=progress))

    async def copy_to(self, other: AsyncDeduplicator, *, progress: Progress | None = None) -> CopyResult:
        """See `Deduplicator.copy_to`; other questions wait until it is done."""
        return await self._ask(lambda: self._dedup.copy_to(other._dedup, progress=progress))

    async def fingerprint(
        self, *, html: bytes | str | None = None, text: str | None = None, encoding: str | None = None
    ) -> Fingerprint:
        """See `Deduplicator.fingerprint`."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(
            self._readers, lambda: self._dedup.fingerprint(html=html, text=text, encoding=encoding)
        )

    async def check_fingerprint(
        self,
        url: str,
        page: Fingerprint,
        *,
        identity: str | None = None,
        scope_key: str | None = None,
        similarity: float | None = None,
        canonical: str | None = None,
        remember: bool = True,
    ) -> Verdict:
        """See `Deduplicator.check_fingerprint`."""
        return await self._ask(
            lambda: self._dedup.check_fingerprint(
                url,
                page,
                identity=identity,
                scope_key=scope_key,
                similarity=similarity,
                canonical=canonical,
                remember=remember,
            )
        )

    async def clear(self) -> None:
        """See `Deduplicator.clear`."""
        await self._ask(self._dedup.clear)

    async def look(self) -> None:
        """See `Deduplicator.look`."""
        await self._ask(self._dedup.look)

    async def heartbeat(self) -> None:
        """See `Deduplicator.heartbeat`."""
        await self._ask(self._dedup.heartbeat)

    async def info(self) -> StoreInfo:
        """See `Deduplicator.info`."""
        return await self._ask(self._dedup.info)

    async def close(self) -> None:
        """Finish what was asked, leave the crawl and disconnect. Harmless when repeated; no other call may follow."""
        if self._closed:
            return
        self._closed = True
        await self._ask(self._dedup.close)
        self._readers.shutdown(wait=False)
        self._asker.shutdown(wait=False)

    async def _ask(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._asker, call)


async def _asynchronous(pages: Iterable[PageInput]) -> AsyncIterator[PageInput]:
    for page in pages:
        yield page
