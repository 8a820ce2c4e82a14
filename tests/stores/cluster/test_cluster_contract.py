"""What every store does, on a cluster: with pages that belong to one partition, and with pages of all of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest

from crawldedup.stores.cluster.store import ClusterStore
from tests.servers import ClusterSetup, RedisServer
from tests.stores import test_anchors, test_contract, test_moving, test_texts
from tests.stores.backends import Backend, Clock, redis_contents
from tests.stores.test_retention import TestTimeToLive

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crawldedup.stores.anchors import AnchorQuery, Holders
    from crawldedup.stores.base import Answer, Layout, Query, Record, Store

# What a cluster does in a coarser way: its partitions have an order of their own each. And it needs the homes of pages.
LEFT_OUT = {
    "test_pages_are_told_in_the_order_of_adding_some_at_a_time",
    "test_pages_may_come_and_go_while_they_are_told",
    "test_the_home_of_a_page_is_kept_and_may_be_unknown",
}
# Of pages all over the index, each is compared with those of a few partitions.
OF_ONE_PARTITION = {
    "test_of_pages_that_come_at_once_one_is_first",
    "test_an_anchor_on_many_pages_is_told_as_such_and_takes_in_no_more",
    "test_pages_whose_keys_the_rule_refuses_are_not_compared",
    "test_no_more_records_are_compared",
    "test_the_best_ranges_are_read_first",
}


class PlacedStore(ClusterStore):
    """One whose pages all have the same place."""

    def check_many(self, queries: Sequence[Query]) -> Iterator[Answer]:
        return super().check_many([replace(query, shard_key=5) for query in queries])

    def find(self, query: Query) -> list[Record]:
        return super().find(replace(query, shard_key=5))

    def anchors(self, query: AnchorQuery, *, add: bool = True) -> Holders:
        return super().anchors(replace(query, shard_key=5), add=add)


@dataclass(frozen=True)
class ClusterBackend(Backend):
    masters: tuple[RedisServer, ...] = ()
    is_placed: bool = False

    def store(self, layout: Layout, clock: Clock) -> Store:
        return (PlacedStore if self.is_placed else ClusterStore)(self.url, layout, clock=clock)

    def contents(self) -> object:
        everything: dict[Any, Any] = {}
        for master in self.masters:
            everything |= redis_contents(master.client)
        return everything


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "kind" in metafunc.fixturenames:
        # A record does not tell its place.
        moves = metafunc.function.__module__ == test_moving.__name__
        placed = metafunc.function.__name__ in OF_ONE_PARTITION
        # Pages of one place are asked about as on a single server.
        both = ["global", pytest.param("placed", marks=pytest.mark.exhaustive)]
        metafunc.parametrize("kind", ["global"] if moves else ["placed"] if placed else both)


@pytest.fixture(scope="module")
def quiet_cluster() -> Iterator[ClusterSetup]:
    """One in which nothing is killed."""
    with ClusterSetup() as setup:
        yield setup


@pytest.fixture
def backend(quiet_cluster: ClusterSetup, kind: str) -> Backend:
    masters = quiet_cluster.nodes[:3]
    for master in masters:
        master.client.flushall()
    return ClusterBackend("cluster", quiet_cluster.url, masters=tuple(masters), is_placed=kind == "placed")


@pytest.fixture
def shared_backend(backend: Backend) -> Backend:
    return backend


for _module in (test_anchors, test_contract, test_moving, test_texts):
    globals().update(
        {name: test for name, test in vars(_module).items() if name.lower().startswith("test") and name not in LEFT_OUT}
    )


class TestTimeToLiveHere(TestTimeToLive):
    # Each partition looks for what has expired when a page is added to it.
    test_expired_pages_are_freed_while_others_are_added = None  # type: ignore[assignment]
    test_an_index_that_pages_come_to_all_the_time_stays_small = None  # type: ignore[assignment]


del TestTimeToLive
