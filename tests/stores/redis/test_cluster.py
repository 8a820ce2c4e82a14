"""The store on a real cluster of three masters with a replica each.

`conftest` runs the contract on one, too.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from redis.crc import key_slot

from crawldedup import Deduplicator
from crawldedup.errors import StoreFullError, StoreUnavailableError
from crawldedup.stores.anchors import AnchorQuery
from crawldedup.stores.contract import PageName, Query, Retention
from crawldedup.stores.redis.calls import exchange
from crawldedup.stores.redis.cluster import PREFIXES, RedisClusterStore, prefixes
from crawldedup.verdict import Kind
from tests.servers import ClusterSetup, wait_until
from tests.stores.pages import LAYOUT, checked, query, random_page, url_key_of

pytestmark = pytest.mark.nightly
NAMES = prefixes("test")


def url(number: object) -> str:
    return f"https://example.com/{number}"


def ask(number: int, name: object = None, *, place: int | None = 5, **options: Any) -> Query:
    page = random_page(np.random.default_rng(number))
    return replace(query(page, url(number if name is None else name), **options), shard_key=place)


def each_elsewhere(numbers: range) -> list[Query]:
    return [ask(number, place=number) for number in numbers]


def statuses(store: RedisClusterStore, queries: Sequence[Query]) -> list[Any]:
    return [getattr(answer, "kind", answer) for answer in store.check(queries)]


def assert_known(store: RedisClusterStore, questions: Sequence[Query]) -> None:
    """Each page is a copy of itself under another URL."""
    for question in questions:
        copy = replace(question.record, url="copy", url_key=question.record.url_key ^ 1)
        answer = checked(store, replace(question, record=copy))
        assert answer.record is not None
        assert (answer.kind, answer.record.url) == (Kind.EXACT_DUPLICATE, question.record.url)


@pytest.fixture
def store(cluster: ClusterSetup) -> Iterator[RedisClusterStore]:
    with contextlib.closing(RedisClusterStore(cluster.url, LAYOUT)) as store:
        assert store.open() == 0
        yield store


@pytest.fixture
def is_patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine may take its time to find a master dead."""
    monkeypatch.setattr("crawldedup.stores.redis.cluster.FAILOVER_SECONDS", 30.0)


