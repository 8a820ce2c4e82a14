"""Make columns of what is compared of pages, and find the duplicates among them, on one machine.

Pairs of pages are decided as a crawl does, by the likelihood of the bits in which their signatures
differ, or by the shingles that they have in common. One pass over the pages in their order tells
which are kept: those that are no duplicates of a kept one.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from crawldedup.errors import ConfigurationError
from crawldedup.fingerprinting.bits import SEARCH_BITS, VERIFY_BITS, Fingerprint
from crawldedup.fingerprinting.shingles import pair_hashes, shingle_hashes
from crawldedup.fingerprinting.tokenize import word_hashes
from crawldedup.index.queries import TABLES
from crawldedup.scan import pairs as pairing
from crawldedup.scan.pairs import (
    MOST_PAGES,
    Keys,
    WaitingPairs,
    distinct,
    earlier_of,
    later_of,
    near_pairs,
    pair,
)
from crawldedup.search import decision as model
from crawldedup.search.decision import Crowd, crowd_rule, likelihood_costs
from crawldedup.search.plan import STORED_BITS, Table

Rows = NDArray[np.int64]
Progress = Callable[[str, float], None]

MOST_SEARCH_BITS: Final = 16
"""Pages that differ in more search bits are no candidates. Of near duplicates with J = .8, one in
10,000 does; of unrelated pages, all but one in 25,000."""
_PAGES_AT_ONCE: Final = 1 << 16
_PAIRS_AT_ONCE: Final = 1 << 13
_TOLERANCE: Final = 5e-5
_EXACT_UNIT: Final = (
    10**9
)  # what is missing to a similarity of 1, as a whole number, as the costs of bits are
# Pages that resemble dropped pages alone are compared so often with what those were dropped for.
ROUNDS: Final = 3
# So many of the pages that resemble a page are looked at, the nearest ones.
MOST_RESEMBLING: Final = 64

# What a row of each column holds.
LAYOUT: Final[dict[str, np.dtype[Any]]] = {
    "search": np.dtype(np.uint64),
    "verify": np.dtype((np.uint8, (VERIFY_BITS // 8,))),
    "digest": np.dtype(np.uint64),
    "volatility": np.dtype((np.uint8, (SEARCH_BITS,))),
    "steps": np.dtype((np.uint16, (VERIFY_BITS,))),
    "thin": np.dtype(np.bool_),
    "rank": np.dtype(np.uint8),
}


class Lists:
    """Lists of different lengths, one behind the other in an array."""

    def __init__(self, items: NDArray[Any], sizes: NDArray[np.uint32]) -> None:
        self._items = items
        self._ends = np.cumsum(sizes, dtype=np.int64)

    def __getitem__(self, row: int) -> NDArray[Any]:
        return self._items[self._ends[row - 1] if row else 0 : self._ends[row]]


@dataclass(frozen=True, slots=True)
class Columns:
    """What is compared of pages, in arrays of one length.

    `search`, `verify` and `digest` are those of `Fingerprint`, salted as an index files them
    (`crawldedup.index.queries.salted`). `volatility` holds the sizes of the search weights in
    parts of VOLATILITY_UNIT. `steps` holds those of the verify weights, as rows of the tables of
    the normal distribution at the threshold: the same costs follow from them as from the weights.
    Of pages that are copies of each other, one of the lowest `rank` is kept. If there are
    `shingles` (see `shingle_set`), they decide.
    """

    search: NDArray[np.uint64]
    verify: NDArray[np.uint8]
    digest: NDArray[np.uint64]
    volatility: NDArray[np.uint8]
    steps: NDArray[np.uint16]
    thin: NDArray[np.bool_]
    rank: NDArray[np.uint8]
    shingles: Lists | None = None

    def __len__(self) -> int:
        return len(self.search)

    @classmethod
    def of(cls, pages: Sequence[tuple[Fingerprint, int]], threshold: float) -> Self:
        """Return columns of salted fingerprints and ranks.

        Pages are accepted from an estimate of `threshold` on.
        """
        empty: dict[str, Any] = {name: np.zeros(len(pages), kind) for name, kind in LAYOUT.items()}
        columns = cls(**empty)
        for row, (page, rank) in enumerate(pages):
            columns.search[row], columns.digest[row] = page.search, page.digest
            columns.verify[row] = np.frombuffer(page.verify, np.uint8)
            columns.volatility[row] = np.minimum(
                np.abs(page.search_weights) * pairing.VOLATILITY_UNIT, 255
            )
            columns.steps[row] = model.grid_rows(
                np.abs(page.verify_weights), model.steepness(threshold)
            )
            columns.thin[row], columns.rank[row] = page.thin, rank
        return columns


def shingle_set(text: str) -> NDArray[np.uint32]:
    """Return the distinct 3-shingles of a text, as sorted hashes of 32 bits.

    Two texts of a thousand each seem to have one more in common than they have in one of four
    thousand cases.
    """
    words = word_hashes(text)
    return distinct(shingle_hashes(words, pair_hashes(words)) >> np.uint64(32)).astype(np.uint32)


@dataclass(frozen=True)
class Goal:
    """Pages to find: those from `similarity` on, with probability `recall`. See `Options`."""

    similarity: float
    recall: float

    @cached_property
    def threshold(self) -> float:
        """The estimate from which on a page is accepted that resembles one page alone."""
        return model.accept_threshold(self.similarity, VERIFY_BITS, self.recall)

    @cached_property
    def crowd(self) -> Crowd:
        """What is accepted where several pages resemble a page."""
        return crowd_rule(self.similarity, self.recall, VERIFY_BITS)

    @cached_property
    def most_verify_bits(self) -> int:
        """In more verify bits differs one in 30,000 of the pages that count for a decision."""
        weights, density = model.weight_density()
        share = float(model.flip_probabilities(weights, self.crowd.farthest) @ density)
        return round(VERIFY_BITS * share + 4 * math.sqrt(VERIFY_BITS * share * (1 - share)))


def costs_of(pages: Columns, later: Rows, earlier: Rows) -> NDArray[np.int64]:
    """Return the costs of pairs of pages, given their rows, shape (pairs,).

    It is quickest with equal rows together.
    """
    totals = np.zeros(len(later), np.int64)
    for part, differing in _differing(pages, later, earlier):
        rows, places = np.unique(later[part], return_inverse=True)
        costs = likelihood_costs(pages.steps[rows])[places]
        totals[part] = np.multiply(costs, differing, out=costs).sum(axis=1, dtype=np.uint32)
    return totals


def similarities_of(
    pages: Columns, later: Rows, earlier: Rows, threshold: float
) -> NDArray[np.float64]:
    """Return the most likely similarities of pairs of pages, given their rows, as
    `estimate_similarity` does.
    """
    tables, steepness = model.normal_tables(), model.steepness(threshold)
    last = len(tables.equal) - 1
    # A bit that differs counts against the pair: two tables in one.
    both = np.concatenate((tables.equal, -tables.different))
    similarities = np.ones(len(later))
    for part, differing in _differing(pages, later, earlier):
        offsets = differing * np.int32(last + 1)
        sizes = pages.steps[later[part]].astype(np.float32) + np.float32(0.5)
        # Bisect the derivative of the log likelihood, which is concave, for all pairs at once.
        low, high = np.zeros(len(sizes)), np.full(len(sizes), model.MAX_SIMILARITY)
        while (high - low).max(initial=0) > _TOLERANCE:
            middle = (low + high) / 2
            rho = 2 * middle / (1 + middle)
            scale = rho / np.sqrt(1 - rho * rho) / steepness
            rows = np.minimum((sizes * scale[:, None].astype(np.float32)).astype(np.int32), last)
            rises = both.take(rows + offsets).sum(axis=1) > 0
            low, high = np.where(rises, middle, low), np.where(rises, high, middle)
        similarities[part] = np.where(differing.any(axis=1), (low + high) / 2, 1.0)
    return similarities


def _differing(
    pages: Columns, later: Rows, earlier: Rows
) -> Iterator[tuple[slice, NDArray[np.uint8]]]:
    """Yield 1 where signatures differ, shape (pairs, VERIFY_BITS), of one part of the pairs after
    another.
    """
    for start in range(0, len(later), _PAIRS_AT_ONCE):
        part = slice(start, start + _PAIRS_AT_ONCE)
        yield part, np.unpackbits(pages.verify[later[part]] ^ pages.verify[earlier[part]], axis=1)


def exact_similarities(shingles: Lists, later: Rows, earlier: Rows) -> NDArray[np.float64]:
    """Return the Jaccard similarities of the shingles of pairs of pages, given their rows."""
    similarities = np.ones(len(later))
    for place, pages in enumerate(zip(later.tolist(), earlier.tolist(), strict=True)):
        one, other = map(shingles.__getitem__, pages)
        common = len(np.intersect1d(one, other, assume_unique=True))
        similarities[place] = common / (len(one) + len(other) - common)
    return similarities


class Resemblances:
    """Pairs of pages that resemble each other, ordered by the later page, then by cost, then by the
    earlier page.
    """

    def __init__(self, later: Rows, earlier: Rows, costs: Rows) -> None:
        order = np.lexsort((earlier, costs, later))
        self.later, self.earlier, self.costs = later[order], earlier[order], costs[order]

    def __len__(self) -> int:
        return len(self.later)

    def nearest(self) -> Self:
        """Return the pairs of each later page with the pages that it resembles most, at most
        MOST_RESEMBLING.
        """
        first = np.flatnonzero(np.diff(self.later, prepend=-1))
        place = np.arange(len(self)) - np.repeat(first, np.diff(first, append=len(self)))
        near = place < MOST_RESEMBLING
        return type(self)(self.later[near], self.earlier[near], self.costs[near])


class Order:
    """What has been decided of the pages 0, 1, .. of an order.

    `original` holds the page itself where it is kept.
    """

    def __init__(self, pages: int, crowd: Crowd) -> None:
        self.original = np.arange(pages)
        self._crowd = crowd

    def decide(self, pairs: Resemblances, *, presumes: bool = True) -> Keys:
        """Decide about the later pages of pairs.

        All earlier pages that are not themselves later pages of these pairs must be decided.

        As in a crawl, a page is compared with kept pages alone. A page that resembles only dropped
        pages may be a copy of what these were dropped for. If `presumes`, it is presumed to be one.
        The pairs that tell whether it is are returned, packed. Decide again with these among the
        others, whatever their costs.
        """
        original, limit, reach = self.original, self._crowd.limits[0], self._crowd.reach
        starts = np.flatnonzero(np.diff(pairs.later, prepend=-1))
        later, earlier, costs = (
            pairs.later[starts].tolist(),
            pairs.earlier.tolist(),
            pairs.costs.tolist(),
        )
        bounds = [*starts.tolist(), len(pairs)]
        wanted = []
        for page, start, end in zip(later, bounds[:-1], bounds[1:], strict=True):
            places = [
                place for place in range(start, end) if original[earlier[place]] == earlier[place]
            ]
            kept = [costs[place] for place in places if costs[place] <= reach]
            original[page] = page
            if kept and kept[0] <= self._crowd.bar(kept).limit:
                original[page] = earlier[places[0]]
                continue
            near = [place for place in range(start, end) if costs[place] <= limit]
            unknown = {int(original[earlier[place]]) for place in near}.difference(
                earlier[start:end]
            )
            wanted += [(page, other) for other in unknown]
            if presumes and unknown:
                original[page] = min(unknown)
        return distinct(pair(*np.array(wanted, np.uint64).reshape(-1, 2).T))


@dataclass(frozen=True, slots=True)
class Duplicates:
    """What each page is, in arrays of one length, in the order of the columns.

    `original` holds the row of the page that is kept of its cluster: its own where it is kept.
    `similarity` is 1 for exact copies and for kept pages.
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
    """Return what each page is. Pages come in their order, after those of lower rank.

    The verdicts are those of a crawl that meets the pages in this order, each under a URL of its
    own; but an exact copy of a dropped page shares that page's verdict. If the pages have shingles,
    exact similarities decide. Pairs wait on disk, in `folder` or a temporary one. Raises
    ConfigurationError for more than MOST_PAGES pages, and OSError.
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
        for share, pairs in waiting.blocks():
            progress("comparing pages", 50 + 40 * share)
            batch.decide(pairs)
    progress("measuring", 90)
    return batch.duplicates()


class _Batch:
    """The pages of a batch, each known by its number: its place in the order in which they are
    decided.
    """

    def __init__(self, pages: Columns, goal: Goal) -> None:
        self._pages = pages
        self._goal = goal
        self._rows = np.argsort(pages.rank, kind="stable")
        _, first, copies = np.unique(
            pages.digest[self._rows], return_index=True, return_inverse=True
        )
        self._first_copy = first[copies]
        self._is_first = self._first_copy == np.arange(len(pages))
        # By exact costs, it does not count how many others a page resembles.
        limit = round((1 - goal.similarity) * _EXACT_UNIT)
        exact = Crowd(limit, goal.similarity, (limit,), (goal.similarity,))
        self._order = Order(len(pages), goal.crowd if pages.shingles is None else exact)

    def candidates(self, table: Table) -> Iterator[Keys]:
        """Yield near pairs of pages that share a key in a table: of too many that do, those that
        share longer ones.
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

    def decide(self, pairs: Keys) -> None:
        """Decide about the later pages of pairs. All pages before them must be decided."""
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
        """Return each later page's nearest pairs of bit costs up to `most`; with exact costs if
        shingles are held.
        """
        later, earlier = later_of(pairs), earlier_of(pairs)
        costs = costs_of(self._pages, self._rows[later], self._rows[earlier])
        counts = costs <= most
        near = Resemblances(later[counts], earlier[counts], costs[counts]).nearest()
        if self._pages.shingles is None:
            return near
        similarities = self._similarities(self._rows[near.later], self._rows[near.earlier])
        costs = np.rint((1 - similarities) * _EXACT_UNIT).astype(np.int64)
        return Resemblances(near.later, near.earlier, costs)

    def _similarities(self, later: Rows, earlier: Rows) -> NDArray[np.float64]:
        if self._pages.shingles is None:
            return similarities_of(self._pages, later, earlier, self._goal.threshold)
        return exact_similarities(self._pages.shingles, later, earlier)

    def duplicates(self) -> Duplicates:
        # An exact copy has the verdict of the first one.
        original = self._order.original[self._first_copy]
        is_near = self._is_first & (original != np.arange(len(original)))
        similarity = np.ones(len(original))
        similarity[is_near] = self._similarities(self._rows[is_near], self._rows[original[is_near]])
        is_exact = ~self._is_first & (original == self._first_copy)
        place = np.argsort(self._rows)
        return Duplicates(
            self._rows[original][place], is_exact[place], similarity[self._first_copy][place]
        )
