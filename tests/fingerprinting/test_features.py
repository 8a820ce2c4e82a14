"""The default features: words count twice as much as pairs, and frequent ones more, in whole numbers."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from crawldedup.fingerprinting.features import DEFAULT_FEATURES, MAX_WEIGHT, pair_hashes
from crawldedup.text.tokenize import mix, word_hashes


@given(st.lists(st.integers(1, 200_000), min_size=1, max_size=40))
@settings(max_examples=60, deadline=None)
def test_weights_grow_with_the_term_frequency_in_whole_numbers(counts: list[int]) -> None:
    weights = DEFAULT_FEATURES.weigh(np.arange(len(counts), dtype=np.uint64), np.array(counts))
    assert weights.dtype == np.float32
    assert weights.tolist() == [round(8 * min(count, 4096) ** 0.75) for count in counts]
    assert 1 <= weights.min() <= weights.max() <= MAX_WEIGHT


def test_words_count_twice_as_much_as_pairs() -> None:
    text = "to be or not to be"
    words = word_hashes(text)
    weights = dict(zip(*(column.tolist() for column in DEFAULT_FEATURES(text, words)), strict=True))
    pairs = mix(pair_hashes(words)).tolist()
    assert len(weights) == 4 + 4
    assert [weights[word] for word in words.tolist()] == [26, 26, 16, 16, 26, 26]
    assert [weights[pair] for pair in pairs] == [13, 8, 8, 8, 13]


def test_the_name_is_part_of_the_profile_of_every_index() -> None:
    assert DEFAULT_FEATURES.name == "words+pairs.damped-tf"
