"""Stores to test against: every kind, on real servers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.servers import RedisServer, bundled_redis_binary
from tests.stores.backends import NAMES, SHARED_NAMES, Backend

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="session")
def session_redis() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@pytest.fixture(scope="session")
def session_oldest_redis() -> Iterator[RedisServer]:
    with RedisServer(binary=bundled_redis_binary()) as server:
        yield server


def make_backend(name: str, request: pytest.FixtureRequest, folder: Path) -> Backend:
    if name == "memory":
        return Backend(name, "memory://")
    if name == "sqlite":
        return Backend(name, f"sqlite:///{folder / 'index.sqlite'}")
    server: RedisServer = request.getfixturevalue("session_redis" if name == "redis" else "session_oldest_redis")
    server.client.flushall()
    return Backend(name, server.url, server)


@pytest.fixture(params=NAMES)
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    """Every store, empty."""
    return make_backend(request.param, request, tmp_path)


@pytest.fixture(params=SHARED_NAMES)
def shared_backend(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    """Every store that several crawlers can share, empty."""
    return make_backend(request.param, request, tmp_path)


@pytest.fixture
def backends(request: pytest.FixtureRequest, tmp_path: Path) -> list[Backend]:
    """All of them at once."""
    return [make_backend(name, request, tmp_path) for name in NAMES]


@pytest.fixture(params=[name for name in NAMES if name.startswith("redis")])
def redis_server(request: pytest.FixtureRequest, tmp_path: Path) -> RedisServer:
    """A real Redis server of every version at hand, empty."""
    server = make_backend(request.param, request, tmp_path).server
    assert server is not None
    return server


@pytest.fixture
def store_url(backend: Backend) -> str:
    """The URL of every store, empty."""
    return backend.url
