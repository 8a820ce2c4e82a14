from __future__ import annotations

import contextlib
import re
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import redis

from crawldedup.errors import ConfigurationError, StoreError, StoreFullError, StoreUnavailableError
from crawldedup.stores.base import Retention, Status
from crawldedup.stores.redis.store import RedisStore
from crawldedup.stores.redis.upkeep import remove_epochs
from tests.servers import RedisServer
from tests.stores.backends import Clock, redis_contents
from tests.stores.pages import LAYOUT, OTHER_NAMESPACE, near_page, query, random_page, revisit_rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crawldedup.stores.base import Query
    from tests.stores.pages import Page

META = "crawldedup:{test}:m"


def page_number(number: int) -> Page:
    return random_page(np.random.default_rng(number))


def url(number: int) -> str:
    return f"https://example.com/{number}"


def check(store: RedisStore, number: int) -> Status:
    return store.check_and_add(query(page_number(number), url(number))).status


def assert_holds(store: RedisStore, numbers: range) -> None:
    assert store.info().pages == len(numbers)
    for number in numbers:
        assert [record.url for record in store.find(query(page_number(number), ""))] == [url(number)]


@pytest.fixture
def store(redis_server: RedisServer) -> Iterator[RedisStore]:
    store = RedisStore(redis_server.url, LAYOUT)
    store.open()
    yield store
    store.close()


@pytest.fixture
def own_server(redis_server: RedisServer) -> Iterator[RedisServer]:
    """A server of the same version that a test may stop, with every write on disk."""
    with RedisServer("--appendonly", "yes", "--appendfsync", "always") as server:
        yield server


def test_a_page_costs_one_round_trip(redis_server: RedisServer, store: RedisStore) -> None:
    client = redis_server.client
    check(store, 0)
    client.config_resetstat()
    for number in range(100):
        check(store, number)
        store.check_and_add(query(near_page(page_number(number)), f"{url(number)}/copy"))
    stats = client.info("commandstats")
    assert stats["cmdstat_evalsha"]["calls"] == 200
    from_clients = {"eval", "script", "hello", "auth", "select", "client", "ping", "multi", "get", "exists"}
    assert not {name.removeprefix("cmdstat_").split("|")[0] for name in stats} & from_clients


def test_every_key_is_below_the_namespace_and_clear_leaves_the_others(
    redis_server: RedisServer, store: RedisStore
) -> None:
    client = redis_server.client
    foreign = ["crawldedup", "crawldedup:{test", "crawldedup:{test2}:t0:1", "crawldedup:{tes*}:u:1", "x"]
    for number in range(100):
        check(store, number)
    assert {bytes(key)[:18] for key in client.scan_iter()} == {b"crawldedup:{test}:"}
    for key in foreign:
        client.set(key, 1)
    store.clear()
    store.close()
    assert sorted(client.keys()) == sorted([*map(str.encode, foreign), META.encode()])


def test_forgetting_every_page_leaves_no_key_of_a_table(redis_server: RedisServer, store: RedisStore) -> None:
    for number in range(300):
        check(store, number)
    for number in range(300):
        assert store.forget(query(page_number(number), url(number)).entry.url_key)
    assert store.info().pages == 0
    epoch = redis_server.client.hget(META, "epoch")
    left = {key.split(b"}:")[1].removeprefix(epoch + b":")[:1] for key in redis_server.client.scan_iter()}
    # Filters only say where a key may be.
    assert left == {b"m", b"c", b"w", b"r", b"f"}
    assert check(store, 0) is Status.NEW


def test_times_are_the_servers(redis_server: RedisServer, store: RedisStore) -> None:
    before, _ = redis_server.client.time()
    check(store, 0)
    after, _ = redis_server.client.time()
    (record,) = store.find(query(page_number(0), ""))
    assert before <= record.added_at == record.seen_at <= after


def test_a_unix_socket_serves_as_well(redis_server: RedisServer, tmp_path_factory: pytest.TempPathFactory) -> None:
    socket = tmp_path_factory.mktemp("s") / "redis.sock"
    with RedisServer("--unixsocket", str(socket)):
        store = RedisStore(f"unix://{socket}?db=2", LAYOUT)
        store.open()
        assert check(store, 0) is Status.NEW