class TestPrefixes:
    @pytest.mark.parametrize("namespace", ["test", "a", "x.y:z-1", "n" * 100])
    def test_slots_are_spread_evenly_and_no_two_namespaces_share_a_key(
        self, namespace: str
    ) -> None:
        names = prefixes(namespace)
        assert [key_slot(name.encode()) * PREFIXES // 16384 for name in names] == list(
            range(PREFIXES)
        )
        assert all(key_slot(name.encode()) == key_slot(f"{name}m".encode()) for name in names)
        assert not set(names) & set(prefixes(f"{namespace}.0"))

    def test_sites_are_spread_over_the_masters_and_a_batch_takes_one_round(
        self, cluster: ClusterSetup, store: RedisClusterStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        statuses(store, each_elsewhere(range(1000, 1016)))
        rounds: list[Any] = []
        monkeypatch.setattr(
            "crawldedup.stores.redis.connection.exchange",
            lambda asked: (rounds.append(asked), exchange(asked))[1],
        )
        assert statuses(store, each_elsewhere(range(64))) == [Kind.NEW] * 64
        assert (len(rounds), len(rounds[0])) == (1, 3)
        assert sorted(len(master.client.keys("*:r:0")) for master in cluster.masters) == [5, 5, 6]
        assert store.info().pages == 80

    def test_an_index_of_the_scope_global_lies_in_one_slot_and_says_so(
        self, cluster: ClusterSetup, store: RedisClusterStore, caplog: pytest.LogCaptureFixture
    ) -> None:
        asked = [ask(number, place=None) for number in range(40)]
        with caplog.at_level(logging.WARNING):
            statuses(store, asked[:20])
            statuses(store, asked[20:])
        (warning,) = caplog.messages
        assert warning.startswith(f"{cluster.url}: an index with the scope global is on one server")
        assert sum(len(master.client.keys("*:r:*")) for master in cluster.masters) == 1
        assert_known(store, asked)

    @pytest.mark.parametrize("scope_key", [None, "a tenant", "news.example"])
    def test_a_page_is_found_by_who_does_not_know_its_scope(
        self, cluster: ClusterSetup, caplog: pytest.LogCaptureFixture, scope_key: str | None
    ) -> None:
        page = "https://news.example/a"
        with Deduplicator(cluster.url, namespace="scopes", scope="site") as crawl:
            crawl.check(page, text="A story of the river.", scope_key=scope_key)
            operator = Deduplicator(cluster.url, namespace="scopes")
            operator.accept_profile()
            removed = [operator.forget(page, scope_key=key) for key in operator.scopes.all_of(page)]
            assert (sum(removed), operator.info().pages) == (1, 0)
            operator.close()
            crawl.clear()
        assert not any("one server" in message for message in caplog.messages)

    def test_what_is_told_of_a_page_reaches_its_prefix(
        self, cluster: ClusterSetup, store: RedisClusterStore
    ) -> None:
        names = [PageName(url_key_of(url(number)), number) for number in range(5)]
        pending = [replace(asked, is_pending=True) for asked in each_elsewhere(range(5))]
        with contextlib.closing(RedisClusterStore(cluster.url, LAYOUT)) as crawler:
            crawler.open()
            statuses(crawler, pending[:4])
            # The last of a batch tells of the first ones, which are elsewhere.
            statuses(crawler, [replace(pending[4], delivered=tuple(names[:2]))])
            crawler.deliver(names[2:3])
        again = store.check(each_elsewhere(range(5)))
        assert [getattr(answer, "abandoned", answer) for answer in again] == [
            False,
            False,
            False,
            True,
            True,
        ]
        assert [store.forget(names[0]), store.forget(names[0])] == [True, False]
        assert statuses(store, [ask(0, place=0)]) == [Kind.NEW]

    def test_texts_and_anchors_lie_with_their_pages(self, store: RedisClusterStore) -> None:
        asked = ask(1, place=9)
        checked(store, replace(asked, record=replace(asked.record, packed_text=b"text")))
        name, other_key = PageName(asked.record.url_key, 9), url_key_of(url(2))
        here, elsewhere = store.remembered([name, PageName(name.url_key, 8)], Retention())
        assert (here and here.packed_text, elsewhere) == (b"text", None)
        assert not store.anchors(AnchorQuery(url(1), name, (1, 2))).is_known
        held = [
            store.anchors(AnchorQuery(url(2), PageName(other_key, place), (2, 3))).urls
            for place in (9, 8)
        ]
        assert [list(urls.values()) for urls in held] == [[url(1)], []]
        assert store.forget(name, anchors_alone=True)

    def test_each_part_has_its_share_of_the_limit(self, store: RedisClusterStore) -> None:
        limit = Retention(max_pages=64)
        statuses(store, [ask(number, place=number % 2, retention=limit) for number in range(40)])
        assert store.info().pages == 8
        statuses(store, [ask(number, place=None, retention=limit) for number in range(100, 140)])
        assert store.info().pages > 40


class TestTrouble:
    @pytest.mark.usefixtures("is_patient")
    def test_a_failover_under_load_loses_nothing(
        self, cluster: ClusterSetup, store: RedisClusterStore
    ) -> None:
        answered: list[tuple[float, Any]] = []
        enough = threading.Event()

        def load() -> None:
            while not enough.is_set():
                (status,) = statuses(store, [ask(len(answered), place=len(answered))])
                answered.append((time.monotonic(), status))

        thread = threading.Thread(target=load)
        thread.start()
        wait_until(lambda: len(answered) > 100)
        cluster.masters[0].stop()
        killed = time.monotonic()
        wait_until(lambda: answered[-1][0] > killed and len(answered) > 300, 30.0)
        enough.set()
        thread.join()
        assert {status for _, status in answered} == {Kind.NEW}
        # What the replica has not heard of in time is lost.
        kept = [number for number, (at, _) in enumerate(answered) if not -0.5 < at - killed < 0]
        assert_known(store, [ask(number, place=number) for number in kept])

    def test_a_master_that_is_gone_is_told_and_its_pages_pass(
        self, cluster: ClusterSetup, store: RedisClusterStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("crawldedup.stores.redis.cluster.FAILOVER_SECONDS", 3.0)
        statuses(store, each_elsewhere(range(64)))
        gone = cluster.master_of(NAMES[0])
        lost = [number for number in range(PREFIXES) if cluster.master_of(NAMES[number]) is gone]
        left = next(number for number in range(PREFIXES) if number not in lost)
        for node in cluster.masters:
            node.client.config_set("cluster-require-full-coverage", "no")
        for node in (*(node for node in cluster.nodes if node not in cluster.masters), gone):
            node.stop()
        survivor = cluster.masters[0].client
        wait_until(lambda: survivor.execute_command("CLUSTER INFO")["cluster_slots_fail"] != "0")
        with contextlib.closing(RedisClusterStore(cluster.url, LAYOUT)) as late:
            assert late.open() == 4 * (PREFIXES - len(lost))
            (warning,) = late.info().warnings
            assert warning.startswith(f"{len(lost)} of 16 parts do not answer")
            assert statuses(late, [ask(100, place=left)]) == [Kind.NEW]
            late.heartbeat()
        answers = statuses(store, [ask(101, place=left), ask(102, place=lost[0])])
        assert answers[0] is Kind.NEW
        assert isinstance(answers[1], StoreUnavailableError)

    @pytest.mark.usefixtures("is_patient")
    def test_a_slot_that_moves_is_waited_for(
        self, cluster: ClusterSetup, store: RedisClusterStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before = [ask(number, place=7) for number in range(50)]
        statuses(store, before)
        key, source = NAMES[7], cluster.master_of(NAMES[7])
        target = next(master for master in cluster.masters if master is not source)
        thread = threading.Thread(target=lambda: assert_known(store, before))
        with cluster.moving(key, target):
            # A part of the keys has arrived already.
            some = source.client.keys(f"{key}*")[:3]
            source.client.execute_command(
                "MIGRATE", "127.0.0.1", target.port, "", 0, 5000, "KEYS", *some
            )
            thread.start()
            time.sleep(0.3)
            assert thread.is_alive()
            monkeypatch.setattr("crawldedup.stores.redis.cluster.FAILOVER_SECONDS", 2.2)
            (answer,) = store.check([ask(1, "late", place=7)])
            assert isinstance(answer, StoreUnavailableError)
        thread.join()
        assert_known(store, before)
        assert cluster.master_of(key) is target
        assert store.info().pages == 50

    @pytest.mark.parametrize("lost", [[0], [3, 8], range(PREFIXES)], ids=["first", "two", "all"])
    def test_parts_that_were_lost_begin_anew(
        self, cluster: ClusterSetup, store: RedisClusterStore, lost: Sequence[int]
    ) -> None:
        statuses(store, each_elsewhere(range(32)))
        for part in lost:
            client = cluster.master_of(NAMES[part]).client
            client.delete(*client.keys(f"{NAMES[part]}*"))
        after = each_elsewhere(range(100, 132))
        assert statuses(store, after) == [Kind.NEW] * 32
        assert_known(store, after)
        assert_known(
            store,
            [ask(number, place=number) for number in range(32) if number % PREFIXES not in lost],
        )

    def test_a_full_master_lets_pages_pass_and_tells_what_it_knows(
        self, store: RedisClusterStore, cluster: ClusterSetup
    ) -> None:
        asked = each_elsewhere(range(40))
        with cluster.masters[0].configured(maxmemory=1):
            refused = [
                number
                for number, answer in enumerate(store.check(asked))
                if isinstance(answer, StoreFullError)
            ]
            assert 0 < len(refused) < 40
            assert_known(
                store, [question for number, question in enumerate(asked) if number not in refused]
            )
            with contextlib.closing(RedisClusterStore(cluster.url, LAYOUT)) as late:
                assert late.open() == 40 - len(refused)
        assert statuses(store, [asked[number] for number in refused]) == [Kind.NEW] * len(refused)
        assert store.info().pages == 40
