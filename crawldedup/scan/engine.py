"""Find the duplicates in a whole collection of pages, held in columns on one machine.

Pairs of pages are decided as in a crawl: by the likelihood of the bits in which their signatures
differ, or by the shingles that they have in common. One pass over the pages in order decides which
pages are kept, namely those that aren't duplicates of a kept one.
"""

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from crawldedup.errors import ConfigurationError
from crawldedup.fingerprinting.bits import SEARCH_BITS, VERIFY_BITS, Fingerprint
from crawldedup.fingerprinting.shingles import set_of_shingles
from crawldedup.fingerprinting.tokenize import word_hashes
from crawldedup.index.queries import TABLES
from crawldedup.marks.exact_keys import exact_keys
from crawldedup.scan import pairs as pairing
from crawldedup.scan.order import Order, Resemblances, nearest_of
from crawldedup.scan.pairs import (
    MOST_PAGES,
    Keys,
    WaitingPairs,
    distinct,
    earlier_of,
    later_of,
    near_pairs,
)
from crawldedup.search import decision as model
from crawldedup.search.decision import Crowd, crowd_rule, likelihood_costs
from crawldedup.search.plan import STORED_BITS, Table
from crawldedup.stores.contract import DIGEST_MASK

Rows = NDArray[np.int64]
Progress = Callable[[str, float], None]

MOST_SEARCH_BITS: Final = 16
"""The maximum number of search bits in which two pages of a candidate pair may differ.

One in 10,000 near duplicates with J = .8 exceeds it, and all but one in 25,000 unrelated pages do.
"""
_PAGES_AT_ONCE: Final = 1 << 16
_PAIRS_AT_ONCE: Final = 1 << 13
_TOLERANCE: Final = 5e-5
# Exact costs are differences from a similarity of 1 in this unit: whole numbers, like bit costs.
_EXACT_UNIT: Final = 10**9
# The rounds of comparisons for pages that only resemble dropped pages. Each round compares them
# with the kept pages whose copies were dropped.
ROUNDS: Final = 3

