"""Words to fingerprint: 64 search bits and 256 verify bits, each with its weights (Charikar 2002).

Every feature is hashed to a vector of +-1; W is the sum of (feature weight x vector), a bit is the sign of
its W, and w = W / norm(feature weights) is about N(0, 1). Classic code throws w away; a small abs(w) is what
makes a bit likely to flip in a near duplicate (Sood & Loguinov 2011), so the query page keeps it.

Two kinds of features, because finding and judging want opposite things:

- search bits: words and word pairs with weight 1 + log(term frequency). They tolerate edits, so few probes
  find a near duplicate, and a template shared by many pages does not dominate them as single words would.
- verify bits: the set of word 3-shingles, the very set whose Jaccard similarity the user's threshold means.

All sums are sums of small integers, so they are exact and every machine makes the same bits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

import mmh3
import numpy as np

from crawldedup.text.tokenize import mix, word_hashes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Hashes = NDArray[np.uint64]
    Floats = NDArray[np.float32]

SEARCH_BITS: Final = 64
VERIFY_BITS: Final = 256
SHINGLE_WORDS: Final = 3
MIN_WORDS: Final = 20
"""Below this many words a page is `thin`: too few shingles to tell pages apart, and often the same few words on
every page of a site whose content comes by script."""

PROFILE: Final = "words+pairs.logtf.64/shingle3.set.256/unicode14/1"
"""Names everything that decides the bits; indexes of different profiles are never compared."""

_PAIR_FACTOR: Final = np.uint64(0xC2B2AE3D27D4EB4F)
_FIRST_FACTOR: Final = np.uint64(0x9E3779B97F4A7C15)
_TRIPLE_FACTOR: Final = np.uint64(0x165667B19E3779F9)
# One odd factor for each of the four 64-bit words of verify bits.
_VERIFY_FACTORS: Final = np.array(
    [[0x9E3779B97F4A7C15], [0xBF58476D1CE4E5B9], [0x94D049BB133111EB], [0xD6E8FEB86659FD93]], np.uint64
)
_HALF: Final = np.uint64(32)
_QUARTER: Final = np.uint64(29)
# Feature weights are eighths: small integers keep every sum exact.
_WEIGHT_UNIT: Final = 8
_MAX_FREQUENCY: Final = 1 << 16
_BYTE_LANES: Final = np.uint64(0x0101010101010101)
_LANE_SHIFTS: Final = np.arange(8, dtype=np.uint64)[:, None, None]
# A byte counts no further.
_MAX_ROWS_A_LANE: Final = 255
# Bounds the temporary arrays (about 2 KiB a row) whatever the length of the page, and keeps matrix products too small
# for BLAS to spread over threads: beside busy processes, their waking takes longer than the product by far.
_ROWS_A_BLOCK: Final = 2048


@dataclass(frozen=True, slots=True, eq=False)
class Fingerprint:
    """What is compared of a page.

    `search` holds 64 bits, `verify` 32 bytes; bit j of `search` is bit 63 - j of the integer and belongs to
    `search_weights[j]` (shape (64,)), bit j of `verify` is the j-th bit of the bytes read from the left and
    belongs to `verify_weights[j]` (shape (256,)). `digest` is a 64-bit hash of the whole text. A `thin`
    fingerprint has too few words: its weights are zero, its bits come from the digest, and it equals only
    its exact copies.
    """

    search: int
    search_weights: Floats
    verify: bytes
    verify_weights: Floats
    digest: int
    words: int
    thin: bool


def fingerprint(text: str, *, min_words: int = MIN_WORDS, identity: str | None = None) -> Fingerprint:
    """Fingerprint a text.

    `identity` is what an exact copy of a thin page must share (white space aside), by default the text
    itself; a caller who fingerprints only a part of a page gives the whole of it here, lest two short
    pages be called copies for sharing a few words.
    """
    hashes = word_hashes(text)
    if len(hashes) < max(min_words, SHINGLE_WORDS):
        whole = text if identity is None else identity
        return thin_fingerprint(text_digest(" ".join(whole.split())), len(hashes))
    features, shingles = _features(hashes)
    search_weights = _search_weights(features)
    verify_weights = _verify_weights(shingles)
    return Fingerprint(
        search=int.from_bytes(np.packbits(search_weights >= 0).tobytes(), "big"),
        search_weights=search_weights,
        verify=np.packbits(verify_weights >= 0).tobytes(),
        verify_weights=verify_weights,
        digest=text_digest(text),
        words=len(hashes),
        thin=False,
    )


def text_digest(text: str) -> int:
    """A 64-bit hash of a text, character for character."""
    return int(mmh3.hash64(text.encode("utf-8", "replace"), signed=False)[0])


def thin_fingerprint(digest: int, words: int) -> Fingerprint:
    """The fingerprint of a page with too few words: bits that only an exact copy shares."""
    seed = digest.to_bytes(8, "big")
    verify = b"".join(mmh3.hash_bytes(seed, seed=part) for part in range(VERIFY_BITS // 128))
    return Fingerprint(
        search=digest,
        search_weights=np.zeros(SEARCH_BITS, np.float32),
        verify=verify,
        verify_weights=np.zeros(VERIFY_BITS, np.float32),
        digest=digest,
        words=words,
        thin=True,
    )


@cache
def _frequency_weights() -> Floats:
    """1 + ln(term frequency) in units of 1 / _WEIGHT_UNIT, rounded; index 0 is unused."""
    frequencies = np.maximum(np.arange(_MAX_FREQUENCY), 1)
    weights: Floats = np.rint(_WEIGHT_UNIT * (1 + np.log(frequencies))).astype(np.float32)
    return weights


def _features(words: Hashes) -> tuple[Hashes, Hashes]:
    """The search features and the 3-shingles of a page's words, all with their repetitions."""
    pairs = words[:-1] * _FIRST_FACTOR
    pairs += words[1:] * _PAIR_FACTOR
    shingles = pairs[:-1] * _TRIPLE_FACTOR
    shingles += words[2:]
    return np.concatenate((words, mix(pairs))), shingles


