"""The published results of simhash-py with our functions, and all pairs against brute force."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawldedup.errors import ConfigurationError
from crawldedup.literature.simhash_py import (
    Corpus,
    Table,
    block_masks,
    compute,
    find_all,
    num_differing_bits,
    shingle,
)

HASHES = st.integers(0, (1 << 64) - 1)
DISTANCE = 3


def every_two(numbers: list[int], distance: int) -> list[tuple[int, int]]:
    pairs = combinations(sorted(set(numbers)), 2)
    return [(first, second) for first, second in pairs if (first ^ second).bit_count() <= distance]


def clustered(bits: int, centres: int, around: int, seed: int) -> list[int]:
    """Hashes, many of which are near each other, and some of which are repeated."""
    generator = np.random.default_rng(seed)
    found = []
    for _ in range(centres):
        centre = int.from_bytes(generator.bytes(8), "big") >> 64 - bits
        for _ in range(around):
            flips = generator.choice(
                bits, size=min(int(generator.integers(0, 7)), bits), replace=False
            )
            found.append(centre ^ sum(1 << int(bit) for bit in flips))
    return found


def plain_compute(hashes: Sequence[int], weights: Sequence[float], bits: int) -> int:
    value = 0
    for bit in reversed(range(bits)):
        total = sum(
            weight if number >> bit & 1 else -weight
            for number, weight in zip(hashes, weights, strict=True)
        )
        value = value << 1 | (total > 0)
    return value


@given(
    st.lists(st.tuples(HASHES, st.integers(0, 1000)), min_size=1, max_size=40),
    st.sampled_from([32, 64]),
)
@settings(max_examples=100, deadline=None)
def test_compute_is_the_sign_of_weighted_sums(weighted: list[tuple[int, int]], bits: int) -> None:
    hashes, weights = [number for number, _ in weighted], [weight for _, weight in weighted]
    assert compute(hashes, weights=weights, bits=bits) == plain_compute(hashes, weights, bits)
    assert compute(hashes, bits=bits) == plain_compute(hashes, [1] * len(hashes), bits)


def test_published_simhashes() -> None:
    number = 0xCAFE_F00D_CAFE_F00D
    inverse = number ^ (1 << 64) - 1
    assert compute([]) == 0
    assert compute([number] * 100) == number
    assert num_differing_bits(number, inverse) == 64
    assert compute([number, inverse]) == 0
    assert compute([0b1100, 0b1010, 0b0110]) == 0b1110
    assert compute([0x1234, 0x2345, 0x3456]) == 0x3254


def test_shingles_are_windows_of_any_tokens() -> None:
    assert list(shingle("abcd", 3)) == [["a", "b", "c"], ["b", "c", "d"]]
    assert list(shingle(range(5))) == [[0, 1, 2, 3], [1, 2, 3, 4]]
    assert list(shingle(iter(["a", "b"]), 2)) == [["a", "b"]]
    assert list(shingle(["a", "b"], 3)) == list(shingle([], 1)) == []


# The blocks, the corpus' fingerprint and the query of the README of simhash-py.
PICTURE = "63------53|52------42|41-----32|31------21|20------10|09------0|"
FINGERPRINT = 0b0100101110111011001000101111101110111100001010011101100110110101
PERMUTATIONS = [list(table.permutation) for table in Corpus(6, 3).tables]
QUERY = 0b0100101110111011011000101111101110011100001010011100100110110101


def test_blocks_are_those_of_the_published_picture() -> None:
    edges = [
        tuple(map(int, block.replace("-", " ").split())) for block in PICTURE.strip("|").split("|")
    ]
    assert block_masks(6) == [(1 << high + 1) - (1 << low) for high, low in edges]
    a, b, c, d, e, f = block_masks(6)
    assert PERMUTATIONS[:3] == [[a, b, c, d, e, f], [a, b, d, c, e, f], [a, b, e, c, d, f]]
    assert PERMUTATIONS[-1] == [d, e, f, a, b, c]


def test_the_published_query_is_found_in_the_published_table_alone() -> None:
    found = []
    for permutation in PERMUTATIONS:
        table = Table(3, permutation)
        table.insert(FINGERPRINT)
        if table.find_first(QUERY) == FINGERPRINT:
            found.append(["ABCDEF"[block_masks(6).index(mask)] for mask in permutation])
    assert found == [list("ACFBDE")]
    corpus = Corpus(6, 3)
    corpus.insert(FINGERPRINT)
    assert (len(corpus.tables), corpus.find_all(QUERY)) == (20, [FINGERPRINT])


@given(st.lists(HASHES, max_size=30), st.integers(2, 7), st.sampled_from([1, 4]), st.data())
@settings(max_examples=60, deadline=None)
def test_a_corpus_and_shards_of_it_find_what_is_near(
    numbers: list[int], blocks: int, parts: int, data: Any
) -> None:
    # Near keys of a shard share a byte.
    distance = data.draw(
        st.integers(0, blocks - 1 if parts == 1 else min(blocks - 1, 7 * blocks // 8 - 1))
    )
    starts = range(0, 256, 256 // parts)
    shards = [
        Corpus(blocks, distance, first_bytes=range(start, start + 256 // parts)) for start in starts
    ]
    for shard in shards:
        shard.insert_all(numbers[::2])
        for number in numbers[1::2]:
            shard.insert(number)
    assert sum(len(shard.tables[-1]) for shard in shards) == len(set(numbers))
    query = data.draw(st.sampled_from(numbers)) if numbers else 0
    query ^= sum(1 << bit for bit in data.draw(st.sets(st.integers(0, 63), max_size=distance + 1)))
    near = sorted({number for number in numbers if num_differing_bits(number, query) <= distance})
    assert sorted({number for shard in shards for number in shard.find_all(query)}) == near
    assert {shard.find_first(query) for shard in shards} - {None} <= set(near)
    assert any(shard.find_first(query) is not None for shard in shards) == bool(near)
    for shard in shards:
        for number in near:
            shard.remove(number)
        assert shard.find_all(query) == []


@pytest.mark.parametrize("blocks", range(4, 10))
def test_published_pairs(blocks: int) -> None:
    """Pairs in each byte; and numbers with three of four distant bits, which differ in two, and
    from 0 in three.
    """
    near, alone, shifts = (0xCE, 0xEE, 0xEF, 0xFF), 0x33, (0, 8, 16, 24)
    numbers = [number << shift for shift in shifts for number in (*near, alone)]
    expected = [
        (first << shift, second << shift)
        for shift in shifts
        for first, second in combinations(near, 2)
    ]
    assert find_all(numbers, blocks, DISTANCE) == sorted(expected)
    groups = [
        sorted(sum(1 << bit for bit in three) for three in combinations(bits, 3))
        for bits in (shifts, (4, 12, 20, 28))
    ]
    expected = [pair for group in groups for pair in combinations(group, 2)]
    expected += [(0, number) for group in groups for number in group]
    assert find_all([0, *groups[0], *groups[1]], blocks, DISTANCE) == sorted(expected)


@pytest.mark.parametrize("bits", [2, 8, 13, 32, 63, 64])
@pytest.mark.parametrize(
    ("blocks", "distance"),
    [(1, 0), (2, 1), (4, 3), (5, 3), (6, 3), (7, 1), (8, 6), (13, 2), (64, 1), (64, 0)],
)
def test_pairs_are_those_of_brute_force(blocks: int, distance: int, bits: int) -> None:
    if blocks > bits:
        return
    numbers = clustered(bits, centres=12, around=10, seed=blocks * 100 + bits)
    assert find_all(numbers, blocks, distance, bits=bits) == every_two(numbers, distance)


@pytest.mark.parametrize(
    "kind", [list, set, tuple, iter, lambda numbers: np.array(numbers, np.uint64)]
)
def test_any_collection_will_do(kind: Callable[[list[int]], Iterable[int]]) -> None:
    assert find_all(kind([9, 1, 8, (1 << 64) - 1]), 4, 1) == [(1, 9), (8, 9)]
    assert find_all(kind([7, 7]), 64, 63) == find_all(kind([]), 4, 3) == []


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: find_all([], 3, 3), "more blocks than bits"),
        (lambda: find_all([], 9, 3, bits=8), "more blocks than bits"),
        (lambda: Corpus(65, 3), "more blocks than bits"),
        (lambda: Corpus(4, -1), "more blocks than bits"),
        (lambda: find_all([1, 1 << 32], 4, 3, bits=32), "more than 32 bits"),
        (lambda: compute([1], bits=128), "bits is 128"),
        (lambda: shingle(["a"], 0), "a shingle of 0 tokens"),
        (lambda: Table(1, [0xFF, 0xF]), "not masks that cover every bit once"),
        (lambda: Table(2, [0xF0, 0x0F]), "there must be more blocks"),
        (lambda: Corpus(10, 9, first_bytes=range(8)), "a shard needs 8"),
    ],
)
def test_arguments_out_of_range(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        call()
