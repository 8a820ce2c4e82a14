"""The search features of the literature by name: words, words and pairs, word 3-shingles, or scored words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from crawldedup.evaluation.methods.weighting import make_weighting
from crawldedup.evaluation.methods.word_scores import make_word_scorer
from crawldedup.fingerprinting.features import WordsAndPairs, count_runs, pair_hashes, shingle_hashes
from crawldedup.text.tokenize import mix, word_hashes

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from crawldedup.evaluation.methods.weighting import Weighting
    from crawldedup.evaluation.methods.word_scores import WordScorer
    from crawldedup.fingerprinting.features import SearchFeatures

    Hashes = NDArray[np.uint64]
    Counts = NDArray[np.intp]
    Floats = NDArray[np.float32]

FEATURE_KINDS: Final = ("words", "words+pairs", "shingles")
DEFAULT_KIND: Final = "words+pairs"


@dataclass(frozen=True)
class Words:
    """Single words."""

    weighting: Weighting

    @property
    def name(self) -> str:
        """See `SearchFeatures`."""
        return f"words.{self.weighting.name}"

    def __call__(self, _text: str, words: Hashes, /) -> tuple[Hashes, Floats]:
        """See `SearchFeatures`."""
        distinct, frequencies = count_runs(words.copy())
        return distinct, self.weighting.weigh(distinct, frequencies)


@dataclass(frozen=True)
class WeightedWordsAndPairs(WordsAndPairs):
    """Words and pairs of adjacent words, as the default takes them."""

    weighting: Weighting

    @property
    def name(self) -> str:
        """See `SearchFeatures`."""
        return f"words+pairs.{self.weighting.name}"

    def weigh(self, features: Hashes, frequencies: Counts, /) -> Floats:
        """See `Weighting`."""
        return self.weighting.weigh(features, frequencies)


@dataclass(frozen=True)
class Shingles:
    """Word 3-shingles."""

    weighting: Weighting

    @property
    def name(self) -> str:
        """See `SearchFeatures`."""
        return f"shingles.{self.weighting.name}"

    def __call__(self, _text: str, words: Hashes, /) -> tuple[Hashes, Floats]:
        """See `SearchFeatures`."""
        distinct, frequencies = count_runs(mix(shingle_hashes(words, pair_hashes(words))))
        return distinct, self.weighting.weigh(distinct, frequencies)


@dataclass(frozen=True)
class ScoredWords:
    """Words scored by their occurrences, length and part of speech (Yu, Hu & Zhang)."""

    scorer: WordScorer

    @property
    def name(self) -> str:
        """See `SearchFeatures`."""
        return self.scorer.name

    def __call__(self, text: str, _words: Hashes, /) -> tuple[Hashes, Floats]:
        """See `SearchFeatures`. The scorer splits the text into words of its own."""
        return self.scorer.features(text)


_BY_KIND: Final[dict[str, Callable[[Weighting], SearchFeatures]]] = {
    "words": Words,
    "words+pairs": WeightedWordsAndPairs,
    "shingles": Shingles,
}


def make_features(kind: str, weighting: str) -> SearchFeatures:
    """Make the features of a kind (one of FEATURE_KINDS) under a weighting; "yu" replaces both.

    Raises ConfigurationError for a weighting that does not exist.
    """
    if weighting == "yu" or weighting.startswith("yu?"):
        return ScoredWords(make_word_scorer(weighting))
    return _BY_KIND[kind](make_weighting(weighting))


def feature_hashes(text: str) -> Hashes:
    """Return all distinct features of a text, of every kind: the input of `DocumentFrequencies.learn`."""
    words = word_hashes(text)
    if len(words) < 3:
        return count_runs(words.copy())[0] if len(words) else words
    pairs = pair_hashes(words)
    return count_runs(np.concatenate((words, mix(pairs), mix(shingle_hashes(words, pairs)))))[0]
