"""The features of a text: words, pairs of words and shingles of three, as 64-bit hashes, and what each weighs.

Words and pairs make the search bits. Words count twice as much: an edit changes one word, but two pairs. Each weighs
(term frequency)^0.75, in eighths: between tf, which a few words dominate, and 1 + log tf. An edit changes the weight of
a frequent feature less, so bits that listen to such are steadier; with too much of that, pages of one language or one
template become alike. Weights are whole numbers: sums are exact, so every machine makes the same bits.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from crawldedup.reading.tokenize import word_hashes

Hashes = NDArray[np.uint64]
Counts = NDArray[np.intp]
Floats = NDArray[np.float32]

SEARCH_FEATURES: Final = "words+pairs.damped-tf"  # Names what decides the weights; part of an index's profile.
SHINGLE_WORDS: Final = 3
MAX_WEIGHT: Final = 8192  # Sums of 2,048 such weights are at most 2^24, so they are exact even in 32-bit floats.
_DAMPING: Final = 0.75
_UNIT: Final = 8
_MAX_DAMPED: Final = 4096
_DAMPED: Final[Floats] = np.rint(_UNIT * np.arange(_MAX_DAMPED + 1) ** _DAMPING).astype(np.float32)
_PAIR_FACTOR: Final = np.uint64(0xC2B2AE3D27D4EB4F)
_FIRST_FACTOR: Final = np.uint64(0x9E3779B97F4A7C15)
_TRIPLE_FACTOR: Final = np.uint64(0x165667B19E3779F9)


def damped_weights(frequencies: Counts) -> Floats:
    """Return the weights of features with these numbers of occurrences in a page, same shape."""
    return _DAMPED.take(frequencies, mode="clip")


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


def is_first_of_run(ordered: Hashes) -> NDArray[np.bool_]:
    """Return True for each value at which a run of equal ones starts."""
    first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return first


def jaccard(text: str, other: str) -> float | None:
    """Return the exact Jaccard similarity of the word 3-shingles of two texts; None for a text of fewer words."""
    words = [word_hashes(each) for each in (text, other)]
    if min(map(len, words)) < SHINGLE_WORDS:
        return None
    first, second = (np.unique(shingle_hashes(each, pair_hashes(each))) for each in words)
    shared = len(np.intersect1d(first, second, assume_unique=True))
    return shared / (len(first) + len(second) - shared)
