"""Hashes of word pairs and word 3-shingles, and the exact Jaccard similarity of two texts."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from crawldedup.fingerprinting.tokenize import word_hashes

Hashes = NDArray[np.uint64]
SHINGLE_WORDS: Final = 3
PAIR_FACTOR: Final = np.uint64(0xC2B2AE3D27D4EB4F)
FIRST_FACTOR: Final = np.uint64(0x9E3779B97F4A7C15)
TRIPLE_FACTOR: Final = np.uint64(0x165667B19E3779F9)


def pair_hashes(words: Hashes) -> Hashes:
    """Return one hash for each two adjacent words, to be mixed before its bits are used."""
    return words[:-1] * FIRST_FACTOR + words[1:] * PAIR_FACTOR


def shingle_hashes(words: Hashes, pairs: Hashes) -> Hashes:
    """Return one hash for each three adjacent words, from the words and their `pair_hashes`; to be
    mixed like those.
    """
    return pairs[:-1] * TRIPLE_FACTOR + words[2:]


def is_first_of_run(ordered: Hashes) -> NDArray[np.bool_]:
    """Return True for each value at which a run of equal ones starts."""
    first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return first


def jaccard(text: str, other: str) -> float | None:
    """Return the exact Jaccard similarity of the word 3-shingles of two texts; None for a text of
    fewer words.
    """
    words = [word_hashes(each) for each in (text, other)]
    if min(map(len, words)) < SHINGLE_WORDS:
        return None
    first, second = (np.unique(shingle_hashes(each, pair_hashes(each))) for each in words)
    shared = len(np.intersect1d(first, second, assume_unique=True))
    return shared / (len(first) + len(second) - shared)
