"""Documents as features of the literature, and their simhashes."""

from __future__ import annotations

import math
from collections import Counter
from types import MappingProxyType
from typing import Any

import mmh3
import numpy as np
import pytest

from crawldedup.errors import ConfigurationError
from crawldedup.literature.features import (
    ENGLISH_STOP_WORDS,
    DocumentFrequencies,
    FeatureKind,
    bit_weights,
    features,
    num_differing_bits,
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
        ({"fold_case": False}, dict.fromkeys(["The", "cat", "saw", "the", "CAT", "and", "it", "sat"], 1)),
        ({"kind": "word-shingles", "stop_words": ENGLISH_STOP_WORDS}, {"cat saw cat": 1, "saw cat sat": 1}),
        ({"kind": "word-shingles", "size": 7}, {"the cat saw the cat and it": 1, "cat saw the cat and it sat": 1}),
        (
            {"kind": "char-shingles", "size": 4, "stop_words": ENGLISH_STOP_WORDS | {"saw"}},
            {"cat ": 2, "at c": 1, "t ca": 1, " cat": 1, "at s": 1, "t sa": 1, " sat": 1},
        ),
        ({"kind": "char-shingles", "size": 100}, {"the cat saw the cat and it sat": 1}),
    ],
)
def test_features(options: dict[str, Any], expected: dict[str, int]) -> None:
    assert features(TEXT, **options) == expected


@pytest.mark.parametrize("kind", ["words", "word-shingles", "char-shingles"])
def test_near_duplicates_are_nearer_than_others_and_nothing_has_no_features(kind: FeatureKind) -> None:
    assert features("", kind=kind) == features("of the", kind=kind, stop_words=ENGLISH_STOP_WORDS) == {}
    words = [f"word{number}" for number in range(300)]
    texts = words, [*words[:150], "edit", *words[151:]], [f"term{number}" for number in range(300)]
    page, near, far = (simhash(features(" ".join(text), kind=kind)) for text in texts)
    assert num_differing_bits(page, near) < 12 < num_differing_bits(page, far)


@pytest.mark.parametrize("bits", [32, 64])
def test_simhashes_are_the_signs_of_weights_with_norm_1(bits: int) -> None:
    weighted = {"storm": 3.0, "harbour": 4.0, "ice": 0.5}
    hashes = [
        mmh3.hash(word.encode(), signed=False) if bits == 32 else mmh3.hash64(word.encode(), signed=False)[0]
        for word in weighted
    ]
    expected = plain_compute(hashes, list(weighted.values()), bits)
    assert simhash(weighted, bits=bits) == simhash(MappingProxyType(weighted), bits=bits) == expected
    weights = bit_weights({"storm": 3.0, "harbour": 4.0}, bits)
    assert weights.shape == (bits,)
    assert int("".join("1" if weight > 0 else "0" for weight in bit_weights(weighted, bits)), 2) == expected
    assert np.unique(np.abs(weights)).tolist() == pytest.approx([1 / 5, 7 / 5])
    assert bit_weights({}, bits).tolist() == [0] * bits


def test_frozen_simhashes() -> None:
    weighted = features("The ferries stop when the harbour freezes; then carts cross the ice.")
    assert (f"{simhash(weighted):016x}", f"{simhash(weighted, bits=32):08x}") == ("5aade481c1cb0e1e", "3a730e60")


def test_tf_idf_as_defined() -> None:
    seen = DocumentFrequencies()
    assert seen.weigh(features("a b b")) == {"a": 1 / 3, "b": 2 / 3}
    for text in ("a b", "a c c", "a"):
        seen.learn(features(text))
    assert seen.documents == 3
    rare = math.log(4 / 2) + 1
    assert [seen.idf(word) for word in "abcd"] == pytest.approx([1, rare, rare, math.log(4) + 1])
    assert seen.weigh(Counter({"a": 3, "d": 1})) == pytest.approx({"a": 3 / 4, "d": (math.log(4) + 1) / 4})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: simhash(Counter("ab"), bits=16), "bits is 16"),
        (lambda: features("a", kind="word-shingles", size=0), "a shingle of 0"),
        (lambda: features("a", kind="char-shingles", size=0), "a shingle of 0"),
        (lambda: features("a", kind="letters"), "kind is 'letters'"),  # type: ignore[arg-type]
    ],
)
def test_arguments_out_of_range(call: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        call()
