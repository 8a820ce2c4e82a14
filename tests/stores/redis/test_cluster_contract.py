"""What every store does, on a cluster: with pages of one site, and with an index of the scope global."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from crawldedup.stores.base import (
    AnchorQuery,
    Answer,
    Holders,
    Layout,
    PageName,
    Query,
    Record,
    Retention,
    Store,
    StoreError,
)
from crawldedup.stores.redis.store import PREFIXES, RedisClusterStore
from tests.servers import ClusterSetup, RedisServer
from tests.stores import test_anchors, test_contract, test_texts
from tests.stores.backends import Backend, Clock, redis_contents


class SiteStore(RedisClusterStore):
    """One whose pages are all of one site."""

    def check(self, queries: Sequence[Query]) -> list[Answer | StoreError]:
        names = [tuple(map(placed, query.delivered)) for query in queries]
        asked = [replace(query, shard_key=5, delivered=own) for query, own in zip(queries, names, strict=True)]
        return super().check(asked)

    def find(self, queries: Sequence[Query]) -> list[list[Record]]:
        return super().find([replace(query, shard_key=5) for query in queries])

    def anchors(self, query: AnchorQuery, *, add: bool = True) -> Holders:
        # The place has a share of the limit.
        every = PREFIXES * query.most_anchors
        return super().anchors(replace(query, name=placed(query.name), most_anchors=every), add=add)

    def deliver(self, names: Sequence[PageName]) -> None:
        super().deliver(list(map(placed, names)))

    def forget(self, name: PageName, *, anchors_alone: bool = False) -> bool:
        return super().forget(placed(name), anchors_alone=anchors_alone)

    def remembered(self, names: Sequence[PageName], retention: Retention) -> list[Record | None]:
        return super().remembered(list(map(placed, names)), retention)


def placed(name: PageName) -> PageName:
    return replace(name, shard_key=5)


@dataclass(frozen=True)
class ClusterBackend(Backend):
    masters: tuple[RedisServer, ...] = ()
    kind: type[RedisClusterStore] = RedisClusterStore

    def store(self, layout: Layout, clock: Clock) -> Store:
        return self.kind(self.url, layout, clock=clock)

    def contents(self) -> object:
        everything: dict[Any, Any] = {}
        for master in self.masters:
            everything |= redis_contents(master.client)
        return everything


pytestmark = pytest.mark.nightly


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "kind" in metafunc.fixturenames:
        metafunc.parametrize("kind", [SiteStore, RedisClusterStore], ids=["site", "global"])


@pytest.fixture(scope="module")
def quiet_cluster() -> Iterator[ClusterSetup]:
    """One in which nothing is killed."""
    with ClusterSetup(has_replicas=False) as setup:
        yield setup


@pytest.fixture
def backend(quiet_cluster: ClusterSetup, kind: type[RedisClusterStore]) -> Backend:
    masters = quiet_cluster.nodes[:3]
    for master in masters:
        master.client.flushall()
    return ClusterBackend("redis", quiet_cluster.url, masters[0], masters=tuple(masters), kind=kind)


@pytest.fixture
def shared_backend(backend: Backend) -> Backend:
    return backend


for _module in (test_anchors, test_contract, test_texts):
    globals().update({name: test for name, test in vars(_module).items() if name.lower().startswith("test")})
