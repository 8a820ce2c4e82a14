"""Pair the pages that share a key: each key is a row, and sorting brings equal keys together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from pyspark.sql import functions as F  # noqa: N812

from crawldedup.scan.columns import CROWD_BITS, KEYS_A_TABLE, TABLES, key_bits, keys_of, numbers_in, pack
from crawldedup.scan.decision import MOST_SEARCH_BITS
from crawldedup.scan.pairs import Nearness, candidate_pairs, crowded, earlier_of, later_of
from crawldedup.search.plan import STORED_BITS
from crawldedup.spark.arrow import batch, matrix, numbers
from crawldedup.spark.kept import kept
from crawldedup.spark.numbering import among
from crawldedup.spark.reading import VOLATILITY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray
    from pyspark.sql import DataFrame

    from crawldedup.scan.columns import Keys
    from crawldedup.search.plan import Table
    from crawldedup.spark.arrow import Batches, Rows

_SIGN: Final = np.uint64(1 << 63)
"""Spark sorts signed numbers: with this bit flipped, they come in the order of unsigned ones."""
_KEYS_AT_ONCE: Final = 1 << 20
_CROWDED: Final = -1
"""In place of the earlier page of a pair: the page is to be compared by longer keys."""


def candidates(pages: DataFrame, similarity: float) -> DataFrame:
    """Return pairs of pages that share a key, `later` and `earlier`; some more than once.

    `pages` have `number`, `search` and `volatility`. Of pages that share theirs with too many, longer keys are
    compared, too.
    """
    pages = kept(pages)
    found = []
    for table in TABLES:
        some, bits = pages, key_bits(pages.count())
        while bits <= STORED_BITS:
            runs = kept(_runs(some, table, bits, similarity))
            found.append(runs.where(F.col("earlier") != _CROWDED))
            again = kept(runs.where(F.col("earlier") == _CROWDED).select(F.col("later").alias("number")).distinct())
            if again.isEmpty():
                break
            some = among(pages, again)
            bits += CROWD_BITS
    pairs = found[0]
    for more in found[1:]:
        pairs = pairs.union(more)
    return pairs


def _runs(pages: DataFrame, table: Table, bits: int, similarity: float) -> DataFrame:
    keys = pages.mapInArrow(Filing(table, bits, similarity), "key long, search long")
    prefix = F.shiftrightunsigned("key", 64 - bits)
    return keys.repartition(prefix).sortWithinPartitions("key").mapInArrow(Pairing(bits), "later long, earlier long")


@dataclass(frozen=True, slots=True)
class Filing:
    """Makes the rows under which pages are filed in a table: packed keys, each with the search bits of its page."""

    table: Table
    bits: int
    similarity: float

    def __call__(self, batches: Batches) -> Rows:
        """Yield the rows of pages."""
        for rows in batches:
            search = numbers(rows.column("search")).view(np.uint64)
            volatility = matrix(rows.column("volatility"), *VOLATILITY)
            keys = keys_of(search, volatility, self.table, bits=self.bits, similarity=self.similarity)
            packed = pack(keys, numbers(rows.column("number")).astype(np.uint64)[:, None]).ravel()
            yield batch(key=(packed ^ _SIGN).view(np.int64), search=np.repeat(search, KEYS_A_TABLE).view(np.int64))


@dataclass(frozen=True, slots=True)
class Pairing:
    """Pairs the pages of sorted rows that share the leading bits of a key. Memory holds the longest run."""

    bits: int

    def __call__(self, batches: Batches) -> Rows:
        """Yield pairs of pages, and pages that are crowded."""
        for packed, search in self._whole_runs(batches):
            for later, earlier in self._pairs(packed, search):
                yield batch(later=later, earlier=earlier)
            again = crowded(packed, self.bits).astype(np.int64)
            yield batch(later=again, earlier=np.full(len(again), _CROWDED))

    def _whole_runs(self, batches: Batches) -> Iterator[tuple[Keys, Keys]]:
        """Yield keys and search bits, many runs at once, none of them cut."""
        parts: list[tuple[Keys, Keys]] = []
        waiting = 0
        for rows in batches:
            part = tuple(numbers(rows.column(name)).view(np.uint64) for name in ("key", "search"))
            parts.append((part[0] ^ _SIGN, part[1]))
            waiting += len(part[0])
            if waiting < _KEYS_AT_ONCE:
                continue
            packed, search = _joined(parts)
            run = np.uint64((1 << 64 - self.bits) - 1)
            end = int(np.searchsorted(packed, packed[-1] & ~run))
            if end:
                yield packed[:end], search[:end]
            parts = [(packed[end:], search[end:])]
            # A run that goes on is joined anew each time it has doubled.
            waiting = 0 if end == 0 else len(packed) - end
        if parts:
            yield _joined(parts)

    def _pairs(self, packed: Keys, search: Keys) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        # Small numbers in place of those of the pages, in the same order, find the search bits.
        pages, first, small = np.unique(numbers_in(packed), return_index=True, return_inverse=True)
        keys = pack(packed, small.astype(np.uint64))
        nearness = Nearness(search[first], np.zeros((len(pages), 1), np.uint64), MOST_SEARCH_BITS, 0)
        known = pages.astype(np.int64)
        for pairs in candidate_pairs(keys, self.bits, nearness):
            yield known[later_of(pairs)], known[earlier_of(pairs)]


def _joined(parts: list[tuple[Keys, Keys]]) -> tuple[Keys, Keys]:
    return np.concatenate([keys for keys, _ in parts]), np.concatenate([search for _, search in parts])
