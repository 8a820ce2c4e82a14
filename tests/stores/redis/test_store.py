"""What Redis itself brings: its keys, lost answers, servers that are gone, full, foreign or locked."""

from __future__ import annotations

import contextlib
import socketserver
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import redis

from crawldedup.errors import ConfigurationError, StoreError, StoreFullError, StoreUnavailableError
from crawldedup.stores.base import PageName, Status
from crawldedup.stores.redis.client import exchange
from crawldedup.stores.redis.store import RedisStore
from crawldedup.stores.registry import make_store
from tests.servers import RedisServer
from tests.stores.backends import Clock, redis_contents
from tests.stores.pages import (
    LAYOUT,
    OTHER_NAMESPACE,
    Page,
    checked,
    found,
    name_of,
    near_page,
    query,
    random_page,
    revisit_rule,
)

PREFIX = "crawldedup:{test}:"
META = f"{PREFIX}m"


def page_number(number: int) -> Page:
    return random_page(np.random.default_rng(number))


def url(number: int) -> str:
    return f"https://example.com/{number}"


def check(store: RedisStore, number: int) -> Status:
    return checked(store, query(page_number(number), url(number))).status


def assert_holds(store: RedisStore, numbers: range) -> None:
    assert store.info().pages == len(numbers)
    for number in numbers:
        assert [record.url for record in found(store, query(page_number(number), ""))] == [url(number)]


def statuses(store: RedisStore, queries: list[Any]) -> list[Status]:
    return [getattr(answer, "status", answer) for answer in store.check(queries)]


def lose_answers(monkeypatch: pytest.MonkeyPatch, *, done: int | None = None, read: int = 0) -> None:
    """Cut the next exchange off behind so many commands that were run, and so many answers that were read."""
    cuts = iter([True])

    def cut(asked: Any) -> list[list[Any]]:
        if not next(cuts, False):
            return exchange(asked)
        ((server, commands),) = asked
        (answers,) = exchange([(server, commands[:done])])
        return [[*answers[:read], *[redis.ConnectionError("cut")] * (len(commands) - read)]]

    monkeypatch.setattr("crawldedup.stores.redis.client.exchange", cut)


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
    for number in range(50):
        check(store, number)
    stats = client.info("commandstats")
    assert stats["cmdstat_evalsha"]["calls"] == 50
    from_clients = {"eval", "script", "hello", "auth", "select", "client", "ping", "multi", "get", "exists"}
    assert not {name.removeprefix("cmdstat_").split("|")[0] for name in stats} & from_clients


def test_every_key_is_below_the_namespace_and_clear_leaves_the_others(
    redis_server: RedisServer, store: RedisStore
) -> None:
    client = redis_server.client
    foreign = ["crawldedup", "crawldedup:{test", "crawldedup:{test2}:t0:1", "crawldedup:{tes*}:u:1", "x"]
    for number in range(300):
        check(store, number)
    assert {bytes(key)[:18] for key in client.scan_iter()} == {b"crawldedup:{test}:"}
    for number in range(300):
        assert store.forget(name_of(url(number)))
    epoch = client.hget(META, "epoch")
    # Filters only say where a key may be.
    left = {key.split(b"}:")[1].removeprefix(epoch + b":")[:1] for key in client.scan_iter()}
    assert left == {b"m", b"c", b"w", b"r", b"f"}
    for key in foreign:
        client.set(key, 1)
    store.clear()
    store.close()
    assert sorted(client.keys()) == sorted([*map(str.encode, foreign), META.encode()])


def test_times_are_the_servers(redis_server: RedisServer, store: RedisStore) -> None:
    before, _ = redis_server.client.time()
    check(store, 0)
    after, _ = redis_server.client.time()
    (record,) = found(store, query(page_number(0), ""))
    assert before <= record.added_at == record.seen_at <= after


@pytest.mark.nightly
def test_a_unix_socket_serves_as_well(redis_server: RedisServer, tmp_path_factory: pytest.TempPathFactory) -> None:
    socket = tmp_path_factory.mktemp("s") / "redis.sock"
    with RedisServer("--unixsocket", str(socket)):
        store = RedisStore(f"unix://{socket}?db=2", LAYOUT)
        store.open()
        assert check(store, 0) is Status.NEW


