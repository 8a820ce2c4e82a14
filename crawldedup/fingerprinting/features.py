"""Weighted features for the search bits: which pieces of a text count, and how much each.

Weights are whole numbers: sums of them are exact, so every machine makes the same bits. Only their proportions matter,
because the fingerprint divides by their norm.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from crawldedup.text.tokenize import mix

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Hashes = NDArray[np.uint64]
    Counts = NDArray[np.intp]
    Floats = NDArray[np.float32]

MAX_WEIGHT: Final = 8191
"""Sums of 2,048 such weights stay below 2^24, so they are exact even in 32-bit floats."""

_DAMPING: Final = 0.75
_UNIT: Final = 8
_MAX_DAMPED: Final = 4096
_PAIR_FACTOR: Final = np.uint64(0xC2B2AE3D27D4EB4F)
_FIRST_FACTOR: Final = np.uint64(0x9E3779B97F4A7C15)
_TRIPLE_FACTOR: Final = np.uint64(0x165667B19E3779F9)


class SearchFeatures(Protocol):
    """Makes the weighted features of a text."""

    @property
    def name(self) -> str:
        """Name everything that decides the features; part of an index's profile."""

    def __call__(self, text: str, words: Hashes, /) -> tuple[Hashes, Floats]:
        """Return distinct features and their weights: whole numbers from 1 to 2 MAX_WEIGHT.

        `words` are the hashes of the words of `text`.
        """


@dataclass(frozen=True)
class WordsAndPairs:
    """Words and pairs of adjacent words. Words count twice as much: an edit changes one word, but two pairs.

    Each weighs (term frequency)^0.75, in eighths: between tf, which a few words dominate, and 1 + log tf. An edit
    changes the weight of a frequent feature less, so bits that listen to frequent features are steadier. With too much
    of that, pages of one language or one template become alike.
    """

    @property
    def name(self) -> str:
        """See `SearchFeatures`."""
        return "words+pairs.damped-tf"

    def weigh(self, _features: Hashes, frequencies: Counts, /) -> Floats:
        """Return the weights of distinct features with these numbers of occurrences in the page, same shape."""
        weights: Floats = _damped_weights().take(frequencies, mode="clip")
        return weights

    def __call__(self, _text: str, words: Hashes, /) -> tuple[Hashes, Floats]:
        """See `SearchFeatures`."""
        singles, single_frequencies = count_runs(words.copy())
        pairs, pair_frequencies = count_runs(mix(pair_hashes(words)))
        distinct = np.concatenate((singles, pairs))
        weights = self.weigh(distinct, np.concatenate((single_frequencies, pair_frequencies)))
        weights[: len(singles)] *= 2
        return distinct, weights


@cache
def _damped_weights() -> Floats:
    weights: Floats = np.rint(_UNIT * np.arange(_MAX_DAMPED + 1) ** _DAMPING).astype(np.float32)
    return weights


DEFAULT_FEATURES: Final = WordsAndPairs()


def pair_hashes(words: Hashes) -> Hashes:
    """Return one hash for each two adjacent words, to be mixed before its bits are used."""
    pairs = words[:-1] * _FIRST_FACTOR
    pairs += words[1:] * _PAIR_FACTOR
    return pairs


def shingle_hashes(words: Hashes, pairs: Hashes) -> Hashes:
    """Return one hash for each three adjacent words, from the words and their `pair_hashes`; to be mixed like those."""
    shingles = pairs[:-1] * _TRIPLE_FACTOR
    shingles += words[2:]
    return shingles


def count_runs(features: Hashes) -> tuple[Hashes, Counts]:
    """Return the distinct values, sorted, and their numbers of occurrences. Sorts `features` in place."""
    features.sort()
    firsts = first_of_runs(features)
    frequencies = np.empty_like(firsts)
    np.subtract(firsts[1:], firsts[:-1], out=frequencies[:-1])
    frequencies[-1] = len(features) - firsts[-1]
    return features.take(firsts), frequencies


def first_of_runs(ordered: Hashes) -> Counts:
    """Return the positions at which runs of equal values start."""
    return is_first_of_run(ordered).nonzero()[0]


def is_first_of_run(ordered: Hashes) -> NDArray[np.bool_]:
    """Return True for each value at which a run of equal ones starts."""
    first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return first
