"""Words to fingerprint: 64 search bits and 256 verify bits, each with its weights (Charikar 2002).

Every feature is hashed to a vector of +-1; W is the sum of (feature weight x vector), a bit is the sign of
its W, and w = W / norm(feature weights) is about N(0, 1). Classic code throws w away. But a bit with a small abs(w)
is likely to flip in a near duplicate (Sood & Loguinov 2011), so the query page keeps it.

There are two kinds of features, because finding and deciding want opposite things. All sums are sums of small integers,
so they are exact and every machine makes the same bits.

- search bits: words and word pairs with weights that grow with the term frequency. They tolerate edits, so few
  probes find a near duplicate; the pairs keep a template shared by many pages from dominating them.
- verify bits: the set of word 3-shingles, whose Jaccard similarity is what the user's threshold means.
"""

from __future__ import annotations

import base64
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Self

import mmh3
import numpy as np

from crawldedup.errors import ConfigurationError
from crawldedup.fingerprinting import MIN_WORDS as MIN_WORDS
from crawldedup.fingerprinting.anchors import paragraphs_from
from crawldedup.fingerprinting.features import DEFAULT_FEATURES, first_of_runs, pair_hashes, shingle_hashes
from crawldedup.text.keys import NO_KEY
from crawldedup.text.moments import lasting_text
from crawldedup.text.tokenize import word_hashes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from crawldedup.fingerprinting.anchors import Paragraph
    from crawldedup.fingerprinting.features import Floats, Hashes, SearchFeatures
    from crawldedup.text.keys import Key

SEARCH_BITS: Final = 64
VERIFY_BITS: Final = 256
SHINGLE_WORDS: Final = 3

PROFILE: Final = "shingle3.set.256/unicode14/2"
"""Names everything that decides the bits, except for the search features: see `SearchFeatures.name`."""

# One odd factor for each of the four 64-bit words of verify bits.
_VERIFY_FACTORS: Final = np.array(
    [[0x9E3779B97F4A7C15], [0xBF58476D1CE4E5B9], [0x94D049BB133111EB], [0xD6E8FEB86659FD93]], np.uint64
)
_HALF: Final = np.uint64(32)
_QUARTER: Final = np.uint64(29)
_BYTE_LANES: Final = np.uint64(0x0101010101010101)
_LANE_SHIFTS: Final = np.arange(8, dtype=np.uint64)[:, None, None]
# A byte counts to 255.
_MAX_ROWS_A_LANE: Final = 255
# Bounds the temporary arrays (about 2 KiB a row), keeps sums of weights exact in float32 (1,024 times 2 MAX_WEIGHT is
# below 2^24), and keeps matrix products too small for BLAS to spread over threads: on a busy machine, waking these
# takes far longer than the product.
_ROWS_A_BLOCK: Final = 1024


