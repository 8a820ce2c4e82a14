"""Measure how alike two texts are, exactly: what fingerprints only estimate."""

from __future__ import annotations

import numpy as np

from crawldedup.fingerprinting.features import pair_hashes, shingle_hashes
from crawldedup.fingerprinting.fingerprint import SHINGLE_WORDS
from crawldedup.text.tokenize import word_hashes


def jaccard(text: str, other: str) -> float | None:
    """Return the Jaccard similarity of the sets of word 3-shingles; None for a text of fewer words."""
    words = [word_hashes(each) for each in (text, other)]
    if min(map(len, words)) < SHINGLE_WORDS:
        return None
    first, second = (np.unique(shingle_hashes(each, pair_hashes(each))) for each in words)
    shared = len(np.intersect1d(first, second, assume_unique=True))
    return shared / (len(first) + len(second) - shared)
