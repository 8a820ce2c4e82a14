"""What an attacker makes who knows the code and not the key: pages, texts, URLs and words that
collide without one.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from crawldedup.fingerprinting import bits as fingerprint_bits
from crawldedup.fingerprinting.bits import Fingerprint
from crawldedup.fingerprinting.shingles import pair_hashes, shingle_hashes
from crawldedup.fingerprinting.tokenize import mix, word_hashes

WORD_LIKE: Final = ("recall", "occturvuwnjyknxrbodqrvfm")
"""Two words of one hash without a key: found in a few seconds by a generalised birthday search
(Wagner 2002).
"""
ALIKE_FOR_MMH3: Final = (
    bytes(range(69)),
    bytes(range(16))
    + bytes.fromhex("70b10f35b8886bdfd63881478d34ab9120212223a172f4a928292a2b2c2d2e2f")
    + bytes(range(48, 69)),
)
"""Two texts with one mmh3 hash under every seed (Aumasson, Bernstein, Bosslet 2012)."""


def page_near(victim: Fingerprint, pool: Sequence[str], words: int = 500) -> str:
    """Return a page of words of a pool that has the bits of a victim, chosen greedily, one word
    after the other.
    """
    of_search = _signs(np.array([victim.search], np.uint64))[0]
    of_verify = np.unpackbits(np.frombuffer(victim.verify, np.uint8)) * 2.0 - 1
    hashes = np.array([word_hashes(word)[0] for word in pool])
    rng = np.random.default_rng(3)
    text, free = [0, 1], np.arange(2, len(pool))
    search, verify = np.zeros(64), np.zeros(256)
    for _ in range(words):
        candidates = rng.choice(free, min(800, len(free)), replace=False)
        last = np.array([hashes[text[-2]], hashes[text[-1]]])
        two = np.stack([np.full(len(candidates), last[1]), hashes[candidates]])
        pairs = mix(np.concatenate([pair_hashes(column) for column in two.T]))
        first = pair_hashes(last)[0]
        shingles = shingle_hashes(
            np.append(last, hashes[candidates]), np.repeat(first, len(candidates) + 1)
        )
        by_word = 2 * _signs(hashes[candidates]) + _signs(pairs)
        by_shingle = _verify_signs(shingles)
        # Bits that are not yet safely right count more.
        wanted_verify = of_verify / (1 + np.exp(np.clip(of_verify * verify / 6, -30, 30)))
        wanted_search = of_search / (1 + np.exp(np.clip(of_search * search / 6, -30, 30)))
        best = int((by_shingle @ wanted_verify + 1.5 * (by_word @ wanted_search)).argmax())
        text.append(int(candidates[best]))
        free = free[free != candidates[best]]
        search += by_word[best]
        verify += by_shingle[best]
    return " ".join(pool[place] for place in text)


def _signs(hashes: NDArray[np.uint64]) -> NDArray[np.float64]:
    return np.unpackbits(hashes.astype(">u8").view(np.uint8)).reshape(-1, 64) * 2.0 - 1


def _verify_signs(shingles: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return the 256 signs of each shingle, as the product's own counting lays them out."""
    stretched = shingles * fingerprint_bits._VERIFY_FACTORS
    stretched ^= stretched >> np.uint64(32)
    stretched *= fingerprint_bits._VERIFY_FACTORS
    stretched ^= stretched >> np.uint64(29)
    within, of_byte = np.arange(8, dtype=np.uint64), np.arange(8, dtype=np.uint64) * np.uint64(8)
    bits = (stretched[:, :, None] >> within)[..., None] >> of_byte & np.uint64(1)
    return bits.transpose(1, 2, 0, 3).reshape(len(shingles), 256) * 2.0 - 1
