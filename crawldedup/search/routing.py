"""Route the pages of a partitioned index: where a page is kept, and where its near duplicates may be kept.

A page's own search weights tell its home. Fixed projections turn the 64 weights into 16 scores, and the home is the
number of the largest. A near duplicate has nearly the same scores. So its home is the same one, or one whose score is
nearly the largest, and the flip model says how likely each is.

- Few partitions are asked. Of all divisions of a normal distribution into 16 equal parts, this one has the shortest
  borders (the multi-bubble theorem, Milman & Neeman 2022), and a page goes astray only across a border.
- Frequent words push all pages of a language one way, and so into few homes. Each such direction follows from the
  words themselves, and the projections leave it out. Nothing is learned from pages, so there is no state to share.

Cross-polytope hashing (Andoni et al. 2015), the largest of eight absolute scores, is as steady and less balanced.
"""

from __future__ import annotations

from functools import cache, lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from crawldedup.fingerprinting.fingerprint import SEARCH_BITS
from crawldedup.search.model import search_similarity, steepness
from crawldedup.text.keys import NO_KEY
from crawldedup.text.tokenize import word_hashes

if TYPE_CHECKING:
    from crawldedup.fingerprinting.fingerprint import Fingerprint
    from crawldedup.search.model import Doubles
    from crawldedup.text.keys import Key

MAX_PARTITIONS: Final = 256


class _Digit(NamedTuple):
    size: int
    part: slice
    """Which scores it is the largest of."""
    signs: tuple[int, ...]
    """Signs of neighbouring weights in its sums: those of different digits are orthogonal."""


# The digits of a home, most significant first. The first alone decides among 16 partitions. Small digits after it let
# 32, 64 and 128 partitions ask less than a second digit of 16 would.
_DIGITS: Final = (
    _Digit(16, slice(0, 16), (1, -1, 1, -1)),
    _Digit(4, slice(16, 20), (1, -1, -1, 1)),
    _Digit(4, slice(20, 24), (1, 1, -1, -1)),
)
# The most frequent words of the most frequent languages of the web, most frequent first: more of English, which is half
# of the web. Every language takes one of 64 dimensions, so others are left to chance.
_FREQUENT_WORDS: Final = (
    "the of and to a in is for that on with it be this as or are you by from at not your can have if will an which all",
    "de la que el en y a los se del las un",
    "der die und in den von zu das mit nicht auf für",
    "の に は を た が で と し て な る",
    "de la le et les des en un du une à que",
    "de a o que e do da em um para com os",
    "в и на не с что по как из к у за",
    "di e il la che in un per è del non si",
)
# A word's weight in its language's direction falls with its rank: Zipf's law, damped as the search features damp it.
_FALL: Final = 0.6
# Weights and projections are rounded to whole numbers: sums of their products stay far below 2^53, so they are exact in
# whatever order a machine adds.
_WEIGHT_UNIT: Final = 2.0**16
_PROJECTION_UNIT: Final = 2.0**10

# The largest of noisy scores is looked for at these distances from the largest score without noise.
_STEP: Final = 0.5
_NODES: Final = np.arange(-4, 6, _STEP)
_ROWS_A_UNIT: Final = 64
_NODE_ROWS: Final = ((_NODES - _NODES[0]) * _ROWS_A_UNIT).astype(np.intp)
_TABLE_END: Final = 8


def home_of(page: Fingerprint, key: Key = NO_KEY) -> int:
    """Return the home of a page, 0 to 255: the same for every exact copy, on every machine.

    Pages with different product attributes are never near duplicates, so these are mixed in: they spread the pages of
    a shop's template. A page without weights has only exact copies; the digest is its home.
    """
    if page.thin:
        return page.digest % MAX_PARTITIONS
    home = 0
    scores = _scores(page, key)
    for digit in _DIGITS:
        home = home * digit.size + int(scores[digit.part].argmax())
    return home ^ page.facts % MAX_PARTITIONS


def partition_of(home: int, partitions: int) -> int:
    """Return the partition of a home: its leading bits. `partitions` is a power of two up to MAX_PARTITIONS."""
    return home * partitions // MAX_PARTITIONS


