"""Each method of the literature as a detector of near duplicates, for `crawldedup bench`."""

from collections.abc import Callable, Mapping
from typing import Final

from crawldedup.literature.exact import shingles
from crawldedup.literature.features import DocumentFrequencies, bit_weights, features, simhash
from crawldedup.literature.minhash import BandedIndex, bands_for, jaccard_of_sets, minhash
from crawldedup.literature.simhash_py import Corpus
from crawldedup.literature.volatility import VolatilitySearch
from crawldedup.literature.word_scores import score_words, tag_chinese

Features = Callable[[str], Mapping[str, float]]
Detector = Callable[[str, str], str | None]
"""Takes the URL and the text of a page, and returns the URL of an earlier one that resembles it.

If there is none, it returns None and remembers the page.
"""

PERMUTATIONS: Final = 128


def by_simhash(features_of: Features, index: Corpus | VolatilitySearch) -> Detector:
    """Find pages whose simhashes of 64 bits differ in few: by permuted tables, or by flips of volatile bits."""
    urls: dict[int, str] = {}

    def check(url: str, text: str) -> str | None:
        weighted = features_of(text)
        number = simhash(weighted)
        if isinstance(index, Corpus):
            near = index.find_first(number)
        else:
            near = index.find_first(number, bit_weights(weighted))
        if near is not None:
            return urls[near]
        index.insert(number)
        urls[number] = url
        return None

    return check


def by_minhash(similarity: float) -> Detector:
    """Find pages that agree on a band, and keep those whose estimate reaches `similarity`."""
    # Candidates are verified: meeting too many costs less than missing one.
    bands, _ = bands_for(max(similarity - 0.1, 0.5), PERMUTATIONS, false_negative_weight=0.9)
    index, urls = BandedIndex(bands), list[str]()

    def check(url: str, text: str) -> str | None:
        signature = minhash(word_shingles(text), PERMUTATIONS)
        estimated, near = index.best(signature)
        if near is not None and estimated >= similarity:
            return urls[near]
        index.add(signature)
        urls.append(url)
        return None

    return check


def by_brute_force(similarity: float) -> Detector:
    """Compare the shingles of a page with those of every remembered one."""
    kept: list[tuple[str, set[int]]] = []

    def check(url: str, text: str) -> str | None:
        own = set(map(hash, shingles(text)))
        for earlier, known in kept:
            if jaccard_of_sets(own, known) >= similarity:
                return earlier
        kept.append((url, own))
        return None

    return check


def word_shingles(text: str) -> Mapping[str, float]:
    """Return the word 3-shingles of a text, each with weight 1."""
    return features(text, kind="word-shingles", term_frequency=False)


def tf_idf() -> Features:
    """Weigh the words of a text by the texts before it, of which it is one then."""
    seen = DocumentFrequencies()

    def features_of(text: str) -> Mapping[str, float]:
        frequencies = features(text)
        weighted = seen.weigh(frequencies)
        seen.learn(frequencies)
        return weighted

    return features_of


def yu() -> Features:
    """Weigh the words as Yu, Hu & Zhang do. Raises MissingDependencyError without jieba."""
    # The dictionary takes a second to load, which is no page's cost.
    list(tag_chinese("字"))
    return lambda text: score_words(tag_chinese(text))


METHODS: Final[dict[str, Callable[[float], Detector]]] = {
    "simhash of words": lambda _: by_simhash(features, Corpus(blocks=5, distance=3)),
    "simhash of words, tf-idf": lambda _: by_simhash(tf_idf(), Corpus(blocks=5, distance=3)),
    "simhash of words, Yu": lambda _: by_simhash(yu(), Corpus(blocks=5, distance=3)),
    "simhash of 3-shingles": lambda _: by_simhash(word_shingles, Corpus(blocks=5, distance=3)),
    "simhash of 3-shingles, 6 bits": lambda _: by_simhash(word_shingles, Corpus(blocks=9, distance=6)),
    "volatile bits first": lambda similarity: by_simhash(word_shingles, VolatilitySearch(similarity=similarity)),
    "minhash": by_minhash,
    "brute force": by_brute_force,
}
"""Detectors by name, each made for a similarity."""
