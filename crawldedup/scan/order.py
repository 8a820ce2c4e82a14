"""Decide which pages of a collection to keep, as if an index received them one after the other.

A page is compared only with kept pages. Similarity alone doesn't decide: a kept page whose marks
conflict with those of the page is its sibling, and is passed over before anything else is decided.
A kept page adopts the marks that it lacks from its copies.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from crawldedup.marks.learning import learned
from crawldedup.marks.packing import unpacked
from crawldedup.marks.relation import Conflict, conflict
from crawldedup.scan.pairs import Keys, distinct, pair
from crawldedup.search.decision import Crowd

Rows = NDArray[np.int64]
MarksOf = Callable[[int], bytes]
"""Returns the packed marks of a page, or b"" for a text without a name."""

# The number of pages considered for a page: those that resemble it most.
MOST_RESEMBLING: Final = 64


class Resemblances:
    """Pairs of pages that resemble each other, with a cost for how much they differ.

    They are ordered by the later page, then by cost, then by the earlier page.
    """

    def __init__(self, later: Rows, earlier: Rows, costs: Rows) -> None:
        order = np.lexsort((earlier, costs, later))
        self.later = later[order]
        self.earlier = earlier[order]
        self.costs = costs[order]

    def __len__(self) -> int:
        return len(self.later)


def nearest_of(
    later: Rows, earlier: Rows, costs: NDArray[Any], likeness: NDArray[np.uint8]
) -> Rows:
    """Select the nearest earlier pages for each later page, at most MOST_RESEMBLING.

    Pairs with more `likeness` come first, whatever their costs, because a crowd of siblings must
    not hide the page that is copied. The result has the places of the selected pairs.
    """
    order = np.lexsort((earlier, costs, -likeness.astype(np.int8), later))
    ordered = later[order]
    first = np.flatnonzero(np.diff(ordered, prepend=-1))
    place = np.arange(len(ordered)) - np.repeat(first, np.diff(first, append=len(ordered)))
    return order[place < MOST_RESEMBLING]


class Order:
    """The decisions so far, about pages that are numbered in their order.

    `original` holds the number of the page that each page is a copy of; a kept page has its own.
    """

    def __init__(self, pages: int, crowd: Crowd, marks_of: MarksOf) -> None:
        self.original = np.arange(pages)
        self._crowd = crowd
        self._marks_of = marks_of
        # The marks that kept pages adopted: from settled pages, and from those that are being
        # decided, which may be decided again.
        self._settled: dict[int, bytes] = {}
        self._learned: dict[int, bytes] = {}

    def decide(self, pairs: Resemblances, *, presumes: bool = True) -> Keys:
        """Decide about the later page of each pair, even if that was done before but not settled.

        All earlier pages must be settled unless they are also later pages of these pairs.

        A page that resembles only dropped pages may be a copy of the pages that these are copies
        of. If `presumes`, it is assumed to be one. The pairs that need a comparison to find out are
        returned, packed. Decide again with these added to the others, whatever their costs.
        """
        self._learned.clear()
        starts = np.flatnonzero(np.diff(pairs.later, prepend=-1))
        later = pairs.later[starts].tolist()
        earlier = pairs.earlier.tolist()
        costs = pairs.costs.tolist()
        bounds = [*starts.tolist(), len(pairs)]
        wanted = []
        for page, start, end in zip(later, bounds[:-1], bounds[1:], strict=True):
            unknown = self._decide_page(page, earlier[start:end], costs[start:end])
            wanted += [(page, other) for other in unknown]
            if presumes and unknown:
                self._drop(page, min(unknown))
        return distinct(pair(*np.array(wanted, np.uint64).reshape(-1, 2).T))

    def settle(self) -> None:
        """Make the latest decisions final."""
        self._settled |= self._learned
        self._learned.clear()

    def _decide_page(self, page: int, earlier: Sequence[int], costs: Sequence[int]) -> set[int]:
        """Decide about a page, given how much it differs from earlier ones (its costs).

        If it resembles a page that was dropped, it may also be a copy of the original of that page,
        with which it hasn't been compared yet.

        Returns:
            These originals, if the page is kept.
        """
        original = self.original
        limit = self._crowd.limits[0]
        reach = self._crowd.reach
        original[page] = page
        places = [
            place
            for place, other in enumerate(earlier)
            if costs[place] <= reach
            and original[other] == other
            and not self._are_siblings(page, other)
        ]
        kept = [costs[place] for place in places]
        if kept and kept[0] <= self._crowd.bar(kept).limit:
            self._drop(page, earlier[places[0]])
            return set()
        near = [other for other, cost in zip(earlier, costs, strict=True) if cost <= limit]
        unknown = {int(original[other]) for other in near}.difference(earlier)
        return {other for other in unknown if not self._are_siblings(page, other)}

    def _drop(self, page: int, kept: int) -> None:
        self.original[page] = kept
        known = self._marks(kept)
        more = learned(known, self._marks_of(page))
        if more != known:
            self._learned[kept] = more

    def _are_siblings(self, page: int, kept: int) -> bool:
        own = unpacked(self._marks_of(page))
        its = unpacked(self._marks(kept))
        if own is None or its is None:
            return False
        return conflict(own, its) is not Conflict.NONE

    def _marks(self, kept: int) -> bytes:
        """Return the marks of a kept page, including those that it adopted from its copies."""
        for known in (self._learned, self._settled):
            if kept in known:
                return known[kept]
        return self._marks_of(kept)