def test_threads_that_open_one_store_at_once_make_one_crawler(redis_server: RedisServer, store: RedisStore) -> None:
    store.close()
    start = threading.Barrier(8)
    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(lambda _: (start.wait(), store.open())[1], range(8))) == {0}
    assert redis_server.client.zcard("crawldedup:{test}:c") == 1
    store.close()
    assert redis_server.client.zcard("crawldedup:{test}:c") == 0


class TestServerTrouble:
    def test_flushed_scripts_and_cut_connections_are_mended(self, redis_server: RedisServer, store: RedisStore) -> None:
        for number in range(3):
            redis_server.client.script_flush()
            redis_server.client.client_kill_filter(_type="normal", skipme=True)
            assert check(store, number) is Status.NEW
            redis_server.client.client_kill_filter(_type="normal", skipme=True)
            store.heartbeat()
        redis_server.client.script_flush()
        assert_holds(store, range(3))

    def test_a_server_that_is_gone_is_unavailable_and_used_again_when_it_is_back(self, own_server: RedisServer) -> None:
        store = RedisStore(own_server.url, LAYOUT)
        store.open()
        assert check(store, 0) is Status.NEW
        own_server.stop()
        for call in (
            lambda: check(store, 1),
            lambda: found(store, query(page_number(0), "")),
            lambda: store.forget(PageName(1)),
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
            *(pytest.param(keys, marks=pytest.mark.nightly) for keys in ("*:r:0", "*:u:*", "*:f*", "*[mr]*")),
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
            assert [record.url for record in found(store, query(page_number(number), ""))] == [url(number)]
            assert check(store, number) is Status.REVISIT
            copy = checked(store, query(page_number(number), "https://example.com/copy"))
            assert copy.record is not None
            assert (copy.status, copy.record.url) == (Status.EXACT, url(number))
            assert store.forget(name_of(url(number)))

    def test_of_two_who_clear_at_once_neither_removes_what_came_after(
        self, redis_server: RedisServer, store: RedisStore, page: Page, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        other = RedisStore(redis_server.url, LAYOUT)
        remove = other._remove_epochs

        def be_slow(over: dict[str, int]) -> None:
            store.clear()
            checked(store, query(page, "https://example.com/a"))
            remove(over)

        monkeypatch.setattr(other, "_remove_epochs", be_slow)
        other.clear()
        other.close()
        assert checked(store, query(page, "https://example.com/b")).status is Status.EXACT

    def test_a_rule_of_revisits_makes_no_batch_of_a_question(
        self, redis_server: RedisServer, store: RedisStore, page: Page
    ) -> None:
        first, copy = (replace(query(page, url(number)), revisit_rule=revisit_rule(page, 0.9)) for number in (1, 2))
        assert [checked(store, asked).status for asked in (first, copy)] == [Status.NEW, Status.EXACT]
        assert list(redis_server.client.scan_iter("*:b:*")) == []
        assert statuses(store, [first, copy]) == [Status.REVISIT, Status.EXACT]
        (name,) = redis_server.client.scan_iter("*:b:*")
        assert len(name) == len(f"{PREFIX}b:12345678")

    @pytest.mark.parametrize(("done", "read"), [*((done, 0) for done in range(4)), (None, 0), (None, 1), (None, 2)])
    def test_a_batch_whose_answer_was_lost_counts_once(
        self, store: RedisStore, page: Page, other: Page, monkeypatch: pytest.MonkeyPatch, done: int | None, read: int
    ) -> None:
        checked(store, query(page, url(0)))
        lose_answers(monkeypatch, done=done, read=read)
        pages = [
            query(text, url(number)) for text, number in ((page, 2), (other, 1), (other, 3), (page, 4), (other, 1))
        ]
        expected = [Status.EXACT, Status.NEW, Status.EXACT, Status.EXACT, Status.REVISIT]
        assert statuses(store, pages) == expected
        assert [record.copies for text in (page, other) for record in found(store, query(text, ""))] == [2, 1]

    def test_an_abandoned_page_whose_answer_was_lost_is_told_as_such(
        self, redis_server: RedisServer, page: Page, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        clock = Clock()
        dead, store = (RedisStore(redis_server.url, LAYOUT, clock=clock) for _ in range(2))
        asked = replace(query(page, url(1)), is_pending=True)
        dead.open()
        checked(dead, asked)
        dead.close()
        clock.wait(60)
        store.open()
        lose_answers(monkeypatch)
        answer = checked(store, asked)
        assert (answer.status, answer.abandoned) == (Status.REVISIT, True)
        store.close()

    def test_a_batch_above_the_size_of_one_round_trip_is_answered_in_order(self, store: RedisStore) -> None:
        pages = [query(page_number(number), url(number)) for number in range(230)]
        assert statuses(store, [*pages, *pages]) == [Status.NEW] * 230 + [Status.REVISIT] * 230


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
                    checked(store, question)
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
                assert checked(store, question).status is status
            assert redis_contents(redis_server.client) == before
            assert store.forget(name_of(url(99)))
            with contextlib.closing(RedisStore(redis_server.url, LAYOUT)) as late:
                assert late.open() == 99
            with pytest.raises(StoreFullError):
                # The index is gone, and there is no room to begin another.
                store.clear()
            assert not [key for key in redis_server.client.scan_iter() if b":t" in key or b":r:" in key]
        assert check(store, 100) is Status.NEW

    def test_a_full_server_is_told_what_was_delivered_and_takes_no_page_for_it(
        self, redis_server: RedisServer, store: RedisStore
    ) -> None:
        pending = [replace(query(page_number(number), url(number)), is_pending=True) for number in range(2)]
        for question in pending:
            checked(store, question)
        delivered = tuple(PageName(question.record.url_key) for question in pending)
        on_their_way = "crawldedup:{test}:n"
        with redis_server.configured(maxmemory=1):
            with pytest.raises(StoreFullError):
                checked(store, replace(query(page_number(2), url(2)), delivered=delivered))
            assert (store.info().pages, redis_server.client.hlen(on_their_way)) == (2, 0)
            assert checked(store, query(page_number(0), url(3))).status is Status.EXACT


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


def test_urls_that_were_made_to_share_the_bits_of_their_keys_do_not_slow_each_other(
    redis_server: RedisServer, rng: np.random.Generator, store: RedisStore
) -> None:
    shared_bits = 0xABCDEF0123 << 24

    def with_key(page: Page, number: int) -> Any:
        asked = query(page, "")
        return replace(asked, record=replace(asked.record, url_key=shared_bits | number))

    first, *others = [random_page(rng) for _ in range(300)]
    assert (
        statuses(store, [with_key(page, number) for number, page in enumerate((first, *others))]) == [Status.NEW] * 300
    )
    redis_server.client.config_resetstat()
    assert checked(store, with_key(random_page(rng), 300)).status is Status.NEW
    assert redis_server.client.info("commandstats")["cmdstat_lindex"]["calls"] < 30
    # The first of them, which may have been there before the crowd, are still known.
    assert checked(store, with_key(random_page(rng), 0)).status is Status.REVISIT


class TestForeignKeys:
    @pytest.mark.parametrize(
        "fields",
        [{"colour": "red"}, {"pages": 3, "next": 3}, {"epoch": 7, "colour": "red"}, {"epoch": 7, "order": "x"}],
    )
    def test_a_hash_of_others_at_the_head_is_refused_and_left_alone(
        self, redis_server: RedisServer, fields: dict[Any, Any]
    ) -> None:
        store = RedisStore(redis_server.url, LAYOUT)
        redis_server.client.hset(META, mapping=fields)
        before = redis_contents(redis_server.client)
        asked = query(page_number(1), url(1))
        for call in (store.open, store.clear, store.heartbeat, lambda: checked(store, asked)):
            with pytest.raises(StoreError, match=f"what crawldedup did not write there.*{META}") as caught:
                call()
            assert type(caught.value) is StoreError
        assert redis_contents(redis_server.client) == before
        redis_server.client.delete(META)
        assert store.open() == 0
        store.close()

    def test_a_hash_of_others_in_the_place_of_a_lost_head_is_refused_in_mid_crawl(
        self, redis_server: RedisServer, store: RedisStore, page: Page
    ) -> None:
        assert checked(store, query(page, "https://example.com/")).status is Status.NEW
        redis_server.client.delete(META)
        redis_server.client.hset(META, "colour", "red")
        before = redis_contents(redis_server.client)
        with pytest.raises(StoreError, match=f"FOREIGN hash at {META}"):
            checked(store, query(page, "https://example.com/"))
        assert redis_contents(redis_server.client) == before

    @pytest.mark.parametrize("fields", [{"epoch": 7}, {"epoch": 7, "crawlers": 3}, {"crawlers": 3}])
    def test_what_is_left_of_a_head_of_ours_is_taken_up(
        self, redis_server: RedisServer, fields: dict[Any, Any]
    ) -> None:
        redis_server.client.hset(META, mapping=fields)
        with contextlib.closing(RedisStore(redis_server.url, LAYOUT)) as store:
            assert store.open() == 0
        head = redis_server.client.hgetall(META)
        assert head[b"profile"] == LAYOUT.profile.encode()
        assert head[b"epoch"] == b"7" or "epoch" not in fields

    @pytest.mark.parametrize("key", ["m", "c", "7:r:0", "7:t0:1", "7:f1:0", "7:u:1"])
    def test_a_key_of_another_type_is_a_store_error_with_the_way_out(
        self, redis_server: RedisServer, rng: np.random.Generator, key: str
    ) -> None:
        client, page, other = redis_server.client, random_page(rng), random_page(rng)
        client.hset(META, "epoch", 7)
        store = RedisStore(redis_server.url, LAYOUT)
        store.open()
        checked(store, query(page, "https://example.com/"))
        client.delete(f"{PREFIX}{key}")
        client.xadd(f"{PREFIX}{key}", {"not": "ours"})
        ask = {"m": lambda: found(store, query(page, "")), "c": store.heartbeat}.get(
            key, lambda: checked(store, query(other, "https://example.com/1"))
        )
        for call in (ask, store.open if key in "mc" else lambda: checked(store, query(other, "https://a/"))):
            with pytest.raises(StoreError, match=r"has a key in the namespace 'test' .*remove that key") as caught:
                call()
            assert type(caught.value) is StoreError


class Answering(socketserver.StreamRequestHandler):
    """Reads commands and answers each by the server's one reply."""

    def handle(self) -> None:
        while line := self.rfile.readline():
            for _ in range(int(line[1:])):
                size = int(self.rfile.readline()[1:])
                self.rfile.read(size + 2)
            self.wfile.write(self.server.reply)  # type: ignore[attr-defined]


class TestOddReplies:
    @pytest.fixture
    def address(self) -> Iterator[str]:
        with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Answering) as server:
            server.daemon_threads = True
            server.reply = b":1\r\n"  # type: ignore[attr-defined]
            threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
            yield f"127.0.0.1:{server.server_address[1]}"
            server.shutdown()

    def test_what_is_no_answer_is_an_error_of_the_store(self, address: str) -> None:
        with contextlib.closing(RedisStore(f"redis://{address}/0", LAYOUT)) as store:
            asked = query(page_number(1), url(1))
            for ask in (store.open, store.open_read_only, lambda: checked(store, asked), lambda: found(store, asked)):
                with pytest.raises(StoreError, match="does not answer as Redis does"):
                    ask()

    @pytest.mark.parametrize("form", ["redis+sentinel://{}/mymaster", "redis+cluster://{}"])
    def test_nor_do_sentinels_and_clusters_end_in_an_error_of_ours(self, address: str, form: str) -> None:
        store = make_store(form.format(address), LAYOUT)
        with contextlib.closing(store), pytest.raises((StoreError, ConfigurationError)):
            store.open()
