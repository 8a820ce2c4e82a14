"""Each method of the literature as a detector of near duplicates, for `crawldedup bench`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from crawldedup.literature.exact import shingles
from crawldedup.literature.features import DocumentFrequencies, bit_weights, features, simhash
from crawldedup.literature.minhash import BandedIndex, bands_for, jaccard_of_sets, minhash
from crawldedup.literature.simhash_py import Corpus
from crawldedup.literature.volatility import VolatilitySearch
from crawldedup.literature.word_scores import score_words, tag_chinese

Features = Callable[[str], Mapping[str, float]]

PERMUTATIONS: Final = 128


class Detector(Protocol):
    """Sees pages one by one, and remembers each that resembles no earlier one."""

    def check(self, url: str, text: str) -> str | None:
        """Return the URL of an earlier page that this one resembles, "" if the method cannot name it, None for none."""


class SimhashDetector:
    """Finds pages whose simhashes of 64 bits differ in few: by permuted tables, or by flips of volatile bits."""

    def __init__(self, features: Features, index: Corpus | VolatilitySearch | None = None) -> None:
        self._features, self._urls = features, dict[int, str]()
        self._index = index or Corpus(blocks=5, distance=3)

    def check(self, url: str, text: str) -> str | None:
        """See `Detector`."""
        weighted = self._features(text)
        number = simhash(weighted)
        if isinstance(self._index, Corpus):
            near = self._index.find_first(number)
        else:
            near = self._index.find_first(number, bit_weights(weighted))
        if near is not None:
            return self._urls[near]
        self._index.insert(number)
        self._urls[number] = url
        return None


class BandedMinHash:
    """Finds pages that agree on a band, and keeps those whose estimate reaches `similarity`."""

    def __init__(self, similarity: float) -> None:
        # Candidates are verified: meeting too many costs less than missing one.
        bands, _ = bands_for(max(similarity - 0.1, 0.5), PERMUTATIONS, false_negative_weight=0.9)
        self._similarity, self._index, self._urls = similarity, BandedIndex(bands), list[str]()

    def check(self, url: str, text: str) -> str | None:
        """See `Detector`."""
        signature = minhash(word_shingles(text), PERMUTATIONS)
        estimated, near = self._index.best(signature)
        if near is not None and estimated >= self._similarity:
            return self._urls[near]
        self._index.add(signature)
        self._urls.append(url)
        return None


class BruteForce:
    """Compares the shingles of a page with those of every remembered one."""

    def __init__(self, similarity: float) -> None:
        self._similarity, self._kept = similarity, list[tuple[str, set[int]]]()

    def check(self, url: str, text: str) -> str | None:
        """See `Detector`."""
        own = set(map(hash, shingles(text)))
        for earlier, other in self._kept:
            if jaccard_of_sets(own, other) >= self._similarity:
                return earlier
        self._kept.append((url, own))
        return None


def word_shingles(text: str) -> Mapping[str, float]:
    """Return the word 3-shingles of a text, each with weight 1."""
    return features(text, kind="word-shingles", term_frequency=False)


def yu(_: float) -> Detector:
    """Make a simhash of words with the scores of Yu, Hu & Zhang. Raises MissingDependencyError without jieba."""
    # The dictionary takes a second to load, which is no page's cost.
    list(tag_chinese("字"))
    return SimhashDetector(lambda text: score_words(tag_chinese(text)))


@dataclass
class TfIdf:
    """Weighs the words of a text by the texts before it, of which it is one then."""

    seen: DocumentFrequencies = field(default_factory=DocumentFrequencies)

    def __call__(self, text: str) -> Mapping[str, float]:
        """Return the words and their weights."""
        found = features(text)
        weighted = self.seen.weigh(found)
        self.seen.learn(found)
        return weighted


METHODS: Final[dict[str, Callable[[float], Detector]]] = {
    "simhash of words": lambda _: SimhashDetector(features),
    "simhash of words, tf-idf": lambda _: SimhashDetector(TfIdf()),
    "simhash of words, Yu": yu,
    "simhash of 3-shingles": lambda _: SimhashDetector(word_shingles),
    "simhash of 3-shingles, 6 bits": lambda _: SimhashDetector(word_shingles, Corpus(blocks=9, distance=6)),
    "volatile bits first": lambda j: SimhashDetector(word_shingles, VolatilitySearch(similarity=j)),
    "minhash": BandedMinHash,
    "brute force": BruteForce,
}
"""Detectors by name, each made for a similarity. Simhash takes 3 bits and 5 blocks unless it says otherwise."""
