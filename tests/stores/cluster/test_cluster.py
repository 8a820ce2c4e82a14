"""The store on a real cluster of three masters with a replica each."""

from __future__ import annotations

import contextlib
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from redis.crc import key_slot

from crawldedup.deduplicator import Deduplicator
from crawldedup.errors import ProfileMismatchError, StoreError, StoreFullError, StoreUnavailableError
from crawldedup.stores.base import Answer, Retention, Status
from crawldedup.stores.cluster.nodes import Nodes
from crawldedup.stores.cluster.partitions import old_head, prefixes
from crawldedup.stores.cluster.store import ClusterStore
from crawldedup.stores.registry import make_store
from crawldedup.verdict import Kind
from tests.servers import ClusterSetup, wait_until
from tests.stores.backends import Clock
from tests.stores.pages import EQUAL_ONLY, LAYOUT, OTHER_PROFILE, query, random_page, similar_page, url_key_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from crawldedup.stores.base import Query
    from crawldedup.stores.cluster.nodes import Call
    from tests.stores.pages import Page

# A busy machine may take its time to find a master dead.
PATIENCE_SECONDS = 30.0
PARTITIONS = 16


def page_number(number: int) -> Page:
    return random_page(np.random.default_rng(number))


def url(number: object) -> str:
    return f"https://example.com/{number}"


def ask(number: int, name: object = None, *, place: int | None = None, **options: Any) -> Query:
    return replace(query(page_number(number), url(number if name is None else name), **options), shard_key=place)


def home(question: Query) -> int:
    assert question.route is not None
    return question.route(PARTITIONS)[0]


def pages_of_two_homes() -> tuple[Query, Query]:
    """A page, and a near duplicate of it that belongs to another partition; each asks for the other."""
    for seed in range(10_000):
        rng = np.random.default_rng(seed)
        page = random_page(rng)
        one, other = query(page, url("one")), query(similar_page(page, 0.97, rng), url("other"))
        assert one.route is not None
        assert other.route is not None
        if (
            home(one) != home(other)
            and home(one) in other.route(PARTITIONS)
            and one.rule.cost(one.entry.signature, other.entry.signature) < one.rule.limit
            and other.rule.cost(other.entry.signature, one.entry.signature) < other.rule.limit
        ):
            return one, other
    raise LookupError


@pytest.fixture
def store(cluster: ClusterSetup) -> Iterator[ClusterStore]:
    made = make_store(cluster.url, LAYOUT)
    assert isinstance(made, ClusterStore)
    assert made.open() == 0
    yield made
    made.close()


def values(cluster: ClusterSetup, pattern: str) -> dict[bytes, Any]:
    """What the hashes, lists and sorted sets with such keys hold."""
    readers = {b"hash": "hgetall", b"list": "lrange", b"zset": "zrange"}
    found = {}
    for master in cluster.masters:
        for key in master.client.scan_iter(f"crawldedup:{{test/*}}:{pattern}"):
            kind = master.client.type(key)
            found[key] = getattr(master.client, readers[kind])(key, *(() if kind == b"hash" else (0, -1)))
    return found


def members(cluster: ClusterSetup) -> int:
    """Of all permuted tables."""
    return sum(map(len, values(cluster, "*:t*").values()))


def entries(cluster: ClusterSetup) -> int:
    """Of all directories."""
    return sum(map(len, values(cluster, "*:d*").values()))


def assert_known(store: ClusterStore, numbers: Sequence[int]) -> None:
    """Under another URL each is a copy of what it was."""
    for number in numbers:
        answer = store.check_and_add(ask(number, f"copy/{number}"))
        assert answer.record is not None
        assert (answer.status, answer.record.url) == (Status.EXACT, url(number))


