"""What words, word hashes and fingerprints are, said in the plainest Python: one loop after the
other, no numpy.

The package computes the same from tables, prefix powers and byte counters. Whoever ports the
fingerprint to another language ports this file.
"""

from __future__ import annotations

import math
import struct
import unicodedata
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

from crawldedup.fingerprinting.tokenize import (
    IGNORED,
    LETTER,
    MARK,
    SEPARATOR,
    SOLO,
    UNKNOWN,
    class_table,
)

MASK = (1 << 64) - 1
BASE = 0x9E3779B97F4A7C13
CLASS_OF = class_table().tobytes()


def mix(value: int) -> int:
    for _ in range(2):
        value ^= value >> 32
        value = value * 0xD6E8FEB86659FD93 & MASK
    return value ^ value >> 32


def words_of(text: str, *, fold_case: bool = True) -> list[str]:
    known = [
        " " if CLASS_OF[ord(character)] == UNKNOWN else character
        for character in text
        if CLASS_OF[ord(character)] != IGNORED
    ]
    normal = unicodedata.normalize("NFKC", "".join(known))
    words: list[str] = []
    before = SEPARATOR
    run = False  # whether a letter would continue the last word
    for character in normal.casefold() if fold_case else normal:
        kind = CLASS_OF[ord(character)]
        if kind == SEPARATOR:
            run = False
        elif kind == SOLO:
            words.append(character)
            run = False
        elif kind == LETTER:
            if run:
                words[-1] += character
            else:
                words.append(character)
            run = True
        elif kind == MARK:
            if before == SEPARATOR:
                words.append(character)
            else:
                words[-1] += character
            run = True
        before = kind
    return words


def hash_of(word: str) -> int:
    """Of a word as `words_of` gives it; only its first 65,536 characters count."""
    total, power = 0, 1
    for character in word[: 1 << 16]:
        total += mix(ord(character) + 1) * power
        power = power * BASE & MASK
    return mix(total & MASK)


def hashes_of(text: str) -> list[int]:
    return [hash_of(word) for word in words_of(text)]


@dataclass
class Definition:
    search: int
    search_weights: bytes
    verify: bytes
    verify_weights: bytes


def fingerprint_of(text: str) -> Definition:
    """The fingerprint of a text that is not thin; weights as little-endian floats of 32 bits."""
    hashes = hashes_of(text)
    pairs = [
        (first * 0x9E3779B97F4A7C15 + second * 0xC2B2AE3D27D4EB4F) & MASK
        for first, second in pairwise(hashes)
    ]
    shingles = shingles_of(
        [
            (pair * 0x165667B19E3779F9 + third) & MASK
            for pair, third in zip(pairs, hashes[2:], strict=False)
        ]
    )
    words, couples = Counter(hashes), Counter(mix(pair) for pair in pairs)
    search = [(feature, 2 * _damped(frequency)) for feature, frequency in words.items()]
    search += [(feature, _damped(frequency)) for feature, frequency in couples.items()]
    search_sums = [
        sum(weight if feature >> 63 - bit & 1 else -weight for feature, weight in search)
        for bit in range(64)
    ]
    norm = math.sqrt(sum(weight * weight for _, weight in search))
    verify_sums = [0] * 256
    for shingle in shingles:
        vectors = [_stretched(shingle, factor) for factor in _VERIFY_FACTORS]
        for bit, (place, vector, byte) in enumerate(_VERIFY_ORDER):
            verify_sums[bit] += 1 if vectors[vector] >> 8 * byte + place & 1 else -1
    return Definition(
        search=_bits(search_sums),
        search_weights=struct.pack("<64f", *[total / norm for total in search_sums]),
        verify=_bits(verify_sums).to_bytes(32, "big"),
        verify_weights=struct.pack(
            "<256f", *[(total + 0.5) / math.sqrt(len(shingles)) for total in verify_sums]
        ),
    )


def shingles_of(triples: list[int]) -> set[int]:
    """The set of 3-shingles, and of longer ones whose 3-shingles all repeat, if there are enough."""
    hashes, size = triples, 3
    counts = Counter(triples)
    repeated = _repeated(triples)
    longer: set[int] = set()
    for wanted in (12, 48, 192):
        while size < wanted:
            hashes = [
                mix((one * 0x9FB21C651E98DF25 + other) & MASK)
                for one, other in zip(hashes, hashes[size:], strict=False)
            ]
            size *= 2
        again = _repeated(hashes)
        repeated &= set(range(len(hashes)))
        repeated = {
            place
            for place in repeated
            if all(counts[triple] > 1 for triple in triples[place : place + size - 2])
        }
        longer |= {hashes[place] for place in repeated - again}
        repeated &= again
    some = set(triples)
    return some | longer if len(longer) * 2 >= len(some) else some


def _repeated(hashes: list[int]) -> set[int]:
    """The places with something that also occurs before."""
    seen: set[int] = set()
    places = set()
    for place, value in enumerate(hashes):
        if value in seen:
            places.add(place)
        seen.add(value)
    return places


def _damped(frequency: int) -> int:
    return round(8 * min(frequency, 4096) ** 0.75)


_VERIFY_FACTORS = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0xD6E8FEB86659FD93)
_VERIFY_ORDER = [
    (place, vector, byte) for place in range(8) for vector in range(4) for byte in range(8)
]


def _stretched(shingle: int, factor: int) -> int:
    value = shingle * factor & MASK
    value ^= value >> 32
    value = value * factor & MASK
    return value ^ value >> 29


def _bits(sums: list[int]) -> int:
    """A sum of 0 sets the bit."""
    value = 0
    for total in sums:
        value = value << 1 | (total >= 0)
    return value
