"""Tell in one pass over pages in their order which of them are kept: those that are no duplicates of a kept one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from crawldedup.batch.pairs import distinct, pair

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from crawldedup.batch.keys import Keys
    from crawldedup.search.decision import Crowd

    Numbers = NDArray[np.int64]

ROUNDS: Final = 3
"""Pages that resemble dropped pages alone are compared so many times with what those were dropped for."""
MOST_RESEMBLING: Final = 64
"""So many of the pages that resemble a page are looked at, the nearest ones."""


class Resemblances:
    """Pairs of pages that resemble each other, ordered by the later page, then by cost, then by the earlier page."""

    def __init__(self, later: Numbers, earlier: Numbers, costs: Numbers) -> None:
        order = np.lexsort((earlier, costs, later))
        self.later, self.earlier, self.costs = later[order], earlier[order], costs[order]

    def __len__(self) -> int:
        return len(self.later)

    def nearest(self) -> Resemblances:
        """Return the pairs of each later page with the pages that it resembles most, at most MOST_RESEMBLING."""
        first = np.flatnonzero(np.diff(self.later, prepend=-1))
        place = np.arange(len(self)) - np.repeat(first, np.diff(first, append=len(self)))
        counts = place < MOST_RESEMBLING
        return Resemblances(*(column[counts] for column in self._columns()))

    def joined(self, other: Resemblances) -> Resemblances:
        """Return the pairs of both."""
        parts = zip(self._columns(), other._columns(), strict=True)
        return Resemblances(*(np.concatenate(part) for part in parts))

    def _columns(self) -> tuple[Numbers, Numbers, Numbers]:
        return self.later, self.earlier, self.costs


class Order:
    """What has been decided of the pages 0, 1, .. of an order. `original` holds the page itself where it is kept."""

    def __init__(self, pages: int, crowd: Crowd) -> None:
        self.original = np.arange(pages)
        self.cost = np.zeros(pages, np.int32)
        self._crowd = crowd

    def decide(self, found: Resemblances, *, presumes: bool = True) -> Keys:
        """Decide about the later pages of pairs; all earlier pages, but for those among them, must be decided.

        As in a crawl, a page is compared with kept pages alone. One that resembles dropped pages alone may be a copy of
        what these were dropped for. It is presumed to be one, if `presumes`; return the pairs, packed, that tell
        whether it is. Decide again with these, whatever their costs, among the others.
        """
        original, limit, reach = self.original, self._crowd.limits[0], self._crowd.reach
        starts = np.flatnonzero(np.diff(found.later, prepend=-1))
        later, earlier, costs = found.later[starts].tolist(), found.earlier.tolist(), found.costs.tolist()
        bounds = [*starts.tolist(), len(found)]
        wanted = []
        for page, start, end in zip(later, bounds[:-1], bounds[1:], strict=True):
            places = [place for place in range(start, end) if original[earlier[place]] == earlier[place]]
            kept = [costs[place] for place in places if costs[place] <= reach]
            original[page], self.cost[page] = page, 0
            if kept and kept[0] <= self._crowd.bar(kept).limit:
                original[page], self.cost[page] = earlier[places[0]], kept[0]
                continue
            near = [place for place in range(start, end) if costs[place] <= limit]
            unknown = {int(original[earlier[place]]) for place in near}.difference(earlier[start:end])
            wanted += [(page, other) for other in unknown]
            if presumes and unknown:
                original[page] = min(unknown)
        pages = np.array(wanted, np.uint64).reshape(-1, 2)
        return distinct(pair(pages[:, 0], pages[:, 1]))
