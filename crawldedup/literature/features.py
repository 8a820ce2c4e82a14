"""Turn documents into weighted features, and features into simhashes (Charikar, STOC 2002).

Features are words, word shingles or character shingles, with or without case, stop words and term
frequencies. Their weights are their frequencies (tf), or also depend on how few documents have them
(tf-idf). Simhashes have 32 or 64 bits. To find documents with similar simhashes, use
`crawldedup.literature.simhash_py`.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Final, Literal

import mmh3
import numpy as np
from numpy.typing import NDArray

from crawldedup import checks
from crawldedup.fingerprinting.tokenize import split_words
from crawldedup.literature.simhash_py import bit_sums, compute, shingle

_STOP_WORDS: Final = """
a about after all also an and any are as at be because been but by can could did do for from had has
have he her his how i if in into is it its just like me more my no not now of on one or our out over
she so some than that the their them then there these they this to up was we were what when which
who will with would you your
"""
ENGLISH_STOP_WORDS: Final = frozenset(_STOP_WORDS.split())
"""Common English words in lower case, for the argument `stop_words` of `features`."""


def features(
    text: str,
    *,
    kind: Literal["words", "word-shingles", "char-shingles"] = "words",
    size: int = 3,
    fold_case: bool = True,
    stop_words: Collection[str] = (),
    term_frequency: bool = True,
) -> Counter[str]:
    """Return the features of a text with their weights.

    The weight is the number of occurrences, or 1 without `term_frequency`. `size` is the number of
    words or characters in a shingle. A shorter text is a single shingle. With `fold_case`, "Ferry"
    and "ferry" are the same word. `stop_words` are removed before shingles are made, and must also
    be case-folded. Raises ConfigurationError for another `kind`, and for a `size` below 1.

    Example:
        >>> dict(features("The ferry and the Ferry", stop_words=ENGLISH_STOP_WORDS))
        {'ferry': 2}
        >>> sorted(features("the river ferry runs", kind="word-shingles", size=3))
        ['river ferry runs', 'the river ferry']
    """
    checks.one_of("words", "word-shingles", "char-shingles")("kind", kind)
    found = [word for word in split_words(text, fold_case=fold_case) if word not in stop_words]
    if kind != "words":
        tokens, between = (found, " ") if kind == "word-shingles" else (list(" ".join(found)), "")
        found = [between.join(run) for run in shingle(tokens, min(size, max(len(tokens), 1)))]
    return Counter(found) if term_frequency else Counter(set(found))


class DocumentFrequencies:
    """Counts the documents that have each feature, and weighs features by tf-idf.

    Example:
        >>> seen = DocumentFrequencies()
        >>> for text in ("the ferry", "the harbour", "the ice"):
        ...     seen.learn(features(text))
        >>> {word: round(weight, 2) for word, weight in seen.weigh(features("the ferry")).items()}
        {'the': 0.5, 'ferry': 0.85}
    """

    def __init__(self) -> None:
        self.documents = 0
        self._counts: Counter[str] = Counter()

    def learn(self, document: Iterable[str]) -> None:
        """Count a document with these features."""
        self.documents += 1
        self._counts.update(set(document))

    def idf(self, feature: str) -> float:
        """Return ln((1 + documents) / (1 + documents with the feature)) + 1.

        It is never 0, so features of a template keep some weight.
        """
        return math.log((1 + self.documents) / (1 + self._counts[feature])) + 1

    def weigh(self, frequencies: Mapping[str, float]) -> dict[str, float]:
        """Return term frequency / length of the document * idf of each feature."""
        length = sum(frequencies.values())
        return {
            feature: count / length * self.idf(feature) for feature, count in frequencies.items()
        }


def simhash(weighted: Mapping[str, float], bits: int = 64) -> int:
    """Return the simhash of weighted features, or 0 if there are none.

    Raises ConfigurationError for `bits` other than 32 and 64.
    """
    return compute(_hashed(weighted, bits), weights=list(weighted.values()), bits=bits)


def bit_weights(weighted: Mapping[str, float], bits: int = 64) -> NDArray[np.float64]:
    """Return the weights whose signs are the bits of the simhash, the highest bit first.

    The shape is (bits,). They are divided by the norm of the features' weights, which makes them
    about normal with deviation 1.
    """
    weights = list(weighted.values())
    return bit_sums(_hashed(weighted, bits), weights, bits) / (math.hypot(*weights) or 1.0)


def _hashed(weighted: Mapping[str, float], bits: int) -> list[int]:
    encoded = [feature.encode("utf-8", "replace") for feature in weighted]
    if bits == 32:
        return [mmh3.hash(feature, signed=False) for feature in encoded]
    return [mmh3.hash64(feature, signed=False)[0] for feature in encoded]
