"""The features of a text that document frequencies are learned from."""

from __future__ import annotations

import pytest

from crawldedup.evaluation.methods.features import feature_hashes


@pytest.mark.parametrize(
    ("text", "distinct"),
    [("", 0), ("word", 1), ("word word", 1), ("one two", 2), ("one two three", 6), ("a b a b", 6)],
)
def test_all_features_of_a_text_are_distinct_and_sorted(text: str, distinct: int) -> None:
    found = feature_hashes(text).tolist()
    assert len(found) == distinct
    assert found == sorted(set(found))
    assert feature_hashes(text).tolist() == found
