"""What simhash-py promises in its published tests, asked of the functions of the same names here."""

from __future__ import annotations

import hashlib
from itertools import combinations

import pytest

from crawldedup.demo.library import all_articles
from crawldedup.simhash import compute, find_all, num_differing_bits, shingle

ANY_NUMBER_OF_BLOCKS = pytest.mark.parametrize("blocks", range(4, 10))
DISTANCE = 3


def test_differing_bits_are_counted() -> None:
    assert num_differing_bits(0xCAFE_F00D, 0xCAFE_F00D ^ 0x42) == 2


def test_no_hashes_give_zero() -> None:
    assert compute([]) == 0


def test_a_repeated_hash_is_its_own_simhash() -> None:
    assert compute([0xCAFE_F00D] * 100) == 0xCAFE_F00D


def test_a_hash_and_its_inverse_leave_no_bit() -> None:
    number = 0xCAFE_F00D_CAFE_F00D
    inverse = number ^ (1 << 64) - 1
    assert num_differing_bits(number, inverse) == 64
    assert compute([number, inverse]) == 0


def test_each_bit_is_that_of_most_hashes() -> None:
    assert compute([0b1100, 0b1010, 0b0110]) == 0b1110
    assert compute([0x1234, 0x2345, 0x3456]) == 0x3254


@ANY_NUMBER_OF_BLOCKS
def test_pairs_in_each_byte_are_found_whatever_the_number_of_blocks(blocks: int) -> None:
    near, alone = (0xCE, 0xEE, 0xEF, 0xFF), 0x33
    shifts = (0, 8, 16, 24)
    fingerprints = [number << shift for shift in shifts for number in (*near, alone)]
    expected = [(first << shift, second << shift) for shift in shifts for first, second in combinations(near, 2)]
    assert find_all(fingerprints, blocks, DISTANCE) == sorted(expected)


@ANY_NUMBER_OF_BLOCKS
def test_pairs_that_differ_in_distant_bits_are_found_whatever_the_number_of_blocks(blocks: int) -> None:
    """Any two of the numbers with three of four bits differ in two; 0 differs from each in three."""
    groups = [
        sorted(sum(1 << bit for bit in three) for three in combinations(bits, 3))
        for bits in ((0, 8, 16, 24), (4, 12, 20, 28))
    ]
    expected = [pair for group in groups for pair in combinations(group, 2)]
    expected += [(0, number) for group in groups for number in group]
    assert find_all([0, *groups[0], *groups[1]], blocks, DISTANCE) == sorted(expected)


def test_fewer_tokens_than_the_window_have_no_shingle() -> None:
    assert list(shingle(range(3), 4)) == []


@pytest.mark.parametrize("window", [0, -1])
def test_a_window_without_a_token_is_a_value_error(window: int) -> None:
    with pytest.raises(ValueError, match="it has at least one"):
        list(shingle(range(10), window))


def test_shingles_are_lists_of_tokens_four_by_default() -> None:
    expected = [[start, start + 1, start + 2, start + 3] for start in range(7)]
    assert list(shingle(list(range(10)), 4)) == expected
    assert list(shingle(range(10))) == expected


def simhash_of(text: str) -> int:
    letters = [letter for letter in text.lower() if letter.isalnum()]
    hashes = [hashlib.md5("".join(run).encode()).digest()[:8] for run in shingle(letters, 4)]
    return compute([int.from_bytes(number, "big") for number in hashes])


def test_texts_are_near_if_words_are_added_and_far_if_they_are_others() -> None:
    articles = all_articles()
    text, other = articles[0].text, articles[-1].text
    assert num_differing_bits(simhash_of(text), simhash_of(text)) == 0
    assert num_differing_bits(simhash_of(text), simhash_of(f"{text} (from a newspaper)")) <= DISTANCE
    assert num_differing_bits(simhash_of(text), simhash_of(other)) > DISTANCE
