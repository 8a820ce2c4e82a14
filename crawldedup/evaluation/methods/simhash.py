"""Simhash as the literature has it: 64 bits, and a page is a near duplicate if at most k of them differ."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from crawldedup.errors import ConfigurationError
from crawldedup.fingerprinting.fingerprint import (
    MIN_WORDS,
    SEARCH_BITS,
    SHINGLE_WORDS,
    Fingerprint,
    bit_weights,
    facts_hash,
    text_digest,
    thin_fingerprint_of,
)
from crawldedup.search.decision import Prefilter, WeightedThreshold, estimate_similarity
from crawldedup.search.plan import MAX_CANDIDATES, MAX_KEYS, STORED_BITS
from crawldedup.search.method import Search
from crawldedup.search.model import search_similarity
from crawldedup.search.plan import page_plan
from crawldedup.search.plan import rotated_tables
from crawldedup.simhash.blocks import BlockSearch
from crawldedup.text.tokenize import word_hashes

if TYPE_CHECKING:
    from crawldedup.fingerprinting.features import SearchFeatures
    from crawldedup.search.method import SearchContext
    from crawldedup.search.plan import ProbePlan
    from crawldedup.search.plan import Order

_ONE_TABLE: Final = rotated_tables(1, SEARCH_BITS)
_EQUAL_COSTS: Final = bytes([1]) * SEARCH_BITS


@dataclass(frozen=True)
class _Simhash:
    """The common part of both searches: one fingerprint of 64 bits finds and decides."""

    features: SearchFeatures
    distance: int = 3

    signature_bytes: ClassVar[int] = SEARCH_BITS // 8
    max_candidates: ClassVar[int] = MAX_CANDIDATES
    max_keys: ClassVar[int] = MAX_KEYS

    def __post_init__(self) -> None:
        if not 0 <= self.distance < SEARCH_BITS // 2:
            raise ConfigurationError(f"distance is {self.distance}; it must lie between 0 and {SEARCH_BITS // 2 - 1}")

    def fingerprint(
        self, text: str, *, min_words: int = MIN_WORDS, identity: str | None = None, facts: str | None = None
    ) -> Fingerprint:
        """See `Method`: 64 bits of weighted features, which stand for the verify bits too."""
        hashes = word_hashes(text)
        if len(hashes) < max(min_words, SHINGLE_WORDS):
            return thin_fingerprint_of(text, len(hashes), identity, self.signature_bytes)
        weights = bit_weights(*self.features(text, hashes))
        bits = np.packbits(weights >= 0).tobytes()
        return Fingerprint(
            search=int.from_bytes(bits, "big"),
            search_weights=weights,
            verify=bits,
            verify_weights=weights,
            digest=text_digest(text),
            words=len(hashes),
            thin=False,
            facts=facts_hash(facts),
        )

    def estimate(self, page: Fingerprint, other: bytes) -> float:
        """See `Method`: the similarity of the features, which is that of the pages for shingle features only."""
        return estimate_similarity(page.verify_weights, page.verify, other)

    def within_distance(self, plan: ProbePlan) -> Search:
        """Return the search that accepts whatever the plan finds within the distance, whatever similarity is wanted."""
        return Search(plan, WeightedThreshold(_EQUAL_COSTS, self.distance), Prefilter(_EQUAL_COSTS, self.distance))


@dataclass(frozen=True)
class BlockedSimhash(_Simhash):
    """Simhash over block-permuted tables: every page within `distance` bits is found (Manku et al. 2007)."""

    blocks: int = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        longest = max(self._blocks.prefixes)
        if longest > STORED_BITS:
            raise ConfigurationError(
                f"{self.blocks} blocks for distance {self.distance} make prefixes of {longest} bits; stores keep "
                f"{STORED_BITS} bits of a key, so take more blocks for a smaller prefix"
            )

    @cached_property
    def _blocks(self) -> BlockSearch:
        return BlockSearch(self.blocks, self.distance, SEARCH_BITS)

    @property
    def tables(self) -> tuple[Order, ...]:
        """See `Method`."""
        return self._blocks.tables

    @property
    def profile(self) -> str:
        """See `Method`."""
        return f"{self.features.name}.{SEARCH_BITS}/blocks{self.blocks}.{self.distance}"

    def search(self, page: Fingerprint, _context: SearchContext, /) -> Search:
        """See `Method`."""
        return self.within_distance(self._blocks.plan(page.search))


@dataclass(frozen=True)
class ProbabilisticSimhash(_Simhash):
    """Probabilistic simhash matching in one table: volatile bits flipped, best first (Sood & Loguinov 2011)."""

    tables: ClassVar[tuple[Order, ...]] = _ONE_TABLE

    @property
    def profile(self) -> str:
        """See `Method`."""
        return f"{self.features.name}.{SEARCH_BITS}/1x{SEARCH_BITS}"

    def search(self, page: Fingerprint, context: SearchContext, /) -> Search:
        """See `Method`."""
        plan = page_plan(
            page.search,
            page.search_weights,
            _ONE_TABLE,
            pages=context.pages,
            similarity=search_similarity(context.similarity),
            recall=context.recall,
        )
        return self.within_distance(plan)