def test_threads_that_open_one_store_at_once_make_one_crawler(redis_server: RedisServer, store: RedisStore) -> None:
    store.close()
    start = threading.Barrier(8)

    def open_and_check(number: int) -> None:
        start.wait()
        store.open()
        check(store, number)

    threads = [threading.Thread(target=open_and_check, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert_holds(store, range(8))
    assert redis_server.client.zcard("crawldedup:{test}:c") == 1
    store.close()
    assert redis_server.client.zcard("crawldedup:{test}:c") == 0


class TestServerTrouble:
    def test_a_server_that_is_gone_is_unavailable_and_used_again_when_it_is_back(self, own_server: RedisServer) -> None:
        store = RedisStore(own_server.url, LAYOUT)
        store.open()
        assert check(store, 0) is Status.NEW
        own_server.stop()
        for call in (
            lambda: check(store, 1),
            lambda: store.find(query(page_number(0), "")),
            lambda: store.forget(1),
            store.heartbeat,
            store.info,
            store.clear,
            store.open,
        ):
            with pytest.raises(StoreUnavailableError, match=own_server.url):
                call()
        own_server.start()
        assert check(store, 0) is Status.REVISIT
        assert check(store, 1) is Status.NEW
        assert_holds(store, range(2))
        store.close()

    @pytest.mark.parametrize("first_call", ["check", "heartbeat"])
    def test_an_index_that_was_lost_begins_anew(self, redis_server: RedisServer, first_call: str) -> None:
        first, second, later, next_crawl = (RedisStore(redis_server.url, LAYOUT) for _ in range(4))
        first.open()
        second.open()
        for number in range(100):
            check(first, number)
        redis_server.client.flushall()
        if first_call == "heartbeat":
            first.heartbeat()
        assert check(first, 0) is Status.NEW
        # The crawl goes on: everyone in it still knows whose pages are whose.
        assert check(second, 0) is Status.EXACT
        later.open()
        second.heartbeat()
        assert check(second, 1) is Status.NEW
        assert check(later, 2) is Status.NEW
        for store, delivered in ((first, 0), (second, 1), (later, 2)):
            kinds = [check(store, number) for number in range(3)]
            assert kinds.pop(delivered) is Status.REVISIT
            assert kinds == [Status.EXACT] * 2
        assert_holds(first, range(3))
        for store in (first, second, later):
            store.close()
        next_crawl.open()
        assert check(next_crawl, 1) is Status.REVISIT

    @pytest.mark.parametrize(
        "lost",
        [
            "m",
            "*:t*",
            "*:r:*",
            *(pytest.param(keys, marks=pytest.mark.exhaustive) for keys in ("*:r:0", "*:u:*", "*:f*", "*[mr]*")),
        ],
    )
    def test_an_index_that_lost_some_of_its_keys_keeps_what_comes_after(
        self, redis_server: RedisServer, store: RedisStore, lost: str
    ) -> None:
        for number in range(100):
            check(store, number)
        redis_server.client.delete(*redis_server.client.scan_iter(f"crawldedup:{{test}}:{lost}"))
        for number in range(100, 200):
            assert check(store, number) is Status.NEW
        for number in range(100, 200):
            assert [record.url for record in store.find(query(page_number(number), ""))] == [url(number)]
            assert check(store, number) is Status.REVISIT
            copy = store.check_and_add(query(page_number(number), "https://example.com/copy"))
            assert copy.record is not None
            assert (copy.status, copy.record.url) == (Status.EXACT, url(number))
            assert store.forget(query(page_number(number), url(number)).entry.url_key)

    def test_of_two_who_clear_at_once_neither_removes_what_came_after(
        self, redis_server: RedisServer, store: RedisStore, page: Page, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        other = RedisStore(redis_server.url, LAYOUT)

        def be_slow(*arguments: Any) -> None:
            monkeypatch.undo()
            store.clear()
            store.check_and_add(query(page, "https://example.com/a"))
            remove_epochs(*arguments)

        monkeypatch.setattr("crawldedup.stores.redis.shared.remove_epochs", be_slow)
        other.clear()
        other.close()
        assert store.check_and_add(query(page, "https://example.com/b")).status is Status.EXACT

    def test_a_rule_of_revisits_makes_no_batch_of_a_question(
        self, redis_server: RedisServer, store: RedisStore, page: Page
    ) -> None:
        first, copy = (replace(query(page, url(number)), revisit_rule=revisit_rule(page, 0.9)) for number in (1, 2))
        assert [store.check_and_add(asked).status for asked in (first, copy)] == [Status.NEW, Status.EXACT]
        assert list(redis_server.client.scan_iter("*:b:*")) == []
        assert [answer.status for answer in store.check_many([first, copy])] == [Status.REVISIT, Status.EXACT]
        (name,) = redis_server.client.scan_iter("*:b:*")
        assert re.fullmatch(rb".*:b:[0-9a-f]{8}", name)

    def test_what_comes_twice_in_a_batch_whose_answer_was_lost_is_a_revisit(
        self, store: RedisStore, page: Page, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ask, losses = store._pipelined, iter([True])

        def lose_the_first_answer(*arguments: Any) -> list[Any]:
            answers = ask(*arguments)
            if next(losses, False):
                raise redis.ConnectionError("cut")
            return answers

        monkeypatch.setattr(store, "_pipelined", lose_the_first_answer)
        pages = [query(page, f"https://example.com/{name}") for name in "aba"]
        assert [answer.status for answer in store.check_many(pages)] == [Status.NEW, Status.EXACT, Status.REVISIT]

    def test_an_abandoned_page_whose_answer_was_lost_is_told_as_such(
        self, redis_server: RedisServer, page: Page, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        clock = Clock()
        dead, store = (RedisStore(redis_server.url, LAYOUT, clock=clock) for _ in range(2))
        asked = replace(query(page, url(1)), on_its_way=True)
        dead.open()
        dead.check_and_add(asked)
        dead.close()
        clock.wait(60)
        store.open()
        run, losses = store._run, iter([True])

        def lose_the_first_answer(*arguments: Any) -> Any:
            answer = run(*arguments)
            if next(losses, False):
                raise redis.ConnectionError("cut")
            return answer

        monkeypatch.setattr(store, "_run", lose_the_first_answer)
        answer = store.check_and_add(asked)
        assert (answer.status, answer.abandoned) == (Status.REVISIT, True)
        store.close()

    @pytest.mark.parametrize("done", range(6))
    def test_copies_in_a_batch_whose_answer_was_lost_are_counted_once(
        self, store: RedisStore, page: Page, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, done: int
    ) -> None:
        other = random_page(rng)
        for number, original in enumerate((page, other)):
            store.check_and_add(query(original, f"https://example.com/{number}"))
        copies = [
            query(text, f"https://example.com/copy/{n}") for n, text in enumerate((page, other, page, page, other))
        ]
        ask, losses = store._pipelined, iter([True])

        def lose_the_first_answer(queries: Sequence[Query], places: Sequence[int], *others: Any) -> list[Any]:
            if next(losses, False):
                ask(queries, places[:done], *others)
                raise redis.ConnectionError("cut")
            return ask(queries, places, *others)

        monkeypatch.setattr(store, "_pipelined", lose_the_first_answer)
        assert {answer.status for answer in store.check_many(copies)} == {Status.EXACT}
        assert [record.copies for text in (page, other) for record in store.find(query(text, ""))] == [3, 2]

    def test_flushed_scripts_are_loaded_again(self, redis_server: RedisServer, store: RedisStore) -> None:
        check(store, 0)
        redis_server.client.script_flush()
        assert check(store, 0) is Status.REVISIT
        redis_server.client.script_flush()
        assert_holds(store, range(1))

    def test_a_killed_connection_is_replaced(self, redis_server: RedisServer, store: RedisStore) -> None:
        check(store, 0)
        redis_server.client.client_kill_filter(_type="normal", skipme=True)
        assert check(store, 1) is Status.NEW
        redis_server.client.client_kill_filter(_type="normal", skipme=True)
        store.heartbeat()
        assert_holds(store, range(2))

    def test_a_server_that_does_not_answer_in_time_is_unavailable(
        self, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("crawldedup.stores.redis.url.TIMEOUT_SECONDS", 0.1)
        store = RedisStore(redis_server.url, LAYOUT)
        store.open()
        check(store, 0)
        redis_server.client.client_pause(500)
        with pytest.raises(StoreUnavailableError, match=r"[Tt]imeout"):
            check(store, 1)
        redis_server.client.ping()
        assert check(store, 0) is Status.REVISIT
        assert check(store, 2) is Status.NEW

    def test_a_replica_that_only_reads_is_unavailable(self, redis_server: RedisServer, store: RedisStore) -> None:
        check(store, 0)
        before = redis_contents(redis_server.client)
        redis_server.client.replicaof("127.0.0.1", "1")
        try:
            assert check(store, 0) is Status.REVISIT
            for call in (lambda: check(store, 1), store.open, store.heartbeat, store.clear):
                with pytest.raises(StoreUnavailableError, match="read only"):
                    call()
            assert len(store.find(query(page_number(0), ""))) == 1
            assert redis_contents(redis_server.client) == before
        finally:
            redis_server.client.replicaof("no", "one")
        assert check(store, 1) is Status.NEW

    @pytest.mark.parametrize("key", ["m", "7:r:0", "7:t0:1", "7:f0:0", "7:u:1"])
    def test_a_key_of_the_wrong_type_is_a_store_error_until_it_is_gone(
        self, redis_server: RedisServer, store: RedisStore, key: str
    ) -> None:
        redis_server.client.delete(META)
        if key != "m":
            redis_server.client.hset(META, "epoch", 7)
        redis_server.client.xadd(f"crawldedup:{{test}}:{key}", {"not": "ours"})
        for _ in range(3):
            with pytest.raises(StoreError, match="WRONGTYPE") as caught:
                check(store, 0)
            assert type(caught.value) is StoreError
        redis_server.client.delete(f"crawldedup:{{test}}:{key}")
        for number in range(100):
            assert check(store, number) is Status.NEW
        assert_holds(store, range(100))


class TestMaxMemory:
    # The servers' policy is to evict nothing, as is Redis's own default.
    def test_a_full_server_refuses_pages_and_nothing_of_them_stays(
        self, redis_server: RedisServer, store: RedisStore
    ) -> None:
        for number in range(100):
            check(store, number)
        before = redis_contents(redis_server.client)
        with redis_server.configured(maxmemory=1):
            for question in (query(page_number(100), url(100)), query(page_number(100), url(0))):
                with pytest.raises(StoreFullError, match=r"full \(maxmemory reached\)"):
                    store.check_and_add(question)
            with pytest.raises(StoreFullError):
                RedisStore(redis_server.url, OTHER_NAMESPACE).open()
            assert redis_contents(redis_server.client) == before
            assert_holds(store, range(100))
            # What is known is still told, though nobody can count it.
            for question, status in (
                (query(page_number(1), url(1)), Status.REVISIT),
                (query(page_number(1), url(101)), Status.EXACT),
                (query(near_page(page_number(1)), url(101)), Status.NEAR),
            ):
                assert store.check_and_add(question).status is status
            assert redis_contents(redis_server.client) == before
            assert store.forget(query(page_number(99), url(99)).entry.url_key)
        assert_holds(store, range(99))
        assert check(store, 100) is Status.NEW

    def test_a_full_server_is_told_what_was_delivered_and_takes_no_page_for_it(
        self, redis_server: RedisServer, store: RedisStore
    ) -> None:
        on_its_way = [replace(query(page_number(number), url(number)), on_its_way=True) for number in range(2)]
        for question in on_its_way:
            store.check_and_add(question)
        delivered = tuple(question.entry.url_key for question in on_its_way)
        on_their_way = "crawldedup:{test}:n"
        with redis_server.configured(maxmemory=1):
            with pytest.raises(StoreFullError):
                store.check_and_add(replace(query(page_number(2), url(2)), delivered=delivered))
            assert store.info().pages == redis_server.client.hlen(on_their_way) == 2
            copy = replace(query(page_number(0), url(3)), delivered=delivered)
            assert store.check_and_add(copy).status is Status.EXACT
        assert redis_server.client.hlen(on_their_way) == 0

    def test_a_server_that_fills_up_keeps_what_it_took(self, redis_server: RedisServer, store: RedisStore) -> None:
        check(store, 0)
        kept = 1
        room = redis_server.client.info("memory")["used_memory"] + 100_000
        with redis_server.configured(maxmemory=room), contextlib.suppress(StoreFullError):
            while True:
                check(store, kept)
                kept += 1
        assert kept > 100
        assert_holds(store, range(kept))
        contents = redis_contents(redis_server.client)
        for table in (b":t0:", b":t1:", b":u:", b":r:"):
            assert sum(len(value) for key, value in contents.items() if table in key) == kept


class TestAccess:
    @pytest.mark.parametrize("credentials", ["", ":wr0ng@", "user:wr0ng@", "nobody:s3cret@"])
    def test_a_wrong_password_is_a_configuration_error_that_does_not_show_it(
        self, redis_server: RedisServer, credentials: str
    ) -> None:
        client = redis_server.client
        client.acl_setuser("user", enabled=True, passwords=["+s3cret"], keys=["*"], categories=["+@all"])
        try:
            with redis_server.locked("s3cret"):
                store = RedisStore(redis_server.url.replace("//", f"//{credentials}"), LAYOUT)
                with pytest.raises(ConfigurationError, match="refuses the user or the password") as caught:
                    store.open()
                assert "wr0ng" not in str(caught.value)
                assert "s3cret" not in str(caught.value)
                for right in (":s3cret@", "user:s3cret@"):
                    RedisStore(redis_server.url.replace("//", f"//{right}"), LAYOUT).open()
        finally:
            client.acl_deluser("user")

    @pytest.mark.parametrize(
        "rules", [{"categories": ["+@read"], "keys": ["*"]}, {"categories": ["+@all"], "keys": ["else:*"]}]
    )
    def test_a_user_without_permissions_is_a_configuration_error(
        self, redis_server: RedisServer, rules: dict[str, Any]
    ) -> None:
        redis_server.client.acl_setuser("guest", enabled=True, nopass=True, **rules)
        try:
            with pytest.raises(ConfigurationError, match="does not let this user work"):
                RedisStore(redis_server.url.replace("//", "//guest:@"), LAYOUT).open()
        finally:
            redis_server.client.acl_deluser("guest")

    def test_a_database_that_does_not_exist_is_a_configuration_error(self, redis_server: RedisServer) -> None:
        with pytest.raises(ConfigurationError, match="names a database the server does not have"):
            RedisStore(redis_server.url.replace("/0", "/99"), LAYOUT).open()


def test_a_full_server_is_joined_and_can_be_looked_into_pruned_and_cleared(redis_server: RedisServer) -> None:
    before = RedisStore(redis_server.url, LAYOUT)
    before.open()
    for number in range(50):
        check(before, number)
    redis_server.client.config_set("maxmemory", 1)
    try:
        store = RedisStore(redis_server.url, LAYOUT)
        assert store.open() == 50
        store.heartbeat()
        copy = store.check_and_add(query(page_number(3), "https://example.com/copy"))
        assert copy.status is Status.EXACT
        with pytest.raises(StoreFullError):
            check(store, 100)
        assert store.info().pages == 50
        assert store.forget(query(page_number(7), url(7)).entry.url_key)
        assert list(store.prune(Retention(max_pages=20)))[-1].freed == 29
        with pytest.raises(StoreFullError):
            # The index is gone, and there is no room to begin another.
            store.clear()
        left = {key for key in redis_server.client.scan_iter() if b":t" in key or b":r:" in key}
        assert left == set()
    finally:
        redis_server.client.config_set("maxmemory", 0)
    assert store.open() == 0
    assert check(store, 0) is Status.NEW
