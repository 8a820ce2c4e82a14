"""An index that is not there is told from one that is, and nothing is begun by asking."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from crawldedup.errors import ConfigurationError, StoreError, StoreUnavailableError
from crawldedup.stores import registry
from crawldedup.stores.redis import upkeep
from crawldedup.stores.registry import make_store, require_index
from tests.servers import free_port
from tests.stores.backends import redis_contents
from tests.stores.pages import LAYOUT, query, random_page

if TYPE_CHECKING:
    from pathlib import Path

    from tests.servers import ClusterSetup, RedisServer
    from tests.stores.backends import Backend

PAGE = random_page(np.random.default_rng(1))


def begin(url: str, *namespaces: str) -> None:
    for namespace in namespaces:
        with contextlib.closing(make_store(url, replace(LAYOUT, namespace=namespace))) as store:
            store.open()
            store.check_and_add(query(PAGE, "https://example.com/"))


def assert_told(url: str, *names: str) -> None:
    """Nothing is there, then the indexes of these names are, in an order of their own."""
    with pytest.raises(ConfigurationError, match="there is no index"):
        require_index(url, "nwes")
    begin(url, *names)
    for name in names:
        require_index(url, name)
    with pytest.raises(ConfigurationError, match=f"no index 'nwes' in .*; there are: {', '.join(sorted(names))}$"):
        require_index(url, "nwes")


def test_the_indexes_of_a_store_are_named(shared_backend: Backend) -> None:
    assert_told(shared_backend.url, "news", "a.b:c-d", "news.items")
    before = shared_backend.contents()
    with pytest.raises(ConfigurationError):
        require_index(shared_backend.url, "nwes")
    assert shared_backend.contents() == before


def test_the_indexes_of_a_cluster_are_named(cluster: ClusterSetup) -> None:
    assert_told(cluster.url, "news", "news.0", "a")


def test_a_cleared_index_is_still_there(shared_backend: Backend) -> None:
    begin(shared_backend.url, "news")
    with contextlib.closing(make_store(shared_backend.url, replace(LAYOUT, namespace="news"))) as store:
        store.clear()
    require_index(shared_backend.url, "news")


def test_keys_of_others_are_no_indexes(redis_server: RedisServer) -> None:
    redis_server.client.hset("crawldedup:{two words}:m", "profile", "x")
    redis_server.client.set("crawldedup:{news}:mine", "x")
    redis_server.client.set("{news}:m", "x")
    before = redis_contents(redis_server.client)
    with pytest.raises(ConfigurationError, match=r"it holds none at all$"):
        require_index(redis_server.url, "news")
    assert redis_contents(redis_server.client) == before


def test_many_indexes_are_not_all_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "MOST_SHOWN", 2)
    url = f"sqlite:///{tmp_path}/index.sqlite"
    begin(url, "c", "a", "b")
    with pytest.raises(ConfigurationError, match=r"there are: a, b and 1 more$"):
        require_index(url, "d")


def test_no_more_time_is_spent_on_names_than_there_is(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(redis_server.url, "news")
    monkeypatch.setattr(upkeep, "SCAN_SECONDS", 0)
    require_index(redis_server.url, "news")
    with pytest.raises(ConfigurationError, match="there is no index 'nwes'"):
        require_index(redis_server.url, "nwes")


def test_a_file_without_an_index_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "empty.sqlite").touch()
    (tmp_path / "other.sqlite").write_text("no database " * 100)
    for name, error in (
        ("missing", ConfigurationError),
        ("folder/missing", ConfigurationError),
        ("empty", ConfigurationError),
        ("other", StoreError),
    ):
        with pytest.raises(error):
            require_index(f"sqlite:///{tmp_path}/{name}.sqlite", "news")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty.sqlite", "other.sqlite"]
    assert (tmp_path / "empty.sqlite").stat().st_size == 0


@pytest.mark.parametrize("scheme", ["redis", "redis+cluster"])
def test_a_server_that_is_down_is_unavailable(scheme: str) -> None:
    with pytest.raises(StoreUnavailableError):
        require_index(f"{scheme}://127.0.0.1:{free_port()}", "news")


def test_an_index_in_memory_is_never_there() -> None:
    with pytest.raises(ConfigurationError, match="ends with the program"):
        require_index("memory://", "default")
