"""All near pairs of a collection, against comparing every two."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawldedup.errors import ConfigurationError
from crawldedup.simhash import pairs as module
from crawldedup.simhash.blocks import BlockSearch, fingerprints_of, keys_of
from crawldedup.simhash.pairs import find_all

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

MILLION = 1_000_000
DISTANCE = 3


def every_two(fingerprints: list[int], distance: int) -> list[tuple[int, int]]:
    return [
        (first, second)
        for first, second in combinations(sorted(set(fingerprints)), 2)
        if (first ^ second).bit_count() <= distance
    ]


def clustered(bits: int, centres: int, around: int, seed: int) -> list[int]:
    """Fingerprints of which many are near each other, some of them twice."""
    generator = np.random.default_rng(seed)
    found = []
    for _ in range(centres):
        centre = (
            int(generator.integers(0, 1 << bits, dtype=np.uint64, endpoint=False))
            if bits < 64
            else int.from_bytes(generator.bytes(8), "big")
        )
        for _ in range(around):
            flips = generator.choice(bits, size=min(int(generator.integers(0, 7)), bits), replace=False)
            found.append(centre ^ sum(1 << int(bit) for bit in flips))
    return found


@pytest.mark.parametrize("bits", [2, 8, 13, 32, 63, 64])
@pytest.mark.parametrize(
    ("blocks", "distance"), [(1, 0), (2, 1), (4, 3), (5, 3), (6, 3), (7, 1), (8, 6), (13, 2), (64, 1), (64, 0)]
)
def test_pairs_are_those_of_brute_force(blocks: int, distance: int, bits: int) -> None:
    if blocks > bits:
        return
    fingerprints = clustered(bits, centres=12, around=10, seed=blocks * 100 + bits)
    assert find_all(fingerprints, blocks, distance, bits=bits) == every_two(fingerprints, distance)


@pytest.mark.exhaustive
@given(
    st.lists(st.integers(0, (1 << 10) - 1), max_size=60),
    st.integers(1, 10).flatmap(lambda blocks: st.tuples(st.just(blocks), st.integers(0, min(blocks - 1, 4)))),
)
@settings(max_examples=150, deadline=None)
def test_pairs_are_those_of_brute_force_in_dense_collections(fingerprints: list[int], search: tuple[int, int]) -> None:
    blocks, distance = search
    assert find_all(fingerprints, blocks, distance, bits=10) == every_two(fingerprints, distance)


@pytest.mark.parametrize("keys_at_once", [1, 2, 50])
def test_stretches_of_keys_change_nothing(keys_at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    fingerprints = clustered(64, centres=10, around=20, seed=1)
    monkeypatch.setattr(module, "_KEYS_AT_ONCE", keys_at_once)
    assert find_all(fingerprints, 5, 3) == every_two(fingerprints, 3)


@pytest.mark.parametrize("fingerprints", [[], [7], [7, 7, 7], [0, (1 << 64) - 1]])
def test_collections_without_a_pair(fingerprints: list[int]) -> None:
    assert find_all(fingerprints, 4, 3) == []
    assert find_all(np.array(fingerprints, np.uint64), 64, 63) == []


@pytest.mark.parametrize("kind", [list, set, tuple, iter])
def test_any_collection_of_fingerprints_will_do(kind: Callable[[list[int]], Iterable[int]]) -> None:
    assert find_all(kind([9, 1, 8, (1 << 64) - 1]), 4, 1) == [(1, 9), (8, 9)]


def test_arrays_are_left_alone() -> None:
    fingerprints = np.array([9, 1, 8, 0], np.uint64)
    assert find_all(fingerprints, 4, 1) == [(0, 1), (0, 8), (1, 9), (8, 9)]
    assert fingerprints.tolist() == [9, 1, 8, 0]


def test_fingerprints_of_too_many_bits_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="more than 32 bits"):
        find_all([1, 1 << 32], 4, 3, bits=32)


class Planted:
    """A million random fingerprints, among them 200 with up to eight neighbours 1 to 4 bits away."""

    def __init__(self) -> None:
        generator = np.random.default_rng(2007)
        self.fingerprints = generator.integers(0, 1 << 64, MILLION, np.uint64, endpoint=False)
        self.planted = self.fingerprints[:200].tolist()
        neighbours = []
        for number, fingerprint in enumerate(self.planted):
            for neighbour in range(number % 9):
                flips = generator.choice(64, size=1 + neighbour % 4, replace=False)
                neighbours.append(fingerprint ^ sum(1 << int(bit) for bit in flips))
        self.fingerprints[-len(neighbours) :] = neighbours
        generator.shuffle(self.fingerprints)
        # Whatever lies near a fingerprint with neighbours, or near one of these, by looking at all the million.
        self.near = {fingerprint: self.compare_with_all(fingerprint) for fingerprint in [*self.planted, *neighbours]}

    def compare_with_all(self, fingerprint: int) -> set[int]:
        distances = np.bitwise_count(self.fingerprints ^ np.uint64(fingerprint))
        near: NDArray[np.uint64] = self.fingerprints[(distances <= DISTANCE) & (distances > 0)]
        return set(near.tolist())


@pytest.fixture(scope="module")
def million() -> Planted:
    return Planted()


@pytest.mark.exhaustive
def test_planted_pairs_are_there(million: Planted) -> None:
    assert sum(len(near) for near in million.near.values()) > 1000


@pytest.mark.exhaustive
@pytest.mark.parametrize("blocks", [4, 5, 6])
def test_all_pairs_of_a_million(blocks: int, million: Planted) -> None:
    found = find_all(million.fingerprints, blocks, DISTANCE)
    expected = {(min(first, second), max(first, second)) for first, others in million.near.items() for second in others}
    # Random fingerprints this near each other are not to be expected: 0.001 pairs in a million.
    assert found == sorted(expected)


@pytest.mark.exhaustive
@pytest.mark.parametrize("blocks", [4, 5, 6])
def test_ranges_of_the_exact_plan_hold_all_near_fingerprints_of_a_million(blocks: int, million: Planted) -> None:
    """The plan read as a store reads it: ranges of sorted keys, and nothing but what is in them."""
    search = BlockSearch(blocks, DISTANCE)
    plans = {fingerprint: search.plan(fingerprint) for fingerprint in million.near}
    found: dict[int, set[int]] = {fingerprint: set() for fingerprint in million.near}
    read = 0
    for number, table in enumerate(search.tables):
        keys = np.sort(keys_of(million.fingerprints, table))
        for fingerprint, plan in plans.items():
            own = plan.tables == number
            starts = np.searchsorted(keys, plan.lows[own], "left")
            stops = np.searchsorted(keys, plan.highs[own], "right")
            for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
                read += stop - start
                hits = fingerprints_of(keys[start:stop], table)
                distances = np.bitwise_count(hits ^ np.uint64(fingerprint))
                found[fingerprint].update(hits[(distances <= DISTANCE) & (distances > 0)].tolist())
    assert found == million.near
    # What the tables are for: a prefix of 16, 25 or 32 bits leaves few of the million to be compared.
    assert read / len(plans) < {4: 120, 5: 40, 6: 60}[blocks]
