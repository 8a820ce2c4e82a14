"""What Redis itself brings: its keys, lost answers, servers that are gone, full, foreign or locked."""

from __future__ import annotations

import contextlib
import re
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
from crawldedup.index.queries import TABLES
from crawldedup.search.plan import KEY_BITS
from crawldedup.stores.contract import CrawlSession, PageName, Query, Record
from crawldedup.stores.redis import protocol
from crawldedup.stores.redis.calls import Commands, exchange
from crawldedup.stores.redis.scripts import script_text
from crawldedup.stores.redis.store import RedisStore
from crawldedup.stores.registry import make_store
from crawldedup.verdict import Kind
from tests.servers import RedisServer
from tests.stores.backends import Clock, redis_contents
from tests.stores.pages import (
    EQUAL_ONLY,
    LAYOUT,
    NO_PROBES,
    OTHER_NAMESPACE,
    Page,
    checked,
    filler,
    found,
    name_of,
    near_page,
    query,
    random_page,
    revisit_rule,
    thin_page,
)

PREFIX = "crawldedup:{test}:"
META = f"{PREFIX}m"


def page_number(number: int) -> Page:
    return random_page(np.random.default_rng(number))


def url(number: object) -> str:
    return f"https://example.com/{number}"


def ask(number: int, name: object = None, **values: Any) -> Query:
    """Return the question about a page, under its own URL or another."""
    return replace(query(page_number(number), url(number if name is None else name)), **values)


def check(store: RedisStore, number: int, name: object = None) -> Kind:
    return checked(store, ask(number, name)).kind


def statuses(store: RedisStore, queries: list[Query]) -> list[Any]:
    return [getattr(answer, "kind", answer) for answer in store.check(queries)]


def assert_holds(store: RedisStore, numbers: range) -> None:
    assert store.info().pages == len(numbers)
    for number in numbers:
        assert [record.url for record in found(store, ask(number, "asked"))] == [url(number)]


@pytest.fixture
def client(redis_server: RedisServer) -> redis.Redis:
    return redis_server.client


@pytest.fixture
def store(redis_server: RedisServer) -> Iterator[RedisStore]:
    with contextlib.closing(RedisStore(redis_server.url, LAYOUT)) as store:
        store.open()
        yield store


def test_a_page_costs_one_round_trip(client: redis.Redis, store: RedisStore) -> None:
    check(store, 0)
    client.config_resetstat()
    for number in range(50):
        check(store, number)
    stats = client.info("commandstats")
    assert stats["cmdstat_evalsha"]["calls"] == 50
    from_clients = {
        "eval",
        "script",
        "hello",
        "auth",
        "select",
        "client",
        "ping",
        "multi",
        "get",
        "exists",
    }
    assert not {name.removeprefix("cmdstat_").split("|")[0] for name in stats} & from_clients


def test_every_key_is_below_the_namespace_and_clear_leaves_the_others(
    client: redis.Redis, store: RedisStore
) -> None:
    foreign = [
        "crawldedup",
        "crawldedup:{test",
        "crawldedup:{test2}:t0:1",
        "crawldedup:{tes*}:u:1",
        "x",
    ]
    store.check([ask(number) for number in range(300)])
    assert {bytes(key)[:18] for key in client.scan_iter()} == {PREFIX.encode()}
    assert all(store.forget(name_of(url(number))) for number in range(300))
    epoch = client.hget(META, "epoch")
    # Filters only say where a key may be.
    left = {key.split(b"}:")[1].removeprefix(epoch + b":")[:1] for key in client.scan_iter()}
    assert left == {b"m", b"c", b"w", b"r", b"f"}
    for key in foreign:
        client.set(key, 1)
    store.clear()
    store.close()
    assert sorted(client.keys()) == sorted([*map(str.encode, foreign), META.encode()])


def test_times_are_the_servers(client: redis.Redis, store: RedisStore) -> None:
    before, _ = client.time()
    check(store, 0)
    (record,) = found(store, ask(0, "asked"))
    assert before <= record.added_at == record.seen_at <= client.time()[0]


