"""VOSH, the volatility ordered set heap of Sood and Loguinov (CIKM 2011, section 4), as published.

Bits are numbered 1..b by volatility, most volatile first. A set of h flipped bits is a sorted tuple. The sets of
size h form a binary tree rooted at (1, 2, .., h) in which no child is more probable than its parent; a max-heap
M over the trees of all sizes yields the sets by falling probability.

Searches do not use this module: `search.plan` gives the same order by one matrix product. This is the reference for the
tests of that order, and a tool for studies of the method.
"""

from __future__ import annotations

import heapq
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FlipSet = tuple[int, ...]
"""Volatility ranks 1..b of the bits to flip, ascending."""


def children(flips: FlipSet, bits: int) -> list[FlipSet]:
    """Return the children of a set in its tree: at most a left and a right one.

    Left: add 1 to the last rank. Right: walk from the last rank but one to the first; at a gap of 2 to the next rank,
    raise this rank by 1; at a wider gap, there is no right child; at a gap of 1, go on.
    """
    found = []
    if flips and flips[-1] < bits:
        found.append((*flips[:-1], flips[-1] + 1))
    for place in range(len(flips) - 2, -1, -1):
        gap = flips[place + 1] - flips[place]
        if gap == 2:
            found.append((*flips[:place], flips[place] + 1, *flips[place + 1 :]))
        if gap >= 2:
            break
    return found


def flip_sets(probabilities: Sequence[float], max_flips: int | None = None) -> Iterator[tuple[FlipSet, float]]:
    """Yield sets of bits to flip, by falling p(u, S) = prod over S of p_i x prod over the rest of (1 - p_j).

    `probabilities` are the flip probabilities of bits 1..b in order of volatility: 0.5 >= p_1 >= p_2 >= .. > 0.
    `max_flips` limits the size of the sets (all sizes by default).
    """
    bits = len(probabilities)
    odds = [p / (1 - p) for p in probabilities]
    unflipped = math.prod(1 - p for p in probabilities)
    sizes = range((bits if max_flips is None else min(max_flips, bits)) + 1)

    def entry(flips: FlipSet) -> tuple[float, FlipSet]:
        return -unflipped * math.prod(odds[rank - 1] for rank in flips), flips

    heap = [entry(tuple(range(1, size + 1))) for size in sizes]
    heapq.heapify(heap)
    while heap:
        negative, flips = heapq.heappop(heap)
        yield flips, -negative
        for child in children(flips, bits):
            heapq.heappush(heap, entry(child))
