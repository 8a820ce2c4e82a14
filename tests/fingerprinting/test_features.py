"""The default features: words count twice as much as pairs, and frequent ones more, in whole numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawldedup.fingerprinting.fingerprint import MAX_WEIGHT, damped_weights, jaccard


@given(st.lists(st.integers(1, 200_000), min_size=1, max_size=40))
@settings(max_examples=60, deadline=None)
def test_weights_grow_with_the_term_frequency_in_whole_numbers(counts: list[int]) -> None:
    weights = damped_weights(np.array(counts))
    assert weights.dtype == np.float32
    assert weights.tolist() == [round(8 * min(count, 4096) ** 0.75) for count in counts]
    assert 1 <= weights.min() <= weights.max() <= MAX_WEIGHT


def test_the_exact_similarity_of_two_texts() -> None:
    assert jaccard("a b c d", "a b c e") == pytest.approx(1 / 3)
    assert jaccard("a b", "a b c") is None
