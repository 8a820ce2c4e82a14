"""`Deduplicator` for asyncio."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Self, TypeVar

from crawldedup.deduplicator import Deduplicator

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from crawldedup.hashing.fingerprint import Fingerprint
    from crawldedup.stores.base import StoreInfo
    from crawldedup.verdict import Match, Verdict

T = TypeVar("T")


class AsyncDeduplicator:
    """`Deduplicator` for asyncio: the same calls, awaited, with the work done in threads beside the event loop.

    Pages are read in up to `readers` threads; the store is asked by one, so verdicts come in the order of the
    questions. Takes the arguments of `Deduplicator`.
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
        loop = asyncio.get_running_loop()
        page = await loop.run_in_executor(self._readers, self._dedup.read, html, text, encoding)
        return await self._ask(lambda: self._dedup.judge(url, page, identity=identity, scope_key=scope_key))

    async def find(self, **arguments: object) -> list[Match]:
        """See `Deduplicator.find`."""
        return await self._ask(lambda: self._dedup.find(**arguments))  # type: ignore[arg-type]

    async def forget(self, page: str | Fingerprint, *, scope_key: str | None = None) -> int:
        """See `Deduplicator.forget`."""
        return await self._ask(lambda: self._dedup.forget(page, scope_key=scope_key))

    async def judge(
        self,
        url: str,
        page: Fingerprint,
        *,
        identity: str | None = None,
        scope_key: str | None = None,
        similarity: float | None = None,
    ) -> Verdict:
        """See `Deduplicator.judge`."""
        return await self._ask(
            lambda: self._dedup.judge(url, page, identity=identity, scope_key=scope_key, similarity=similarity)
        )

    async def clear(self) -> None:
        """See `Deduplicator.clear`."""
        await self._ask(self._dedup.clear)

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