@pytest.mark.nightly
def test_a_unix_socket_serves_as_well(tmp_path_factory: pytest.TempPathFactory) -> None:
    socket = tmp_path_factory.mktemp("s") / "redis.sock"
    with RedisServer("--unixsocket", str(socket)):
        store = RedisStore(f"unix://{socket}?db=2", LAYOUT)
        store.open()
        assert check(store, 0) is Kind.NEW


def test_threads_that_open_one_store_at_once_make_one_crawler(
    client: redis.Redis, store: RedisStore
) -> None:
    store.close()
    start = threading.Barrier(8)
    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(lambda _: (start.wait(), store.open())[1], range(8))) == {0}
    assert client.zcard(f"{PREFIX}c") == 1
    store.close()
    assert client.zcard(f"{PREFIX}c") == 0


def test_urls_that_were_made_to_share_the_bits_of_their_keys_do_not_slow_each_other(
    client: redis.Redis, store: RedisStore
) -> None:
    def sharing(number: int, name: int) -> Query:
        asked = ask(number)
        return replace(asked, record=replace(asked.record, url_key=0xABCDEF0123 << 24 | name))

    assert statuses(store, [sharing(number, number) for number in range(300)]) == [Kind.NEW] * 300
    client.config_resetstat()
    assert checked(store, sharing(300, 300)).kind is Kind.NEW
    assert client.info("commandstats")["cmdstat_lindex"]["calls"] < 30
    # The first of them, which may have been there before the crowd, are still known.
    assert checked(store, sharing(301, 0)).kind is Kind.REVISIT


@pytest.mark.parametrize("half", [0, 1])
def test_of_equal_keys_the_first_pages_are_compared_from_whichever_end_a_bucket_is_read(
    store: RedisStore, half: int
) -> None:
    rng = np.random.default_rng(half)
    page = random_page(rng)
    # In this half of all tables it is in this half of their buckets, while there is one a table.
    while any(table.key(page.search) >> KEY_BITS - 1 != half for table in TABLES):
        page = random_page(rng)
    asked = replace(query(page, ""), plan=NO_PROBES, rule=EQUAL_ONLY, prefilter=None)
    signatures = [page.signature, *(rng.bytes(LAYOUT.signature_bytes) for _ in range(19))]
    for number, signature in enumerate(signatures):
        store.check(
            [replace(asked, record=Record(url(number), number, page.search, signature, number))]
        )
    assert [record.url for record in found(store, query(page, "", max_candidates=3))] == [url(0)]


def test_queries_of_a_batch_are_packed_as_each_of_them_alone(rng: np.random.Generator) -> None:
    batch = [
        query(random_page(rng), url(size), pages=size) for size in (0, 10, 10**4, 10**7, 10**9)
    ]
    batch[3:3] = [filler(rng, url("filler")), query(thin_page(rng), url("thin"))]
    alone = [
        question for asked in batch for question in protocol.pack_questions([asked], LAYOUT, 7)
    ]
    assert protocol.pack_questions(batch, LAYOUT, 7) == alone
    assert protocol.pack_questions([], LAYOUT, 7) == []
    assert protocol.pack_names([PageName(1), PageName(2, 5)]) == bytes(7) + b"\1" + bytes(7) + b"\2"


def test_the_script_reads_as_many_arguments_as_a_check_has(rng: np.random.Generator) -> None:
    (question,) = protocol.pack_questions([query(random_page(rng), url("a"))], LAYOUT, 0)
    arguments = protocol.CheckArguments(
        profile="profile",
        question=question,
        packed_text=b"text",
        max_pages=0,
        crawler=1,
        is_pending=0,
        revisit_rule=b"",
        batch=b"",
        place=0,
        is_retry=0,
    ).as_arguments()
    script = script_text("check")
    places = {int(place) for place in re.findall(r"ARGV\[(\d+)\]", script)}
    assert places == set(range(1, len(arguments) + 1))


