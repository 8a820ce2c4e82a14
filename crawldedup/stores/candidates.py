"""Choose the pages that queries are compared with among those found by their keys, and compare them: arrays of a batch.

A key and the number of its page share 64 bits, as embedded stores keep them: 34 leading bits of the key, then the page.
"""

from collections.abc import Sequence
from functools import cache
from typing import Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from crawldedup.search.decision import Prefilter, WeightedThreshold
from crawldedup.search.plan import STORED_BITS, Table
from crawldedup.stores.base import Layout, Query

Keys = NDArray[np.uint64]
Indexes = NDArray[np.intp]

ID_BITS: Final = 64 - STORED_BITS
MAX_PAGES: Final = 1 << ID_BITS
ID_MASK: Final = np.uint64(MAX_PAGES - 1)
KEY_MASK: Final = ~ID_MASK
NEVER: Final = 1 << 40
"""The cost of a page that is not accepted at any."""


class Ranges(NamedTuple):
    """The ranges that queries of a batch read, best first: whose, of which table, first and last packed key."""

    of: Indexes
    tables: Indexes
    lows: Keys
    highs: Keys

    @classmethod
    def to_read(cls, batch: Sequence[Query], asked: Sequence[int]) -> Self:
        """Return the ranges of those queries that are asked."""
        plans = [batch[place].plan for place in asked]
        return cls(
            np.repeat(np.array(asked, np.intp), [len(plan) for plan in plans]),
            np.concatenate([plan.tables for plan in plans]),
            np.concatenate([plan.lows for plan in plans]) & KEY_MASK,
            np.concatenate([plan.highs for plan in plans]) | ID_MASK,
        )

    def middles(self, query: Query) -> Keys:
        """Return the key that each probe of a query looks for: the page's own, with the probe's bits flipped."""
        own = np.array(query.keys, np.uint64).take(self.tables)
        return (self.lows | own & (self.lows ^ self.highs)) & KEY_MASK

    def within_batch(self, batch: Sequence[Query]) -> tuple[Indexes, Keys, Indexes]:
        """Return which ranges hold keys of earlier queries of the batch, these keys, and whose they are."""
        keys = np.array([query.keys for query in batch], np.uint64) & KEY_MASK
        orders = keys.argsort(axis=0)
        ranges, places = [], []
        for table, order in enumerate(orders.T):
            mine = np.flatnonzero(self.tables == table)
            column = keys[order, table]
            first = column.searchsorted(self.lows[mine])
            is_met = np.append(column, ~np.uint64(0))[first] <= self.highs[mine]
            mine, first = mine[is_met], first[is_met]
            counts = column.searchsorted(self.highs[mine], "right") - first
            within = np.arange(counts.sum()) - np.repeat(counts.cumsum() - counts, counts)
            ranges.append(np.repeat(mine, counts))
            places.append(order[np.repeat(first, counts) + within])
        range_of, place = np.concatenate(ranges), np.concatenate(places)
        is_earlier = place < self.of[range_of]
        range_of, place = range_of[is_earlier], place[is_earlier]
        return range_of, keys[place, self.tables[range_of]], place


def key_costs(rule: Prefilter, layout: Layout) -> NDArray[np.uint8]:
    """The rule's costs in the order of each table's keys, shape (tables, STORED_BITS)."""
    return np.frombuffer(rule.costs, np.uint8).take(_key_bits(layout.tables))


@cache
def _key_bits(tables: tuple[Table, ...]) -> Indexes:
    return np.stack([table.order[:STORED_BITS] for table in tables])


def costs_of_keys(
    queries: Sequence[Query], layout: Layout, of: Indexes, tables: Indexes, keys: Keys
) -> NDArray[np.int64]:
    """Return what keys cost by the prefilter of the query that met each, or NEVER where it rejects them; (keys,).

    `of` numbers the queries, `tables` the tables.
    """
    free = Prefilter(bytes(len(layout.tables[0].order)), 0)
    rules = [query.prefilter or free for query in queries]
    of_bits = np.frombuffer(b"".join([rule.costs for rule in rules]), np.uint8).reshape(len(rules), -1)
    differing = keys ^ np.array([query.keys for query in queries], np.uint64)[of, tables]
    bits = np.unpackbits(differing.astype(">u8").view(np.uint8).reshape(-1, 8), axis=1, count=STORED_BITS)
    bits *= of_bits[of[:, None], _key_bits(layout.tables)[tables]]
    costs: NDArray[np.int64] = bits.sum(axis=1, dtype=np.int64)
    costs[costs > np.array([rule.limit for rule in rules])[of]] = NEVER
    return costs


def likeliest(pages: Sequence[int], costs: Sequence[int], most: int) -> list[int]:
    """Return the pages whose keys cost least, the first found among equals; a page may have several keys."""
    best: dict[int, int] = {}
    for page, cost in zip(pages, costs, strict=True):
        best[page] = min(cost, best.get(page, cost))
    return sorted(best, key=best.__getitem__)[:most]


def costs_of_pages(
    queries: Sequence[Query], of: Indexes, signatures: Sequence[bytes], digests: Sequence[int], pages: Indexes
) -> list[int]:
    """Return what records cost by the rule of the query that met each: 0 for an equal digest, NEVER if refused.

    `pages` numbers the signatures and digests. Costs above the rule's reach do not count.
    """
    records = [query.record for query in queries]
    packed = np.frombuffer(b"".join(signatures), np.uint8).reshape(len(signatures), -1)
    own = np.frombuffer(b"".join([record.signature for record in records]), np.uint8).reshape(len(records), -1)
    bits = np.unpackbits(packed[pages] ^ own[of], axis=1)
    bits *= np.frombuffer(b"".join([query.rule.costs for query in queries]), np.uint8).reshape(len(queries), -1)[of]
    costs = bits.sum(axis=1, dtype=np.int64)
    is_equal = np.array(digests)[pages] == np.array([record.digest for record in records])[of]
    costs[np.array([query.exact_only for query in queries])[of]] = NEVER
    costs[is_equal] = 0
    costs[costs > np.array([query.rule.reach for query in queries])[of]] = NEVER
    found: list[int] = costs.tolist()
    return found


def accepted(rule: WeightedThreshold, costs: Sequence[tuple[int, int]]) -> list[int]:
    """Return the pages that a rule accepts, nearest first, given the cost and the number of each within its reach."""
    limit = rule.bar([cost for cost, _ in costs]).limit
    return [number for cost, number in sorted(costs) if cost <= limit]
