"""SQL for the tables of one index, and 64-bit integers as SQLite keeps them.

Each permuted table is a table of row ids alone: a row id is the key's leading 34 bits and the page number, so the
B-tree of the row ids *is* the sorted table. A probe is a range of row ids. URL keys are kept in the same way.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from crawldedup.stores.packed_keys import Keys

BYTES_PER_KEY: Final = 16
"""Bytes of a file for one row id, inserted in random order: 15.4 at a million of them."""
_SIGN: Final = 1 << 63


def table_names(number: int, tables: int) -> tuple[str, ...]:
    """Return the names of an index's tables: its pages, its texts, its URL keys, its permuted tables."""
    return (
        f"pages_{number}",
        f"texts_{number}",
        f"urls_{number}",
        *(f"keys_{number}_{table}" for table in range(tables)),
    )


@cache
def ranges_sql(name: str, ranges: int, limit: int) -> str:
    """Return SQL for (range number, key) of a table's keys in ranges, `limit` in all; it takes each low and high."""
    values = ",".join(f"({number},?,?)" for number in range(ranges))
    return (
        f"WITH r(number, low, high) AS (VALUES {values}) "
        f"SELECT number, k FROM r CROSS JOIN {name} ON k BETWEEN low AND high LIMIT {limit}"
    )


def cut_ranges_sql(name: str, ranges: int, limit: int) -> str:
    """Return SQL for the last `limit` keys below each range's middle and the first `limit` from there on.

    It gives rows as `ranges_sql` does, and takes each low, middle and high.
    """
    values = ",".join(f"({number},?,?,?)" for number in range(ranges))
    side = f"SELECT k FROM {name} WHERE k"
    first = f"({side} >= low AND k < middle ORDER BY k DESC LIMIT 1 OFFSET {limit - 1})"
    last = f"({side} BETWEEN middle AND high ORDER BY k LIMIT 1 OFFSET {limit - 1})"
    return (
        f"WITH r(number, low, middle, high) AS (VALUES {values}) "
        f"SELECT number, k FROM r CROSS JOIN {name} ON k BETWEEN ifnull({first}, low) AND ifnull({last}, high)"
    )


# SQLite's integers are signed: shift the unsigned 64-bit range so that the order stays.
def signed(value: int) -> int:
    """Return an unsigned 64-bit integer as SQLite keeps it."""
    return value - _SIGN


def unsigned(value: int) -> int:
    """Return the unsigned integer that SQLite keeps as this one."""
    return value + _SIGN


def signed_array(values: Keys) -> NDArray[np.int64]:
    """Return unsigned 64-bit integers as SQLite keeps them."""
    return (values ^ np.uint64(_SIGN)).view(np.int64)


def unsigned_array(values: NDArray[np.int64]) -> Keys:
    """Return the unsigned integers that SQLite keeps as these."""
    return values.view(np.uint64) ^ np.uint64(_SIGN)