@dataclass(frozen=True, slots=True, eq=False)
class Fingerprint:
    """Holds the bits of a page that are compared, and the weights that guide the comparison.

    Fingerprints of different keys cannot be compared. Two instances are equal only if they are the same object: compare
    `digest`.

    Attributes:
        search: 64 bits that the search goes by. Bit j is bit 63 - j of the integer.
        search_weights: The weights of the search bits, float32 of shape (64,). A bit with a small weight is likely to
            flip.
        verify: 256 bits that the decision goes by, as 32 bytes. Bit j is the j-th bit from the left. Methods other than
            the default have other lengths.
        verify_weights: The weights of the verify bits, float32 of shape (256,).
        digest: A 64-bit hash of the whole text, of a short one without the moment of its rendering. Pages of equal
            digests are exact copies.
        words: The number of words, from 0.
        thin: True for a page with too few words. Its weights are zero, its bits come from the digest, and it equals
            only its exact copies.
        facts: A 64-bit hash of the product attributes, 0 for none. Pages that differ in it are never near duplicates.
        key_id: The `Key.id` of the key that the fingerprint was made with; 0 for none.
        packed_text: The text to keep, compressed; empty without the option `keep_texts`.
        paragraphs: The paragraphs of the text, with the option `paragraphs`.

    Example:
        >>> from crawldedup import Fingerprint, fingerprint
        >>> page = fingerprint("Closed today.")
        >>> page.words, page.thin
        (2, True)
        >>> Fingerprint.from_dict(page.as_dict()).digest == page.digest
        True
    """

    search: int
    search_weights: Floats = field(repr=False)
    verify: bytes
    verify_weights: Floats = field(repr=False)
    digest: int
    words: int
    thin: bool
    facts: int = 0
    key_id: int = 0
    packed_text: bytes = field(default=b"", repr=False)
    paragraphs: tuple[Paragraph, ...] = field(default=(), repr=False)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON: 64-bit numbers in hexadecimal, bytes and float32 weights in Base64."""
        numbers = {name: f"{getattr(self, name):016x}" for name in _NUMBERS}
        weights = {name: _base64(getattr(self, name).astype("<f4").tobytes()) for name in _WEIGHTS}
        kept = {name: _base64(getattr(self, name)) for name in ("verify", "packed_text")}
        others = {"words": self.words, "thin": self.thin, "paragraphs": list(map(list, self.paragraphs))}
        return {**numbers, **weights, **kept, **others}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Return the fingerprint of which `as_dict` gave these values.

        Args:
            values: The result of `as_dict`, perhaps after a way through JSON.

        Raises:
            ConfigurationError: The values are not a fingerprint.
        """
        try:
            numbers: Any = {name: int(values[name], 16) for name in _NUMBERS}
            kept: Any = {name: base64.b64decode(values[name], validate=True) for name in ("verify", "packed_text")}
            raw = {name: base64.b64decode(values[name], validate=True) for name in _WEIGHTS}
            weights: Any = {name: np.frombuffer(each, "<f4").astype(np.float32) for name, each in raw.items()}
            words, thin = values["words"], values["thin"]
            paragraphs = paragraphs_from(values["paragraphs"])
            bits = [len(weights[name]) for name in _WEIGHTS]
            is_sound = (
                values.keys() == {*_NUMBERS, *_WEIGHTS, *kept, "words", "thin", "paragraphs"}
                and all(0 <= number < 1 << 64 for number in numbers.values())
                and bits == [SEARCH_BITS, 8 * len(kept["verify"])]
                and all((np.abs(each) <= _MOST_WEIGHT).all() for each in weights.values())
                and (type(words), type(thin)) == (int, bool)
                and 0 <= words < 1 << 31
            )
        except (KeyError, TypeError, ValueError, AttributeError):
            is_sound = False
        if not is_sound:
            raise ConfigurationError("the fingerprint is not one that `Fingerprint.as_dict` gave: make it again")
        return cls(**numbers, **weights, **kept, words=words, thin=thin, paragraphs=paragraphs)


_NUMBERS: Final = ("search", "digest", "facts", "key_id")
_WEIGHTS: Final = ("search_weights", "verify_weights")
_MOST_WEIGHT: Final = 1e6
"""Weights are at most the root of the number of features."""


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode("ascii")


def fingerprint(
    text: str,
    *,
    min_words: int = MIN_WORDS,
    identity: str | None = None,
    facts: str | None = None,
    features: SearchFeatures = DEFAULT_FEATURES,
    key: Key = NO_KEY,
) -> Fingerprint:
    """Fingerprint a text, without an index.

    `Deduplicator.fingerprint` reads HTML, too, and applies the options and the key of the index.

    Args:
        text: The main text of the page.
        min_words: A text of fewer words is thin, from 1.
        identity: The text that an exact copy of a thin page must share, white space aside; by default `text`. Give the
            whole page if `text` is a part of it: two short pages may share a few words.
        facts: The product attributes of the page. Pages of different ones are never near duplicates.
        features: Makes the search features.
        key: The key of the index, `Deduplicator.key`; by default none.

    Example:
        >>> from crawldedup import fingerprint
        >>> story = (
        ...     "The river ferry runs every hour from the old harbour to the "
        ...     "island. Tickets are sold on board. Bicycles travel free of charge, "
        ...     "and dogs need a lead. The last boat back leaves at ten."
        ... )
        >>> page, copy = fingerprint(story), fingerprint(f"{story} Enjoy!")
        >>> f"{page.search:016x}"
        '449c2564fc2c599f'
        >>> (page.search ^ copy.search).bit_count()
        2
    """
    hashes = word_hashes(text, key)
    if len(hashes) < max(min_words, SHINGLE_WORDS):
        return thin_fingerprint_of(text, len(hashes), identity, key=key)
    search_weights = bit_weights(*features(text, hashes))
    verify_weights = _verify_weights(shingle_hashes(hashes, pair_hashes(hashes)))
    return Fingerprint(
        search=int.from_bytes(np.packbits(search_weights >= 0).tobytes(), "big"),
        search_weights=search_weights,
        verify=np.packbits(verify_weights >= 0).tobytes(),
        verify_weights=verify_weights,
        digest=text_digest(lasting_text(text, len(hashes), max(min_words, MIN_WORDS)), key),
        words=len(hashes),
        thin=False,
        facts=facts_hash(facts, key),
        key_id=key.id,
    )


