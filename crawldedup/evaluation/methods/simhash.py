"""Simhash as the literature has it: 64 bits, and a page is a near duplicate if at most k of them differ."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Final

from crawldedup.errors import ConfigurationError
from crawldedup.fingerprinting.fingerprint import MIN_WORDS, SEARCH_BITS, Fingerprint, simhash_fingerprint
from crawldedup.search.decision import Prefilter, estimate_similarity, hamming_rule
from crawldedup.search.model import search_similarity
from crawldedup.search.plan import STORED_BITS, exact_plan, page_plan
from crawldedup.search.tables import BlockSearch, rotated_tables
from crawldedup.stores.base import MAX_CANDIDATES, MAX_KEYS

if TYPE_CHECKING:
    from crawldedup.fingerprinting.features import SearchFeatures
    from crawldedup.search.decision import WeightedThreshold
    from crawldedup.search.plan import ProbePlan
    from crawldedup.search.tables import Order

_ONE_TABLE: Final = rotated_tables(1, SEARCH_BITS)


@dataclass(frozen=True)
class _Simhash:
    """What both searches share: one fingerprint of 64 bits that finds and judges."""

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
        """See `Method`."""
        return simhash_fingerprint(text, self.features, min_words=min_words, identity=identity, facts=facts)

    def prefilter(self, page: Fingerprint, similarity: float) -> Prefilter:
        """See `Method`: a key that differs in too many bits belongs to a page that does."""
        del page, similarity
        return Prefilter(bytes([1]) * SEARCH_BITS, self.distance)

    def rule(self, page: Fingerprint, similarity: float, recall: float) -> WeightedThreshold:
        """See `Method`: the distance alone decides, whatever similarity is wanted."""
        del page, similarity, recall
        return hamming_rule(SEARCH_BITS, self.distance)

    def estimate(self, page: Fingerprint, own: bytes, other: bytes) -> float:
        """See `Method`; the similarity of the features, which is that of the pages for shingle features only."""
        return estimate_similarity(page.verify_weights, own, other)


@dataclass(frozen=True)
class BlockedSimhash(_Simhash):
    """Simhash over block-permuted tables: every page within `distance` bits is found (Manku et al. 2007)."""

    blocks: int = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        longest = max(self._search.prefixes)
        if longest > STORED_BITS:
            raise ConfigurationError(
                f"{self.blocks} blocks for distance {self.distance} make prefixes of {longest} bits; stores keep "
                f"{STORED_BITS} bits of a key, so take more blocks for a smaller prefix"
            )

    @cached_property
    def _search(self) -> BlockSearch:
        return BlockSearch(self.blocks, self.distance, SEARCH_BITS)

    @property
    def tables(self) -> tuple[Order, ...]:
        """See `Method`."""
        return self._search.tables

    @property
    def profile(self) -> str:
        """See `Method`."""
        return f"{self.features.name}.{SEARCH_BITS}/blocks{self.blocks}.{self.distance}"

    def plan(
        self, page: Fingerprint, search: int, signature: bytes, *, similarity: float, recall: float, pages: int
    ) -> ProbePlan:
        """See `Method`."""
        del page, signature, similarity, recall, pages
        return exact_plan(search, self._search)


@dataclass(frozen=True)
class ProbabilisticSimhash(_Simhash):
    """Probabilistic simhash matching in one table: volatile bits flipped, best first (Sood & Loguinov 2011)."""

    tables: ClassVar[tuple[Order, ...]] = _ONE_TABLE

    @property
    def profile(self) -> str:
        """See `Method`."""
        return f"{self.features.name}.{SEARCH_BITS}/1x{SEARCH_BITS}"

    def plan(
        self, page: Fingerprint, search: int, signature: bytes, *, similarity: float, recall: float, pages: int
    ) -> ProbePlan:
        """See `Method`."""
        del signature
        return page_plan(
            search,
            page.search_weights,
            _ONE_TABLE,
            pages=pages,
            similarity=search_similarity(similarity),
            recall=recall,
        )
