"""The embedded default: an index in this process's memory, about 200 bytes a page with its URL."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, ClassVar, Self

from crawldedup.errors import ConfigurationError
from crawldedup.stores.base import NO_SESSION, CrawlSession, StoreInfo
from crawldedup.stores.embedded import Cursor, EmbeddedStore
from crawldedup.stores.memory.index import MemoryIndex
from crawldedup.stores.process import own_process

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from crawldedup.stores.base import Answer, Layout, Query


class MemoryStore(EmbeddedStore[int]):
    """An index that ends with its process. Safe to use from several threads."""

    is_persistent: ClassVar = False

    def __init__(self, layout: Layout, *, clock: Callable[[], float] = time.time) -> None:
        super().__init__(layout, clock)
        self._index = MemoryIndex(layout)

    @classmethod
    def check_url(cls, url: str) -> None:
        """See `Store`."""
        if url.partition("://")[2]:
            raise ConfigurationError(f"the store URL {url!r} is not valid: memory:// takes nothing behind it")

    @classmethod
    def from_url(cls, url: str, layout: Layout) -> Self:
        """See `Store`."""
        cls.check_url(url)
        return cls(layout)

    @classmethod
    def namespaces(cls, url: str, wanted: str) -> list[str]:  # noqa: ARG003
        """See `Store`."""
        return []

    def _turn(self, *, writes: bool = True, adds: bool = False, many: bool = False) -> MemoryIndex:  # noqa: ARG002
        return self._index

    @contextlib.contextmanager
    def _new_cursor(self) -> Iterator[Cursor]:
        cursor = Cursor()
        with self._index as index:
            index.cursors.add(cursor)
        try:
            yield cursor
        finally:
            with self._index as index:
                index.cursors.remove(cursor)

    def open(self, session: CrawlSession | None = None) -> int:
        """See `Store`; nobody else works on the index."""
        given = session or self._session
        number = given.number or 1
        self._session = CrawlSession(number, given.first or number, given.process or own_process())
        return self._index.pages

    def open_read_only(self) -> int:
        """See `Store`."""
        return self._index.pages

    def check_many(self, queries: Sequence[Query]) -> Iterator[Answer]:
        """See `Store`."""
        return map(self.check_and_add, queries)

    def clear(self) -> None:
        """See `Store`."""
        with self._index as index:
            index.reset()

    def info(self) -> StoreInfo:
        """See `Store`."""
        with self._index as index:
            size, table_bytes = index.sizes()
            return StoreInfo(
                pages=index.pages,
                bytes=size,
                table_bytes=table_bytes,
                tables=len(self._layout.tables),
                profile=self._layout.profile,
                namespace=self._layout.namespace,
                store="memory://",
            )

    def heartbeat(self) -> None:
        """See `Store`; nobody waits for it."""

    def close(self, *, leave: bool = True) -> None:  # noqa: ARG002
        """See `Store`."""
        self._session = NO_SESSION
