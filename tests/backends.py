"""The kinds of stores that the contract tests run over."""

from __future__ import annotations

import platform
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crawldedup.stores.memory import MemoryStore
from crawldedup.stores.redis import RedisStore
from crawldedup.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from crawldedup.stores.base import Layout, Store
    from tests.servers import RedisServer

# The oldest Redis that is supported comes in a package, for Linux only. Where the machine has no server of its own,
# the one in the package is "redis" already.
_HAS_TWO_SERVERS = platform.system() == "Linux" and shutil.which("redis-server") is not None
SHARED_NAMES = ["sqlite", "redis", *(["redis-6.2"] if _HAS_TWO_SERVERS else [])]
NAMES = ["memory", *SHARED_NAMES]


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += seconds


@dataclass(frozen=True)
class Backend:
    """Where indexes are kept."""

    name: str
    url: str
    server: RedisServer | None = None

    def store(self, layout: Layout, clock: Clock) -> Store:
        """A store that is not opened yet. In memory each has an index of its own."""
        if self.name == "memory":
            return MemoryStore(layout, clock=clock)
        if self.name == "sqlite":
            return SqliteStore(self.url.removeprefix("sqlite:///"), layout, clock=clock)
        return RedisStore(self.url, layout, clock=clock)
