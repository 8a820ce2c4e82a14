"""Hot prefixes: the pages of one template share most of their search bits, however large the index is.

Among them a prefix of the usual length is too short: a few ranges hold more keys than may be read, and a near duplicate
may be in none of those that are. Where that happened, later plans take longer prefixes: as many probes, narrower
ranges; and more of what lies in them is compared. A hot prefix is known by the leading bits of a key, in each of the
first two tables.
"""

from collections.abc import Sequence
from typing import Final

from crawldedup.search.plan import KEY_BITS

LEADING_BITS: Final = 10
MAX_EXTRA_BITS: Final = 16
_STEP: Final = 2


class HotPrefixes:
    """Learns from answers where an index is crowded. Each user of an index learns for itself."""

    def __init__(self) -> None:
        self._extra_bits: dict[tuple[int, int], int] = {}

    def extra_bits(self, pages: Sequence[Sequence[int]]) -> list[int]:
        """Return how many bits to add to the prefixes for each page with these keys, one for each table.

        A page is in a crowd if it is so in both tables, so the smaller number counts.
        """
        if not self._extra_bits:
            return [0] * len(pages)
        return [min(self._extra_bits.get(leading, 0) for leading in _leading(keys)) for keys in pages]

    def learn(self, keys: Sequence[int], candidates: int, most: int) -> None:
        """Note that a page with these keys was compared with `candidates` pages, of at most `most`."""
        if candidates < most and not self._extra_bits:
            return
        for leading in _leading(keys):
            known = self._extra_bits.get(leading, 0)
            if candidates >= most:
                self._extra_bits[leading] = min(known + _STEP, MAX_EXTRA_BITS)
            elif known and candidates < most // 4:
                self._extra_bits[leading] = known - 1


def _leading(keys: Sequence[int]) -> list[tuple[int, int]]:
    """Return the number of each table and the leading bits of the key in it."""
    return [(table, key >> KEY_BITS - LEADING_BITS) for table, key in enumerate(keys[:2])]
