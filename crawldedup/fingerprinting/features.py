"""Weighted features for the search bits: which pieces of a text count, and how much each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from crawldedup.evaluation.methods.word_scores import WordScorer, make_word_scorer
from crawldedup.fingerprinting.weighting import make_weighting
from crawldedup.text.tokenize import mix, word_hashes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from crawldedup.fingerprinting.weighting import Weighting

    Hashes = NDArray[np.uint64]
    Floats = NDArray[np.float32]

FEATURE_KINDS: Final = ("words", "words+pairs", "shingles")
DEFAULT_KIND: Final = "words+pairs"
DEFAULT_WEIGHTING: Final = "damped-tf"

_PAIR_FACTOR: Final = np.uint64(0xC2B2AE3D27D4EB4F)
_FIRST_FACTOR: Final = np.uint64(0x9E3779B97F4A7C15)
_TRIPLE_FACTOR: Final = np.uint64(0x165667B19E3779F9)


@cache
def default_features() -> SearchFeatures:
    """The features of the default method."""
    return make_features(DEFAULT_KIND, DEFAULT_WEIGHTING)


def feature_hashes(text: str) -> Hashes:
    """All distinct features of a text, of every kind: what `DocumentFrequencies.learn` takes."""
    words = word_hashes(text)
    if len(words) < 3:
        return count_runs(words.copy())[0] if len(words) else words
    pairs = pair_hashes(words)
    return count_runs(np.concatenate((words, mix(pairs), mix(shingle_hashes(words, pairs)))))[0]


class SearchFeatures(Protocol):
    """Makes the weighted features of a text."""

    @property
    def name(self) -> str:
        """Names everything that decides them."""

    def __call__(self, text: str, words: Hashes) -> tuple[Hashes, Floats]:
        """Distinct features and their weights: whole numbers above 0, at most 2 MAX_WEIGHT. `words`: word hashes."""


@dataclass(frozen=True)
class HashedFeatures:
    """Words, words and word pairs, or word 3-shingles, weighted by how often they occur.

    Of words and word pairs, words count twice as much: an edited word changes one word, but two pairs.
    """

    kind: str
    weighting: Weighting

    @property
    def name(self) -> str:
        """See `SearchFeatures`."""
        return f"{self.kind}.{self.weighting.name}"

    def __call__(self, text: str, words: Hashes) -> tuple[Hashes, Floats]:
        """See `SearchFeatures`."""
        del text
        if self.kind == "words":
            distinct, frequencies = count_runs(words.copy())
        elif self.kind == "shingles":
            distinct, frequencies = count_runs(mix(shingle_hashes(words, pair_hashes(words))))
        else:
            return self._words_and_pairs(words)
        return distinct, self.weighting.weigh(distinct, frequencies)

    def _words_and_pairs(self, words: Hashes) -> tuple[Hashes, Floats]:
        singles, single_frequencies = count_runs(words.copy())
        pairs, pair_frequencies = count_runs(mix(pair_hashes(words)))
        distinct = np.concatenate((singles, pairs))
        weights = self.weighting.weigh(distinct, np.concatenate((single_frequencies, pair_frequencies)))
        weights[: len(singles)] *= 2
        return distinct, weights


@dataclass(frozen=True)
class ScoredWords:
    """Words scored by their occurrences, length and part of speech (Yu, Hu & Zhang)."""

    scorer: WordScorer

    @property
    def name(self) -> str:
        """See `SearchFeatures`."""
        return self.scorer.name

    def __call__(self, text: str, words: Hashes) -> tuple[Hashes, Floats]:
        """See `SearchFeatures`. The scorer splits the text into words of its own."""
        del words
        return self.scorer.features(text)


def make_features(kind: str, weighting: str) -> SearchFeatures:
    """The features of a kind (one of FEATURE_KINDS) under a weighting. Raises ConfigurationError."""
    if weighting == "yu" or weighting.startswith("yu?"):
        return ScoredWords(make_word_scorer(weighting))
    return HashedFeatures(kind, make_weighting(weighting))


def pair_hashes(words: Hashes) -> Hashes:
    """One hash for each two adjacent words, to be mixed before its bits are used."""
    pairs = words[:-1] * _FIRST_FACTOR
    pairs += words[1:] * _PAIR_FACTOR
    return pairs


def shingle_hashes(words: Hashes, pairs: Hashes) -> Hashes:
    """One hash for each three adjacent words, from the words and their `pair_hashes`; to be mixed like those."""
    shingles = pairs[:-1] * _TRIPLE_FACTOR
    shingles += words[2:]
    return shingles


def count_runs(features: Hashes) -> tuple[Hashes, NDArray[np.intp]]:
    """The distinct values, sorted, and how often each occurs. Sorts `features` in place."""
    features.sort()
    firsts = first_of_runs(features)
    frequencies = np.empty_like(firsts)
    np.subtract(firsts[1:], firsts[:-1], out=frequencies[:-1])
    frequencies[-1] = len(features) - firsts[-1]
    return features.take(firsts), frequencies


def first_of_runs(ordered: Hashes) -> NDArray[np.intp]:
    """Where each run of equal values starts."""
    first = np.empty(len(ordered), np.bool_)
    first[0] = True
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return first.nonzero()[0]