# The type of the values in each column.
LAYOUT: Final[dict[str, np.dtype[Any]]] = {
    "search": np.dtype(np.uint64),
    "verify": np.dtype((np.uint8, (VERIFY_BITS // 8,))),
    "digest": np.dtype(np.uint64),
    "volatility": np.dtype((np.uint8, (SEARCH_BITS,))),
    "steps": np.dtype((np.uint16, (VERIFY_BITS,))),
    "thin": np.dtype(np.bool_),
    "rank": np.dtype(np.uint8),
    "identity": np.dtype(np.uint64),
    "address": np.dtype(np.uint64),
    "twin": np.dtype(np.uint64),
}
# Columns in which equal values make candidates of pages that share text: see `PageRow`.
SHARED: Final = ("digest", "identity", "address")
# What two pages have in common besides their texts: all marks, a name or an address, or nothing.
_TWINS, _NAMESAKES = 2, 1


class Lists:
    """Lists of different lengths, stored one after the other in a single array."""

    def __init__(self, items: NDArray[Any], sizes: NDArray[np.uint32]) -> None:
        self._items = items
        self._ends = np.cumsum(sizes, dtype=np.int64)

    def __getitem__(self, row: int) -> NDArray[Any]:
        return self._items[self._ends[row - 1] if row else 0 : self._ends[row]]


class PageRow(NamedTuple):
    """The values of a page that are compared with those of other pages."""

    #: The fingerprint, salted as an index files it (`crawldedup.index.queries.salted`).
    fingerprint: Fingerprint
    #: Among copies of each other, a page with the lowest rank is kept.
    rank: int = 0
    #: What shows which content the page is (`crawldedup.index.queries.marks_of`).
    marks: bytes = b""

    @property
    def twin(self) -> int:
        """A key that is the same for pages with the same text and marks.

        Without marks, it's the digest.

        Such pages never conflict with each other. They conflict with the same other pages, except
        for conflicts in addresses.
        """
        digest = self.fingerprint.digest
        if not self.marks:
            return digest
        shown = digest.to_bytes(8, "big") + self.fingerprint.marks
        return int.from_bytes(hashlib.blake2b(shown, digest_size=8).digest(), "big")


@dataclass(frozen=True, slots=True)
class Columns:
    """The compared values of all pages, with one array for each kind of value.

    `search`, `verify` and `digest` are those of `PageRow.fingerprint`. `volatility` holds the sizes
    of the search weights in units of VOLATILITY_UNIT. `steps` holds the sizes of the verify weights
    as row numbers in the tables of the normal distribution at the threshold, which give the same
    costs as the weights. `identity` and `address` are those of the `ExactKeys` of a page, 0 for
    none. If there are `shingles` (see `shingle_set`), they decide. If there are `marks`, they tell
    siblings apart.
    """

    search: NDArray[np.uint64]
    verify: NDArray[np.uint8]
    digest: NDArray[np.uint64]
    volatility: NDArray[np.uint8]
    steps: NDArray[np.uint16]
    thin: NDArray[np.bool_]
    rank: NDArray[np.uint8]
    identity: NDArray[np.uint64]
    address: NDArray[np.uint64]
    twin: NDArray[np.uint64]
    shingles: Lists | None = None
    marks: Lists | None = None

    def __len__(self) -> int:
        return len(self.search)

    @classmethod
    def of(cls, pages: Sequence[PageRow], threshold: float) -> Self:
        """Put the values of pages into columns, for a scan that accepts this `threshold`."""
        empty: dict[str, Any] = {name: np.zeros(len(pages), kind) for name, kind in LAYOUT.items()}
        marks = [page.marks for page in pages]
        sizes = np.array(list(map(len, marks)), np.uint32)
        columns = cls(**empty, marks=Lists(np.frombuffer(b"".join(marks), np.uint8), sizes))
        for row, page_row in enumerate(pages):
            page = page_row.fingerprint
            columns.search[row] = page.search
            columns.digest[row] = page.digest
            columns.verify[row] = np.frombuffer(page.verify, np.uint8)
            columns.volatility[row] = np.minimum(
                np.abs(page.search_weights) * pairing.VOLATILITY_UNIT, 255
            )
            columns.steps[row] = model.grid_rows(
                np.abs(page.verify_weights), model.steepness(threshold)
            )
            columns.thin[row] = page.thin
            columns.rank[row] = page_row.rank
            keys = exact_keys(page.search, page.digest & DIGEST_MASK, page_row.marks)
            columns.identity[row] = keys.identity or 0
            columns.address[row] = keys.address or 0
            columns.twin[row] = page_row.twin
        return columns


def shingle_set(text: str) -> NDArray[np.uint32]:
    """Return the distinct 3-shingles of a text, as sorted hashes of 32 bits.

    In one of four thousand cases, two texts with a thousand shingles each seem to have one more in
    common than they really do.
    """
    words = word_hashes(text)
    return distinct(set_of_shingles(words) >> np.uint64(32)).astype(np.uint32)


@dataclass(frozen=True)
class Goal:
    """What a scan looks for: duplicates of at least `similarity`, found with probability `recall`.

    See `Options`.
    """

    similarity: float
    recall: float

    @cached_property
    def threshold(self) -> float:
        """The estimated similarity at which a page is a duplicate if it resembles a single page."""
        return model.accept_threshold(self.similarity, VERIFY_BITS, self.recall)

    @cached_property
    def crowd(self) -> Crowd:
        """The rule for pages that resemble several pages at once, which have to be more similar."""
        return crowd_rule(self.similarity, self.recall, VERIFY_BITS)

    @cached_property
    def most_verify_bits(self) -> int:
        """The maximum number of differing verify bits.

        Only one in 30,000 relevant pages exceeds it.
        """
        weights, density = model.weight_density()
        share = float(model.flip_probabilities(weights, self.crowd.farthest) @ density)
        return round(VERIFY_BITS * share + 4 * math.sqrt(VERIFY_BITS * share * (1 - share)))


def costs_of(pages: Columns, later: Rows, earlier: Rows) -> NDArray[np.int64]:
    """Return how much the pages of each pair differ (their costs), shape (pairs,).

    The pages are given by their rows. Equal texts cost 0. It's fastest if equal rows are next to
    each other.
    """
    totals = np.zeros(len(later), np.int64)
    unequal = np.flatnonzero(~are_equal(pages, later, earlier))
    totals[unequal] = _costs_of_bits(pages, later[unequal], earlier[unequal])
    return totals


def are_equal(pages: Columns, later: Rows, earlier: Rows) -> NDArray[np.bool_]:
    """Return which pairs of pages have the same text."""
    return np.equal(pages.digest[later], pages.digest[earlier])


def are_comparable(
    pages: Columns, later: Rows, earlier: Rows, most_verify: int
) -> NDArray[np.bool_]:
    """Return which pairs of pages are similar enough to need a decision.

    These are pairs with equal texts, and pairs with enough words that don't differ in too many
    verify bits.
    """
    bits = np.bitwise_count(pages.verify[later] ^ pages.verify[earlier]).sum(axis=1)
    is_near = (bits <= most_verify) & ~(pages.thin[later] | pages.thin[earlier])
    comparable: NDArray[np.bool_] = is_near | are_equal(pages, later, earlier)
    return comparable


def likeness_of(pages: Columns, later: Rows, earlier: Rows) -> NDArray[np.uint8]:
    """Return how much the pages of each pair share besides their texts, for `nearest_of`."""
    likeness = np.zeros(len(later), np.uint8)
    for keys in (pages.identity, pages.address):
        values = keys[later]
        likeness[(values != 0) & (values == keys[earlier])] = _NAMESAKES
    likeness[pages.twin[later] == pages.twin[earlier]] = _TWINS
    return likeness


def _costs_of_bits(pages: Columns, later: Rows, earlier: Rows) -> NDArray[np.int64]:
    totals = np.zeros(len(later), np.int64)
    for part, differing in _differing(pages, later, earlier):
        rows, places = np.unique(later[part], return_inverse=True)
        costs = likelihood_costs(pages.steps[rows])[places]
        totals[part] = np.multiply(costs, differing, out=costs).sum(axis=1, dtype=np.uint32)
    return totals


def similarities_of(
    pages: Columns, later: Rows, earlier: Rows, threshold: float
) -> NDArray[np.float64]:
    """Estimate the similarity of the pages of each pair, like `estimate_similarity`."""
    tables = model.normal_tables()
    steepness = model.steepness(threshold)
    last = len(tables.equal) - 1
    # A bit that differs counts against the pair, so the table holds both cases.
    both = np.concatenate((tables.equal, -tables.different))
    similarities = np.ones(len(later))
    for part, differing in _differing(pages, later, earlier):
        offsets = differing * np.int32(last + 1)
        sizes = pages.steps[later[part]].astype(np.float32) + np.float32(0.5)
        # Bisect the derivative of the log likelihood, which is concave, for all pairs at once.
        low = np.zeros(len(sizes))
        high = np.full(len(sizes), model.MAX_SIMILARITY)
        while (high - low).max(initial=0) > _TOLERANCE:
            middle = (low + high) / 2
            rho = 2 * middle / (1 + middle)
            scale = rho / np.sqrt(1 - rho * rho) / steepness
            rows = np.minimum((sizes * scale[:, None].astype(np.float32)).astype(np.int32), last)
            rises = both.take(rows + offsets).sum(axis=1) > 0
            low = np.where(rises, middle, low)
            high = np.where(rises, high, middle)
        similarities[part] = np.where(differing.any(axis=1), (low + high) / 2, 1.0)
    return similarities


def _differing(
    pages: Columns, later: Rows, earlier: Rows
) -> Iterator[tuple[slice, NDArray[np.uint8]]]:
    """Compare the signatures of pairs in slices, and yield each slice with its differences.

    They are an array of the shape (pairs, VERIFY_BITS), with 1 where the signatures differ.
    """
    for start in range(0, len(later), _PAIRS_AT_ONCE):
        part = slice(start, start + _PAIRS_AT_ONCE)
        yield part, np.unpackbits(pages.verify[later[part]] ^ pages.verify[earlier[part]], axis=1)


def exact_similarities(shingles: Lists, later: Rows, earlier: Rows) -> NDArray[np.float64]:
    """Return the exact Jaccard similarity of the shingles of each pair, given by rows."""
    similarities = np.ones(len(later))
    for place, pages in enumerate(zip(later.tolist(), earlier.tolist(), strict=True)):
        one, other = map(shingles.__getitem__, pages)
        common = len(np.intersect1d(one, other, assume_unique=True))
        similarities[place] = common / (len(one) + len(other) - common)
    return similarities


@dataclass(frozen=True, slots=True)
class Duplicates:
    """The decision about each page, in arrays of the same length and in the order of the columns.

    `original` holds the row of the kept page of each page's cluster, so a kept page has its own
    row. `similarity` is 1 for exact copies and for kept pages.
    """

    original: Rows
    exact: NDArray[np.bool_]
    similarity: NDArray[np.float64]

    @property
    def kept(self) -> NDArray[np.bool_]:
        return np.equal(self.original, np.arange(len(self.original)))


def find_duplicates(
    pages: Columns,
    goal: Goal,
    *,
    folder: Path | None = None,
    progress: Progress = lambda _doing, _percent: None,
) -> Duplicates:
    """Decide which pages are duplicates. Pages are taken in order, those of lower rank first.

    The verdicts are those of a crawl that finds the pages in this order, each under its own URL,
    with one exception: without marks, an exact copy of a dropped page shares that page's verdict.
    If the pages have shingles, exact similarities decide. Pairs wait on disk, in `folder` or in a
    temporary folder. Raises ConfigurationError for more than MOST_PAGES pages, and OSError.
    """
    if len(pages) > MOST_PAGES:
        raise ConfigurationError(
            f"there are {len(pages):,} pages, and at most {MOST_PAGES:,} can be compared at once"
        )
    batch = _Batch(pages, goal)
    with TemporaryDirectory(dir=folder, prefix="pairs-") as place:
        waiting = WaitingPairs(Path(place), len(pages))
        for number, table in enumerate(TABLES):
            progress("comparing keys", 50 * number / len(TABLES))
            for pairs in batch.candidates(table):
                waiting.add(pairs)
        for pairs in batch.namesakes():
            waiting.add(pairs)
        for share, pairs in waiting.blocks():
            progress("comparing pages", 50 + 40 * share)
            batch.decide(pairs)
    progress("measuring", 90)
    return batch.duplicates()


class _Batch:
    """The pages of a scan. The number of a page is its place in the order of decisions."""

    def __init__(self, pages: Columns, goal: Goal) -> None:
        self._pages = pages
        self._goal = goal
        self._rows = np.argsort(pages.rank, kind="stable")
        twins = pages.twin[self._rows]
        _, first, copies = np.unique(twins, return_index=True, return_inverse=True)
        numbers = np.arange(len(pages))
        self._is_first = first[copies] == numbers
        # Without marks, the verdict on the first of several copies applies to all of them.
        has_marks = twins != pages.digest[self._rows]
        self._judged = np.where(has_marks, numbers, first[copies])
        # With exact costs, the number of other pages that a page resembles doesn't matter.
        limit = round((1 - goal.similarity) * _EXACT_UNIT)
        exact = Crowd(limit, goal.similarity, (limit,), (goal.similarity,))
        crowd = goal.crowd if pages.shingles is None else exact
        self._order = Order(len(pages), crowd, self._marks_of)

    def _marks_of(self, number: int) -> bytes:
        marks = self._pages.marks
        return b"" if marks is None else marks[self._rows[number]].tobytes()

    def candidates(self, table: Table) -> Iterator[Keys]:
        """Yield pairs of pages that share a key in a table, and are near enough to be compared.

        If too many pages share a key, these pages are paired by longer keys as well.
        """
        verify = self._pages.verify[self._rows].view(np.uint64)
        search = self._pages.search[self._rows]
        near = partial(near_pairs, search, verify, MOST_SEARCH_BITS, self._goal.most_verify_bits)
        numbers = np.flatnonzero(self._is_first & ~self._pages.thin[self._rows])
        bits = pairing.key_bits(len(numbers))
        while len(numbers) and bits <= STORED_BITS:
            parts = []
            for start in range(0, len(numbers), _PAGES_AT_ONCE):
                some = numbers[start : start + _PAGES_AT_ONCE]
                volatility = self._pages.volatility[self._rows[some]]
                keys = pairing.keys_of(
                    search[some], volatility, table, bits=bits, similarity=self._goal.similarity
                )
                parts.append(pairing.pack(keys, some.astype(np.uint64)[:, None]).ravel())
            packed = np.concatenate(parts)
            packed.sort()
            yield from pairing.candidate_pairs(packed, bits, near)
            numbers = pairing.crowded(packed, bits).astype(np.int64)
            bits += pairing.CROWD_BITS

    def namesakes(self) -> Iterator[Keys]:
        """Yield pairs of pages with the same twin key, digest, identity or address.

        Pairs whose texts are too different to be compared are left out: see `are_comparable`.
        """
        is_judged = self._judged == np.arange(len(self._judged))
        judged = np.flatnonzero(is_judged)
        firsts = np.flatnonzero(self._is_first)
        sources = [(name, numbers) for name in SHARED for numbers in (judged, firsts)]
        for name, numbers in [("twin", judged), *sources]:
            keys = getattr(self._pages, name)[self._rows[numbers]]
            for pairs in pairing.pairs_of_exact_keys(keys, numbers.astype(np.uint64)):
                yield pairs[self._are_comparable(pairs)]

    def _are_comparable(self, pairs: Keys) -> NDArray[np.bool_]:
        later = self._rows[later_of(pairs)]
        earlier = self._rows[earlier_of(pairs)]
        return are_comparable(self._pages, later, earlier, self._goal.most_verify_bits)

    def decide(self, pairs: Keys) -> None:
        """Decide about the later page of each pair.

        All pages before them must be decided already.
        """
        self._decide(pairs)
        self._order.settle()

    def _decide(self, pairs: Keys) -> None:
        measured = self._measured(pairs, self._goal.crowd.reach)
        for _ in range(ROUNDS):
            wanted = self._order.decide(measured)
            if not len(wanted):
                return
            more = self._measured(wanted)
            columns = (
                (measured.later, more.later),
                (measured.earlier, more.earlier),
                (measured.costs, more.costs),
            )
            measured = Resemblances(*map(np.concatenate, columns))
        self._order.decide(measured, presumes=False)

    def _measured(self, pairs: Keys, most: float = math.inf) -> Resemblances:
        """Compute the costs of pairs, and return the nearest ones of each later page.

        Pairs whose bits cost more than `most` are left out. If there are shingles, the costs are
        exact.
        """
        later = later_of(pairs)
        earlier = earlier_of(pairs)
        rows = self._rows[later]
        others = self._rows[earlier]
        costs = costs_of(self._pages, rows, others)
        likeness = likeness_of(self._pages, rows, others)
        near = np.flatnonzero(costs <= most)
        near = near[nearest_of(later[near], earlier[near], costs[near], likeness[near])]
        later = later[near]
        earlier = earlier[near]
        costs = costs[near]
        if self._pages.shingles is not None:
            similarities = self._similarities(self._rows[later], self._rows[earlier])
            costs = np.rint((1 - similarities) * _EXACT_UNIT).astype(np.int64)
        return Resemblances(later, earlier, costs)

    def _similarities(self, later: Rows, earlier: Rows) -> NDArray[np.float64]:
        if self._pages.shingles is None:
            return similarities_of(self._pages, later, earlier, self._goal.threshold)
        similarities = np.ones(len(later))
        unequal = np.flatnonzero(~are_equal(self._pages, later, earlier))
        similarities[unequal] = exact_similarities(
            self._pages.shingles, later[unequal], earlier[unequal]
        )
        return similarities

    def duplicates(self) -> Duplicates:
        original = self._order.original[self._judged]
        rows = self._rows
        others = self._rows[original]
        is_copy = original != np.arange(len(original))
        is_exact = is_copy & are_equal(self._pages, rows, others)
        is_near = is_copy & ~is_exact & (self._judged == np.arange(len(original)))
        similarity = np.ones(len(original))
        similarity[is_near] = self._similarities(rows[is_near], others[is_near])
        place = np.argsort(rows)
        return Duplicates(others[place], is_exact[place], similarity[self._judged][place])
