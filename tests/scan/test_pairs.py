"""Near duplicates share a key, and pages that share one are paired: all where few do, some where
many do.
"""

from __future__ import annotations

from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from crawldedup.index.queries import TABLES
from crawldedup.scan.pairs import (
    NEIGHBORS,
    VOLATILITY_UNIT,
    WaitingPairs,
    candidate_pairs,
    distinct,
    earlier_of,
    key_bits,
    keys_of,
    later_of,
    near_pairs,
    pack,
    pair,
)
from crawldedup.search.decision import cosine, search_similarity

BITS = 16


def alike(pages: int) -> partial[np.ndarray]:
    return partial(near_pairs, np.zeros(pages, np.uint64), np.zeros((pages, 4), np.uint64), 16, 80)


def packed_keys(prefixes: list[int], rest: int = 0) -> np.ndarray:
    keys = np.array([prefix << 48 | rest for prefix in prefixes], np.uint64)
    return np.sort(pack(keys, np.arange(len(prefixes), dtype=np.uint64)))


def pairs_of(packed: np.ndarray, near: partial[np.ndarray]) -> set[tuple[int, int]]:
    found = np.concatenate([np.empty(0, np.uint64), *candidate_pairs(packed, BITS, near)])
    return set(zip(earlier_of(found).tolist(), later_of(found).tolist(), strict=True))


def test_all_pages_that_share_a_key_are_paired() -> None:
    prefixes = [3, 5, 3, 9, 3, 5]
    assert pairs_of(packed_keys(prefixes), alike(6)) == {(0, 2), (0, 4), (2, 4), (1, 5)}


@pytest.mark.parametrize(("column", "bits"), [(0, 17), (1, 21)])
def test_pages_that_differ_in_too_many_bits_are_no_pair(column: int, bits: int) -> None:
    near = alike(3)
    near.args[column][1] = (1 << bits) - 1
    assert pairs_of(packed_keys([1, 1, 1]), near) == {(0, 2)}


def test_a_long_run_is_paired_with_neighbors_and_with_its_first_page() -> None:
    pages = 5 * NEIGHBORS
    found = pairs_of(packed_keys([1] * pages), alike(pages))
    assert {(0, later) for later in range(1, pages)} <= found
    assert {
        (later - back, later)
        for later in range(NEIGHBORS, pages)
        for back in range(1, NEIGHBORS + 1)
    } <= found
    assert len(found) < pages * (NEIGHBORS + 20)


def test_runs_are_not_cut_where_many_keys_are_worked_on_in_parts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("_KEYS_AT_ONCE", "_PAIRS_AT_ONCE"):
        monkeypatch.setattr(f"crawldedup.scan.pairs.{name}", 3)
    prefixes = [number // 5 for number in range(40)]
    expected = {
        each for first in range(0, 40, 5) for each in combinations(range(first, first + 5), 2)
    }
    assert pairs_of(packed_keys(prefixes), alike(40)) == expected


def test_waiting_pairs_come_back_block_by_block_sorted_and_once(tmp_path: Path) -> None:
    numbers = np.random.default_rng(1).integers(0, 200_000, (2, 5000)).astype(np.uint64)
    pairs = pair(*numbers)
    waiting = WaitingPairs(tmp_path, 200_000)
    for part in np.split(pairs, 10):
        waiting.add(distinct(part))
    blocks = list(waiting.blocks())
    assert [share for share, _ in blocks] == [0, 0.25, 0.5, 0.75]
    assert all((later_of(block) >> 16 == number).all() for number, (_, block) in enumerate(blocks))
    assert np.concatenate([block for _, block in blocks]).tolist() == np.unique(pairs).tolist()
    assert (earlier_of(pairs) <= later_of(pairs)).all()


def pages(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the search bits of pages with these weights, and the sizes of the weights."""
    search = np.packbits(weights >= 0, axis=1).view(">u8").ravel().astype(np.uint64)
    return search, np.minimum(np.abs(weights) * VOLATILITY_UNIT, 255).astype(np.uint8)


def share_a_key(first: np.ndarray, second: np.ndarray, bits: int) -> np.ndarray:
    met = np.zeros(len(first), bool)
    for table in TABLES:
        keys = [keys_of(*pages(each), table, bits=bits, similarity=0.9) for each in (first, second)]
        one, other = (each >> np.uint64(64 - bits) for each in keys)
        met |= (one[:, :, None] == other[:, None, :]).any(axis=(1, 2))
    return met


@pytest.mark.parametrize(("similarity", "least"), [(0.85, 0.97), (0.9, 0.99), (0.95, 0.999)])
def test_near_duplicates_meet(similarity: float, least: float) -> None:
    random = np.random.default_rng(1)
    rho = cosine(search_similarity(similarity))
    first = random.standard_normal((5000, 64))
    second = rho * first + np.sqrt(1 - rho * rho) * random.standard_normal((5000, 64))
    assert share_a_key(first, second, key_bits(1_000_000)).mean() > least
