"""Name the partitions of an index, and count their pages. Each is in one hash slot, evenly spread over all."""

from __future__ import annotations

from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from redis.crc import key_slot

from crawldedup.search.routing import MAX_PARTITIONS

if TYPE_CHECKING:
    from collections.abc import Iterable

_OLD_PARTITIONS: Final = 16
_SLOTS: Final = 16384
_PAGES_AT: Final = {"check": 2, "scout": 1, "claim": 1, "count": 1, "look": 1, "join": 2}
"""By script, the place of the number of pages in its answer."""


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


class PageCounts(dict[str, int]):
    """The number of pages behind each prefix, as the partition had them when it was last asked."""

    def of(self, prefixes: Iterable[str]) -> int:
        """Return about how many pages there are behind all of these."""
        return sum(self.get(prefix, 0) for prefix in prefixes)

    def note(self, script: str, prefix: str, reply: Any) -> None:
        """Take what the answer of a script says."""
        if (place := _PAGES_AT.get(script, 0)) and len(reply) > place:
            self[prefix] = reply[place]
        elif script == "forget":
            self[prefix] = max(0, self.get(prefix, 0) - reply)
        elif script == "load":
            self[prefix] = self.get(prefix, 0) + reply[1]
