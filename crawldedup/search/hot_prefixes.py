"""Where pages crowd: the pages of one template share most of their search bits, however large the index is.

A prefix that is right for the index on average is too short among them: a few ranges hold more keys than may be read,
and a near duplicate may be in none of those. So where that happened before, plans are made as for a larger index: the
same number of probes, narrower ranges. A cell is what pages share by the leading bits of a key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from crawldedup.search.tables import KEY_BITS

if TYPE_CHECKING:
    from collections.abc import Sequence

CELL_BITS: Final = 10
MAX_EXTRA_BITS: Final = 16
_STEP: Final = 2

Cell = tuple[int, int]


class HotPrefixes:
    """Learns from answers how crowded the cells of an index are. Each user of an index learns for itself."""

    def __init__(self) -> None:
        self._extra_bits: dict[Cell, int] = {}

    def extra_bits(self, keys: Sequence[int]) -> int:
        """How often an index must be taken for twice its size to plan for a page with these keys in its tables."""
        return min((self._extra_bits.get(cell, 0) for cell in _cells(keys)), default=0)

    def learn(self, keys: Sequence[int], candidates: int, most: int) -> None:
        """Note that a page with these keys was compared with `candidates` pages where `most` were allowed."""
        for cell in _cells(keys):
            known = self._extra_bits.get(cell, 0)
            if candidates >= most:
                self._extra_bits[cell] = min(known + _STEP, MAX_EXTRA_BITS)
            elif known and candidates < most // 4:
                self._extra_bits[cell] = known - 1


def _cells(keys: Sequence[int]) -> list[Cell]:
    """A cell for each of the first two tables: a page is crowded if it is so in both."""
    return [(table, key >> KEY_BITS - CELL_BITS) for table, key in enumerate(keys[:2])]
