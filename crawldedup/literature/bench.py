"""Exact similarities of texts, and each method as a detector, for `crawldedup bench`.

Similarity is the Jaccard coefficient of the sets of word 3-shingles. Words are defined here
independently of `crawldedup.reading`, so no method is measured by its own definitions. In a
collection, a shingle is a hash of 64 bits. Among a billion shingles, two have the same hash with a
probability of 3 %.

`similar_pairs` finds every pair with a similarity of at least `LOWEST`. It uses the prefix filter
(Chaudhuri, Ganti & Kaushik, ICDE 2006; Bayardo, Ma & Srikant, WWW 2007): if all shingles are
ordered from rare to common, two sets x and y with J(x, y) >= t share at least one of the first
|x| - ceil(t |x|) + 1 shingles of x and of y.
"""

import math
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from crawldedup.literature.features import DocumentFrequencies, bit_weights, features, simhash
from crawldedup.literature.minhash import BandedIndex, bands_for, jaccard_of_sets, minhash
from crawldedup.literature.simhash_py import Corpus, shingle
from crawldedup.literature.volatility import VolatilitySearch
from crawldedup.literature.word_scores import score_words, tag_chinese

Ids = NDArray[np.int64]
Pair = tuple[int, int, float]

SHINGLE_WORDS: Final = 3
LOWEST: Final = 0.5  # Similarities below this count as 0.

_CJK = "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(f"[{_CJK}]|[^\\W{_CJK}]+")


def words(text: str) -> list[str]:
    """Split a text into words: case-folded runs of letters, digits and underscores in NFKC.

    Every Han, Hiragana and Katakana character is a word by itself.
    """
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def shingles(found: Sequence[str]) -> set[tuple[str, ...]]:
    """Return the set of 3-shingles of words. One or two words form a single shingle."""
    return set(map(tuple, shingle(found, min(SHINGLE_WORDS, max(len(found), 1)))))


def similar_pairs(
    sets: Sequence[Ids], progress: Callable[[int, int], object] = lambda *_: None
) -> Iterator[Pair]:
    """Yield every pair of sets with a Jaccard similarity of at least `LOWEST`, lower number first.

    `sets` are sorted and without repetition. After each one, `progress` is called with the number
    of sets done, and of all sets.
    """
    ranked, distinct, shared_from = _ranked(sets)
    holders: dict[int, list[int]] = defaultdict(list)
    is_mine = np.zeros(distinct, bool)
    # Each set is compared with those before it, which are not larger.
    for done, mine in enumerate(sorted(range(len(sets)), key=lambda number: len(sets[number])), 1):
        progress(done, len(sets))
        ranks = ranked[mine]
        prefix = ranks[: len(ranks) - math.ceil(LOWEST * len(ranks)) + 1]
        # An element that no other set has can't lead to a pair.
        prefix = prefix[prefix >= shared_from].tolist()
        is_mine[ranks] = True
        for other in sorted({holder for rank in prefix for holder in holders[rank]}):
            common = int(np.count_nonzero(is_mine[ranked[other]]))
            similarity = common / (len(ranks) + len(ranked[other]) - common)
            if similarity >= LOWEST:
                yield min(mine, other), max(mine, other), similarity
        is_mine[ranks] = False
        for rank in prefix:
            holders[rank].append(mine)


def _ranked(sets: Sequence[Ids]) -> tuple[list[Ids], int, int]:
    """Replace the members of sets by their ranks, rarest first, and sort each set.

    Also return the number of ranks, and the first rank that sets share.
    """
    if not sets:
        return [], 0, 0
    distinct, inverse, counts = np.unique(
        np.concatenate(sets), return_inverse=True, return_counts=True
    )
    ranks = np.empty(len(distinct), np.int64)
    ranks[np.argsort(counts, kind="stable")] = np.arange(len(distinct))
    pieces = np.split(ranks[inverse], np.cumsum([len(ids) for ids in sets])[:-1])
    return [np.sort(piece) for piece in pieces], len(distinct), int((counts == 1).sum())


@dataclass(slots=True)
class Truth:
    """The exact similarities of the pages of a collection, numbered from 0 in their order.

    Pages with the same shingle set form a group, so n copies make one group instead of n^2 pairs.
    `groups` has the group of each page, or -1 for a page without words. `words` has the number of
    words of each page. `near` has the similar groups of each group, most similar first, with their
    similarities.
    """

    groups: list[int] = field(default_factory=list)
    words: list[int] = field(default_factory=list)
    near: dict[int, list[tuple[float, int]]] = field(default_factory=dict)


