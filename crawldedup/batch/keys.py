"""File pages under their likeliest keys, so that near duplicates meet under one of them.

A crawl files a page under its own key in each table and probes the keys that its near duplicates likely have. With all
pages at hand, both sides share the work: each page is filed under its own key and under a few others, in which the bits
are flipped that most likely differ (Sood and Loguinov 2011). Two pages meet if they have one of these keys in common:
n keys a page do the work of nearly n * n probes. Only the leading bits of a key count, the fewer the fewer pages there
are, so that a key is shared by about the same number of unrelated pages in every collection.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from crawldedup.batch.columns import VOLATILITY_UNIT
from crawldedup.search.plan import STORED_BITS
from crawldedup.search.model import grid_rows, normal_tables, search_similarity, steepness
from crawldedup.search.plan import flip_sets
from crawldedup.search.query import TABLES as TABLES
from crawldedup.simhash import blocks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from crawldedup.search.model import Doubles
    from crawldedup.search.plan import Table

    Keys = NDArray[np.uint64]

KEYS_A_TABLE: Final = 6
"""Each page is filed under so many keys in each table. Of pages with J = .9, two tables of 6, with 4 to 8 pages under a
key by chance, let 99.7 % meet; of those with J = .85, 98 %. An index of a million pages finds 99.0 and 98.4 %."""

CROWD_BITS: Final = 4
"""Where too many pages share a key, keys that are longer by so many bits are compared, too."""
_SPARED_BITS: Final = 3
"""Keys are shorter by so many bits than numbers of pages are."""
_FEWEST_BITS: Final = 8
_NUMBER_BITS: Final = 64 - STORED_BITS
MOST_PAGES: Final = 1 << _NUMBER_BITS


def key_bits(pages: int) -> int:
    """Return how many leading bits of a key count among so many pages."""
    return min(max(max(pages - 1, 0).bit_length() - _SPARED_BITS, _FEWEST_BITS), STORED_BITS)


def keys_of(search: Keys, volatility: NDArray[np.uint8], table: Table, *, bits: int, similarity: float) -> Keys:
    """Return the likeliest keys of pages in a table, shape (pages, KEYS_A_TABLE).

    `bits` of a key count, and pages from `similarity` on are looked for.
    """
    sets = _flip_sets(bits)
    leading = table.order[:bits]
    sizes = volatility[:, leading]
    most_volatile = sizes.argsort(axis=1, kind="stable")[:, : sets.ranks]
    costs = _flip_costs(similarity).take(np.take_along_axis(sizes, most_volatile, axis=1)) @ sets.members
    likeliest = costs.argsort(axis=1, kind="stable")[:, :KEYS_A_TABLE]
    values = np.uint64(1) << (63 - most_volatile).astype(np.uint64)
    flips = np.take_along_axis(values @ sets.members.astype(np.uint64), likeliest, axis=1)
    return blocks.keys_of(search, table)[:, None] ^ flips


def pack(keys: Keys, numbers: NDArray[np.uint64]) -> Keys:
    """Return the leading bits of keys and the numbers of their pages in one integer each; numbers end at MOST_PAGES."""
    return keys >> np.uint64(_NUMBER_BITS) << np.uint64(_NUMBER_BITS) | numbers


def numbers_in(packed: Keys) -> Keys:
    """Return the numbers of the pages of packed keys."""
    return packed & np.uint64(MOST_PAGES - 1)


class _FlipSets(NamedTuple):
    ranks: int
    members: Doubles
    """1 where a rank of volatility belongs to a set, shape (ranks, sets)."""


@cache
def _flip_sets(bits: int) -> _FlipSets:
    """Return all sets of bits that can be among the KEYS_A_TABLE likeliest to flip."""
    _, members = flip_sets(bits, KEYS_A_TABLE)
    ranks = max(int(np.count_nonzero(members.sum(axis=1))), 1)
    return _FlipSets(ranks, members[:ranks])


@cache
def _flip_costs(similarity: float) -> Doubles:
    """Return minus the log odds of a flip by volatility."""
    sizes = np.arange(256, dtype=np.float32) / np.float32(VOLATILITY_UNIT)
    return -normal_tables().log_odds.take(grid_rows(sizes, steepness(search_similarity(similarity))))
