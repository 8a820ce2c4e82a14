"""Pairs of pages whose similarity is known, made of random shingles."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from crawldedup.fingerprinting import bits as hashing

Floats = NDArray[np.float32]
NO_WORDS = np.empty(0, np.uint64)


def pairs_of_similarity(
    similarity: float, size: int, count: int, seed: int
) -> Iterator[tuple[Floats, Floats]]:
    """Yield the verify weights of `count` pairs of sets of about `size` shingles, of exactly that
    similarity.

    `size` x (1 + similarity) should be a multiple of 2 and give whole numbers.
    """
    generator = np.random.default_rng(seed)
    common = round(2 * similarity * size / (1 + similarity))
    own = size - common
    assert abs(common / (common + 2 * own) - similarity) < 1e-9, (
        "no sets of this size have this similarity"
    )
    for _ in range(count):
        shingles = generator.integers(0, 1 << 64, common + 2 * own, np.uint64, endpoint=False)
        yield (
            weights_of(shingles[: common + own]),
            weights_of(np.delete(shingles, np.s_[common : common + own])),
        )


def weights_of(shingles: NDArray[np.uint64]) -> Floats:
    # Shingles that all occur once have no longer ones, so the words behind them do not matter.
    return hashing._verify_weights([shingles.copy()], [NO_WORDS])[0]


def signature_of(weights: Floats) -> bytes:
    return np.packbits(weights >= 0).tobytes()


def bits_of(signature: bytes) -> NDArray[np.bool_]:
    return np.unpackbits(np.frombuffer(signature, np.uint8)).astype(bool)
