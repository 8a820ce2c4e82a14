"""Keys of the index's names that hold what others wrote."""

from __future__ import annotations

import re
from importlib import resources
from typing import TYPE_CHECKING, Any

import pytest
import redis

from crawldedup.errors import StoreError
from crawldedup.stores.base import Status
from crawldedup.stores.redis.naming import name_key
from crawldedup.stores.redis.protocol import SCRIPTS, script_text
from crawldedup.stores.redis.store import RedisStore
from tests.stores.backends import redis_contents
from tests.stores.pages import LAYOUT, query, random_page

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np

    from tests.servers import RedisServer

PREFIX = "crawldedup:{test}:"
META = f"{PREFIX}m"
JOINING = (LAYOUT.profile, b"", "", 60, 0)
READING = {
    *("HGET", "HGETALL", "HMGET", "LINDEX", "LLEN", "LRANGE", "ZCARD", "ZRANGE", "ZRANGEBYLEX", "ZREVRANGEBYLEX"),
    *("BITFIELD_RO", "EXISTS", "TIME"),
}


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


class TestNaming:
    @pytest.mark.parametrize("key", ["m", "c"])
    def test_a_script_run_again_names_the_key_and_writes_nothing(self, redis_server: RedisServer, key: str) -> None:
        client = redis_server.client
        client.set(f"{PREFIX}{key}", "not ours")
        with pytest.raises(redis.ResponseError, match=f"WRONGTYPE at {PREFIX}{key}"):
            name_key(redis.ResponseError("WRONGTYPE Operation"), client, "join", PREFIX, JOINING)
        assert client.keys() == [f"{PREFIX}{key}".encode()]

    @pytest.mark.parametrize("text", ["OOM", "WRONGTYPE Operation"])
    def test_an_error_of_another_kind_or_of_a_key_that_is_gone_names_none(
        self, redis_server: RedisServer, text: str
    ) -> None:
        name_key(redis.ResponseError(text), redis_server.client, "join", PREFIX, JOINING)
        assert redis_server.client.keys() == []

    def test_every_command_of_the_scripts_that_writes_is_known(self) -> None:
        texts = "".join(map(script_text, SCRIPTS))
        commands = set(re.findall(r"\b(?:call|write)\('([A-Z_]+)'", texts)) - READING
        naming = resources.files("crawldedup.stores").joinpath("lua", "naming.lua").read_text("utf-8")
        assert commands == set(re.findall(r"^  ([A-Z]+) = ", naming, re.MULTILINE))

    @pytest.mark.parametrize("key", ["m", "c", "7:r:0", "7:t0:1", "7:f1:0", "7:u:1"])
    def test_an_error_of_the_store_names_the_key(
        self, redis_server: RedisServer, store: RedisStore, rng: np.random.Generator, key: str
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
            with pytest.raises(StoreError, match=f"the key '{PREFIX}{key}' holds") as caught:
                call()
            assert type(caught.value) is StoreError

    @pytest.mark.parametrize("call", [RedisStore.open_read_only, RedisStore.clear, RedisStore.heartbeat])
    def test_nothing_is_written_into_a_hash_of_others(
        self, redis_server: RedisServer, store: RedisStore, call: Callable[[RedisStore], object]
    ) -> None:
        redis_server.client.hset(META, "colour", "red")
        before = redis_contents(redis_server.client)
        with pytest.raises(StoreError, match=f"the key '{META}' holds"):
            call(store)
        assert redis_contents(redis_server.client) == before