def _search_weights(features: Hashes) -> Floats:
    """Normalised weights of the search bits, shape (64,). Sorts `features` in place."""
    features.sort()
    firsts = _first_of_runs(features)
    frequencies = np.empty_like(firsts)
    np.subtract(firsts[1:], firsts[:-1], out=frequencies[:-1])
    frequencies[-1] = len(features) - firsts[-1]
    weights = _frequency_weights().take(frequencies, mode="clip")
    distinct = features.take(firsts).astype(">u8", copy=False)
    sums = np.zeros(SEARCH_BITS, np.float64)
    for start in range(0, len(distinct), _ROWS_A_BLOCK):
        block = distinct[start : start + _ROWS_A_BLOCK]
        bits = np.unpackbits(block.view(np.uint8)).reshape(-1, SEARCH_BITS).astype(np.float32)
        sums += weights[start : start + _ROWS_A_BLOCK] @ bits
    # Exact in float64: integers far below 2^53.
    exact = weights.astype(np.float64)
    norm = math.sqrt(np.square(exact).sum())
    normalised: Floats = ((2 * sums - exact.sum()) / norm).astype(np.float32)
    return normalised


def _verify_weights(shingles: Hashes) -> Floats:
    """Normalised weights of the verify bits over the set of shingles, shape (256,). Sorts in place."""
    shingles.sort()
    distinct = shingles.take(_first_of_runs(shingles))
    counts = np.zeros(VERIFY_BITS, np.int64)
    for start in range(0, len(distinct), _ROWS_A_BLOCK):
        counts += _count_bits(distinct[start : start + _ROWS_A_BLOCK])
    sums = 2 * counts - len(distinct)
    # Sums go up in steps of two, and a zero counts as positive: on average over odd and even pages the border
    # lies at minus a half. That changes no bit, but without it the flips of short pages are predicted badly.
    normalised: Floats = ((sums + 0.5) / math.sqrt(len(distinct))).astype(np.float32)
    return normalised


def _count_bits(hashes: Hashes) -> NDArray[np.int64]:
    """How many of the hashes' 256-bit vectors have each bit set, shape (256,).

    Each hash is stretched to four words; then eight shifts bring every bit once to the bottom of its byte,
    and adding whole words adds eight counters at a time.
    """
    lanes = -(-len(hashes) // _MAX_ROWS_A_LANE)
    rows_a_lane = -(-len(hashes) // lanes)
    # A zero adds to no counter: it stretches to zeros.
    padded = np.zeros(lanes * rows_a_lane, np.uint64)
    padded[: len(hashes)] = hashes
    stretched = padded * _VERIFY_FACTORS
    stretched ^= stretched >> _HALF
    stretched *= _VERIFY_FACTORS
    stretched ^= stretched >> _QUARTER
    bits = stretched >> _LANE_SHIFTS
    bits &= _BYTE_LANES
    sums = np.add.reduce(bits.reshape(8, 4, lanes, rows_a_lane), axis=3)
    counters = sums.astype("<u8", copy=False).view(np.uint8).reshape(8, 4, lanes, 8)
    counts: NDArray[np.int64] = counters.sum(axis=2, dtype=np.int64).ravel()
    return counts


def _first_of_runs(ordered: Hashes) -> NDArray[np.intp]:
    """Where each run of equal values starts."""
    first = np.empty(len(ordered), np.bool_)
    first[0] = True
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return first.nonzero()[0]
