"""Plain simhash, as the literature has it: fingerprints of texts, and all pairs of them that differ in few bits.

A document becomes `features`, words or shingles with weights, and these a `simhash`. `shingle`, `compute`,
`num_differing_bits` and `find_all` are its parts, for those who have tokens, hashes or fingerprints of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawldedup.lazy import lazy

if TYPE_CHECKING:
    from crawldedup.simhash.classic import ENGLISH_STOP_WORDS as ENGLISH_STOP_WORDS
    from crawldedup.simhash.classic import compute as compute
    from crawldedup.simhash.classic import features as features
    from crawldedup.simhash.classic import num_differing_bits as num_differing_bits
    from crawldedup.simhash.classic import shingle as shingle
    from crawldedup.simhash.classic import simhash as simhash
    from crawldedup.simhash.pairs import find_all as find_all

__getattr__, __dir__, __all__ = lazy(
    __name__,
    {
        "classic": "ENGLISH_STOP_WORDS compute features num_differing_bits shingle simhash",
        "pairs": "find_all",
    },
)
