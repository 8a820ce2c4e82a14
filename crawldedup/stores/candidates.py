"""Choose the pages to compare among those found by their keys, and compare them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from crawldedup.search.limits import STORED_BITS
from crawldedup.stores.packed_keys import page_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from crawldedup.search.decision import Prefilter
    from crawldedup.search.tables import Order
    from crawldedup.stores.base import Layout, Query
    from crawldedup.stores.packed_keys import Keys


def choose_pages(query: Query, layout: Layout, tables: NDArray[np.intp], packed: Keys) -> list[int]:
    """Return the pages to compare, given tables and packed keys, shape (keys,), best ranges first.

    Only pages with a key that the key rule accepts, if there is a rule. If there are more than may be compared, those
    whose keys differ least from the page's own; the first found among equals.
    """
    if not len(packed):
        return []
    if query.prefilter is None:
        return list(dict.fromkeys(map(page_of, packed.tolist())))[: query.max_candidates]
    differing = packed ^ np.array(query.entry.keys, np.uint64).take(tables)
    bits = np.unpackbits(differing.astype(">u8").view(np.uint8).reshape(-1, 8), axis=1, count=STORED_BITS)
    costs = (bits * key_costs(query.prefilter, layout).take(tables, axis=0)).sum(axis=1, dtype=np.int64)
    accepted = np.flatnonzero(costs <= query.prefilter.limit)
    best: dict[int, int] = {}
    for key, cost in zip(packed[accepted].tolist(), costs[accepted].tolist(), strict=True):
        page = page_of(key)
        best[page] = min(cost, best.get(page, cost))
    if len(best) <= query.max_candidates:
        return list(best)
    return sorted(best, key=best.__getitem__)[: query.max_candidates]


def key_costs(rule: Prefilter, layout: Layout) -> NDArray[np.uint8]:
    """The rule's costs in the order of each table's keys, shape (tables, STORED_BITS)."""
    return np.frombuffer(rule.costs, np.uint8).take(_key_bits(layout.tables))


@cache
def _key_bits(tables: tuple[Order, ...]) -> NDArray[np.intp]:
    return np.stack([table.order[:STORED_BITS] for table in tables])


def resembling(query: Query) -> Query:
    """Return the same query, accepting every page that counts for its decision: `accepted` chooses among these."""
    return replace(query, rule=replace(query.rule, limit=query.rule.reach, crowd=None))


def accepted(query: Query, signatures: Sequence[bytes], digests: Sequence[int]) -> list[tuple[int, int]]:
    """Return (cost, position) of the candidates that the query accepts, in the order of the candidates."""
    if not signatures:
        return []
    own = query.entry.signature
    packed = np.frombuffer(b"".join(signatures), np.uint8).reshape(len(signatures), len(own))
    is_equal = [digest == query.entry.digest for digest in digests]
    costs = [
        0 if equal else cost for cost, equal in zip(query.rule.costs_of(own, packed).tolist(), is_equal, strict=True)
    ]
    counting = [
        (cost, position)
        for position, cost in enumerate(costs)
        if cost <= query.rule.reach and (not query.exact_only or is_equal[position])
    ]
    limit = query.rule.bar([cost for cost, _ in counting]).limit
    return [(cost, position) for cost, position in counting if cost <= limit]
