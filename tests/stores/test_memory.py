from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawldedup.stores import memory
from crawldedup.stores.base import Status
from crawldedup.stores.memory import MemoryStore, SortedKeys

from .pages import LAYOUT, query, random_page

# Few distinct keys, so that ranges are full and keys come twice; both ends of what 64 bits hold.
keys = st.one_of(st.integers(0, 20), st.integers(2**64 - 5, 2**64 - 1), st.integers(0, 2**64 - 1))
ranges = st.lists(st.tuples(keys, keys).map(sorted), max_size=5)


@given(
    steps=st.lists(st.tuples(st.sampled_from(["add", "add", "remove"]), keys), max_size=60),
    ranges=ranges,
    limit=st.integers(1, 20),
    room=st.integers(1, 8),
)
def test_sorted_keys_are_a_sorted_list(
    steps: list[tuple[str, int]], ranges: list[tuple[int, int]], limit: int, room: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "_DELTA_ROOM", room)
        sorted_keys, plain = SortedKeys(), []
        for step, key in steps:
            if step == "add":
                sorted_keys.add(key)
                plain.append(key)
            elif plain:
                key = plain.pop(key % len(plain))
                sorted_keys.remove(key)
    # The third of a range that is looked for lies within it.
    wanted = [(low, low + (high - low) // 3 if high >= low else low, high) for low, high in ranges]
    lows, middles, highs = (np.array([bounds[side] for bounds in wanted], np.uint64) for side in range(3))
    within = []
    for number, (low, middle, high) in enumerate(wanted):
        inside = [key for key in sorted(plain) if low <= key <= high]
        below = [key for key in inside if key < middle]
        near = below[max(len(below) - limit, 0) :] + [key for key in inside if key >= middle][:limit]
        within += [(number, key) for key in near]
    assert sorted_keys.ranges(lows, middles, highs, limit) == within
    assert len(sorted_keys) == len(plain)


def test_threads_may_share_a_store() -> None:
    store = MemoryStore(LAYOUT)
    rng = np.random.default_rng(2)
    pages = [random_page(rng) for _ in range(100)]
    statuses: list[Any] = []

    def crawl(name: str) -> None:
        statuses.extend([store.check_and_add(query(page, f"{name}/{page.digest}")).status for page in pages])

    threads = [threading.Thread(target=crawl, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses.count(Status.NEW) == 100
    assert statuses.count(Status.EXACT) == 300
    assert store.info().pages == 100
