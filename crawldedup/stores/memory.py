"""The embedded default: an index in this process's memory, which is a SQLite file that is on no disk."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar, Self

from crawldedup.errors import ConfigurationError
from crawldedup.stores.sqlite.database import IN_MEMORY
from crawldedup.stores.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawldedup.stores.base import Layout


class MemoryStore(SqliteStore):
    """An index that ends with its process. Safe to use from several threads."""

    is_persistent: ClassVar = False

    def __init__(self, layout: Layout, *, clock: Callable[[], float] = time.time) -> None:
        super().__init__(IN_MEMORY, layout, clock=clock)
        self._shown = "memory://"

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

    def _exists(self) -> bool:
        return self._connection is not None

    def _disconnect(self) -> None:
        # The index ends with its connection, and this store may be opened again.
        self._index, self._is_absent = None, False
