"""The store on a real cluster of three masters with a replica each."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from dataclasses import replace
from functools import partial
from itertools import count, permutations
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from redis.crc import key_slot

from crawldedup.deduplicator import Deduplicator
from crawldedup.errors import StoreError, StoreFullError, StoreUnavailableError
from crawldedup.stores.base import Answer, Retention, Status
from crawldedup.stores.cluster import spread as cluster_spread
from crawldedup.stores.cluster.check import Check
from crawldedup.stores.cluster.protocol import PARTITIONS, partition_of_key, prefixes
from crawldedup.stores.cluster.spread import Spread
from crawldedup.stores.cluster.store import ClusterStore
from crawldedup.stores.registry import make_store
from crawldedup.verdict import Kind
from tests.servers import ClusterSetup, wait_until
from tests.stores.backends import Clock
from tests.stores.pages import LAYOUT, Page, near_page, query, random_digest, random_page, url_key_of
from tests.stores.racing import (
    Content,
    Racers,
    Resemblance,
    by_content,
    chained_contents,
    edited_contents,
    explains,
    offers_of,
    parts_of,
)
from tests.stores.test_racing import assert_index_holds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from crawldedup.stores.base import Query
    from crawldedup.stores.cluster.nodes import Call

# A busy machine may take its time to find a master dead.
PATIENCE_SECONDS = 30.0


def page_number(number: int) -> Any:
    return random_page(np.random.default_rng(number))


def url(number: object) -> str:
    return f"https://example.com/{number}"


def ask(number: int, name: object = None, *, place: int | None = None, **options: Any) -> Query:
    return replace(query(page_number(number), url(number if name is None else name), **options), shard_key=place)


@pytest.fixture
def store(cluster: ClusterSetup) -> Iterator[ClusterStore]:
    made = make_store(cluster.url, LAYOUT)
    assert isinstance(made, ClusterStore)
    assert made.open() == 0
    yield made
    made.close()


def members(cluster: ClusterSetup) -> int:
    """Of all permuted tables."""
    return sum(
        master.client.zcard(key)
        for master in cluster.masters
        for key in master.client.scan_iter("crawldedup:{test.*}:s:*:t*")
    )


def assert_known(store: ClusterStore, numbers: Sequence[int]) -> None:
    """Under another URL each is a copy of what it was."""
    for number in numbers:
        answer = store.check_and_add(ask(number, f"copy/{number}"))
        assert answer.record is not None
        assert (answer.status, answer.record.url) == (Status.EXACT, url(number))


class TestPartitions:
    @pytest.mark.parametrize("namespace", ["test", "a", "x.y:z-1", "n" * 100])
    def test_slots_are_spread_evenly_and_no_two_namespaces_share_a_key(self, namespace: str) -> None:
        slots = [key_slot(prefix.encode()) for prefix in prefixes(namespace)]
        assert [slot * PARTITIONS // 16384 for slot in slots] == list(range(PARTITIONS))
        assert all(
            slot == key_slot(f"{prefix}h:m".encode()) for slot, prefix in zip(slots, prefixes(namespace), strict=True)
        )
        assert not set(prefixes(namespace)) & set(prefixes(f"{namespace}.0"))

    def test_masters_share_the_pages(self, cluster: ClusterSetup, store: ClusterStore) -> None:
        for number in range(300):
            store.check_and_add(ask(number))
        for kind in ("h:*:r:", "s:*:t"):
            shares = []
            for master in cluster.masters:
                keys = master.client.scan_iter(f"crawldedup:{{test.*}}:{kind}*")
                sizes = [master.client.llen(key) if ":r:" in kind else master.client.zcard(key) for key in keys]
                shares.append(sum(sizes))
            assert sum(shares) == (300 if ":r:" in kind else 600)
            assert min(shares) > sum(shares) / 6

    def test_pages_with_places_and_pages_without_know_nothing_of_each_other(self, store: ClusterStore) -> None:
        places = (None, 0, 5, 21 + 16 * 10**15)
        for place in places[:3]:
            assert store.check_and_add(ask(1, place=place)).status is Status.NEW
        assert store.check_and_add(ask(1, "copy", place=places[3])).status is Status.EXACT
        assert store.info().pages == 3
        assert store.forget(ask(1).entry.url_key)
        assert store.info().pages == 0

    def test_a_check_takes_few_calls(self, store: ClusterStore) -> None:
        def cost(questions: list[Query]) -> tuple[float, float]:
            """Calls and rounds a check."""
            calls, rounds = store.fanout.calls, store.fanout.rounds
            for question in questions:
                store.check_and_add(question)
            return (store.fanout.calls - calls) / len(questions), (store.fanout.rounds - rounds) / len(questions)

        strangers = [ask(number, pages=10**6) for number in range(300)]
        # The nodes learn the scripts, which takes rounds of its own.
        for place in (None, *range(PARTITIONS)):
            cost([replace(question, shard_key=place) for question in strangers[:50]])
        copies = [ask(number, f"copy/{number}", pages=10**6) for number in range(50)]
        cost(copies[:30])
        assert cost([replace(question, shard_key=1) for question in strangers[:50]]) == (1, 1)
        calls, rounds = cost(strangers[:50])
        assert calls < 6
        assert rounds == 1
        calls, rounds = cost(copies[30:])
        assert calls < 8
        assert rounds == 3
        calls, rounds = cost(strangers[50:])
        assert calls < 15
        assert rounds < 7

    def test_a_batch_with_places_takes_one_round(self, store: ClusterStore) -> None:
        questions = [ask(number, place=number % 40) for number in range(80)]
        before = store.fanout.rounds
        # A script that a node does not know yet takes another.
        assert [answer.status for answer in store.check_many(questions)] == [Status.NEW] * 80
        assert store.fanout.rounds - before <= 2


@pytest.fixture(scope="module")
def racers() -> Iterator[Racers]:
    with Racers() as racers:
        yield racers


def name_at(home: int) -> int:
    """What `ask` names a page that this partition keeps."""
    return next(name for name in count() if url_key_of(url(name)) % PARTITIONS == home)


def one_way_circle(rng: np.random.Generator) -> list[Page]:
    """Three pages of which each finds the next, but not the one before.

    There are bits in which only one of them is odd. Of a page's own, and of the next one's, it is not at all sure; of
    those of the one before it is.
    """
    search, verify = random_page(rng).search_weights, random_page(rng).verify_weights
    pages = []
    for number in range(3):
        weights = verify.copy()
        for odd in range(3):
            weights[4 * odd : 4 * odd + 4] = 2.5 if odd == (number - 1) % 3 else -0.01 if odd == number else 0.01
        pages.append(Page(search, weights, random_digest(rng)))
    return pages


def held_before(script: str, at: threading.Event, until: threading.Event) -> Callable[..., list[Any]]:
    """A `Spread.run` that tells when the thread "held" is about to call a script, and holds it there for a while."""
    run = Spread.run

    def held(spread: Spread, *calls: Call) -> list[Any]:
        is_held = threading.current_thread().name == "held"
        if is_held and not at.is_set() and any(call.script == script for call in calls):
            at.set()
            until.wait(PATIENCE_SECONDS)
        return run(spread, *calls)

    return held


class TestRacing:
    @pytest.mark.parametrize(
        ("contents", "pages"),
        [(edited_contents(60, random.Random(1)), 10), (chained_contents(30, random.Random(2)), 16)],
        ids=["edited", "chained"],
    )
    def test_eight_processes_get_the_answers_of_one(
        self, cluster: ClusterSetup, racers: Racers, contents: list[Content], pages: int
    ) -> None:
        resemblance = Resemblance(contents)
        calls = racers.race(cluster.url, offers_of(contents, pages), random.Random(3))
        admitted = [call.url for call in calls if call.kind is Kind.NEW]
        # One of each text at the most, and nothing is dropped for what was dropped.
        texts = [parts_of(admitted_url)[:2] for admitted_url in admitted]
        assert len(set(texts)) == len(texts)
        assert {call.original for call in calls if call.is_duplicate} <= set(admitted)
        assert_index_holds(cluster.url, calls, contents)
        for number, own in by_content(calls).items():
            assert explains(own, partial(resemblance.finds, number)), f"no order gives the answers of content {number}"

    @pytest.mark.parametrize("held", [0, 1])
    @pytest.mark.parametrize("script", ["home_admit", "spread_add", "spread_since", "home_confirm"])
    def test_one_of_two_stays_wherever_the_other_is_held_up(
        self, store: ClusterStore, monkeypatch: pytest.MonkeyPatch, script: str, held: int
    ) -> None:
        page = page_number(1)
        # In whichever order they are numbered.
        questions = [query(page, url(name_at(3))), query(near_page(page), url(name_at(12)))]
        answers: dict[int, Answer] = {}

        def check(number: int) -> None:
            answers[number] = store.check_and_add(questions[number])

        at, until = threading.Event(), threading.Event()
        monkeypatch.setattr(Spread, "run", held_before(script, at, until))
        threads = [
            threading.Thread(target=check, args=(held,), name="held"),
            threading.Thread(target=check, args=(1 - held,)),
        ]
        threads[0].start()
        assert at.wait(PATIENCE_SECONDS)
        threads[1].start()
        # It is done, or waits for the one that is held.
        threads[1].join(0.3)
        until.set()
        for thread in threads:
            thread.join()
        (stays,) = (number for number, answer in answers.items() if answer.status is Status.NEW)
        copy = answers[1 - stays]
        assert copy.record is not None
        assert (copy.status, copy.record.url) == (Status.NEAR, questions[stays].entry.url)
        assert (store.info().pages, copy.record.copies) == (1, 1)

    @pytest.mark.parametrize("homes", list(permutations((2, 7, 13))))
    def test_not_all_of_a_circle_of_one_way_finds_stay(
        self, store: ClusterStore, monkeypatch: pytest.MonkeyPatch, homes: tuple[int, ...]
    ) -> None:
        pages = one_way_circle(np.random.default_rng(homes))
        questions = [query(page, url(name_at(home))) for page, home in zip(pages, homes, strict=True)]
        together = threading.Barrier(3, timeout=PATIENCE_SECONDS)
        file, run = Spread.file, Spread.run

        def file_together(spread: Spread, filed: Any) -> None:
            together.wait()
            file(spread, filed)
            together.wait()

        def confirm_late(spread: Spread, *calls: Call) -> list[Any]:
            # Until then each has met the others.
            if calls and calls[0].script == "home_confirm":
                time.sleep(0.1)
            return run(spread, *calls)

        monkeypatch.setattr(Spread, "file", file_together)
        monkeypatch.setattr(Spread, "run", confirm_late)
        answers: dict[int, Answer] = {}

        def check(number: int) -> None:
            answers[number] = store.check_and_add(questions[number])

        threads = [threading.Thread(target=check, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        # The lowest page goes ahead of those that it finds. The one that finds it is its copy, and so the third stays.
        lowest = homes.index(min(homes))
        copy = (lowest - 1) % 3
        assert {number for number, answer in answers.items() if answer.status is Status.NEW} == {0, 1, 2} - {copy}
        record = answers[copy].record
        assert record is not None
        assert record.url == questions[lowest].entry.url

    @pytest.mark.parametrize("dies", [False, True])
    def test_a_page_that_another_went_ahead_of_waits_for_that_one(
        self, store: ClusterStore, monkeypatch: pytest.MonkeyPatch, dies: bool
    ) -> None:
        page = page_number(1)
        first, second = query(page, url(name_at(3))), query(near_page(page), url(name_at(12)))
        has_looked, may_go_on = threading.Event(), threading.Event()
        run = held_before("home_admit", has_looked, may_go_on)
        confirmed: list[str] = []
        answers = []

        def go_ahead() -> None:
            with contextlib.suppress(KeyboardInterrupt):
                answers.append(store.check_and_add(first))

        ahead = threading.Thread(target=go_ahead, name="held")

        def confirm_after_the_first(spread: Spread, *calls: Call) -> list[Any]:
            if calls and calls[0].script == "home_confirm":
                name = threading.current_thread().name
                if name == "held" and dies:
                    raise KeyboardInterrupt
                if name != "held" and not confirmed:
                    may_go_on.set()
                    ahead.join()
                confirmed.append(name)
            return run(spread, *calls)

        monkeypatch.setattr(Spread, "run", confirm_after_the_first)
        ahead.start()
        assert has_looked.wait(PATIENCE_SECONDS)
        answer = store.check_and_add(second)
        assert [other.status for other in answers] == ([] if dies else [Status.NEW])
        assert answer.record is not None
        assert (answer.status, answer.record.url) == (Status.NEAR, first.entry.url)
        assert store.info().pages == 1

    def test_a_page_that_another_was_dropped_for_stays(
        self, store: ClusterStore, cluster: ClusterSetup, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        page = page_number(1)
        first, second = query(page, url(name_at(3))), query(near_page(page), url(name_at(12)))
        has_looked, may_go_on = threading.Event(), threading.Event()
        run = held_before("home_admit", has_looked, may_go_on)
        third = query(near_page(page), url("copy"))
        ahead = threading.Thread(target=store.check_and_add, args=(first,), name="held")
        copies = []

        def copy_before_it_is_taken_back(spread: Spread, *calls: Call) -> list[Any]:
            script = calls[0].script if calls else ""
            if script == "spread_since" and threading.current_thread().name != "held" and ahead.is_alive():
                may_go_on.set()
                ahead.join()
            elif script == "home_retract":
                # As if it had been held up for long.
                (pending,) = (key for master in cluster.masters for key in master.client.scan_iter("*:p"))
                client: Any = cluster.master_of(pending.decode()).client
                ((number, value),) = client.hgetall(pending).items()
                client.hset(pending, number, value[:1] + bytes(8) + value[9:])
                # Of the two it finds this one only.
                copies.append(store.check_and_add(replace(second, entry=third.entry, exact_only=True)))
            return run(spread, *calls)

        monkeypatch.setattr(Spread, "run", copy_before_it_is_taken_back)
        ahead.start()
        assert has_looked.wait(PATIENCE_SECONDS)
        answer = store.check_and_add(second)
        assert [(copy.status, copy.record.url) for copy in copies if copy.record] == [(Status.EXACT, second.entry.url)]
        assert (answer.status, store.info().pages) == (Status.NEW, 2)
        assert not any(master.client.keys("*:p") for master in cluster.masters)


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

    @pytest.mark.parametrize("place", [None, 7])
    def test_a_slot_that_moves_is_waited_for(
        self, cluster: ClusterSetup, store: ClusterStore, monkeypatch: pytest.MonkeyPatch, place: int | None
    ) -> None:
        monkeypatch.setattr("crawldedup.stores.redis.client.FAILOVER_SECONDS", PATIENCE_SECONDS)
        before = [ask(number, place=place) for number in range(50)]
        after = [ask(number, f"copy/{number}", place=place) for number in range(50)]
        for question in before:
            store.check_and_add(question)
        key = prefixes("test")[7]
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
        key = prefixes("test")[7]
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

    def test_killed_connections_are_replaced(self, cluster: ClusterSetup, store: ClusterStore) -> None:
        for number in range(20):
            cluster.masters[number % 3].client.client_kill_filter(_type="normal", skipme=True)
            assert store.check_and_add(ask(number)).status is Status.NEW
            assert store.check_and_add(ask(number, place=number)).status is Status.NEW
        assert_known(store, range(20))

    @pytest.mark.parametrize("lost", ["h:m", "s:m", "m"])
    def test_parts_that_were_lost_begin_anew(self, cluster: ClusterSetup, store: ClusterStore, lost: str) -> None:
        for number in range(20):
            store.check_and_add(ask(number))
        for prefix in prefixes("test"):
            cluster.master_of(prefix).client.delete(prefix + lost)
        for number in range(100, 120):
            assert store.check_and_add(ask(number)).status is Status.NEW
            assert store.check_and_add(ask(number, place=number)).status is Status.NEW
        assert_known(store, range(100, 120))

    def test_a_page_whose_check_goes_on_after_a_loss_is_no_copy_of_itself(
        self, store: ClusterStore, cluster: ClusterSetup, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        question = ask(1)
        lost, _ = {partition_of_key(key) for key in question.entry.keys}
        file = Spread.file
        filings: list[int] = []

        def lose_after_filing(spread: Spread, pages: Any) -> None:
            file(spread, pages)
            filings.append(len(filings))
            if len(filings) == 1:
                head = f"{spread.tables[lost]}m"
                cluster.master_of(head).client.delete(head)

        monkeypatch.setattr(Spread, "file", lose_after_filing)
        answer = store.check_and_add(question)
        assert len(filings) == 2
        assert (answer.status, store.info().pages) == (Status.NEW, 1)
        assert_known(store, [1])

    def test_what_a_crawler_that_died_has_not_filed_is_filed_by_the_next(
        self, store: ClusterStore, cluster: ClusterSetup, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(Spread, "file", interrupted)
            for number in range(10):
                with pytest.raises(KeyboardInterrupt):
                    store.check_and_add(ask(number))
        assert members(cluster) == 0
        other = ClusterStore(cluster.url, LAYOUT)
        other.open()
        assert members(cluster) == 0
        monkeypatch.setattr(cluster_spread, "LEFT_SECONDS", 0)
        other.heartbeat()
        assert members(cluster) == 20
        assert_known(other, range(10))
        assert not any(master.client.keys("*:p") for master in cluster.masters)
        other.close()

    def test_a_page_that_nobody_confirms_is_waited_for_and_then_taken_for_decided(
        self, store: ClusterStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(Check, "_confirm", interrupted)
            with pytest.raises(KeyboardInterrupt):
                store.check_and_add(ask(1))
        began = time.monotonic()
        assert_known(store, [1])
        assert time.monotonic() - began > 1
        assert store.check_and_add(ask(1)).status is Status.REVISIT

    def test_members_whose_record_is_gone_are_taken_out_when_they_are_met(
        self, store: ClusterStore, cluster: ClusterSetup
    ) -> None:
        for number in range(20):
            store.check_and_add(ask(number))
        for master in cluster.masters:
            for key in master.client.scan_iter("*:h:*:r:*"):
                master.client.delete(key)
        assert members(cluster) == 40
        for number in range(20):
            assert store.check_and_add(ask(number, f"again/{number}")).status is Status.NEW
        # Where no range of a page leads, nothing is met.
        assert members(cluster) < 45

    def test_a_full_node_leaves_pages_that_are_finished_later(
        self, store: ClusterStore, cluster: ClusterSetup, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        refused = []
        with cluster.masters[0].configured(maxmemory=1):
            for number in range(40):
                try:
                    store.check_and_add(ask(number))
                except StoreFullError:
                    refused.append(number)
        assert 0 < len(refused) < 40
        monkeypatch.setattr(cluster_spread, "LEFT_SECONDS", 0)
        store.heartbeat()
        for number in range(40):
            store.check_and_add(ask(number))
        assert store.info().pages == 40
        assert members(cluster) == 80

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


def interrupted(*args: object, **options: object) -> None:
    raise KeyboardInterrupt


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

    def test_an_index_that_pages_come_to_all_the_time_stays_small(self, cluster: ClusterSetup) -> None:
        clock = Clock()
        store = ClusterStore(cluster.url, LAYOUT, clock=clock)
        store.open()
        pages = []
        for number in range(800):
            clock.wait(1)
            pages.append(store.check_and_add(ask(number, retention=Retention(ttl_seconds=100))).pages)
        assert max(pages) < 600
        assert members(cluster) == 2 * pages[-1]
        store.close()


def test_pages_of_sites_are_copied_to_where_they_are_looked_for(cluster: ClusterSetup) -> None:
    texts = {f"https://{site}.example/{name}": f"{site} {name} " * 20 for site in "abcdefgh" for name in ("one", "two")}
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
