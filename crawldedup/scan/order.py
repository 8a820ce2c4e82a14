"""Decide which pages of an order are kept, as an index would that meets them one after the other.

A page is compared with kept pages alone. Similarity only nominates: a kept page whose marks
conflict with those of the page is its sibling, and is passed over before anything else is decided.
A kept page learns from its copies the marks that it lacks.
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
"""Looks up the marks of a page; b"" for a text without a name."""

# So many of the pages that resemble a page are looked at, the nearest ones.
MOST_RESEMBLING: Final = 64


class Resemblances:
    """Pairs of pages that resemble each other, ordered by the later page, then by cost, then by the
    earlier page.
    """

    def __init__(self, later: Rows, earlier: Rows, costs: Rows) -> None:
        order = np.lexsort((earlier, costs, later))
        self.later, self.earlier, self.costs = later[order], earlier[order], costs[order]

    def __len__(self) -> int:
        return len(self.later)


def nearest_of(
    later: Rows, earlier: Rows, costs: NDArray[Any], likeness: NDArray[np.uint8]
) -> Rows:
    """Return the places of the pairs of each later page with the pages that it resembles most, at
    most MOST_RESEMBLING.

    Pairs of more `likeness` come first, whatever their costs: a crowd of siblings must not hide the
    page that is copied.
    """
    order = np.lexsort((earlier, costs, -likeness.astype(np.int8), later))
    ordered = later[order]
    first = np.flatnonzero(np.diff(ordered, prepend=-1))
    place = np.arange(len(ordered)) - np.repeat(first, np.diff(first, append=len(ordered)))
    return order[place < MOST_RESEMBLING]


class Order:
    """What has been decided of the pages 0, 1, .. of an order.

    `original` holds the page itself where it is kept.
    """

    def __init__(self, pages: int, crowd: Crowd, marks_of: MarksOf) -> None:
        self.original = np.arange(pages)
        self._crowd = crowd
        self._marks_of = marks_of
        # What kept pages have learned: from the pages that are settled, and from those being
        # decided about, perhaps not for the last time.
        self._settled: dict[int, bytes] = {}
        self._learned: dict[int, bytes] = {}

    def decide(self, pairs: Resemblances, *, presumes: bool = True) -> Keys:
        """Decide about the later pages of pairs, anew if they are not settled.

        All earlier pages that are not themselves later pages of these pairs must be settled.

        A page that resembles only dropped pages may be a copy of what these were dropped for. If
        `presumes`, it is presumed to be one. The pairs that tell whether it is are returned,
        packed. Decide again with these among the others, whatever their costs.
        """
        self._learned.clear()
        starts = np.flatnonzero(np.diff(pairs.later, prepend=-1))
        later, earlier, costs = (
            pairs.later[starts].tolist(),
            pairs.earlier.tolist(),
            pairs.costs.tolist(),
        )
        bounds = [*starts.tolist(), len(pairs)]
        wanted = []
        for page, start, end in zip(later, bounds[:-1], bounds[1:], strict=True):
            unknown = self._decide_page(page, earlier[start:end], costs[start:end])
            wanted += [(page, other) for other in unknown]
            if presumes and unknown:
                self._drop(page, min(unknown))
        return distinct(pair(*np.array(wanted, np.uint64).reshape(-1, 2).T))

    def settle(self) -> None:
        """Settle the pages that were decided about last: the decisions stay."""
        self._settled |= self._learned
        self._learned.clear()

    def _decide_page(self, page: int, earlier: Sequence[int], costs: Sequence[int]) -> set[int]:
        """Decide about a page by its costs to earlier ones.

        If it is kept, return what the pages that it resembles were dropped for, as far as it may
        be a copy of that.
        """
        original, limit, reach = self.original, self._crowd.limits[0], self._crowd.reach
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
        own, its = unpacked(self._marks_of(page)), unpacked(self._marks(kept))
        if own is None or its is None:
            return False
        return conflict(own, its) is not Conflict.NONE

    def _marks(self, kept: int) -> bytes:
        """Return the marks of a kept page, with those that it has learned."""
        for known in (self._learned, self._settled):
            if kept in known:
                return known[kept]
        return self._marks_of(kept)
