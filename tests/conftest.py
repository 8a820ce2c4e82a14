"""Stores to test against: every kind, on real servers."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

import pytest

from crawldedup.checks import KEY_BYTES
from crawldedup.key import Key
from tests.servers import ClusterSetup, RedisServer
from tests.stores.backends import SHARED_NAMES, Backend

ROOT = Path(__file__).parents[1]


def pytest_configure(config: pytest.Config) -> None:
    # Estimates depend on the key: with another in each run, a test near a threshold would fail now
    # and then.
    Key.random = classmethod(lambda cls: cls())  # type: ignore[assignment, method-assign]


@pytest.fixture
def own_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give every index a key of its own, as for users, and the same ones in each run."""
    numbers = random.Random(0)
    monkeypatch.setattr(Key, "random", lambda: Key(numbers.randbytes(KEY_BYTES)))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--one-in", type=int, default=1, help="run one in so many tests, others at each commit"
    )
    parser.addoption(
        "--histories", type=int, default=300, help="random histories of a store on a bad network"
    )


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if (size := config.getoption("one_in")) > 1:
        commit = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, check=False
        ).stdout
        left_out = [item for item in items if crc32(commit + item.nodeid.encode()) % size]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


@pytest.fixture(scope="session")
def session_redis() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@pytest.fixture
def redis_server(session_redis: RedisServer) -> RedisServer:
    """A real Redis server, empty."""
    session_redis.client.flushall()
    return session_redis


def make_backend(name: str, request: pytest.FixtureRequest, folder: Path) -> Backend:
    if name == "memory":
        return Backend(name, "memory://")
    if name == "sqlite":
        return Backend(name, f"sqlite:///{folder / 'index.sqlite'}")
    if name == "cluster":
        setup: ClusterSetup = request.getfixturevalue("quiet_cluster")
        return Backend(name, setup.url, tuple(setup.nodes)).empty()
    server: RedisServer = request.getfixturevalue("session_redis")
    return Backend(name, server.url, (server,)).empty()


@pytest.fixture(params=SHARED_NAMES)
def shared_backend(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    """Every store that several crawlers can share, empty."""
    return make_backend(request.param, request, tmp_path)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name packed bytes by their argument: gzip writes the time into them, and all processes of a
    run must collect tests of the same names.
    """
    return argname if isinstance(val, bytes) and b"\x1f\x8b\x08" in val else None
