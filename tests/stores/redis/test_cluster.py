"""The store on a real cluster of three masters with a replica each."""

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
import redis
from redis.crc import key_slot

from crawldedup.errors import ProfileMismatchError, StoreFullError, StoreUnavailableError
from crawldedup.stores.base import AnchorQuery, PageName, Query, Retention, Status
from crawldedup.stores.redis.client import exchange
from crawldedup.stores.redis.store import PREFIXES, RedisClusterStore, prefixes
from crawldedup.stores.registry import make_store
from tests.servers import ClusterSetup, wait_until
from tests.stores.pages import LAYOUT, OTHER_PROFILE, Page, checked, query, random_page, url_key_of

# A busy machine may take its time to find a master dead.
PATIENCE_SECONDS = 30.0
PATIENCE = "crawldedup.stores.redis.store.FAILOVER_SECONDS"
NAMES = prefixes("test")


def page_number(number: int) -> Page:
    return random_page(np.random.default_rng(number))


def url(number: object) -> str:
    return f"https://example.com/{number}"


def ask(number: int, name: object = None, *, place: int | None = 5, **options: Any) -> Query:
    return replace(query(page_number(number), url(number if name is None else name), **options), shard_key=place)


def statuses(store: RedisClusterStore, queries: Sequence[Query]) -> list[Any]:
    return [getattr(answer, "status", answer) for answer in store.check(queries)]


def assert_known(store: RedisClusterStore, questions: Sequence[Query]) -> None:
    """Under another URL each is a copy of what it was."""
    for question in questions:
        copy = replace(question.record, url="copy", url_key=question.record.url_key ^ 1)
        answer = checked(store, replace(question, record=copy))
        assert answer.record is not None
        assert (answer.status, answer.record.url) == (Status.EXACT, question.record.url)


pytestmark = pytest.mark.nightly


@pytest.fixture
def store(cluster: ClusterSetup) -> Iterator[RedisClusterStore]:
    made = make_store(cluster.url, LAYOUT)
    assert isinstance(made, RedisClusterStore)
    assert made.open() == 0
    yield made
    made.close()


