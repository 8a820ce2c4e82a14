"""Plain simhash with the options of the literature: fingerprints of 32 or 64 bits (Charikar 2002).

A document becomes weighted features: words, word shingles or character shingles; with or without case, stop words and
term frequencies. The features become a simhash. Two simhashes are compared by the number of bits in which they differ.
`pairs.find_all` finds all near pairs of a collection.

    >>> old = simhash(features("The quick brown fox jumps over the lazy dog", stop_words=ENGLISH_STOP_WORDS))
    >>> new = simhash(features("The quick brown fox leaps over the lazy dog", stop_words=ENGLISH_STOP_WORDS))
    >>> num_differing_bits(old, new) < 32
    True
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Literal, TypeVar

import mmh3
import numpy as np

from crawldedup.errors import ConfigurationError
from crawldedup.text.tokenize import split_words

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

_Token = TypeVar("_Token")
FeatureKind = Literal["words", "word-shingles", "char-shingles"]

_STOP_WORDS: Final = """
a about after all also an and any are as at be because been but by can could did do for from had has have he her his
how i if in into is it its just like me more my no not now of on one or our out over she so some than that the their
them then there these they this to up was we were what when which who will with would you your
"""
ENGLISH_STOP_WORDS: Final = frozenset(_STOP_WORDS.split())
"""English words that stand in most texts, in lower case: for the argument `stop_words` of `features`."""


def shingle(tokens: Iterable[_Token], window: int = 4) -> Iterator[list[_Token]]:
    """Return every run of `window` tokens.

    Args:
        tokens: Tokens of any type.
        window: The length of a run, from 1.

    Returns:
        An iterator of lists. It is empty if there are fewer tokens than `window`.

    Raises:
        ConfigurationError: `window` is less than 1.

    Example:
        >>> from crawldedup.simhash import shingle
        >>> list(shingle(["the", "river", "ferry", "runs"], window=3))
        [['the', 'river', 'ferry'], ['river', 'ferry', 'runs']]
    """
    _check_size(window)
    listed = list(tokens)
    return (listed[start : start + window] for start in range(len(listed) - window + 1))


def features(
    text: str,
    *,
    kind: FeatureKind = "words",
    size: int = 3,
    fold_case: bool = True,
    stop_words: Collection[str] = (),
    term_frequency: bool = True,
) -> Counter[str]:
    """Return the weighted features of a text.

    Args:
        text: The text.
        kind: "words", "word-shingles" or "char-shingles".
        size: The number of words or characters of a shingle, from 1. A shorter text is one shingle.
        fold_case: With True, "Ferry" and "ferry" are one word.
        stop_words: Words that are left out before shingling; give them case-folded if `fold_case` is True.
        term_frequency: With False, every weight is 1; else it is how often a feature occurs.

    Raises:
        ConfigurationError: `kind` or `size` is not allowed.

    Example:
        >>> from crawldedup.simhash import ENGLISH_STOP_WORDS, features
        >>> dict(features("The ferry and the Ferry", stop_words=ENGLISH_STOP_WORDS))
        {'ferry': 2}
        >>> sorted(features("the river ferry runs", kind="word-shingles", size=3))
        ['river ferry runs', 'the river ferry']
    """
    tokens = [token for token in split_words(text, fold_case=fold_case) if token not in stop_words]
    if kind == "words":
        found = tokens
    elif kind == "word-shingles":
        found = [" ".join(run) for run in shingle(tokens, min(size, max(len(tokens), 1)))]
    elif kind == "char-shingles":
        _check_size(size)
        joined = " ".join(tokens)
        found = [joined[start : start + size] for start in range(max(len(joined) - size + 1, 1))] if joined else []
    else:
        raise ConfigurationError(f"kind is {kind!r}; it must be words, word-shingles or char-shingles")
    return Counter(found) if term_frequency else Counter(set(found))


def simhash(weighted: Mapping[str, float] | Iterable[str], bits: int = 64) -> int:
    """Return the simhash of features.

    Args:
        weighted: The features and their weights, or features of weight 1.
        bits: 32 or 64.

    Returns:
        A number of `bits` bits; 0 if there are no features.

    Raises:
        ConfigurationError: `bits` is not allowed.

    Example:
        >>> from crawldedup.simhash import features, num_differing_bits, simhash
        >>> old = simhash(features("The quick brown fox jumps over the lazy dog"))
        >>> new = simhash(features("The quick brown fox leaps over the lazy dog"))
        >>> num_differing_bits(old, new)
        5
    """
    _check_bits(bits)
    weights = weighted if isinstance(weighted, Mapping) else Counter(set(weighted))
    return compute(
        [_feature_hash(feature, bits) for feature in weights],
        weights=list(weights.values()),
        bits=bits,
    )


def compute(hashes: Sequence[int], *, weights: Sequence[float] | None = None, bits: int = 64) -> int:
    """Return the simhash of hashes: bit j is set if hashes with bit j outweigh those without it.

    A tie leaves a bit unset. `simhash-py` computes the same of the same hashes.

    Args:
        hashes: Numbers of up to `bits` bits; higher bits are ignored.
        weights: A weight for each hash; by default 1.
        bits: 32 or 64.

    Returns:
        A number of `bits` bits; 0 if there are no hashes.

    Raises:
        ConfigurationError: `bits` is not allowed.

    Example:
        >>> from crawldedup.simhash import compute
        >>> bin(compute([0b1100, 0b1010, 0b1001]))
        '0b1000'
        >>> bin(compute([0b1100, 0b1010, 0b1001], weights=[1, 3, 1]))
        '0b1010'
    """
    _check_bits(bits)
    if not len(hashes):
        return 0
    words = np.array(hashes, np.uint64).astype(">u8").view(np.uint8).reshape(-1, 8)
    signs = np.unpackbits(words, axis=1)[:, 64 - bits :].astype(np.float64) * 2 - 1
    sums = np.asarray(weights, np.float64) @ signs if weights is not None else signs.sum(axis=0)
    return int.from_bytes(np.packbits(sums > 0).tobytes(), "big")


def num_differing_bits(first: int, second: int) -> int:
    """Return the Hamming distance of two simhashes: the number of bits that differ.

    Example:
        >>> from crawldedup.simhash import num_differing_bits
        >>> num_differing_bits(0b1100, 0b1010)
        2
    """
    return (first ^ second).bit_count()


def _feature_hash(feature: str, bits: int) -> int:
    encoded = feature.encode("utf-8", "replace")
    if bits == 32:
        return int(mmh3.hash(encoded, signed=False))
    return int(mmh3.hash64(encoded, signed=False)[0])


def _check_bits(bits: int) -> None:
    if bits not in (32, 64):
        raise ConfigurationError(f"bits is {bits!r}; it must be 32 or 64")


def _check_size(size: int) -> None:
    if size < 1:
        raise ConfigurationError(f"a shingle of {size!r} words or characters was asked for; it has at least one")
