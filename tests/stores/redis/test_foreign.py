"""Keys of the index's names that hold what others wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from crawldedup.errors import StoreError
from crawldedup.stores.base import Status
from crawldedup.stores.redis.store import RedisStore
from tests.stores.backends import redis_contents
from tests.stores.pages import LAYOUT, query, random_page

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np

    from tests.servers import RedisServer

PREFIX = "crawldedup:{test}:"
META = f"{PREFIX}m"


@pytest.fixture
def store(redis_server: RedisServer) -> Iterator[RedisStore]:
    store = RedisStore(redis_server.url, LAYOUT)
    yield store
    store.close()


@pytest.mark.parametrize(
    "fields",
    [
        {"colour": "red"},
        {"pages": 3, "next": 3},
        {"epoch": 7, "colour": "red"},
        {"epoch": 7, "crawlers": 1, "first": 1, "order": "x"},
    ],
)
def test_a_hash_of_others_at_the_head_is_refused_and_left_alone(
    redis_server: RedisServer, store: RedisStore, fields: dict[Any, Any]
) -> None:
    redis_server.client.hset(META, mapping=fields)
    before = redis_contents(redis_server.client)
    for _ in range(2):
        with pytest.raises(StoreError, match=f"the key '{META}' holds what crawldedup did not write") as caught:
            store.open()
        assert type(caught.value) is StoreError
    assert redis_contents(redis_server.client) == before
    redis_server.client.delete(META)
    assert store.open() == 0


def test_a_hash_of_others_in_the_place_of_a_lost_head_is_refused_in_mid_crawl(
    redis_server: RedisServer, store: RedisStore, rng: np.random.Generator
) -> None:
    store.open()
    page = random_page(rng)
    assert store.check_and_add(query(page, "https://example.com/")).status is Status.NEW
    redis_server.client.delete(META)
    redis_server.client.hset(META, "colour", "red")
    before = redis_contents(redis_server.client)
    with pytest.raises(StoreError, match=f"the key '{META}'"):
        store.check_and_add(query(page, "https://example.com/"))
    assert redis_contents(redis_server.client) == before


@pytest.mark.parametrize("fields", [{"epoch": 7}, {"epoch": 7, "crawlers": 3, "first": 2}, {"crawlers": 3, "first": 2}])
def test_what_is_left_of_a_head_of_ours_is_taken_up(
    redis_server: RedisServer, store: RedisStore, fields: dict[Any, Any]
) -> None:
    redis_server.client.hset(META, mapping=fields)
    assert store.open() == 0
    head = redis_server.client.hgetall(META)
    assert head[b"profile"] == LAYOUT.profile.encode()
    assert head[b"epoch"] == b"7" or "epoch" not in fields


@pytest.mark.parametrize("key", ["m", "c", "7:r:0", "7:t0:1", "7:f1:0", "7:u:1"])
def test_a_key_of_another_type_is_a_store_error_with_the_way_out(
    redis_server: RedisServer, store: RedisStore, rng: np.random.Generator, key: str
) -> None:
    client, page = redis_server.client, random_page(rng)
    other = random_page(rng)
    client.hset(META, "epoch", 7)
    store.open()
    store.check_and_add(query(page, "https://example.com/"))
    client.delete(f"{PREFIX}{key}")
    client.xadd(f"{PREFIX}{key}", {"not": "ours"})
    ask = {
        "m": lambda: store.find(query(page, "")),
        "c": store.heartbeat,
    }.get(key, lambda: list(store.check_many([query(other, f"https://example.com/{i}") for i in range(2)])))
    for call in (ask, store.open if key in "mc" else lambda: store.check_and_add(query(other, "https://a/"))):
        with pytest.raises(StoreError, match=r"a key of the namespace 'test' holds .*remove that key") as caught:
            call()
        assert type(caught.value) is StoreError


@pytest.mark.parametrize("call", [RedisStore.open_read_only, RedisStore.clear, RedisStore.heartbeat])
def test_nothing_is_written_into_a_hash_of_others(
    redis_server: RedisServer, store: RedisStore, call: Callable[[RedisStore], object]
) -> None:
    redis_server.client.hset(META, "colour", "red")
    before = redis_contents(redis_server.client)
    with pytest.raises(StoreError, match=f"the key '{META}' holds"):
        call(store)
    assert redis_contents(redis_server.client) == before
