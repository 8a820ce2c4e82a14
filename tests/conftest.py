"""Stores to test against: every kind, on real servers."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

import pytest

from crawldedup.reading.keys import KEY_BYTES, Key
from tests.servers import (
    Certificates,
    ClusterSetup,
    RedisServer,
    SentinelSetup,
    TlsFront,
    TlsServer,
    make_certificates,
    redis_binary,
    speaks_tls,
)
from tests.stores.backends import NAMES, SHARED_NAMES, Backend

if TYPE_CHECKING:
    from collections.abc import Iterator


ROOT = Path(__file__).parents[1]


def pytest_configure(config: pytest.Config) -> None:
    # Estimates depend on the key: with another in each run, a test near a threshold would fail now and then.
    Key.random = classmethod(lambda cls: cls())  # type: ignore[assignment, method-assign]


@pytest.fixture
def own_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give every index a key of its own, as for users, and the same ones in each run."""
    numbers = random.Random(0)
    monkeypatch.setattr(Key, "random", lambda: Key(numbers.randbytes(KEY_BYTES)))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--one-in", type=int, default=1, help="run one in so many tests, others at each commit")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if (size := config.getoption("one_in")) > 1:
        commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, check=False).stdout
        left_out = [item for item in items if crc32(commit + item.nodeid.encode()) % size]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


@pytest.fixture(scope="session")
def session_redis() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


def make_backend(name: str, request: pytest.FixtureRequest, folder: Path) -> Backend:
    if name == "memory":
        return Backend(name, "memory://")
    if name == "sqlite":
        return Backend(name, f"sqlite:///{folder / 'index.sqlite'}")
    server: RedisServer = request.getfixturevalue("session_redis")
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


@pytest.fixture
def redis_server(session_redis: RedisServer) -> RedisServer:
    """A real Redis server, empty."""
    session_redis.client.flushall()
    return session_redis


@pytest.fixture
def store_url(backend: Backend) -> str:
    """The URL of every store, empty."""
    return backend.url


@pytest.fixture(scope="session")
def session_sentinels() -> Iterator[SentinelSetup]:
    with SentinelSetup() as setup:
        yield setup


@pytest.fixture
def sentinels(session_sentinels: SentinelSetup) -> SentinelSetup:
    """A master with a replica, watched by sentinels: empty and sound. A test may kill any of them."""
    session_sentinels.settle()
    session_sentinels.master.client.flushall()
    return session_sentinels


@pytest.fixture(scope="session")
def session_cluster() -> Iterator[ClusterSetup]:
    with ClusterSetup() as setup:
        yield setup


@pytest.fixture
def cluster(session_cluster: ClusterSetup) -> ClusterSetup:
    """A cluster of three masters with a replica each: empty and sound. A test may kill any node."""
    session_cluster.settle()
    for master in session_cluster.masters:
        master.client.flushall()
    return session_cluster


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(params=["front", *(["server"] if speaks_tls(redis_binary()) else [])])
def tls_url(request: pytest.FixtureRequest, session_redis: RedisServer, certificates: Certificates) -> Iterator[str]:
    """A server that speaks TLS itself, where the machine's can, and one behind something that does. Empty.

    Both ask for a certificate; the URL names none.
    """
    if request.param == "server":
        with TlsServer(certificates) as server:
            yield f"rediss://localhost:{server.tls_port}/0"
    else:
        session_redis.client.flushall()
        with TlsFront(certificates, session_redis) as front:
            yield f"rediss://localhost:{front.tls_port}/0"
