"""The fingerprints of many pages as columns, one row a page, and the keys under which near duplicates meet.

A crawl files a page under its own key in each table and probes the keys that its near duplicates likely have. With all
pages at hand, both sides share the work: each page is filed under its own key and under a few others, in which the bits
are flipped that most likely differ (Sood and Loguinov 2011). Two pages meet if they have one of these keys in common:
n keys a page do the work of nearly n * n probes. Only the leading bits of a key count, the fewer the fewer pages there
are, so that a key is shared by about the same number of unrelated pages in every collection.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from crawldedup.fingerprinting.fingerprint import SEARCH_BITS, VERIFY_BITS, Fingerprint
from crawldedup.search.decision import threshold_rows
from crawldedup.search.model import grid_rows, normal_tables, search_similarity, steepness
from crawldedup.search.plan import STORED_BITS, Table, flip_sets
from crawldedup.search.query import TABLES as TABLES

Keys = NDArray[np.uint64]
Doubles = NDArray[np.float64]

VOLATILITY_UNIT: Final = 32
"""Search weights are kept in parts of this: they only tell which bits are likely to flip."""
_MOST_VOLATILITY: Final = 255
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


@dataclass(frozen=True, slots=True)
class Columns:
    """What is compared of pages, in arrays of one length.

    `search`, `verify` and `digest` are those of `Fingerprint`, salted as an index files them (`queries.salted`).
    `volatility` holds the sizes of the search weights in parts of VOLATILITY_UNIT. `steps` holds those of the verify
    weights, as rows of the tables of the normal distribution at the threshold: the same costs follow from them as from
    the weights. Of pages that are copies of each other, one of the lowest `rank` is kept.
    """

    search: NDArray[np.uint64]
    verify: NDArray[np.uint8]
    digest: NDArray[np.uint64]
    volatility: NDArray[np.uint8]
    steps: NDArray[np.uint16]
    thin: NDArray[np.bool_]
    rank: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.search)

    def by_name(self) -> dict[str, NDArray[Any]]:
        """Return the columns by their names."""
        return {name: getattr(self, name) for name in LAYOUT}

    @classmethod
    def of(cls, pages: Sequence[tuple[Fingerprint, int]], threshold: float) -> Self:
        """Return the columns of salted fingerprints and their ranks.

        `threshold` is the estimate of the similarity from which on a page is accepted.
        """
        columns = cls(**{name: np.zeros(len(pages), kind) for name, kind in LAYOUT.items()})
        for row, (page, rank) in enumerate(pages):
            columns.search[row], columns.digest[row] = page.search, page.digest
            columns.verify[row] = np.frombuffer(page.verify, np.uint8)
            columns.volatility[row] = np.minimum(np.abs(page.search_weights) * VOLATILITY_UNIT, _MOST_VOLATILITY)
            columns.steps[row] = threshold_rows(page.verify_weights, threshold)
            columns.thin[row], columns.rank[row] = page.thin, rank
        return columns


LAYOUT: Final[dict[str, np.dtype[Any]]] = {
    "search": np.dtype(np.uint64),
    "verify": np.dtype((np.uint8, (VERIFY_BITS // 8,))),
    "digest": np.dtype(np.uint64),
    "volatility": np.dtype((np.uint8, (SEARCH_BITS,))),
    "steps": np.dtype((np.uint16, (VERIFY_BITS,))),
    "thin": np.dtype(np.bool_),
    "rank": np.dtype(np.uint8),
}
"""What a row of each column holds."""


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
    return table.keys(search)[:, None] ^ flips


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