class TestPrefixes:
    @pytest.mark.parametrize("namespace", ["test", "a", "x.y:z-1", "n" * 100])
    def test_slots_are_spread_evenly_and_no_two_namespaces_share_a_key(self, namespace: str) -> None:
        names = prefixes(namespace)
        assert [key_slot(name.encode()) * PREFIXES // 16384 for name in names] == list(range(PREFIXES))
        assert all(key_slot(name.encode()) == key_slot(f"{name}m".encode()) for name in names)
        assert not set(names) & set(prefixes(f"{namespace}.0"))

    def test_sites_are_spread_over_the_masters_and_a_batch_takes_one_round(
        self, cluster: ClusterSetup, store: RedisClusterStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        statuses(store, [ask(number, place=number) for number in range(1000, 1016)])
        rounds = []

        def counted(asked: Any) -> list[list[Any]]:
            rounds.append(asked)
            return exchange(asked)

        monkeypatch.setattr("crawldedup.stores.redis.client.exchange", counted)
        assert statuses(store, [ask(number, place=number) for number in range(64)]) == [Status.NEW] * 64
        assert (len(rounds), len(rounds[0])) == (1, 3)
        records = [len(master.client.keys("*:r:0")) for master in cluster.masters]
        assert sorted(records) == [5, 5, 6]
        assert store.info().pages == 80

    def test_an_index_of_the_scope_global_lies_in_one_slot_and_says_so(
        self, cluster: ClusterSetup, store: RedisClusterStore, caplog: pytest.LogCaptureFixture
    ) -> None:
        with caplog.at_level(logging.WARNING):
            for first in (0, 20):
                statuses(store, [ask(number, place=None) for number in range(first, first + 20)])
        (warning,) = caplog.messages
        assert warning.startswith(f"{cluster.url}: an index of the scope global lies on one server")
        assert sum(len(master.client.keys("*:r:*")) for master in cluster.masters) == 1
        assert_known(store, [ask(number, place=None) for number in range(40)])

    def test_what_is_told_of_a_page_reaches_its_prefix(self, cluster: ClusterSetup, store: RedisClusterStore) -> None:
        names = [PageName(url_key_of(url(number)), number) for number in range(5)]
        pending = [replace(ask(number, place=number), is_pending=True) for number in range(5)]
        with contextlib.closing(RedisClusterStore(cluster.url, LAYOUT)) as crawler:
            crawler.open()
            statuses(crawler, pending[:4])
            # The last of a batch tells of the first ones, which are elsewhere.
            statuses(crawler, [replace(pending[4], delivered=tuple(names[:2]))])
            crawler.deliver(names[2:3])
        again = store.check([ask(number, place=number) for number in range(5)])
        assert [getattr(answer, "abandoned", answer) for answer in again] == [False, False, False, True, True]
        assert [store.forget(names[0]), store.forget(names[0])] == [True, False]
        assert statuses(store, [ask(0, place=0)]) == [Status.NEW]

    def test_texts_and_anchors_lie_with_their_pages(self, store: RedisClusterStore) -> None:
        asked = ask(1, place=9)
        checked(store, replace(asked, record=replace(asked.record, packed_text=b"text")))
        name = PageName(asked.record.url_key, 9)
        here, elsewhere = store.remembered([name, PageName(name.url_key, 8)], Retention())
        assert (here and here.packed_text, elsewhere) == (b"text", None)
        assert not store.anchors(AnchorQuery(url(1), name, (1, 2))).is_known
        other = AnchorQuery(url(2), PageName(url_key_of(url(2)), 9), (2, 3))
        assert list(store.anchors(other).urls.values()) == [url(1)]
        elsewhere = replace(other, name=PageName(url_key_of(url(2)), 8))
        assert store.anchors(elsewhere).urls == {}
        assert store.forget(name, anchors_alone=True)

    def test_each_part_has_its_share_of_the_limit(self, store: RedisClusterStore) -> None:
        limit = Retention(max_pages=64)
        statuses(store, [ask(number, place=number % 2, retention=limit) for number in range(40)])
        assert store.info().pages == 8
        statuses(store, [ask(number, place=None, retention=limit) for number in range(100, 140)])
        assert store.info().pages > 40


class TestTrouble:
    def test_a_failover_under_load_loses_nothing(
        self, cluster: ClusterSetup, store: RedisClusterStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(PATIENCE, PATIENCE_SECONDS)
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
        wait_until(lambda: answered[-1][0] > killed and len(answered) > 300, PATIENCE_SECONDS)
        enough.set()
        thread.join()
        assert {status for _, status in answered} == {Status.NEW}
        # What the replica has not heard of in time is lost.
        kept = [number for number, (at, _) in enumerate(answered) if not -0.5 < at - killed < 0]
        assert_known(store, [ask(number, place=number) for number in kept])

    def test_a_master_that_is_gone_is_told_and_its_pages_pass(
        self, cluster: ClusterSetup, store: RedisClusterStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(PATIENCE, 3.0)
        statuses(store, [ask(number, place=number) for number in range(64)])
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
            assert warning.startswith(f"of 16 parts, {len(lost)} do not answer")
            assert statuses(late, [ask(100, place=left)]) == [Status.NEW]
            late.heartbeat()
        answers = statuses(store, [ask(101, place=left), ask(102, place=lost[0])])
        assert answers[0] is Status.NEW
        assert isinstance(answers[1], StoreUnavailableError)

    def test_a_slot_that_moves_is_waited_for(
        self, cluster: ClusterSetup, store: RedisClusterStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(PATIENCE, PATIENCE_SECONDS)
        before = [ask(number, place=7) for number in range(50)]
        statuses(store, before)
        key = NAMES[7]
        source = cluster.master_of(key)
        target = next(master for master in cluster.masters if master is not source)
        done = threading.Event()

        def check() -> None:
            assert_known(store, before)
            done.set()

        thread = threading.Thread(target=check)
        with cluster.moving(key, target):
            # A part of the keys has arrived already.
            some = source.client.keys(f"{key}*")[:3]
            source.client.execute_command("MIGRATE", "127.0.0.1", target.port, "", 0, 5000, "KEYS", *some)
            thread.start()
            time.sleep(0.3)
            assert not done.is_set()
        thread.join()
        assert done.is_set()
        assert cluster.master_of(key) is target
        assert store.info().pages == 50

    def test_a_slot_that_moves_for_too_long_is_unavailable(
        self, cluster: ClusterSetup, store: RedisClusterStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(PATIENCE, 2.2)
        target = next(master for master in cluster.masters if master is not cluster.master_of(NAMES[7]))
        with cluster.moving(NAMES[7], target):
            (answer,) = store.check([ask(1, place=7)])
            assert isinstance(answer, StoreUnavailableError)
        assert checked(store, ask(1, place=7)).status is Status.NEW

    def test_a_call_whose_answer_is_lost_counts_once(
        self, store: RedisClusterStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        originals = [ask(number, place=number) for number in range(8)]
        statuses(store, originals)
        cuts = iter([True])

        def cut(asked: Any) -> list[list[Any]]:
            answers = exchange(asked)
            if next(cuts, False):
                answers[0] = [redis.ConnectionError("the answer is lost")] * len(answers[0])
            return answers

        monkeypatch.setattr("crawldedup.stores.redis.client.exchange", cut)
        copies = [ask(number, f"copy/{number}/{copy}", place=number) for copy in range(2) for number in range(8)]
        assert statuses(store, copies) == [Status.EXACT] * 16
        assert [records[0].copies for records in store.find(originals)] == [2] * 8

    @pytest.mark.parametrize("lost", [[0], [3, 8], range(PREFIXES)], ids=["first", "two", "all"])
    def test_parts_that_were_lost_begin_anew(
        self, cluster: ClusterSetup, store: RedisClusterStore, lost: Sequence[int]
    ) -> None:
        before = [ask(number, place=number) for number in range(32)]
        statuses(store, before)
        for part in lost:
            client = cluster.master_of(NAMES[part]).client
            client.delete(*client.keys(f"{NAMES[part]}*"))
        after = [ask(number, place=number) for number in range(100, 132)]
        assert statuses(store, after) == [Status.NEW] * 32
        assert_known(store, after)
        assert_known(store, [ask(number, place=number) for number in range(32) if number % PREFIXES not in lost])

    def test_a_full_master_lets_pages_pass_and_tells_what_it_knows(
        self, store: RedisClusterStore, cluster: ClusterSetup
    ) -> None:
        asked = [ask(number, place=number) for number in range(40)]
        with cluster.masters[0].configured(maxmemory=1):
            refused = [number for number, answer in enumerate(store.check(asked)) if isinstance(answer, StoreFullError)]
            assert 0 < len(refused) < 40
            assert_known(store, [question for number, question in enumerate(asked) if number not in refused])
            with contextlib.closing(RedisClusterStore(cluster.url, LAYOUT)) as late:
                assert late.open() == 40 - len(refused)
        assert statuses(store, [asked[number] for number in refused]) == [Status.NEW] * len(refused)
        assert store.info().pages == 40

    def test_a_part_of_another_profile_is_refused(self, cluster: ClusterSetup, store: RedisClusterStore) -> None:
        cluster.master_of(NAMES[5]).client.hset(f"{NAMES[5]}m", "profile", OTHER_PROFILE.profile)
        other = RedisClusterStore(cluster.url, LAYOUT)
        for begin in (other.open, other.open_read_only):
            with pytest.raises(ProfileMismatchError, match="profile-2"):
                begin()
        other.close()
