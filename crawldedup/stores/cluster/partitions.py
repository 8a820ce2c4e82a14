"""Name the partitions of an index: each is one hash slot, and they are spread evenly over the slots."""

from __future__ import annotations

from functools import cache
from itertools import count
from typing import Final

from redis.crc import key_slot

from crawldedup.search.routing import MAX_PARTITIONS

_OLD_PARTITIONS: Final = 16
_SLOTS: Final = 16384


@cache
def _cells(namespace: str) -> tuple[str, ...]:
    """Return a prefix in each 256th of the slots. The braces hold what Redis derives the slot from."""
    found: dict[int, str] = {}
    numbers = count()
    while len(found) < MAX_PARTITIONS:
        prefix = f"crawldedup:{{{namespace}/{next(numbers)}}}:"
        found.setdefault(key_slot(prefix.encode()) * MAX_PARTITIONS // _SLOTS, prefix)
    return tuple(prefix for _, prefix in sorted(found.items()))


def prefixes(namespace: str, partitions: int) -> tuple[str, ...]:
    """Return what the keys of each partition begin with. The first is the same for any number of partitions."""
    return _cells(namespace)[:: MAX_PARTITIONS // partitions]


@cache
def old_head(namespace: str) -> str:
    """Return the head of an index as the first clusters had it: spread by keys, without homes."""
    names = (f"crawldedup:{{{namespace}.0{attempt or ''}}}:m" for attempt in count())
    return next(name for name in names if key_slot(name.encode()) * _OLD_PARTITIONS < _SLOTS)
