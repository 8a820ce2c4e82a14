"""An index that is not there is told from one that is, and nothing is begun by asking."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from crawldedup.errors import ConfigurationError, StoreError, StoreUnavailableError
from crawldedup.stores.registry import MissingIndexError, make_store, require_index
from tests.servers import ClusterSetup, RedisServer, free_port
from tests.stores.backends import Backend, redis_contents
from tests.stores.pages import LAYOUT, checked, query, random_page

PAGE = random_page(np.random.default_rng(1))


def begin(url: str, *namespaces: str) -> None:
    for namespace in namespaces:
        with contextlib.closing(make_store(url, replace(LAYOUT, namespace=namespace))) as store:
            store.open()
            checked(store, query(PAGE, "https://example.com/"))


def test_an_index_that_is_not_there_is_named(shared_backend: Backend) -> None:
    with pytest.raises(MissingIndexError, match=r"^there is no index 'nwes' in \w+://.*: check the store and the name"):
        require_index(shared_backend.url, "nwes")
    begin(shared_backend.url, "news", "a.b:c-d", "news.items")
    before = shared_backend.contents()
    for name in ("news", "a.b:c-d", "news.items"):
        require_index(shared_backend.url, name)
    with pytest.raises(MissingIndexError):
        require_index(shared_backend.url, "nwes")
    assert shared_backend.contents() == before


@pytest.mark.nightly
def test_so_is_one_of_a_cluster(cluster: ClusterSetup) -> None:
    begin(cluster.url, "news")
    require_index(cluster.url, "news")
    with pytest.raises(MissingIndexError):
        require_index(cluster.url, "new")


def test_an_index_that_was_cleared_is_there_no_more(shared_backend: Backend) -> None:
    begin(shared_backend.url, "news")
    with contextlib.closing(make_store(shared_backend.url, replace(LAYOUT, namespace="news"))) as store:
        store.clear()
    with pytest.raises(MissingIndexError):
        require_index(shared_backend.url, "news")


def test_keys_of_others_are_no_indexes(redis_server: RedisServer) -> None:
    redis_server.client.set("crawldedup:{news}:mine", "x")
    redis_server.client.set("{news}:m", "x")
    before = redis_contents(redis_server.client)
    with pytest.raises(MissingIndexError):
        require_index(redis_server.url, "news")
    assert redis_contents(redis_server.client) == before


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


@pytest.mark.parametrize("scheme", ["redis", pytest.param("redis+cluster", marks=pytest.mark.nightly)])
def test_a_server_that_is_down_is_unavailable(scheme: str) -> None:
    with pytest.raises(StoreUnavailableError):
        require_index(f"{scheme}://127.0.0.1:{free_port()}", "news")


def test_an_index_in_memory_is_never_there() -> None:
    with pytest.raises(ConfigurationError, match="ends with the program"):
        require_index("memory://", "default")
