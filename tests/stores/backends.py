"""The kinds of stores that the contract tests run over."""

from __future__ import annotations

import contextlib
import multiprocessing
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import redis

from crawldedup.stores.contract import Layout, Store
from crawldedup.stores.redis.cluster import RedisClusterStore
from crawldedup.stores.redis.store import RedisStore
from crawldedup.stores.sqlite.store import MemoryStore, SqliteStore
from tests.servers import RedisServer

CONTEXT = multiprocessing.get_context("forkserver")
"""For processes that have not what this one holds."""
SHARED_NAMES = ["sqlite", "redis"]
NAMES = ["memory", *SHARED_NAMES]
_KINDS: dict[str, Any] = {
    "memory": MemoryStore,
    "sqlite": SqliteStore,
    "redis": RedisStore,
    "cluster": RedisClusterStore,
}


class Clock:
    """A clock that a test moves forward."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += seconds


@dataclass(frozen=True)
class Backend:
    """Where indexes are kept: "memory", "sqlite", "redis", or "cluster", whose masters are the
    servers.
    """

    name: str
    url: str
    servers: tuple[RedisServer, ...] = ()

    def store(self, layout: Layout, clock: Clock) -> Store:
        """Return a store that is not opened yet. In memory each has an index of its own."""
        # A busy machine shall not make a client ask twice.
        patience = "?socket_timeout=30" if self.servers else ""
        store: Store = _KINDS[self.name](f"{self.url}{patience}", layout, clock=clock)
        return store

    def empty(self) -> Backend:
        for server in self.servers:
            server.client.flushall()
        if self.name == "sqlite":
            path = Path(self.url.removeprefix("sqlite:///"))
            for file in path.parent.glob(f"{path.name}*"):
                file.unlink()
        return self

    def contents(self) -> Any:
        """Return everything that a shared store keeps."""
        if self.name == "sqlite":
            with contextlib.closing(sqlite3.connect(self.url.removeprefix("sqlite:///"))) as db:
                return list(db.iterdump())
        return {
            key: value
            for server in self.servers
            for key, value in redis_contents(server.client).items()
        }

    def mentions(self, data: bytes | str) -> bool:
        """Return whether these bytes or this text lie in the store, wherever it is."""
        forms = [data] if isinstance(data, str) else [repr(data)[2:-1], data.hex().upper()]
        return any(form in repr(self.contents()) for form in forms)


def redis_contents(client: redis.Redis) -> dict[Any, Any]:
    """Return every key with its value."""
    readers: dict[Any, Callable[[Any], Any]] = {
        b"hash": client.hgetall,
        b"zset": lambda key: client.zrange(key, 0, -1, withscores=True),
        b"list": lambda key: client.lrange(key, 0, -1),
        b"string": client.get,
    }
    return {key: readers[client.type(key)](key) for key in client.scan_iter()}
