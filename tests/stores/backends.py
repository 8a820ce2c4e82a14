"""The kinds of stores that the contract tests run over."""

from __future__ import annotations

import contextlib
import multiprocessing
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import redis

from crawldedup.stores.base import Layout, Store
from crawldedup.stores.redis.store import RedisStore
from crawldedup.stores.sqlite.store import MemoryStore, SqliteStore
from tests.servers import RedisServer

CONTEXT = multiprocessing.get_context("forkserver")
"""For processes that have not what this one holds."""
SHARED_NAMES = ["sqlite", "redis"]
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
            return MemoryStore(self.url, layout, clock=clock)
        if self.name == "sqlite":
            return SqliteStore(self.url, layout, clock=clock)
        return RedisStore(self.url, layout, clock=clock)

    def contents(self) -> object:
        """Everything that a shared store keeps."""
        if self.server is not None:
            return redis_contents(self.server.client)
        with contextlib.closing(sqlite3.connect(self.url.removeprefix("sqlite:///"))) as db:
            return list(db.iterdump())


def redis_contents(client: redis.Redis) -> dict[Any, Any]:
    """Every key with its value."""
    readers: dict[Any, Callable[[Any], Any]] = {
        b"hash": client.hgetall,
        b"zset": lambda key: client.zrange(key, 0, -1, withscores=True),
        b"list": lambda key: client.lrange(key, 0, -1),
        b"string": client.get,
    }
    return {key: readers[client.type(key)](key) for key in client.scan_iter()}
