"""Brute force: compares a page with every page of the index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from crawldedup.fingerprinting.fingerprint import SEARCH_BITS
from crawldedup.search.method import Search
from crawldedup.search.plan import ProbePlan
from crawldedup.search.plan import rotated_tables
from crawldedup.search.query import TwoStage
from crawldedup.stores.packed_keys import MAX_PAGES

if TYPE_CHECKING:
    from crawldedup.fingerprinting.fingerprint import Fingerprint
    from crawldedup.search.method import SearchContext
    from crawldedup.search.plan import Order

_ALL_KEYS: Final = ProbePlan(np.zeros(1, np.intp), np.zeros(1, np.uint64), np.full(1, 2**64 - 1, np.uint64), recall=1.0)


@dataclass(frozen=True)
class BruteForce(TwoStage):
    """Decides as the default does, about every page of the index: the recall that no search can beat, at its price."""

    tables: ClassVar[tuple[Order, ...]] = rotated_tables(1, SEARCH_BITS)
    max_candidates: ClassVar[int] = MAX_PAGES
    max_keys: ClassVar[int] = 8 * MAX_PAGES

    def search(self, page: Fingerprint, context: SearchContext, /) -> Search:
        """See `Method`."""
        return Search(_ALL_KEYS, self.rule(page, context))
