"""Shingles (short sequences of words) and the exact Jaccard similarity of two texts.

A set of shingles doesn't show where and how often they occur. But that is nearly all the content of
a grid of 0 and 1, a table of wins and losses, or the chords of a song: three different words make
27 shingles, and every page has all of them. So if all shingles inside of a longer shingle also
occur elsewhere, the longer one is added to the set, unless it occurs twice itself, as in an article
that is shown twice.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crawldedup.fingerprinting.tokenize import mix, word_hashes

Hashes = NDArray[np.uint64]
SHINGLE_WORDS: Final = 3
PAIR_FACTOR: Final = np.uint64(0xC2B2AE3D27D4EB4F)
FIRST_FACTOR: Final = np.uint64(0x9E3779B97F4A7C15)
TRIPLE_FACTOR: Final = np.uint64(0x165667B19E3779F9)
_LONGER_FACTOR: Final = np.uint64(0x9FB21C651E98DF25)
# The words in a longer shingle. Two different words make 4,096 shingles of twelve words.
_LONGER: Final = (12, 48, 192)
# A text gets longer shingles if it has one for each of this many shingles of three words. Pages of
# manuals, which repeat themselves a lot, have fewer.
_LEAST_LONGER: Final = 2


def pair_hashes(words: Hashes) -> Hashes:
    """Return a hash for each pair of adjacent words. Mix the hashes before using their bits."""
    return words[:-1] * FIRST_FACTOR + words[1:] * PAIR_FACTOR


def shingle_hashes(words: Hashes, pairs: Hashes) -> Hashes:
    """Return a hash for each three adjacent words, from the words and their `pair_hashes`.

    Mix the hashes before using their bits.
    """
    return pairs[:-1] * TRIPLE_FACTOR + words[2:]


def longer_shingles(shingles: Hashes, distinct: int) -> Hashes | None:
    """Return the distinct longer shingles of a text in which every short shingle occurs elsewhere.

    Args:
        shingles: All shingles of the text, in order.
        distinct: The number of distinct shingles.

    Returns:
        Hashes to be mixed like those of the shingles, or None if there are too few to matter.
    """
    is_first, repeated = _occurrences(shingles)
    singles_before = np.concatenate([[0], np.cumsum(~repeated)])
    eligible = repeated & ~is_first
    hashes = shingles
    size = SHINGLE_WORDS
    longer = []
    for wanted in _LONGER:
        while size < wanted:
            hashes = mix(hashes[:-size] * _LONGER_FACTOR + hashes[size:])
            size *= 2
        count = len(hashes)
        is_first, _ = _occurrences(hashes)
        inner = size - SHINGLE_WORDS + 1
        singles = singles_before[inner : inner + count] - singles_before[:count]
        eligible = eligible[:count] & (singles == 0)
        longer.append(hashes[eligible & is_first])
        eligible &= ~is_first
    found = np.concatenate(longer)
    return found if len(found) * _LEAST_LONGER >= distinct else None


def may_have_longer(shingles: int, distinct: int) -> bool:
    """Return whether a text repeats enough shingles to have longer ones that matter.

    Args:
        shingles: The number of its shingles, including repetitions.
        distinct: The number of different ones.
    """
    return (shingles - distinct) * _LEAST_LONGER >= distinct


def set_of_shingles(words: Hashes) -> Hashes:
    """Return the sorted distinct hashes of a text's shingles, with longer ones if they matter."""
    shingles = shingle_hashes(words, pair_hashes(words))
    distinct = _sorted_distinct(shingles)
    if not may_have_longer(len(shingles), len(distinct)):
        return distinct
    longer = longer_shingles(shingles, len(distinct))
    return distinct if longer is None else _sorted_distinct(np.concatenate([distinct, longer]))


def _sorted_distinct(hashes: Hashes) -> Hashes:
    """Return the distinct values in order.

    Here and below, not `np.unique`: it imports masked arrays first, which takes longer than reading
    a page.
    """
    ordered = np.sort(hashes)
    return ordered[is_first_of_run(ordered)]


class _Occurrences(NamedTuple):
    """Whether each value occurs for the first time, and whether it occurs elsewhere as well."""

    is_first: NDArray[np.bool_]
    occurs_again: NDArray[np.bool_]


def _occurrences(hashes: Hashes) -> _Occurrences:
    places = np.argsort(hashes, kind="stable")
    first = is_first_of_run(hashes[places])
    again = ~first
    again[:-1] |= ~first[1:]
    is_first = np.empty_like(first)
    is_first[places] = first
    occurs_again = np.empty_like(again)
    occurs_again[places] = again
    return _Occurrences(is_first, occurs_again)


def is_first_of_run(ordered: Hashes) -> NDArray[np.bool_]:
    """Return True for each value at which a run of equal ones starts."""
    first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return first


def jaccard(text: str, other: str) -> float | None:
    """Return the exact Jaccard similarity of the word 3-shingles of two texts.

    It is None if a text has fewer than three words.
    """
    words = [word_hashes(each) for each in (text, other)]
    if min(map(len, words)) < SHINGLE_WORDS:
        return None
    first, second = (set_of_shingles(each) for each in words)
    shared = len(np.intersect1d(first, second, assume_unique=True))
    return shared / (len(first) + len(second) - shared)