class TestPartitions:
    @pytest.mark.parametrize("number", [1, 16, 256])
    @pytest.mark.parametrize("namespace", ["test", "a", "x.y:z-1", "n" * 100])
    def test_slots_are_spread_evenly_and_no_two_namespaces_share_a_key(self, namespace: str, number: int) -> None:
        names = prefixes(namespace, number)
        assert [key_slot(name.encode()) * number // 16384 for name in names] == list(range(number))
        assert all(key_slot(name.encode()) == key_slot(f"{name}m".encode()) for name in names)
        assert not set(names) & set(prefixes(f"{namespace}.0", number))
        assert names[0] == prefixes(namespace, 16)[0]

    @pytest.mark.exhaustive
    def test_masters_share_the_pages(self, cluster: ClusterSetup, store: ClusterStore) -> None:
        for number in range(300):
            store.check_and_add(ask(number))
        lists = values(cluster, "*:r:*")
        shares = [
            sum(len(records) for key, records in lists.items() if cluster.master_of(key.decode()) is master)
            for master in cluster.masters
        ]
        assert sum(shares) == 300
        assert min(shares) > 50
        assert entries(cluster) == 300

    def test_the_index_tells_in_how_many_partitions_it_is(self, cluster: ClusterSetup) -> None:
        first = ClusterStore(f"{cluster.url}?partitions=64", LAYOUT)
        first.open()
        assert first.partitions == 64
        for number in range(100):
            first.check_and_add(ask(number))
        for setting in ("", "?partitions=4"):
            other = ClusterStore(cluster.url + setting, LAYOUT)
            assert other.open_read_only() == other.open() == 100
            assert other.partitions == 64
            assert_known(other, range(100))
            other.close()
        first.clear()
        assert first.partitions == 64
        first.close()

    @pytest.mark.exhaustive
    def test_a_check_takes_few_calls(self, store: ClusterStore) -> None:
        def cost(questions: list[Query]) -> tuple[float, float]:
            """Calls and rounds a check."""
            calls, rounds = store.nodes.calls, store.nodes.rounds
            for question in questions:
                store.check_and_add(question)
            return (store.nodes.calls - calls) / len(questions), (store.nodes.rounds - rounds) / len(questions)

        strangers = [ask(number) for number in range(250)]
        # The nodes learn the scripts, which takes rounds of its own.
        for place in (None, *range(PARTITIONS)):
            cost([replace(question, shard_key=place) for question in strangers[:100]])
        copies = [ask(number, f"copy/{number}") for number in range(250)]
        cost(copies[:20])
        assert cost([replace(question, shard_key=1) for question in strangers[:50]]) == (1, 1)
        for questions in (strangers[100:], copies[100:]):
            calls, rounds = cost(questions)
            assert calls < 3.2
            assert rounds == 2

    def test_a_batch_with_places_takes_one_round(self, store: ClusterStore) -> None:
        questions = [ask(number, place=number % 40) for number in range(80)]
        before = store.nodes.rounds
        # A script that a node does not know yet takes another.
        assert [answer.status for answer in store.check_many(questions)] == [Status.NEW] * 80
        assert store.nodes.rounds - before <= 2


class TestUrls:
    def test_a_url_with_other_text_moves_to_its_new_home(self, cluster: ClusterSetup, store: ClusterStore) -> None:
        for number in range(40):
            store.check_and_add(ask(number))
        for number in range(40):
            answer = store.check_and_add(ask(number + 100, number))
            assert (answer.status, answer.changed, answer.pages) == (Status.REVISIT, True, 40)
            assert store.check_and_add(ask(number + 100, number)).status is Status.REVISIT
        assert (store.info().pages, entries(cluster), members(cluster)) == (40, 40, 80)
        for number in range(40):
            assert store.check_and_add(ask(number, f"again/{number}")).status is Status.NEW
            assert store.forget(url_key_of(url(number)))
        assert store.info().pages == 40

    def test_a_url_whose_text_is_hardly_another_stays_at_its_home(
        self, cluster: ClusterSetup, store: ClusterStore
    ) -> None:
        one, other = pages_of_two_homes()
        store.check_and_add(one)
        entry = replace(other.entry, url=one.entry.url, url_key=one.entry.url_key)
        visit = replace(other, entry=entry, revisit_rule=other.rule, on_its_way=True)
        for has_directory in (True, False):
            for master in () if has_directory else cluster.masters:
                for key in master.client.scan_iter("*:d*"):
                    master.client.delete(key)
            answer = store.check_and_add(visit)
            assert answer.record is not None
            assert (answer.status, answer.changed, answer.pages) == (Status.REVISIT, False, 1)
            assert (answer.record.digest, answer.record.home) == (one.entry.digest, one.entry.home)
        # The directory tells of the home where it is, even to a question that looks at its own home alone.
        assert store.check_and_add(replace(visit, route=lambda _: (home(other),))).status is Status.REVISIT
        assert (entries(cluster), members(cluster), store.info().pages) == (1, 2, 1)
        assert store.check_and_add(replace(one, entry=replace(one.entry, digest=0))).changed
        answer = store.check_and_add(replace(visit, revisit_rule=replace(other.rule, limit=0)))
        assert (answer.status, answer.changed) == (Status.REVISIT, True)
        assert [record.home for record in store.find(other)] == [other.entry.home]

    def test_a_visit_to_a_page_that_stays_at_its_home_is_noted_there(self, cluster: ClusterSetup) -> None:
        clock = Clock()
        one, other = pages_of_two_homes()
        entry = replace(other.entry, url=one.entry.url, url_key=one.entry.url_key)
        visit = replace(other, entry=entry, revisit_rule=other.rule, on_its_way=True)
        told = []
        for asked in (one, visit, visit):
            store = ClusterStore(cluster.url, LAYOUT, clock=clock)
            store.open()
            answer = store.check_and_add(asked)
            told.append((answer.status, answer.changed, answer.abandoned))
            times = [(record.added_at, record.seen_at) for batch in store.records() for record in batch]
            assert times == [(1_000_000, clock.now)]
            store.close()
            clock.wait(60)
        # The second visit was never delivered, so the third is.
        assert told == [(Status.NEW, False, False), (Status.REVISIT, False, False), (Status.REVISIT, True, True)]

    def test_other_spellings_of_a_url_are_visits_of_its_page(self, cluster: ClusterSetup) -> None:
        with Deduplicator(cluster.url, key=0) as dedup:
            for number in range(10):
                text = " ".join(f"word{number}x{word}" for word in range(50))
                spellings = (f"https://e.com/{number}?a=1&b=2", f"https://e.com/{number}?b=2&a=1#top")
                kinds = [dedup.check(url, text=text).kind for url in spellings]
                assert kinds == [Kind.NEW, Kind.REVISIT]

    def test_a_page_that_moves_is_still_on_its_way(self, cluster: ClusterSetup, store: ClusterStore) -> None:
        dead, successor = (ClusterStore(cluster.url, LAYOUT) for _ in range(2))
        for crawler, was_abandoned in ((dead, False), (successor, True)):
            crawler.open()
            for number in range(20):
                text = number + 100 if crawler is dead else number + 200
                if crawler is dead:
                    crawler.check_and_add(replace(ask(number), on_its_way=True))
                answer = crawler.check_and_add(replace(ask(text, number), on_its_way=True))
                assert (answer.status, answer.abandoned) == (Status.REVISIT, was_abandoned)
            crawler.close()
        for number in range(20):
            assert store.check_and_add(ask(number + 200, f"copy/{number}")).status is Status.NEW

    def test_a_crawler_that_closes_has_told_what_it_delivered(self, cluster: ClusterSetup, store: ClusterStore) -> None:
        crawler = ClusterStore(cluster.url, LAYOUT)
        crawler.open()
        for number in range(10):
            delivered = (url_key_of(url(number - 1)),)
            crawler.check_and_add(replace(ask(number), on_its_way=True, delivered=delivered))
        crawler.deliver(())
        crawler.close()
        for number in range(10):
            expected = Status.EXACT if number < 9 else Status.NEW
            assert store.check_and_add(ask(number, f"copy/{number}")).status is expected

    def test_a_near_duplicate_of_another_home_is_counted_where_its_original_is(self, store: ClusterStore) -> None:
        one, other = pages_of_two_homes()
        store.check_and_add(one)
        answer = store.check_and_add(other)
        assert answer.record is not None
        assert (answer.status, answer.record.url, answer.record.copies) == (Status.NEAR, url("one"), 1)
        assert [record.url for record in store.find(other)] == [url("one")]
        assert store.info().pages == 1

    def test_a_revisit_is_none_of_a_page_found_elsewhere(self, store: ClusterStore) -> None:
        one, other = pages_of_two_homes()
        strict = replace(other, rule=EQUAL_ONLY)
        assert [store.check_and_add(asked).status for asked in (one, strict)] == [Status.NEW] * 2
        assert store.check_and_add(other).status is Status.REVISIT

    def test_no_page_is_its_own_duplicate_where_directories_have_forgotten_it(
        self, cluster: ClusterSetup, store: ClusterStore
    ) -> None:
        one, other = pages_of_two_homes()
        changed = replace(other, entry=replace(other.entry, url=one.entry.url, url_key=one.entry.url_key))
        store.check_and_add(one)
        for master in cluster.masters:
            for key in master.client.scan_iter("*:d*"):
                master.client.delete(key)
        answer = store.check_and_add(changed)
        assert (answer.status, answer.changed, store.info().pages) == (Status.REVISIT, True, 1)

    def test_urls_of_copies_are_not_kept(self, cluster: ClusterSetup, store: ClusterStore) -> None:
        for number in range(20):
            store.check_and_add(ask(number))
        for number in range(400):
            assert store.check_and_add(ask(number % 20, f"copy/{number}")).status is Status.EXACT
        # The last of each partition goes with its next call.
        assert entries(cluster) <= 20 + PARTITIONS

    @pytest.mark.exhaustive
    def test_urls_of_pages_that_are_gone_are_forgotten(self, cluster: ClusterSetup) -> None:
        store = ClusterStore(f"{cluster.url}?partitions=1", LAYOUT)
        store.open()
        limit = Retention(max_pages=100)
        for number in range(1200):
            store.check_and_add(ask(number, retention=limit))
        assert store.info().pages == 100
        assert 100 <= entries(cluster) <= 200
        # Of those that are kept, other text is a revisit.
        answer = store.check_and_add(ask(5000, 1150, retention=limit))
        assert (answer.status, answer.changed) == (Status.REVISIT, True)
        store.close()

    def test_a_directory_keeps_what_is_seen_again(self, cluster: ClusterSetup) -> None:
        clock = Clock()
        store = ClusterStore(cluster.url, LAYOUT, clock=clock)
        store.open()
        ttl = Retention(ttl_seconds=100)
        for _ in range(6):
            store.check_and_add(ask(1, retention=ttl))
            clock.wait(70)
        answer = store.check_and_add(ask(2, 1, retention=ttl))
        assert (answer.status, answer.changed, store.info().pages) == (Status.REVISIT, True, 1)
        store.close()


def before_script(script: str, act: Callable[[], object]) -> Callable[..., list[Any]]:
    """A `Nodes.try_to_run` that acts once before it calls a script."""
    run, acted = Nodes.try_to_run, []

    def acting(nodes: Nodes, calls: Any) -> list[Any]:
        calls = list(calls)
        if not acted and any(call.script == script for call in calls):
            acted.append(script)
            act()
        return run(nodes, calls)

    return acting


class TestBetweenTheRounds:
    def test_a_page_whose_original_is_gone_is_checked_at_home(
        self, cluster: ClusterSetup, store: ClusterStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        one, other = pages_of_two_homes()
        store.check_and_add(one)
        keeper = ClusterStore(cluster.url, LAYOUT)
        keeper.open_read_only()
        monkeypatch.setattr(Nodes, "try_to_run", before_script("count", lambda: keeper.forget(one.entry.url_key)))
        assert store.check_and_add(other).status is Status.NEW
        assert store.info().pages == 1
        keeper.close()

    def test_a_page_whose_original_has_other_text_by_now_is_checked_at_home(
        self, cluster: ClusterSetup, store: ClusterStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        one, other = pages_of_two_homes()
        store.check_and_add(one)
        changed = replace(query(page_number(1), url("one")), shard_key=home(one))
        keeper = ClusterStore(cluster.url, LAYOUT)
        keeper.open(store.session)
        monkeypatch.setattr(Nodes, "try_to_run", before_script("count", lambda: keeper.check_and_add(changed)))
        assert store.check_and_add(other).status is Status.NEW
        keeper.close(leave=False)

    def test_near_duplicates_that_race_may_both_pass_but_are_never_both_dropped(
        self, cluster: ClusterSetup, store: ClusterStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        one, other = pages_of_two_homes()
        racer = ClusterStore(cluster.url, LAYOUT)
        racer.open()
        answers: list[Answer] = []
        racing = before_script("check", lambda: answers.append(racer.check_and_add(other)))
        monkeypatch.setattr(Nodes, "try_to_run", racing)
        assert [store.check_and_add(one).status, answers[0].status] == [Status.NEW] * 2
        assert store.info().pages == 2
        racer.close()

    @pytest.mark.parametrize("script", ["claim", "scout", "check", "count"])
    def test_a_call_whose_answer_is_lost_counts_once(
        self, cluster: ClusterSetup, store: ClusterStore, monkeypatch: pytest.MonkeyPatch, script: str
    ) -> None:
        one, other = pages_of_two_homes()
        lose = losing_answers(script)
        monkeypatch.setattr(Nodes, "_ask", lose)
        assert store.check_and_add(one).status is Status.NEW
        answer = store.check_and_add(other)
        assert answer.record is not None
        assert (answer.status, answer.record.copies) == (Status.NEAR, 1)
        assert store.info().pages == 1

    def test_a_slot_that_moves_between_the_rounds_is_followed(
        self, cluster: ClusterSetup, store: ClusterStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        one, other = pages_of_two_homes()
        store.check_and_add(one)
        key = prefixes("test", PARTITIONS)[home(one)]

        def move() -> None:
            target = next(master for master in cluster.masters if master is not cluster.master_of(key))
            with cluster.moving(key, target):
                pass

        monkeypatch.setattr(Nodes, "try_to_run", before_script("count", move))
        answer = store.check_and_add(other)
        assert answer.record is not None
        assert (answer.status, answer.record.copies) == (Status.NEAR, 1)


def losing_answers(script: str) -> Callable[..., None]:
    """A `Nodes._ask` that loses every first answer to the calls of a script."""
    ask_nodes, lost = Nodes._ask, set()

    def losing(nodes: Nodes, calls: Sequence[Call], places_by_node: Any, answers: list[Any]) -> None:
        ask_nodes(nodes, calls, places_by_node, answers)
        for place in [place for places in places_by_node.values() for place in places]:
            call = calls[place].key, calls[place].command[-2]
            if calls[place].script == script and call not in lost and not isinstance(answers[place], Exception):
                lost.add(call)
                answers[place] = ConnectionError("the answer is lost")

    return losing


class TestTrouble:
    def test_a_failover_under_load_loses_nothing(
        self, cluster: ClusterSetup, store: ClusterStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("crawldedup.stores.redis.client.FAILOVER_SECONDS", PATIENCE_SECONDS)
        answered: list[tuple[float, Status]] = []
        enough = threading.Event()

        def load() -> None:
            while not enough.is_set():
                status = store.check_and_add(ask(len(answered))).status
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
        assert_known(store, [number for number, (at, _) in enumerate(answered) if not -0.5 < at - killed < 0])

    def test_a_master_that_is_gone_is_told_and_its_pages_pass(
        self, cluster: ClusterSetup, store: ClusterStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("crawldedup.stores.redis.client.FAILOVER_SECONDS", 3.0)
        for number in range(60):
            store.check_and_add(ask(number))
        names = prefixes("test", PARTITIONS)
        gone = cluster.master_of(names[0])
        lost = [number for number in range(PARTITIONS) if cluster.master_of(names[number]) is gone]
        for node in cluster.masters:
            node.client.config_set("cluster-require-full-coverage", "no")
        for node in (*(node for node in cluster.nodes if node not in cluster.masters), gone):
            node.stop()
        survivor = cluster.masters[0].client
        wait_until(lambda: survivor.execute_command("CLUSTER INFO")["cluster_slots_fail"] != "0")
        late = ClusterStore(f"{cluster.url}?partitions=4", LAYOUT)
        assert 0 < late.open_read_only() < 60
        (warning,) = late.info().warnings
        assert warning.endswith(f"not counted: {', '.join(map(str, lost))}")
        assert 0 < late.info().pages < 60
        late.close()
        left = next(number for number in range(PARTITIONS) if number not in lost)
        assert store.check_and_add(ask(1, place=left)).status is Status.NEW
        fresh = ClusterStore(f"{cluster.url}?partitions=4", LAYOUT)
        assert 0 < fresh.open() < 62
        assert fresh.check_and_add(ask(2, place=left)).status is Status.NEW
        fresh.heartbeat()
        fresh.close()
        concerned = next(ask(number) for number in range(100, 200) if home(ask(number)) in lost)
        with pytest.raises(StoreUnavailableError):
            store.check_and_add(concerned)

    @pytest.mark.parametrize("place", [pytest.param(None, marks=pytest.mark.exhaustive), 7])
    def test_a_slot_that_moves_is_waited_for(
        self, cluster: ClusterSetup, store: ClusterStore, monkeypatch: pytest.MonkeyPatch, place: int | None
    ) -> None:
        monkeypatch.setattr("crawldedup.stores.redis.client.FAILOVER_SECONDS", PATIENCE_SECONDS)
        before = [ask(number, place=place) for number in range(50)]
        after = [ask(number, f"copy/{number}", place=place) for number in range(50)]
        for question in before:
            store.check_and_add(question)
        key = prefixes("test", PARTITIONS)[7]
        source = cluster.master_of(key)
        target = next(master for master in cluster.masters if master is not source)
        answers: list[Answer] = []
        thread = threading.Thread(target=lambda: answers.extend(map(store.check_and_add, after)))
        with cluster.moving(key, target):
            # A part of the keys has arrived already.
            some = source.client.keys(f"{key}*")[:3]
            source.client.execute_command("MIGRATE", "127.0.0.1", target.port, "", 0, 5000, "KEYS", *some)
            thread.start()
            time.sleep(0.3)
            assert len(answers) < 50
        thread.join()
        assert cluster.master_of(key) is target
        assert [answer.record.url for answer in answers if answer.record] == [question.entry.url for question in before]
        assert store.info().pages == 50

    def test_a_slot_that_moves_for_too_long_is_unavailable(
        self, cluster: ClusterSetup, store: ClusterStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("crawldedup.stores.redis.client.FAILOVER_SECONDS", 2.2)
        key = prefixes("test", PARTITIONS)[7]
        target = next(master for master in cluster.masters if master is not cluster.master_of(key))
        with cluster.moving(key, target), pytest.raises(StoreUnavailableError):
            store.check_and_add(ask(1, place=7))
        assert store.check_and_add(ask(1, place=7)).status is Status.NEW

    def test_a_node_that_forgot_its_scripts_is_told_them_again(
        self, cluster: ClusterSetup, store: ClusterStore
    ) -> None:
        for place in (None, 1):
            store.check_and_add(ask(1, place=place))
            for master in cluster.masters:
                master.client.script_flush()
                assert store.check_and_add(ask(1, place=place)).status is Status.REVISIT
            assert store.find(ask(1, place=place))
            store.forget(ask(1).entry.url_key)

    def test_killed_connections_are_replaced(self, cluster: ClusterSetup, store: ClusterStore) -> None:
        for number in range(20):
            cluster.masters[number % 3].client.client_kill_filter(_type="normal", skipme=True)
            assert store.check_and_add(ask(number)).status is Status.NEW
        assert_known(store, range(20))

    @pytest.mark.parametrize("lost", [[0], [3, 8], range(PARTITIONS)], ids=["first", "two", "all"])
    def test_partitions_that_were_lost_begin_anew(
        self, cluster: ClusterSetup, store: ClusterStore, lost: Sequence[int]
    ) -> None:
        names = prefixes("test", PARTITIONS)
        for number in range(40):
            store.check_and_add(ask(number))
        for partition in lost:
            client = cluster.master_of(names[partition]).client
            client.delete(*client.keys(f"{names[partition]}*"))
        late = ClusterStore(f"{cluster.url}?partitions=32", LAYOUT)
        late.open()
        assert late.partitions == (32 if len(lost) == PARTITIONS else PARTITIONS)
        late.close()
        if len(lost) == PARTITIONS:
            for master in cluster.masters:
                master.client.flushall()
        for number in range(100, 140):
            assert store.check_and_add(ask(number)).status is Status.NEW
        assert_known(store, range(100, 140))
        assert_known(store, [number for number in range(40) if home(ask(number)) not in lost])

    def test_a_full_master_lets_pages_pass_and_tells_what_it_knows(
        self, store: ClusterStore, cluster: ClusterSetup
    ) -> None:
        refused = []
        with cluster.masters[0].configured(maxmemory=1):
            for number in range(40):
                try:
                    assert store.check_and_add(ask(number)).status is Status.NEW
                except StoreFullError:
                    refused.append(number)
            assert 0 < len(refused) < 40
            assert_known(store, [number for number in range(40) if number not in refused])
        for number in refused:
            assert store.check_and_add(ask(number)).status is Status.NEW
        assert store.info().pages == 40

    def test_a_full_cluster_is_joined_and_tells_what_it_knows(self, store: ClusterStore, cluster: ClusterSetup) -> None:
        for number in range(20):
            store.check_and_add(ask(number))
        late = ClusterStore(cluster.url, LAYOUT)
        with contextlib.ExitStack() as full:
            for master in cluster.masters:
                full.enter_context(master.configured(maxmemory=1))
            assert late.open() == 20
            assert [late.check_and_add(ask(number, "copy")).status for number in range(3)] == [Status.EXACT] * 3
            with pytest.raises(StoreFullError):
                late.check_and_add(ask(20))
        assert late.check_and_add(ask(20)).status is Status.NEW
        late.close()


class TestOtherIndexes:
    def test_an_index_of_the_first_layout_is_refused_until_it_is_cleared(self, cluster: ClusterSetup) -> None:
        head = old_head("test")
        client: Any = cluster.master_of(head).client
        client.hset(head, mapping={"profile": LAYOUT.profile, "epoch": 5})
        client.rpush(f"{head.removesuffix('m')}5:r:0", "record")
        store = ClusterStore(cluster.url, LAYOUT)
        for begin in (store.open, store.open_read_only):
            with pytest.raises(StoreError, match=r"earlier version.*clear it .*another namespace"):
                begin()
        store.clear()
        assert client.keys() == []
        assert store.open() == 0
        store.close()

    def test_a_partition_of_another_profile_is_refused(self, cluster: ClusterSetup, store: ClusterStore) -> None:
        part = prefixes("test", PARTITIONS)[5]
        cluster.master_of(part).client.hset(f"{part}m", "profile", OTHER_PROFILE.profile)
        other = ClusterStore(cluster.url, LAYOUT)
        for begin in (other.open, other.open_read_only):
            with pytest.raises(ProfileMismatchError, match="profile-2"):
                begin()
        other.close()


class TestRetention:
    def test_each_partition_has_its_share_of_the_limit(self, store: ClusterStore, cluster: ClusterSetup) -> None:
        limit = Retention(max_pages=64)
        for number in range(400):
            store.check_and_add(ask(number, retention=limit))
        assert 48 <= store.info().pages <= 64
        assert members(cluster) == 2 * store.info().pages

    def test_what_has_expired_is_freed_everywhere(self, cluster: ClusterSetup) -> None:
        clock = Clock()
        store = ClusterStore(cluster.url, LAYOUT, clock=clock)
        store.open()
        day = Retention(ttl_seconds=100)
        for number in range(100):
            store.check_and_add(ask(number, retention=day))
        clock.wait(101)
        store.check_and_add(ask(0, "again", retention=day))
        # It was met, so it is gone.
        assert store.info().pages == 100
        *_, last = store.prune(day)
        assert (last.freed, store.info().pages, members(cluster)) == (99, 1, 2)
        store.close()


class TestCopies:
    def test_pages_of_sites_are_copied_to_where_they_are_looked_for(self, cluster: ClusterSetup) -> None:
        texts = {f"https://{site}.example/{name}": f"{site} {name} " * 20 for site in "abcd" for name in ("one", "two")}
        with Deduplicator(scope="site") as memory:
            for address, text in texts.items():
                memory.check(address, text=text)
            with Deduplicator(cluster.url, scope="site") as dedup:
                assert memory.copy_to(dedup).added == len(texts)
                assert memory.copy_to(dedup).added == 0
                for address, text in texts.items():
                    verdict = dedup.check(f"{address}?copy", text=text)
                    assert (verdict.kind, verdict.original) == (Kind.EXACT_DUPLICATE, address)
                assert dedup.copy_to(Deduplicator(scope="site")).added == len(texts)
            with (
                Deduplicator(cluster.url, scope="spider", namespace="spiders") as dedup,
                pytest.raises(StoreError, match="do not tell"),
            ):
                memory.copy_to(dedup)
            with (
                Deduplicator(cluster.url, namespace="all") as dedup,
                pytest.raises(StoreError, match="did not note where texts belong"),
            ):
                memory.copy_to(dedup)

    def test_pages_of_all_sites_are_copied_to_their_homes_in_any_number_of_partitions(
        self, cluster: ClusterSetup
    ) -> None:
        texts = {url(number): " ".join(f"word{number * step}" for step in range(60)) for number in range(40)}
        with Deduplicator() as memory:
            for address, text in texts.items():
                memory.check(address, text=text)
            for partitions in (4, 64):
                place = f"{cluster.url}?partitions={partitions}"
                with Deduplicator(place, namespace=f"in-{partitions}") as dedup:
                    assert memory.copy_to(dedup).added == len(texts)
                    assert memory.copy_to(dedup).added == 0
                    for address, text in texts.items():
                        verdict = dedup.check(f"{address}?copy", text=text)
                        assert (verdict.kind, verdict.original) == (Kind.EXACT_DUPLICATE, address)
                        changed = dedup.check(address, text=f"{text} and more of it " + "again " * 40 * len(text))
                        assert (changed.kind, changed.changed) == (Kind.REVISIT, True)
                    assert dedup.info().pages == len(texts)


def test_a_cluster_is_asked_in_either_version_of_the_protocol(cluster: ClusterSetup) -> None:
    store = ClusterStore(f"{cluster.url}?protocol=3", LAYOUT)
    for questions in ([ask(1), ask(2, place=3)], [ask(4), ask(5, place=6)]):
        store.open()
        for question in questions:
            assert store.check_and_add(question).status is Status.NEW
            assert [record.url for record in store.find(question)] == [question.entry.url]
    assert store.info().pages == sum(map(len, store.records())) == 4
    store.clear()
    assert store.info().pages == 0
    store.close()
