"""Names of an index's keys. A large index has millions, so they are not all made."""

from __future__ import annotations

import random
import re
import time
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import redis

SCAN_SECONDS: Final = 2.0
"""Limit for a search of namespaces, however many keys a server has."""
_KEYS_PER_SCAN: Final = 10_000
# On a cluster, the number of a partition follows the namespace.
_HEAD: Final = re.compile(r"crawldedup:\{([\w.:-]+)\}:m", re.ASCII)
_HEAD_OF_PART: Final = re.compile(r"crawldedup:\{([\w.:-]+)\.[0-9a-f][0-9]*\}:(?:[hs]:)?m", re.ASCII)
SAMPLE: Final = 64
"""So many keys of a kind are measured to project the size of all."""


@dataclass(frozen=True, slots=True)
class Names:
    """Names that begin with `stem` and end with one of the numbers."""

    stem: str
    numbers: range


def bucket_names(stem: str, depth: int, split: int) -> list[Names]:
    """Return the names of a table's buckets, `split` of which are cut one bit deeper (see `lua/lib/layout.lua`)."""
    deeper = 1 << depth + 1
    return [Names(stem, range(deeper, deeper + 2 * split)), Names(stem, range((1 << depth) + split, deeper))]


def namespaces_among(heads: Iterable[bytes], *, partitioned: bool = False) -> list[str]:
    """Return the namespaces of indexes with these heads, sorted, without repetition."""
    pattern = _HEAD_OF_PART if partitioned else _HEAD
    found = (pattern.fullmatch(head.decode("utf-8", "replace")) for head in heads)
    return sorted({match[1] for match in found if match})


def heads_on(client: redis.Redis) -> Iterator[bytes]:
    """Yield the keys that may be heads of indexes, as many as a server finds within SCAN_SECONDS."""
    deadline = time.monotonic() + SCAN_SECONDS
    cursor: int | None = None
    while cursor != 0 and time.monotonic() < deadline:
        answer: Any = client.scan(cursor or 0, match="crawldedup:{*}:*m", count=_KEYS_PER_SCAN)
        cursor, heads = answer
        yield from heads


def sample(names: Sequence[Names]) -> tuple[list[str], int]:
    """Return at most SAMPLE of the names, chosen at random, and the number of all."""
    ends = list(accumulate(len(some.numbers) for some in names))
    total = ends[-1] if ends else 0
    chosen = []
    for place in random.sample(range(total), min(SAMPLE, total)):
        which = bisect_right(ends, place)
        some = names[which]
        chosen.append(f"{some.stem}{some.numbers[place - ends[which]]}")
    return chosen, total