def _are_never_siblings(_page: int, _kept: int) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class KeptPages:
    """The pages that a flawless method would keep, to compare the methods under test with.

    `are_siblings` says which pages with similar texts have different content, and `holders` has the
    kept pages of each group.
    """

    truth: Truth
    are_siblings: Callable[[int, int], bool] = _are_never_siblings
    holders: dict[int, list[int]] = field(default_factory=dict)

    def best(self, page: int, *, of_siblings: bool = False) -> tuple[float, int | None]:
        """Return the highest similarity that a page has with a kept page, and that page.

        They are 0 and None if no page reaches `LOWEST`. Siblings don't count or, if `of_siblings`
        is True, only siblings count.
        """
        group = self.truth.groups[page]
        if group < 0:
            return 0.0, None
        for similarity, other in [(1.0, group), *self.truth.near.get(group, [])]:
            for kept in self.holders.get(other, ()):
                if self.are_siblings(page, kept) is of_siblings:
                    return similarity, kept
        return 0.0, None

    def add(self, page: int) -> None:
        """Add a page that is kept."""
        self.holders.setdefault(self.truth.groups[page], []).append(page)


def compare_all(
    texts: Iterable[str], progress: Callable[[int, int], object] = lambda *_: None
) -> Truth:
    """Compute the exact similarities of all pairs of texts that reach `LOWEST`.

    `progress` is called as in `similar_pairs`.
    """
    truth = Truth()
    sets = list[Ids]()
    numbers = dict[bytes, int]()
    for text in texts:
        found = words(text)
        ids = np.array(sorted(set(map(hash, shingles(found)))), np.int64)
        group = numbers.setdefault(ids.tobytes(), len(numbers)) if len(ids) else -1
        truth.words.append(len(found))
        truth.groups.append(group)
        if group == len(sets):
            sets.append(ids)
    for first, second, similarity in similar_pairs(sets, progress):
        truth.near.setdefault(first, []).append((similarity, second))
        truth.near.setdefault(second, []).append((similarity, first))
    for neighbors in truth.near.values():
        neighbors.sort(key=lambda pair: -pair[0])
    return truth


# --- Detectors

Features = Callable[[str], Mapping[str, float]]
# Takes a page's URL and text, and returns the URL of an earlier page that resembles it, or
# remembers the page.
Detector = Callable[[str, str], str | None]

PERMUTATIONS: Final = 128


def by_simhash(features_of: Features, index: Corpus | VolatilitySearch) -> Detector:
    """Make a detector of pages whose 64-bit simhashes differ in few bits.

    Depending on the index, the search uses permuted tables or flips volatile bits.
    """
    urls: dict[int, str] = {}

    def check(url: str, text: str) -> str | None:
        weighted = features_of(text)
        number = simhash(weighted)
        near = (
            index.find_first(number)
            if isinstance(index, Corpus)
            else index.find_first(number, bit_weights(weighted))
        )
        if near is not None:
            return urls[near]
        index.insert(number)
        urls[number] = url
        return None

    return check


def by_minhash(similarity: float) -> Detector:
    """Make a detector of pages that agree on a band and whose estimate reaches `similarity`."""
    # Candidates are verified, so finding too many costs less than missing one.
    bands, _ = bands_for(max(similarity - 0.1, 0.5), PERMUTATIONS, false_negative_weight=0.9)
    index = BandedIndex(bands)
    urls = list[str]()

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
    """Make a detector that compares the shingles of a page with those of every remembered page."""
    kept: list[tuple[str, set[int]]] = []

    def check(url: str, text: str) -> str | None:
        own = set(map(hash, shingles(words(text))))
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
    """Return a function that weighs the words of a text by the texts before it (tf-idf)."""
    seen = DocumentFrequencies()

    def features_of(text: str) -> Mapping[str, float]:
        frequencies = features(text)
        weighted = seen.weigh(frequencies)
        seen.learn(frequencies)
        return weighted

    return features_of


def yu() -> Features:
    """Return a function that weighs words like Yu, Hu & Zhang.

    Raises MissingDependencyError without jieba.
    """
    # Loading the dictionary takes a second, which must not count for a page.
    list(tag_chinese("字"))
    return lambda text: score_words(tag_chinese(text))


# Detectors by name, each made for a similarity.
METHODS: Final[dict[str, Callable[[float], Detector]]] = {
    "simhash of words": lambda _: by_simhash(features, Corpus(blocks=5, distance=3)),
    "simhash of words, tf-idf": lambda _: by_simhash(tf_idf(), Corpus(blocks=5, distance=3)),
    "simhash of words, Yu": lambda _: by_simhash(yu(), Corpus(blocks=5, distance=3)),
    "simhash of 3-shingles": lambda _: by_simhash(word_shingles, Corpus(blocks=5, distance=3)),
    "simhash of 3-shingles, 6 bits": lambda _: by_simhash(
        word_shingles, Corpus(blocks=9, distance=6)
    ),
    "volatile bits first": lambda similarity: by_simhash(
        word_shingles, VolatilitySearch(similarity=similarity)
    ),
    "minhash": by_minhash,
    "brute force": by_brute_force,
}