def likely_partitions(page: Fingerprint, partitions: int, similarity: float, key: Key = NO_KEY) -> Doubles:
    """Return how likely each partition is the home of a page of Jaccard similarity `similarity`, shape (partitions,).

    The scores of such a page are those of this one and normal noise (`crawldedup.search.model`).
    """
    if page.thin:
        alone: Doubles = np.eye(partitions)[partition_of(home_of(page, key), partitions)]
        return alone
    scores = _scores(page, key) * (steepness(search_similarity(similarity)) / (_WEIGHT_UNIT * _PROJECTION_UNIT))
    likely = np.ones(1)
    for digit in _DIGITS:
        if len(likely) < partitions:
            likely = np.outer(likely, chances_to_be_largest(scores[digit.part])).ravel()
    merged: Doubles = likely.reshape(partitions, -1).sum(axis=1)
    by_partition: Doubles = merged.take(np.arange(partitions) ^ partition_of(page.facts % MAX_PARTITIONS, partitions))
    return by_partition


def partitions_to_ask(
    page: Fingerprint, partitions: int, *, similarity: float, recall: float, key: Key = NO_KEY
) -> tuple[int, ...]:
    """Return the fewest partitions that hold a page of this similarity with probability `recall`, likeliest first.

    The page's own home comes first, whatever its probability.
    """
    likely = likely_partitions(page, partitions, similarity, key)
    rank = -likely
    rank[partition_of(home_of(page, key), partitions)] = -np.inf
    order = rank.argsort(kind="stable")
    asked = 1 + int(np.searchsorted(likely.take(order[:-1]).cumsum(), recall))
    return tuple(order[:asked].tolist())


def _scores(page: Fingerprint, key: Key) -> Doubles:
    """Return the scores of all digits, shape (24,), as whole numbers."""
    scores: Doubles = np.rint(page.search_weights * _WEIGHT_UNIT).astype(np.float64).dot(_projections(key))
    return scores


@lru_cache(maxsize=8)
def _projections(key: Key = NO_KEY) -> Doubles:
    """Return the projections from weights to scores, shape (64, 24), as whole numbers.

    Up to rounding, they are orthogonal to each other and to the directions of frequent words, and of equal norm.
    """
    sums = [
        np.kron(np.eye(digit.size), np.resize(digit.signs, SEARCH_BITS // digit.size)[:, None]) for digit in _DIGITS
    ]
    raw = np.concatenate([columns / np.linalg.norm(columns, axis=0) for columns in sums], axis=1)
    basis, _ = np.linalg.qr(_directions(key))
    # The orthogonal columns that are nearest to what is left (Löwdin).
    left, _, right = np.linalg.svd(raw - basis @ (basis.T @ raw), full_matrices=False)
    projections: Doubles = np.rint(left @ right * _PROJECTION_UNIT)
    return projections


def _directions(key: Key = NO_KEY) -> Doubles:
    """Return the direction in which each language's frequent words push weights, shape (64, languages)."""
    hashes = [word_hashes(words, key).astype(">u8") for words in _FREQUENT_WORDS]
    bits = [np.unpackbits(words.view(np.uint8)).reshape(-1, SEARCH_BITS) for words in hashes]
    return np.stack([np.arange(1, len(words) + 1) ** -_FALL @ (2.0 * words - 1) for words in bits], axis=1)


def chances_to_be_largest(scores: Doubles) -> Doubles:
    """Return how likely each score is the largest once each has standard normal noise, same shape.

    It is the integral over m, the largest, of phi(m - score) times Phi(m - other) of every other.
    """
    below, ratio = _normal_tables()
    beneath = ((scores.max() - scores) * _ROWS_A_UNIT).astype(np.intp)
    rows = np.minimum(_NODE_ROWS + beneath[:, None], len(below) - 1)
    chances: Doubles = ratio.take(rows) @ (_STEP * below.take(rows).prod(axis=0))
    return chances


@cache
def _normal_tables() -> tuple[Doubles, Doubles]:
    """Return Phi(z) and phi(z) / Phi(z) at every row: z from the first node to _TABLE_END."""
    normal = NormalDist()
    z = np.arange(_NODES[0] * _ROWS_A_UNIT, _TABLE_END * _ROWS_A_UNIT + 1) / _ROWS_A_UNIT
    below = np.array([normal.cdf(value) for value in z.tolist()])
    return below, np.array([normal.pdf(value) for value in z.tolist()]) / below