def text_digest(text: str, key: Key = NO_KEY) -> int:
    """Return a 64-bit hash of a text, character for character but for white space."""
    return key.number(" ".join(text.split()).encode("utf-8", "replace"), "text")


def facts_hash(facts: str | None, key: Key = NO_KEY) -> int:
    """Return a 64-bit hash of a page's product attributes; 0 if there are none."""
    return key.number(facts.encode("utf-8", "replace"), "facts") if facts else 0


def thin_fingerprint_of(
    text: str, words: int, identity: str | None, verify_bytes: int = VERIFY_BITS // 8, key: Key = NO_KEY
) -> Fingerprint:
    """Return the fingerprint of a text with too few words; `identity` as in `fingerprint`."""
    whole = text if identity is None else identity
    return thin_fingerprint(text_digest(whole, key), words, verify_bytes, key.id)


def thin_fingerprint(digest: int, words: int, verify_bytes: int = VERIFY_BITS // 8, key_id: int = 0) -> Fingerprint:
    """Return the fingerprint of a page with too few words: bits that only an exact copy shares."""
    seed = digest.to_bytes(8, "big")
    verify = b"".join(mmh3.hash_bytes(seed, seed=part) for part in range(-(-verify_bytes // 16)))
    return Fingerprint(
        search=digest,
        search_weights=np.zeros(SEARCH_BITS, np.float32),
        verify=verify[:verify_bytes],
        verify_weights=np.zeros(8 * verify_bytes, np.float32),
        digest=digest,
        words=words,
        thin=True,
        key_id=key_id,
    )


def bit_weights(distinct: Hashes, weights: Floats) -> Floats:
    """Return normalised weights of the 64 bits of weighted features, shape (64,). `weights` are whole numbers."""
    hashes = distinct.astype(">u8", copy=False)
    sums = np.zeros(SEARCH_BITS, np.float64)
    for start in range(0, len(hashes), _ROWS_A_BLOCK):
        block = hashes[start : start + _ROWS_A_BLOCK]
        bits = np.unpackbits(block.view(np.uint8)).reshape(-1, SEARCH_BITS).astype(np.float32)
        sums += weights[start : start + _ROWS_A_BLOCK] @ bits
    # Exact in float64: integers far below 2^53.
    exact = weights.astype(np.float64)
    norm = math.sqrt(np.square(exact).sum())
    normalised: Floats = ((2 * sums - exact.sum()) / norm).astype(np.float32)
    return normalised


def _verify_weights(shingles: Hashes) -> Floats:
    """Return normalised weights of the verify bits over the set of shingles, shape (256,). Sorts in place."""
    shingles.sort()
    distinct = shingles.take(first_of_runs(shingles))
    counts = np.zeros(VERIFY_BITS, np.int64)
    for start in range(0, len(distinct), _ROWS_A_BLOCK):
        counts += _count_bits(distinct[start : start + _ROWS_A_BLOCK])
    sums = 2 * counts - len(distinct)
    # Sums go up in steps of two, and zero counts as positive: averaged over odd and even pages, the border lies at
    # minus a half. This changes no bit, but without it the flips of short pages are predicted badly.
    normalised: Floats = ((sums + 0.5) / math.sqrt(len(distinct))).astype(np.float32)
    return normalised


def _count_bits(hashes: Hashes) -> NDArray[np.int64]:
    """Count the hashes' 256-bit vectors that have each bit set, shape (256,).

    Each hash is stretched to four words. Then eight shifts bring every bit once to the bottom of its byte, and adding
    whole words adds eight counters at a time.
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
