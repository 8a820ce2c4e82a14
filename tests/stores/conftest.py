"""What the contract tests begin with: an empty index in every kind of store, and pages for it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from crawldedup.stores.contract import Store
from tests.conftest import make_backend
from tests.servers import Certificate, ClusterSetup, SentinelSetup, make_certificate
from tests.stores.backends import NAMES, SHARED_NAMES, Backend, Clock
from tests.stores.pages import LAYOUT, Page, random_page

CLUSTER = pytest.param("cluster", marks=pytest.mark.nightly)


@pytest.fixture(params=[*NAMES, CLUSTER])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    """Every store, empty."""
    return make_backend(request.param, request, tmp_path)


@pytest.fixture(params=[*SHARED_NAMES, CLUSTER])
def shared_backend(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    """Every store that several crawlers can share, empty."""
    return make_backend(request.param, request, tmp_path)


@pytest.fixture(scope="session")
def session_sentinels() -> Iterator[SentinelSetup]:
    with SentinelSetup() as setup:
        yield setup


@pytest.fixture
def sentinels(session_sentinels: SentinelSetup) -> SentinelSetup:
    """A master with a replica, watched by sentinels: empty and sound.

    A test may kill any of them.
    """
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
def quiet_cluster() -> Iterator[ClusterSetup]:
    """One in which nothing is killed."""
    with ClusterSetup(has_replicas=False) as setup:
        yield setup


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return make_certificate(tmp_path_factory.mktemp("certificate"))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(backend: Backend, clock: Clock) -> Iterator[Store]:
    store = backend.store(LAYOUT, clock)
    assert store.open() == 0
    yield store
    store.close()


@pytest.fixture
def shared(shared_backend: Backend, clock: Clock) -> Iterator[Callable[..., Store]]:
    """Makes stores of one index, or of another layout; they are closed in the end."""
    with contextlib.ExitStack() as made:
        yield lambda layout=LAYOUT: made.enter_context(
            contextlib.closing(shared_backend.store(layout, clock))
        )


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(1)


@pytest.fixture
def page(rng: np.random.Generator) -> Page:
    return random_page(rng)


@pytest.fixture
def other(rng: np.random.Generator) -> Page:
    return random_page(rng)
