"""Pages that share a key are paired, all of them where they are few, and a bounded number where they are many."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest

from crawldedup.scan.pairs import (
    NEIGHBOURS,
    Nearness,
    candidate_pairs,
    crowded,
    distinct,
    earlier_of,
    later_of,
    pack,
    pair,
)

BITS = 16


def alike(pages: int) -> Nearness:
    return Nearness(np.zeros(pages, np.uint64), np.zeros((pages, 4), np.uint64), 16, 80)


def packed_keys(prefixes: list[int], rest: int = 0) -> np.ndarray:
    keys = np.array([prefix << 48 | rest for prefix in prefixes], np.uint64)
    return np.sort(pack(keys, np.arange(len(prefixes), dtype=np.uint64)))


def pairs_of(packed: np.ndarray, nearness: Nearness) -> set[tuple[int, int]]:
    found = np.concatenate([np.empty(0, np.uint64), *candidate_pairs(packed, BITS, nearness)])
    return set(zip(earlier_of(found).tolist(), later_of(found).tolist(), strict=True))


def test_all_pages_that_share_a_key_are_paired() -> None:
    prefixes = [3, 5, 3, 9, 3, 5]
    assert pairs_of(packed_keys(prefixes), alike(6)) == {(0, 2), (0, 4), (2, 4), (1, 5)}


def test_a_pair_names_the_earlier_page_first_whichever_comes_first() -> None:
    numbers = np.array([7, 2], np.uint64), np.array([2, 7], np.uint64)
    assert earlier_of(pair(*numbers)).tolist() == [2, 2]
    assert later_of(pair(*numbers)).tolist() == [7, 7]


@pytest.mark.parametrize("column", ["search", "verify"])
def test_pages_that_differ_in_too_many_bits_are_no_pair(column: str) -> None:
    near = alike(3)
    if column == "search":
        near.search[1] = (1 << 17) - 1
    else:
        near.verify[1] = (1 << 21) - 1
    assert pairs_of(packed_keys([1, 1, 1]), near) == {(0, 2)}


def test_a_long_run_is_paired_with_neighbours_and_with_its_first_page() -> None:
    pages = 5 * NEIGHBOURS
    found = pairs_of(packed_keys([1] * pages), alike(pages))
    assert {(0, later) for later in range(1, pages)} <= found
    assert {(later - back, later) for later in range(NEIGHBOURS, pages) for back in range(1, NEIGHBOURS + 1)} <= found
    assert len(found) < pages * (NEIGHBOURS + 20)


def test_pages_next_to_each_other_in_a_long_run_are_paired() -> None:
    """Runs are in the order of whole keys, so the nearest of many pages are met."""
    pages = 10 * NEIGHBOURS
    keys = np.array([1 << 48 | (page * 7919 % pages) << 34 for page in range(pages)], np.uint64)
    found = pairs_of(np.sort(pack(keys, np.arange(pages, dtype=np.uint64))), alike(pages))
    by_key = np.argsort(keys).tolist()
    assert all(tuple(sorted(each)) in found for each in pairwise(by_key))


def test_only_pages_of_long_runs_are_crowded() -> None:
    prefixes = [1] * (NEIGHBOURS + 1) + [2] * (NEIGHBOURS + 2) + [3]
    expected = range(NEIGHBOURS + 1, 2 * NEIGHBOURS + 3)
    assert crowded(packed_keys(prefixes), BITS).tolist() == list(expected)


def test_runs_are_not_cut_where_many_keys_are_worked_on_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_KEYS_AT_ONCE", "_PAIRS_AT_ONCE"):
        monkeypatch.setattr(f"crawldedup.scan.pairs.{name}", 3)
    prefixes = [number // 5 for number in range(40)]
    expected = {each for first in range(0, 40, 5) for each in combinations(range(first, first + 5), 2)}
    assert pairs_of(packed_keys(prefixes), alike(40)) == expected


def test_distinct_values_are_those_of_numpy() -> None:
    values = np.random.default_rng(1).integers(0, 50, 1000).astype(np.uint64)
    assert distinct(values).tolist() == np.unique(values).tolist()
    assert distinct(values[:0]).tolist() == []
