"""The default: tolerant search bits find, sharp verify bits judge, and the page's weights guide both."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from crawldedup.fingerprinting.features import default_features
from crawldedup.fingerprinting.fingerprint import PROFILE, SEARCH_BITS, VERIFY_BITS, fingerprint
from crawldedup.search.decision import estimate_similarity, likelihood_prefilter, likelihood_rule
from crawldedup.search.model import accept_threshold, search_similarity
from crawldedup.search.plan import ProbePlan, kept_bits, page_plan
from crawldedup.search.tables import rotated_tables
from crawldedup.stores.base import MAX_CANDIDATES, MAX_KEYS
from crawldedup.stores.packed_keys import MAX_PAGES

if TYPE_CHECKING:
    from crawldedup.fingerprinting.features import SearchFeatures
    from crawldedup.fingerprinting.fingerprint import Fingerprint
    from crawldedup.search.decision import Prefilter, WeightedThreshold
    from crawldedup.search.tables import Order

TABLES: Final = rotated_tables(2, SEARCH_BITS)
KEPT: Final = kept_bits(TABLES)


@dataclass(frozen=True)
class TwoStage:
    """Probabilistic matching of 64 search bits in two tables, judged by the likelihood of 256 verify bits."""

    features: SearchFeatures = field(default_factory=default_features)

    tables: ClassVar[tuple[Order, ...]] = TABLES
    signature_bytes: ClassVar[int] = VERIFY_BITS // 8
    max_candidates: ClassVar[int] = MAX_CANDIDATES
    max_keys: ClassVar[int] = MAX_KEYS

    @property
    def profile(self) -> str:
        """See `Method`."""
        return f"{self.features.name}.{SEARCH_BITS}/{PROFILE}/{len(self.tables)}x{SEARCH_BITS}"

    def fingerprint(self, text: str, *, min_words: int, identity: str | None, facts: str | None) -> Fingerprint:
        """See `Method`."""
        return fingerprint(text, min_words=min_words, identity=identity, facts=facts, features=self.features)

    def plan(
        self, page: Fingerprint, search: int, signature: bytes, *, similarity: float, recall: float, pages: int
    ) -> ProbePlan:
        """See `Method`."""
        del signature
        return page_plan(
            search,
            page.search_weights,
            TABLES,
            pages=pages,
            similarity=search_similarity(similarity),
            # Half of what may be missed is left to the decision.
            recall=(1 + recall) / 2,
        )

    def prefilter(self, page: Fingerprint, similarity: float) -> Prefilter | None:
        """See `Method`."""
        return likelihood_prefilter(page.search_weights, search_similarity(similarity), KEPT)

    def rule(self, page: Fingerprint, similarity: float, recall: float) -> WeightedThreshold:
        """See `Method`."""
        return likelihood_rule(page.verify_weights, accept_threshold(similarity, VERIFY_BITS, recall))

    def estimate(self, page: Fingerprint, own: bytes, other: bytes) -> float:
        """See `Method`."""
        return estimate_similarity(page.verify_weights, own, other)


@dataclass(frozen=True)
class BruteForce(TwoStage):
    """The decision of the default for every page of the index, one by one: what no search can beat, at its price."""

    tables: ClassVar[tuple[Order, ...]] = rotated_tables(1, SEARCH_BITS)
    max_candidates: ClassVar[int] = MAX_PAGES
    max_keys: ClassVar[int] = 8 * MAX_PAGES

    def plan(
        self, page: Fingerprint, search: int, signature: bytes, *, similarity: float, recall: float, pages: int
    ) -> ProbePlan:
        """See `Method`."""
        del page, search, signature, similarity, recall, pages
        return ProbePlan(np.zeros(1, np.intp), np.zeros(1, np.uint64), np.full(1, 2**64 - 1, np.uint64), recall=1.0)

    def prefilter(self, page: Fingerprint, similarity: float) -> Prefilter | None:
        """See `Method`; every page is compared."""
        del page, similarity
        return None
