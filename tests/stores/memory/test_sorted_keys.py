from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawldedup.stores.memory import sorted_keys
from crawldedup.stores.memory.sorted_keys import SortedKeys

# Few distinct keys, so that ranges are full and keys come again; both ends of what 64 bits hold.
keys = st.one_of(st.integers(0, 20), st.integers(2**64 - 5, 2**64 - 1), st.integers(0, 2**64 - 1))
ranges = st.lists(st.tuples(keys, keys).map(sorted), max_size=5)


@given(
    steps=st.lists(st.tuples(st.sampled_from(["add", "add", "remove", "change"]), keys), max_size=60),
    ranges=ranges,
    limit=st.integers(1, 20),
    room=st.integers(1, 8),
)
def test_sorted_keys_are_a_sorted_set(
    steps: list[tuple[str, int]], ranges: list[tuple[int, int]], limit: int, room: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sorted_keys, "_ROOM", room)
        tested, plain = SortedKeys(), set[int]()
        for step, key in steps:
            if step == "add" and key not in plain:
                tested.add(key)
                plain.add(key)
            elif step == "remove" and plain:
                gone = sorted(plain)[key % len(plain)]
                tested.remove(gone)
                plain.remove(gone)
            elif step == "change":
                tested.change(lambda keys: keys | np.uint64(0))
    # The third of a range that is looked for lies within it.
    wanted = [(low, low + (high - low) // 3, high) for low, high in ranges]
    lows, middles, highs = (np.array([bounds[side] for bounds in wanted], np.uint64) for side in range(3))
    within = []
    for number, (low, middle, high) in enumerate(wanted):
        inside = [key for key in sorted(plain) if low <= key <= high]
        assert tested.between(low, high) == inside
        below = [key for key in inside if key < middle]
        near = below[max(len(below) - limit, 0) :] + [key for key in inside if key >= middle][:limit]
        within += [(number, key) for key in near]
    numbers, found = tested.ranges(lows, middles, highs, limit)
    assert list(zip(numbers.tolist(), found.tolist(), strict=True)) == within
    assert len(tested) == len(plain)


def test_changing_all_keys_keeps_what_was_added_and_removed_since() -> None:
    keys = SortedKeys(np.array([1, 3, 5], np.uint64))
    keys.add(4)
    keys.remove(3)
    keys.change(lambda before: before * np.uint64(10))
    assert keys.between(0, 100) == [10, 40, 50]


def test_keys_that_were_removed_do_not_count_against_the_limit() -> None:
    keys = SortedKeys(np.arange(100, dtype=np.uint64))
    for gone in (48, 49, 52):
        keys.remove(gone)
    low, middle, high = (np.array([key], np.uint64) for key in (10, 50, 90))
    _, found = keys.ranges(low, middle, high, 3)
    assert found.tolist() == [45, 46, 47, 50, 51, 53]
