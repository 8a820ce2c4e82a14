"""Racing processes on a cluster: none of a content is lost, and exact copies are admitted once."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING, Final

import pytest

from crawldedup import Deduplicator
from crawldedup.errors import StoreError
from crawldedup.stores.cluster.partitions import prefixes
from crawldedup.stores.redis.url import DEFAULT_PARTITIONS
from crawldedup.verdict import Kind, Verdict
from tests.servers import ClusterSetup, wait_until
from tests.stores.racing import (
    Call,
    Content,
    Offer,
    Racers,
    Resemblance,
    ask,
    ask_with_rank,
    assert_the_best_is_kept,
    by_content,
    chained_contents,
    edited_contents,
    offers_of,
    parts_of,
)
from tests.stores.test_racing import assert_index_holds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tests.servers import RedisServer

PASSED_BY: Final = -1
"""Stands for the copies of a page that passed because the store failed."""


@pytest.fixture(scope="module")
def racers() -> Iterator[Racers]:
    with Racers() as racers:
        yield racers


def ask_or_pass(dedup: Deduplicator, offer: Offer) -> Verdict:
    """What a crawl does: a page passes when the store fails."""
    try:
        return ask(dedup, offer)
    except StoreError:
        time.sleep(0.05)
        return Verdict(kind=Kind.NEW, url=offer.url, words=0, copies=PASSED_BY)


def assert_nothing_is_lost(calls: Sequence[Call], contents: Sequence[Content], copies: int) -> None:
    """Of each content a page passes, and every page that was dropped was dropped for one that passes."""
    passed = {call.url for call in calls if not call.is_duplicate}
    assert len(calls) == len(contents) * copies
    assert {call.original for call in calls if call.is_duplicate} <= passed
    for call in calls:
        if call.kind is Kind.EXACT_DUPLICATE:
            assert parts_of(call.original or "")[:2] == parts_of(call.url)[:2]
    assert all(any(not call.is_duplicate for call in own) for own in by_content(calls).values())


def admitted_twice(calls: Sequence[Call], contents: Sequence[Content]) -> dict[str, int]:
    """Exact copies admitted beside each other, and pairs of near duplicates that were."""
    resemblance = Resemblance(contents)
    texts = Counter(parts_of(call.url)[:2] for call in calls if call.kind is Kind.NEW and call.copies != PASSED_BY)
    pairs = [(one, other) for one, other in combinations(texts, 2) if one[0] == other[0]]
    return {
        "exact": sum(count - 1 for count in texts.values()),
        "near": sum(
            resemblance.finds(content, one, other) and resemblance.finds(content, other, one)
            for (content, one), (_, other) in pairs
        ),
    }


@contextlib.contextmanager
def meanwhile(disturb: Callable[[threading.Event], None]) -> Iterator[None]:
    """Disturb a race until it is over."""
    over = threading.Event()
    thread = threading.Thread(target=disturb, args=(over,))
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("contents", "copies", "most_twice"),
    [
        pytest.param(edited_contents(60, random.Random(1)), 8, 12, id="edited"),
        pytest.param(chained_contents(24, random.Random(2)), 16, 20, id="chained", marks=pytest.mark.exhaustive),
    ],
)
def test_of_racing_pages_none_is_lost_and_of_exact_copies_one_is_admitted(
    cluster: ClusterSetup, racers: Racers, contents: list[Content], copies: int, most_twice: int
) -> None:
    calls = racers.race(cluster.url, offers_of(contents, copies), random.Random(3))
    assert_nothing_is_lost(calls, contents, copies)
    assert_index_holds(cluster.url, calls, contents)
    twice = admitted_twice(calls, contents)
    print(f"of {len(contents)} contents, pairs of near duplicates admitted: {twice['near']}")
    assert twice["exact"] == 0
    assert twice["near"] <= most_twice


@pytest.mark.exhaustive
def test_of_racing_copies_of_several_ranks_the_best_is_kept(cluster: ClusterSetup, racers: Racers) -> None:
    contents = [Content(content.texts[:1]) for content in edited_contents(40, random.Random(9))]
    calls = racers.race(cluster.url, offers_of(contents, 10), random.Random(10), ask_with_rank)
    assert_the_best_is_kept(cluster.url, calls, contents)


@pytest.mark.exhaustive
def test_a_race_goes_on_while_slots_move(cluster: ClusterSetup, racers: Racers) -> None:
    contents = edited_contents(100, random.Random(4))
    moved: list[str] = []

    def move(over: threading.Event) -> None:
        keys = random.Random(5).sample(prefixes("default", DEFAULT_PARTITIONS), DEFAULT_PARTITIONS)
        for key in keys:
            if over.is_set():
                return
            source = cluster.master_of(key)
            target = next(master for master in cluster.masters if master is not source)
            with cluster.moving(key, target):
                pass
            moved.append(key)

    with meanwhile(move):
        calls = racers.race(cluster.url, offers_of(contents, 10), random.Random(6), ask_or_pass)
    assert moved
    assert_nothing_is_lost(calls, contents, 10)
    twice = admitted_twice(calls, contents)
    failed = sum(call.copies == PASSED_BY for call in calls)
    print(
        f"{len(moved)} slots moved, {failed} pages passed unchecked; pairs of near duplicates admitted: {twice['near']}"
    )
    assert twice["exact"] == 0
    assert twice["near"] <= 20


@pytest.mark.exhaustive
def test_a_race_goes_on_while_a_master_is_killed(cluster: ClusterSetup, racers: Racers) -> None:
    contents = edited_contents(160, random.Random(7))
    killed: list[RedisServer] = []

    masters = cluster.masters

    def kill(over: threading.Event) -> None:
        # Everybody is at work by then.
        wait_until(lambda: sum(len(master.client.keys("*:r:*")) for master in masters) == DEFAULT_PARTITIONS)
        if not over.is_set():
            killed.append(masters[0])
            masters[0].stop()

    with meanwhile(kill):
        calls = racers.race(cluster.url, offers_of(contents, 10), random.Random(8), ask_or_pass)
    assert killed
    assert_nothing_is_lost(calls, contents, 10)
    twice = admitted_twice(calls, contents)
    failed = sum(call.copies == PASSED_BY for call in calls)
    print(f"a master was killed: {failed} pages passed unchecked, admitted twice: {twice}")
    # What the replica has not heard of in time is lost, and its copies are admitted again.
    assert twice["exact"] < 20
    assert failed < len(calls) / 2
