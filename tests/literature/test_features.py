"""Documents as features of the literature, and their simhashes."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import mmh3
import numpy as np
import pytest

from crawldedup.literature.features import (
    ENGLISH_STOP_WORDS,
    DocumentFrequencies,
    bit_weights,
    features,
    simhash,
)
from tests.literature.test_simhash_py import plain_compute

TEXT = "The cat saw the CAT, and it sat."


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {"the": 2, "cat": 2, "saw": 1, "and": 1, "it": 1, "sat": 1}),
        ({"term_frequency": False}, dict.fromkeys(["the", "cat", "saw", "and", "it", "sat"], 1)),
        ({"stop_words": ENGLISH_STOP_WORDS}, {"cat": 2, "saw": 1, "sat": 1}),
        (
            {"fold_case": False},
            dict.fromkeys(["The", "cat", "saw", "the", "CAT", "and", "it", "sat"], 1),
        ),
        (
            {"kind": "word-shingles", "stop_words": ENGLISH_STOP_WORDS},
            {"cat saw cat": 1, "saw cat sat": 1},
        ),
        (
            {"kind": "char-shingles", "size": 4, "stop_words": ENGLISH_STOP_WORDS | {"saw"}},
            {"cat ": 2, "at c": 1, "t ca": 1, " cat": 1, "at s": 1, "t sa": 1, " sat": 1},
        ),
    ],
)
def test_features(options: dict[str, Any], expected: dict[str, int]) -> None:
    assert features(TEXT, **options) == expected


@pytest.mark.parametrize(("bits", "frozen"), [(32, 0x3A730E60), (64, 0x5AADE481C1CB0E1E)])
def test_simhashes_are_the_signs_of_weights_with_norm_1(bits: int, frozen: int) -> None:
    weighted = {"storm": 3.0, "harbour": 4.0, "ice": 0.5}
    hash_of = mmh3.hash if bits == 32 else lambda word, signed: mmh3.hash64(word, signed=signed)[0]
    hashes = [hash_of(word.encode(), signed=False) for word in weighted]
    expected = plain_compute(hashes, list(weighted.values()), bits)
    assert simhash(weighted, bits=bits) == expected
    assert (
        int("".join("1" if weight > 0 else "0" for weight in bit_weights(weighted, bits)), 2)
        == expected
    )
    weights = bit_weights({"storm": 3.0, "harbour": 4.0}, bits)
    assert np.unique(np.abs(weights)).tolist() == pytest.approx([1 / 5, 7 / 5])
    assert bit_weights({}, bits).tolist() == [0] * bits
    assert (
        simhash(
            features("The ferries stop when the harbour freezes; then carts cross the ice."), bits
        )
        == frozen
    )


def test_tf_idf_as_defined() -> None:
    seen = DocumentFrequencies()
    assert seen.weigh(features("a b b")) == {"a": 1 / 3, "b": 2 / 3}
    for text in ("a b", "a c c", "a"):
        seen.learn(features(text))
    assert seen.documents == 3
    rare = math.log(4 / 2) + 1
    assert [seen.idf(word) for word in "abcd"] == pytest.approx([1, rare, rare, math.log(4) + 1])
    assert seen.weigh(Counter({"a": 3, "d": 1})) == pytest.approx(
        {"a": 3 / 4, "d": (math.log(4) + 1) / 4}
    )
