"""Readers and store as one: opened, asked, kept alive and closed together, for pages and for items."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from scrapy.utils.asyncio import create_looping_call

from crawldedup.index import HEARTBEAT_SECONDS
from crawldedup.scrapy_plugin.runtime.pending import within

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler

    from crawldedup.scrapy_plugin.reading.base import Page, Readers
    from crawldedup.scrapy_plugin.reading.read_once import ReadOnce
    from crawldedup.scrapy_plugin.runtime.store_calls import StoreCalls
    from crawldedup.verdict import Verdict

logger = logging.getLogger(__name__)

_EXPIRE_SECONDS = 1.0
_CLOSE_LIMIT_SECONDS = 10.0


class Judge:
    """Says what is known of a page, or of an item's text."""

    def __init__(self, readers: Readers, store: StoreCalls, read_once: ReadOnce | None = None) -> None:
        self._readers = readers
        self._store = store
        self._read = readers.read if read_once is None else read_once.read
        self._loops: list[Any] = []

    def start(self) -> None:
        """Start the readers, which get ready during the first downloads."""
        self._readers.start()
        self._every(_EXPIRE_SECONDS, self._readers.expire)

    async def open(self, *, to_look: bool) -> None:
        """Open the store, and keep it; from then on it is known at the latest if it cannot be used.

        Raises as `StoreCalls.open` does; whether it goes on then is for the caller to say.
        """
        self._every(HEARTBEAT_SECONDS, self._store.heartbeat)
        await self._store.open(to_look=to_look)

    async def verdict(self, page: Page, url: str, *, similarity: float | None = None, **rules: Any) -> Verdict:
        """Read the page and ask the store; `rules` as in `StoreCalls.judge`.

        Raises what `Readers.read` may end with, and StoreError.
        """
        return await self._store.judge(url, await self._read(page), similarity=similarity, **rules)

    def forget(self, url: str, *, identity: str | None, scope_key: str) -> None:
        """Forget a page. Nobody waits for it: if the store fails now, the page stays as it is."""
        self._store.forget(url, identity=identity, scope_key=scope_key)

    async def close(self, crawler: Crawler) -> None:
        """Close everything after what is queued; what does not close is left, and the log says so."""
        for loop in self._loops:
            if loop.running:
                loop.stop()
        for close in (self._readers.close, self._store.close):
            try:
                await within(_CLOSE_LIMIT_SECONDS, close())
            except Exception as error:
                logger.warning("crawldedup: closing failed: %r", error, extra={"spider": crawler.spider})
        self._readers.kill()

    def _every(self, seconds: float, call: Callable[[], object]) -> None:
        loop = create_looping_call(call)
        loop.start(seconds, now=False)
        self._loops.append(loop)