def test_every_page_of_a_large_index_is_found_in_buckets_that_the_server_keeps_as_packed_lists(
    client: redis.Redis, store: RedisStore, rng: np.random.Generator
) -> None:
    pages = [random_page(rng) for _ in range(700)]
    store.check([query(page, url(number), pages=number) for number, page in enumerate(pages)])
    for number, page in enumerate(pages):
        assert [record.url for record in found(store, query(page, "", pages=700))] == [url(number)]
    contents = redis_contents(client)
    for table in (b"t0", b"t1", b"u"):
        buckets = {key: len(value) for key, value in contents.items() if b":%s:" % table in key}
        assert sum(buckets.values()) == 700
        assert max(buckets.values()) <= 128
        assert {client.object("encoding", key) for key in buckets} <= {b"listpack", b"ziplist"}
    lists = [value for key, value in contents.items() if b":r:" in key]
    assert max(map(len, lists)) == 512
    assert sum(bool(record) for records in lists for record in records) == 700


class TestServerTrouble:
    def test_flushed_scripts_and_cut_connections_are_mended(
        self, client: redis.Redis, store: RedisStore
    ) -> None:
        for number in range(3):
            client.script_flush()
            client.client_kill_filter(_type="normal", skipme=True)
            assert check(store, number) is Kind.NEW
            client.client_kill_filter(_type="normal", skipme=True)
            store.heartbeat()
        client.script_flush()
        assert_holds(store, range(3))

    def test_a_page_on_its_way_is_not_delivered_by_a_script_that_the_server_lacked(
        self, redis_server: RedisServer
    ) -> None:
        """A check may bring the scripts to a server before the first delivery does."""
        clock = Clock()
        dead, store = (RedisStore(redis_server.url, LAYOUT, clock=clock) for _ in range(2))
        dead.open()
        redis_server.client.script_flush()
        checked(dead, ask(0))
        page = ask(1, is_pending=True, delivered=(name_of(url(1)),))
        checked(dead, page)
        dead.close()
        store.open()
        assert checked(store, ask(1)).abandoned
        store.close()

    def test_no_crawler_has_the_number_of_another_if_a_replica_had_not_heard_of_it(
        self, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # Any three numbers, for which this is certain.
        numbers = iter([7, 300, 5])
        monkeypatch.setattr("secrets.randbelow", lambda below: next(numbers) % below)
        stores = [RedisStore(redis_server.url, LAYOUT) for _ in range(3)]
        stores[0].open()
        crawlers = int(redis_server.client.hget(META, "crawlers") or 0)
        stores[1].open()
        redis_server.client.hset(META, "crawlers", crawlers)
        stores[2].open()
        assert len({store.session.number for store in stores}) == 3
        for store in stores:
            store.close()

    def test_a_server_that_is_gone_is_unavailable_and_used_again_when_it_is_back(self) -> None:
        with RedisServer("--appendonly", "yes", "--appendfsync", "always") as server:
            store = RedisStore(server.url, LAYOUT)
            store.open()
            assert check(store, 0) is Kind.NEW
            server.stop()
            calls = [
                lambda: check(store, 1),
                lambda: found(store, ask(0)),
                lambda: store.forget(PageName(1)),
            ]
            for call in (*calls, store.heartbeat, store.info, store.clear, store.open):
                with pytest.raises(StoreUnavailableError, match=server.url):
                    call()
            server.start()
            assert [check(store, number) for number in range(2)] == [Kind.REVISIT, Kind.NEW]
            assert_holds(store, range(2))
            store.close()

    @pytest.mark.parametrize("first_call", ["check", "heartbeat"])
    def test_an_index_that_was_lost_begins_anew(
        self, redis_server: RedisServer, first_call: str
    ) -> None:
        first, second, later, next_crawl = (RedisStore(redis_server.url, LAYOUT) for _ in range(4))
        first.open()
        second.open()
        first.check([ask(number) for number in range(100)])
        redis_server.client.flushall()
        if first_call == "heartbeat":
            first.heartbeat()
        assert check(first, 0) is Kind.NEW
        # The crawl goes on: everyone in it still knows whose pages are whose.
        assert check(second, 0) is Kind.EXACT_DUPLICATE
        later.open()
        second.heartbeat()
        assert [check(second, 1), check(later, 2)] == [Kind.NEW] * 2
        for delivered, store in enumerate((first, second, later)):
            kinds = [check(store, number) for number in range(3)]
            assert kinds.pop(delivered) is Kind.REVISIT
            assert kinds == [Kind.EXACT_DUPLICATE] * 2
        assert_holds(first, range(3))
        for store in (first, second, later):
            store.close()
        next_crawl.open()
        assert check(next_crawl, 1) is Kind.REVISIT

    @pytest.mark.parametrize(
        "lost",
        [
            "m",
            "*:t*",
            "*:r:*",
            *(
                pytest.param(k, marks=pytest.mark.nightly)
                for k in ("*:r:0", "*:u:*", "*:f*", "*[mr]*")
            ),
        ],
    )
    def test_an_index_that_lost_some_of_its_keys_keeps_what_comes_after(
        self, client: redis.Redis, store: RedisStore, lost: str
    ) -> None:
        store.check([ask(number) for number in range(100)])
        client.delete(*client.scan_iter(f"{PREFIX}{lost}"))
        later = range(100, 200)
        assert statuses(store, [ask(number) for number in later]) == [Kind.NEW] * 100
        for number in later:
            assert [record.url for record in found(store, ask(number))] == [url(number)]
            assert [check(store, number), check(store, number, "copy")] == [
                Kind.REVISIT,
                Kind.EXACT_DUPLICATE,
            ]
            assert store.forget(name_of(url(number)))

    def test_of_two_who_clear_at_once_neither_removes_what_came_after(
        self, redis_server: RedisServer, store: RedisStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        other = RedisStore(redis_server.url, LAYOUT)
        remove = other._remove_epochs

        def be_slow(over: dict[str, int]) -> None:
            store.clear()
            check(store, 1)
            remove(over)

        monkeypatch.setattr(other, "_remove_epochs", be_slow)
        other.clear()
        other.close()
        assert check(store, 1, "copy") is Kind.EXACT_DUPLICATE


class TestLostAnswers:
    """Answers of the server that do not arrive: the client asks again."""

    def lose(
        self, monkeypatch: pytest.MonkeyPatch, *, done: int | None = None, read: int = 0
    ) -> None:
        """Cut the next exchange off behind so many commands that were run, and so many answers that
        were read.
        """
        cuts = iter([True])

        def cut(asked: Any) -> list[list[Any]]:
            if not next(cuts, False):
                return exchange(asked)
            ((server, commands),) = asked
            (answers,) = exchange([Commands(server, commands[:done])])
            return [[*answers[:read], *[redis.ConnectionError("cut")] * (len(commands) - read)]]

        monkeypatch.setattr("crawldedup.stores.redis.connection.exchange", cut)

    @pytest.mark.parametrize(
        ("done", "read"), [*((done, 0) for done in range(4)), (None, 0), (None, 1), (None, 2)]
    )
    def test_a_batch_counts_once(
        self, store: RedisStore, monkeypatch: pytest.MonkeyPatch, done: int | None, read: int
    ) -> None:
        check(store, 0)
        self.lose(monkeypatch, done=done, read=read)
        pages = [ask(text, name) for text, name in ((0, 2), (1, 1), (1, 3), (0, 4), (1, 1))]
        expected = [
            Kind.EXACT_DUPLICATE,
            Kind.NEW,
            Kind.EXACT_DUPLICATE,
            Kind.EXACT_DUPLICATE,
            Kind.REVISIT,
        ]
        assert statuses(store, pages) == expected
        assert [record.copies for text in (0, 1) for record in found(store, ask(text))] == [2, 1]

    def test_an_abandoned_page_is_reported_as_abandoned(
        self, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        clock = Clock()
        dead, store = (RedisStore(redis_server.url, LAYOUT, clock=clock) for _ in range(2))
        asked = ask(1, is_pending=True)
        dead.open()
        checked(dead, asked)
        dead.close()
        clock.wait(60)
        store.open()
        self.lose(monkeypatch)
        answer = checked(store, asked)
        assert (answer.kind, answer.abandoned) == (Kind.REVISIT, True)
        store.close()

    def test_a_page_that_has_changed_is_told_as_such(
        self, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        clock = Clock()
        store = RedisStore(redis_server.url, LAYOUT, clock=clock)
        store.open()
        checked(store, ask(1))
        clock.wait(60)
        self.lose(monkeypatch)
        answer = checked(store, ask(2, 1))
        assert (answer.kind, answer.changed) == (Kind.REVISIT, True)
        clock.wait(60)
        self.lose(monkeypatch, done=0)
        answer = checked(store, ask(2, 1))
        assert (answer.kind, answer.changed) == (Kind.REVISIT, False)
        store.close()

    def test_a_question_makes_no_batch_whatever_its_rule_of_revisits(
        self, client: redis.Redis, store: RedisStore
    ) -> None:
        asked = [ask(1, name, revisit_rule=revisit_rule(page_number(1), 0.9)) for name in (1, 2)]
        assert [checked(store, question).kind for question in asked] == [
            Kind.NEW,
            Kind.EXACT_DUPLICATE,
        ]
        assert list(client.scan_iter("*:b:*")) == []
        assert statuses(store, asked) == [Kind.REVISIT, Kind.EXACT_DUPLICATE]
        (name,) = client.scan_iter("*:b:*")
        assert len(name) == len(f"{PREFIX}b:12345678")

    def test_a_batch_above_the_size_of_one_round_trip_is_answered_in_order(
        self, store: RedisStore
    ) -> None:
        pages = [ask(number) for number in range(230)]
        assert statuses(store, [*pages, *pages]) == [Kind.NEW] * 230 + [Kind.REVISIT] * 230


class TestMaxMemory:
    # The servers' policy is to evict nothing, as is Redis's own default.
    def test_a_full_server_refuses_pages_and_nothing_of_them_stays(
        self, redis_server: RedisServer, store: RedisStore
    ) -> None:
        client = redis_server.client
        store.check([ask(number) for number in range(100)])
        before = redis_contents(client)
        with redis_server.configured(maxmemory=1):
            for question in (ask(100), ask(100, 0)):
                with pytest.raises(StoreFullError, match=r"full \(maxmemory reached\)"):
                    checked(store, question)
            with pytest.raises(StoreFullError):
                RedisStore(redis_server.url, OTHER_NAMESPACE).open()
            assert redis_contents(client) == before
            assert_holds(store, range(100))
            # What is known is still told, though nobody can count it.
            near = query(near_page(page_number(1)), url(101))
            told = [checked(store, question).kind for question in (ask(1), ask(1, 101), near)]
            assert told == [Kind.REVISIT, Kind.EXACT_DUPLICATE, Kind.NEAR_DUPLICATE]
            assert redis_contents(client) == before
            assert store.forget(name_of(url(99)))
            with contextlib.closing(RedisStore(redis_server.url, LAYOUT)) as late:
                assert late.open() == 99
            with pytest.raises(StoreFullError):
                # The index is gone, and there is no room to begin another.
                store.clear()
            assert not [key for key in client.scan_iter() if b":t" in key or b":r:" in key]
        assert check(store, 100) is Kind.NEW

    def test_a_full_server_is_told_what_was_delivered_and_takes_no_page_for_it(
        self, redis_server: RedisServer, store: RedisStore
    ) -> None:
        pending = [ask(number, is_pending=True) for number in range(2)]
        store.check(pending)
        delivered = tuple(PageName(question.record.url_key) for question in pending)
        with redis_server.configured(maxmemory=1):
            with pytest.raises(StoreFullError):
                checked(store, ask(2, delivered=delivered))
            assert (store.info().pages, redis_server.client.hlen(f"{PREFIX}n")) == (2, 0)
            assert check(store, 0, 3) is Kind.EXACT_DUPLICATE


class TestForeignKeys:
    @pytest.mark.parametrize(
        "fields",
        [
            {"colour": "red"},
            {"pages": 3, "next": 3},
            {"epoch": 7, "colour": "red"},
            {"epoch": 7, "order": "x"},
        ],
    )
    def test_a_hash_of_others_at_the_head_is_refused_and_left_alone(
        self, redis_server: RedisServer, client: redis.Redis, fields: dict[Any, Any]
    ) -> None:
        store = RedisStore(redis_server.url, LAYOUT)
        client.hset(META, mapping=fields)
        before = redis_contents(client)
        for call in (store.open, store.clear, store.heartbeat, lambda: check(store, 1)):
            with pytest.raises(
                StoreError, match=f"that crawldedup did not write.*{META}"
            ) as caught:
                call()
            assert type(caught.value) is StoreError
        assert redis_contents(client) == before
        client.delete(META)
        assert store.open() == 0
        # In mid-crawl, too.
        assert check(store, 1) is Kind.NEW
        client.delete(META)
        client.hset(META, "colour", "red")
        before = redis_contents(client)
        with pytest.raises(StoreError, match=f"FOREIGN hash at {META}"):
            check(store, 1)
        assert redis_contents(client) == before
        store.close()

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
        self, redis_server: RedisServer, client: redis.Redis, key: str
    ) -> None:
        client.hset(META, "epoch", 7)
        store = RedisStore(redis_server.url, LAYOUT)
        store.open()
        check(store, 0)
        client.delete(f"{PREFIX}{key}")
        client.xadd(f"{PREFIX}{key}", {"not": "ours"})
        own = {"m": lambda: found(store, ask(0)), "c": store.heartbeat}.get(
            key, lambda: check(store, 1)
        )
        for call in (own, store.open if key in "mc" else own):
            with pytest.raises(
                StoreError, match=r"has a key in the namespace 'test' .*remove that key"
            ) as caught:
                call()
            assert type(caught.value) is StoreError


class Answering(socketserver.StreamRequestHandler):
    """Reads commands and answers each by the number 1."""

    answer = b":1\r\n"

    def handle(self) -> None:
        while line := self.rfile.readline():
            for _ in range(int(line[1:])):
                size = int(self.rfile.readline()[1:])
                self.rfile.read(size + 2)
            self.wfile.write(self.answer)


class Nesting(Answering):
    """Answers with arrays in arrays, without end."""

    answer = b"*2\r\n" * 5000


class Coloring(Answering):
    """Answers with an error that would change the colors of a terminal."""

    answer = b"-ERR \x1b[31mno\r\n"


@pytest.mark.parametrize("handler", [Nesting, Coloring])
def test_an_answer_that_no_redis_gives_is_an_error_of_the_store(handler: Any) -> None:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        url = f"redis://127.0.0.1:{server.server_address[1]}/0"
        with contextlib.closing(make_store(url, LAYOUT)) as store:
            for use in (store.open, store.open_read_only, store.clear):
                with pytest.raises((StoreError, ConfigurationError)) as caught:
                    use()
                assert str(caught.value).isprintable()
            # Nobody can do anything about what is said at the end.
            store.session = CrawlSession(7, "host:1:1")
            store.close()
        server.shutdown()


def test_a_crawler_takes_no_number_that_is_none(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lie(batches: Any) -> list[list[Any]]:
        (replies,) = exchange(batches)
        return [[[b"many", 0] if isinstance(reply, list) else reply for reply in replies]]

    monkeypatch.setattr("crawldedup.stores.redis.connection.exchange", lie)
    store = RedisStore(redis_server.url, LAYOUT)
    with pytest.raises(StoreError, match="does not answer like Redis"):
        store.open()
    store.close()


@pytest.mark.parametrize(
    "form", ["redis://{}/0", "redis+sentinel://{}/mymaster", "redis+cluster://{}"]
)
def test_a_malformed_answer_is_a_store_error(form: str) -> None:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Answering) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        with contextlib.closing(
            make_store(form.format(f"127.0.0.1:{server.server_address[1]}"), LAYOUT)
        ) as store:
            uses = [
                store.open,
                store.open_read_only,
                lambda: checked(store, ask(1)),
                lambda: found(store, ask(1)),
            ]
            is_plain = form.startswith("redis:")
            for use in uses if is_plain else uses[:1]:
                with pytest.raises((StoreError, ConfigurationError)) as caught:
                    use()
                assert "does not answer like Redis" in str(caught.value) or not is_plain
        server.shutdown()
