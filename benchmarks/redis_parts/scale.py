"""How the Redis index grows: recall of planted pages, and the memory of more pages than were written."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.redis_parts.filling import plants
from benchmarks.redis_parts.memory import OTHER, Memory, Part
from benchmarks.shared.common import make_table
from crawldedup.search.query import TABLES
from tests.stores.pages import similar_page

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from benchmarks.redis_parts.indexes import Queries
    from crawldedup.stores.base import Query, Store

PLANTED_SIMILARITIES = (0.9, 0.93, 0.97)
COMPUTED_PAGES = 10**9
COMPUTED_RECALLS = (10**8, COMPUTED_PAGES)


@dataclass
class RecallRow:
    """Share of planted pages that are found: as the server does, and as ranges and rules of the queries alone tell."""

    pages: int
    similarity: float
    """1 for exact copies."""
    planted: int
    seen: float | None
    computed: float


def meets(query: Query, search: int, signature: bytes) -> bool:
    """True if a page with these bits lies in the ranges of the query and is accepted, all other pages aside."""
    own = np.array([table.key(search) for table in TABLES], np.uint64).take(query.plan.tables)
    is_read = bool(((query.plan.lows <= own) & (own <= query.plan.highs)).any())
    return is_read and query.rule.cost(query.record.signature, signature) <= query.rule.limit


def recall_rows(store: Store | None, queries: Queries, pages: int, count: int) -> list[RecallRow]:
    """Look for pages that were made of the planted ones, in an index of so many pages if there is one."""
    rows = []
    planted = plants()[:count]
    for similarity in (*PLANTED_SIMILARITIES, 1.0):
        rng = np.random.default_rng([5, int(similarity * 100)])
        seen = computed = 0
        for number, plant in enumerate(planted):
            page = plant if similarity == 1 else similar_page(plant, similarity, rng)
            query = queries.about(page, number, pages)
            computed += meets(query, plant.search, plant.signature)
            if store is not None:
                seen += any(record.url_key == plant.digest for record in store.find([query])[0])
        rows.append(RecallRow(pages, similarity, count, None if store is None else seen / count, computed / count))
    return rows


def on_the_curve(pages: Sequence[int], values: Sequence[float], wanted: int) -> float:
    """The straight line through the values over the logarithm of the pages, at `wanted` pages.

    No less than the last value: what goes up and down with the powers of two must not be taken for a fall.
    """
    slope, level = np.polyfit(np.log10(pages), values, 1)
    return max(float(slope * math.log10(wanted) + level), values[-1])


def computed_memory(memories: Sequence[Memory]) -> Memory:
    """What COMPUTED_PAGES take: keys and bytes a page of each part on its curve, and the dictionary by its rule."""
    pages = [memory.pages for memory in memories]
    names = [part.name for part in memories[-1].parts if part.name != OTHER]

    def computed(values: Sequence[float]) -> float:
        return COMPUTED_PAGES * on_the_curve(pages, np.divide(values, pages).tolist(), COMPUTED_PAGES)

    keys = {name: round(computed([memory.part(name).keys for memory in memories])) for name in names}
    usage = {name: computed([memory.part(name).usage for memory in memories]) for name in names}
    # A server has the least power of two of slots, of 8 bytes, that is no less than the number of keys.
    all_keys = sum(keys.values())
    slot_bytes_a_key = 8 * 2 ** math.ceil(math.log2(all_keys)) / all_keys
    parts = [Part(name, keys[name], usage[name], usage[name] + slot_bytes_a_key * keys[name]) for name in names]
    used = round(sum(part.whole for part in parts))
    resident = round(used * memories[-1].resident / memories[-1].used)
    return Memory(COMPUTED_PAGES, memories[-1].url_bytes, parts, used, resident)


def show_recall(console: Console, rows: Sequence[RecallRow]) -> None:
    table = make_table(
        "planted pages that are found: seen (computed)",
        *("pages", *(f"J {similarity:g}" for similarity in PLANTED_SIMILARITIES), "exact copies"),
    )
    for pages in dict.fromkeys(row.pages for row in rows):
        of_size = [row for row in rows if row.pages == pages]
        cells = [f"{'' if row.seen is None else f'{row.seen:.2%} '}({row.computed:.2%})" for row in of_size]
        table.add_row(f"{pages:,}", *cells)
    console.print(table)
