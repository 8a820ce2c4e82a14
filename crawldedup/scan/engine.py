"""Find the duplicates among the pages of some columns, on one machine."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import numpy as np
from numpy.typing import NDArray

from crawldedup.errors import ConfigurationError
from crawldedup.scan import decision
from crawldedup.scan import pairs as pairing
from crawldedup.scan.columns import Columns, Lists
from crawldedup.scan.decision import Goal, Order, Resemblances, Rows
from crawldedup.scan.pairs import MOST_PAGES, Keys, Nearness, WaitingPairs, earlier_of, later_of
from crawldedup.search.plan import STORED_BITS, Table
from crawldedup.search.query import TABLES

Progress = Callable[[str, float], None]

_PAGES_AT_ONCE: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Duplicates:
    """What each page is, in arrays of one length, in the order of the columns.

    `original` holds the row of the page that is kept of its cluster: its own where it is kept. `similarity` is 1 for
    exact copies and for kept pages.
    """

    original: Rows
    exact: NDArray[np.bool_]
    similarity: NDArray[np.float64]

    @property
    def kept(self) -> NDArray[np.bool_]:
        """Return which pages are kept."""
        kept: NDArray[np.bool_] = self.original == np.arange(len(self.original))
        return kept


def find_duplicates(
    pages: Columns,
    goal: Goal,
    shingles: Lists | None = None,
    *,
    folder: Path | None = None,
    progress: Progress = lambda _doing, _percent: None,
) -> Duplicates:
    """Return what each page is. Pages come in their order, after those of lower rank.

    The verdicts are those of a crawl that meets the pages in this order, each under a URL of its own; but an exact copy
    of a dropped page shares that page's verdict. With the `shingles` of the pages, exact similarities decide. Pairs
    wait on disk, in `folder` or a temporary one. Raises ConfigurationError for more than MOST_PAGES pages, and OSError.
    """
    if len(pages) > MOST_PAGES:
        raise ConfigurationError(f"there are {len(pages):,} pages, and at most {MOST_PAGES:,} can be compared at once")
    batch = _Batch(pages, goal, shingles)
    with TemporaryDirectory(dir=folder, prefix="pairs-") as place:
        waiting = WaitingPairs(Path(place), len(pages))
        for number, table in enumerate(TABLES):
            progress("comparing keys", 50 * number / len(TABLES))
            for pairs in batch.candidates(table):
                waiting.add(pairs)
        for share, pairs in waiting.blocks():
            progress("comparing pages", 50 + 40 * share)
            batch.decide(pairs)
    progress("measuring", 90)
    return batch.duplicates()


class _Batch:
    """The pages of a batch, each known by its number: its place in the order in which they are decided."""

    def __init__(self, pages: Columns, goal: Goal, shingles: Lists | None) -> None:
        self._pages = pages
        self._goal = goal
        self._shingles = shingles
        self._rows = np.argsort(pages.rank, kind="stable")
        _, first, copies = np.unique(pages.digest[self._rows], return_index=True, return_inverse=True)
        self._first_copy = first[copies]
        self._is_first = self._first_copy == np.arange(len(pages))
        self._order = Order(len(pages), goal.crowd if shingles is None else decision.exact_rule(goal.similarity))

    def candidates(self, table: Table) -> Iterator[Keys]:
        """Yield near pairs of pages that share a key in a table.

        Of pages that share theirs with too many, longer keys are compared, too.
        """
        verify = self._pages.verify[self._rows].view(np.uint64)
        search = self._pages.search[self._rows]
        nearness = Nearness(search, verify, decision.MOST_SEARCH_BITS, self._goal.most_verify_bits)
        numbers = np.flatnonzero(self._is_first & ~self._pages.thin[self._rows])
        bits = pairing.key_bits(len(numbers))
        while len(numbers) and bits <= STORED_BITS:
            packed = self._packed_keys(numbers, table, bits)
            yield from pairing.candidate_pairs(packed, bits, nearness)
            numbers = pairing.crowded(packed, bits).astype(np.int64)
            bits += pairing.CROWD_BITS

    def _packed_keys(self, numbers: Rows, table: Table, bits: int) -> Keys:
        """Return the packed keys of pages in one table, sorted."""
        parts = []
        for start in range(0, len(numbers), _PAGES_AT_ONCE):
            some = numbers[start : start + _PAGES_AT_ONCE]
            rows = self._rows[some]
            search, volatility = self._pages.search[rows], self._pages.volatility[rows]
            keys = pairing.keys_of(search, volatility, table, bits=bits, similarity=self._goal.similarity)
            parts.append(pairing.pack(keys, some.astype(np.uint64)[:, None]).ravel())
        packed = np.concatenate(parts)
        packed.sort()
        return packed

    def decide(self, pairs: Keys) -> None:
        """Decide about the later pages of pairs; about all pages before them, it was decided before."""
        measured = self._exactly(self._compared(pairs, self._goal.crowd.reach).nearest())
        for _ in range(decision.ROUNDS):
            wanted = self._order.decide(measured)
            if not len(wanted):
                return
            measured = measured.joined(self._exactly(self._compared(wanted)))
        self._order.decide(measured, presumes=False)

    def _compared(self, pairs: Keys, most: float = math.inf) -> Resemblances:
        """Return pairs of pages with their costs, those of at most this cost."""
        later, earlier = later_of(pairs), earlier_of(pairs)
        costs = decision.costs_of(self._pages, self._rows[later], self._rows[earlier])
        counts = costs <= most
        return Resemblances(later[counts], earlier[counts], costs[counts])

    def _exactly(self, pairs: Resemblances) -> Resemblances:
        """Return pairs with their exact costs, if these decide."""
        if self._shingles is None:
            return pairs
        costs = decision.exact_costs(self._similarities(self._rows[pairs.later], self._rows[pairs.earlier]))
        return Resemblances(pairs.later, pairs.earlier, costs)

    def _similarities(self, later: Rows, earlier: Rows) -> NDArray[np.float64]:
        if self._shingles is None:
            return decision.similarities_of(self._pages, later, earlier, self._goal.threshold)
        return decision.exact_similarities(self._shingles, later, earlier)

    def duplicates(self) -> Duplicates:
        """Return what has been decided."""
        # An exact copy has the verdict of the first one.
        original = self._order.original[self._first_copy]
        is_near = self._is_first & (original != np.arange(len(original)))
        similarity = np.ones(len(original))
        similarity[is_near] = self._similarities(self._rows[is_near], self._rows[original[is_near]])
        is_exact = ~self._is_first & (original == self._first_copy)
        place = np.argsort(self._rows)
        return Duplicates(self._rows[original][place], is_exact[place], similarity[self._first_copy][place])
