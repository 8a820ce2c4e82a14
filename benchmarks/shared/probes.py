"""Probe plans of pages without a store: which pages of a known key would be met."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from crawldedup.stores.packed_keys import pack_key
from numpy.typing import NDArray

from benchmarks.shared.corpus import number
from crawldedup.fingerprinting.fingerprint import VERIFY_BITS
from crawldedup.search.model import search_similarity
from crawldedup.search.plan import PROBE_BUDGET, ProbePlan, volatile_plan
from crawldedup.search.query import TABLES
from crawldedup.stores.base import Layout, Query
from crawldedup.stores.candidates import choose_pages

if TYPE_CHECKING:
    from crawldedup.search.plan import Table

PLANNED_SIMILARITY = 0.9
LAYOUT = Layout("bench", "bench", TABLES, VERIFY_BITS // 8)

Floats = NDArray[np.float32]


def plan_for(weights: Floats, tables: tuple[Table, ...], prefix: int, search: float) -> ProbePlan:
    """Plan as many probes of some tables as are in use; `search` is the similarity of the search features."""
    return volatile_plan(
        number(weights), weights, tables, prefix=prefix, similarity=search, recall=1.0, budget=PROBE_BUDGET
    )


def lies_in(planned: ProbePlan, tables: tuple[Table, ...], other: int) -> bool:
    """Return whether a page with these search bits lies in one of the probes."""
    keys = np.array([table.key(other) for table in tables], np.uint64).take(planned.tables)
    return bool(((planned.lows <= keys) & (keys <= planned.highs)).any())


def plan(weights: Floats, *, prefix: int, similarity: float, recall: float = 1.0, budget: int) -> ProbePlan:
    return volatile_plan(
        number(weights),
        weights,
        TABLES,
        prefix=prefix,
        similarity=search_similarity(similarity),
        recall=recall,
        budget=budget,
    )


def meets(query: Query, search: int, signature: bytes) -> bool:
    """True if a page with these bits lies in the ranges of the query and is accepted, all other pages aside."""
    plan, keys = query.plan, np.array(LAYOUT.keys(search, signature), np.uint64)
    own = keys.take(plan.tables)
    hit = (plan.lows <= own) & (own <= plan.highs)
    packed = np.array([pack_key(key, 0) for key in own[hit].tolist()], np.uint64)
    return bool(choose_pages(query, LAYOUT, plan.tables[hit], packed)) and (
        query.rule.cost(query.entry.signature, signature) <= query.rule.limit
    )
