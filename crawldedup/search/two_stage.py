"""The default method: tolerant search bits find, sharp verify bits decide, and the page's weights guide both."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from crawldedup.fingerprinting.features import DEFAULT_FEATURES
from crawldedup.fingerprinting.fingerprint import PROFILE, SEARCH_BITS, VERIFY_BITS, fingerprint
from crawldedup.search.crowd import crowd_rule
from crawldedup.search.decision import SCALED_LIMIT, estimate_similarity, likelihood_prefilter, likelihood_rule
from crawldedup.search.limits import MAX_CANDIDATES, MAX_KEYS
from crawldedup.search.method import Search, SearchContext
from crawldedup.search.model import accept_threshold, search_similarity
from crawldedup.search.plan import kept_bits, page_plan
from crawldedup.search.tables import rotated_tables
from crawldedup.text.keys import NO_KEY

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from crawldedup.fingerprinting.features import SearchFeatures
    from crawldedup.fingerprinting.fingerprint import Fingerprint
    from crawldedup.search.decision import WeightedThreshold
    from crawldedup.search.plan import ProbePlan
    from crawldedup.search.tables import Order
    from crawldedup.text.keys import Key

TABLES: Final = rotated_tables(2, SEARCH_BITS)
KEPT: Final = kept_bits(TABLES)


_PAGES_TRIED: Final = 400


def expected_recall(*, similarity: float, recall: float, pages: int) -> float:
    """Return the share of pages of exactly this similarity that are found in an index of `pages` pages.

    It is the share that a search meets, the mean over the plans of made-up pages so far as their probes suffice, times
    the share that the decision accepts.
    """
    context = SearchContext(similarity, recall, pages)
    weights = np.random.default_rng(0).standard_normal((_PAGES_TRIED, SEARCH_BITS)).astype(np.float32)
    return recall * sum(_plan(0, of_page, context).recall for of_page in weights) / _PAGES_TRIED


def _plan(bits: int, weights: NDArray[np.float32], context: SearchContext) -> ProbePlan:
    # The decision misses 1 - recall of the pages, and the search half as many more while the probes suffice.
    recall, similarity = (1 + context.recall) / 2, search_similarity(context.similarity)
    return page_plan(bits, weights, TABLES, pages=context.pages, similarity=similarity, recall=recall)


@dataclass(frozen=True)
class TwoStage:
    """Probabilistic matching of 64 search bits in two tables, decided by the likelihood of 256 verify bits."""

    features: SearchFeatures = DEFAULT_FEATURES

    tables: ClassVar[tuple[Order, ...]] = TABLES
    signature_bytes: ClassVar[int] = VERIFY_BITS // 8
    max_candidates: ClassVar[int] = MAX_CANDIDATES
    max_keys: ClassVar[int] = MAX_KEYS

    @property
    def profile(self) -> str:
        """See `Method`."""
        return f"{self.features.name}.{SEARCH_BITS}/{PROFILE}/{len(self.tables)}x{SEARCH_BITS}"

    def fingerprint(
        self, text: str, *, min_words: int, identity: str | None, facts: str | None, key: Key = NO_KEY
    ) -> Fingerprint:
        """See `Method`."""
        return fingerprint(text, min_words=min_words, identity=identity, facts=facts, features=self.features, key=key)

    def search(self, page: Fingerprint, context: SearchContext, /) -> Search:
        """See `Method`."""
        plan = _plan(page.search, page.search_weights, context)
        prefilter = likelihood_prefilter(page.search_weights, search_similarity(context.similarity), KEPT)
        return Search(plan, self.rule(page, context), prefilter)

    def rule(self, page: Fingerprint, context: SearchContext) -> WeightedThreshold:
        """Return the decision about records, wherever they were found."""
        threshold = accept_threshold(context.similarity, VERIFY_BITS, context.recall)
        rule = likelihood_rule(page.verify_weights, threshold)
        if rule.threshold is None:
            return rule
        return replace(rule, crowd=crowd_rule(context.similarity, context.recall, VERIFY_BITS, SCALED_LIMIT))

    def estimate(self, page: Fingerprint, other: bytes) -> float:
        """See `Method`."""
        return estimate_similarity(page.verify_weights, page.verify, other)
