"""Where pages crowd, plans are made as for a larger index, and only there."""

from __future__ import annotations

from crawldedup.search.crowding import MAX_DOUBLINGS, Crowding

MOST = 64
HERE = [0x123 << 54, 0x3FF << 54]
HERE_TOO = [HERE[0] + 12345, HERE[1] + 99]
ELSEWHERE = [0x122 << 54, 0x3FE << 54]
HALF_HERE = [HERE[0], ELSEWHERE[1]]


def test_nothing_is_crowded_at_first() -> None:
    crowding = Crowding()
    crowding.learn(HERE, MOST - 1, MOST)
    assert crowding.doublings(HERE) == 0


def test_a_crowd_is_remembered_where_it_was() -> None:
    crowding = Crowding()
    crowding.learn(HERE, MOST, MOST)
    assert crowding.doublings(HERE) == crowding.doublings(HERE_TOO) > 0
    assert crowding.doublings(ELSEWHERE) == crowding.doublings(HALF_HERE) == 0


def test_the_larger_the_crowd_the_narrower_the_ranges_up_to_a_limit() -> None:
    crowding = Crowding()
    seen = []
    for _ in range(40):
        crowding.learn(HERE, MOST, MOST)
        seen.append(crowding.doublings(HERE))
    assert seen == sorted(seen)
    assert seen[0] < seen[1] < seen[-1] == MAX_DOUBLINGS


def test_a_crowd_that_has_left_is_forgotten() -> None:
    crowding = Crowding()
    crowding.learn(HERE, MOST, MOST)
    crowded = crowding.doublings(HERE)
    crowding.learn(HERE, MOST // 2, MOST)
    assert crowding.doublings(HERE) == crowded
    for _ in range(crowded):
        crowding.learn(HERE, 0, MOST)
    assert crowding.doublings(HERE) == 0


def test_a_method_without_tables_is_not_crowded() -> None:
    assert Crowding().doublings([]) == 0
