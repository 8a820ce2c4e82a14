"""Pack a key's leading bits and a page number into one 64-bit integer, as embedded stores keep keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from crawldedup.search.limits import STORED_BITS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from crawldedup.search.plan import ProbePlan
    from crawldedup.stores.base import Query

    Keys = NDArray[np.uint64]

ID_BITS: Final = 64 - STORED_BITS
MAX_PAGES: Final = 1 << ID_BITS
_ID_MASK: Final = MAX_PAGES - 1
_KEY_MASK: Final = 0xFFFF_FFFF_FFFF_FFFF ^ _ID_MASK


def pack_key(key: int, page: int) -> int:
    """Return a table key and a page number in one 64-bit integer that sorts by key."""
    return key & _KEY_MASK | page


def page_of(packed: int) -> int:
    """Return the page number in a packed key."""
    return packed & _ID_MASK


def packed_ranges(plan: ProbePlan) -> tuple[Keys, Keys]:
    """Return the first and last packed keys of all ranges of a plan, two arrays of shape (probes,)."""
    return plan.lows & np.uint64(_KEY_MASK), plan.highs | np.uint64(_ID_MASK)


def middles(query: Query) -> Keys:
    """Return the key that each probe looks for, packed: the page's own, with the probe's bits flipped; (probes,)."""
    plan = query.plan
    own = np.array(query.entry.keys, np.uint64)
    return (plan.lows | own.take(plan.tables) & (plan.lows ^ plan.highs)) & np.uint64(_KEY_MASK)
