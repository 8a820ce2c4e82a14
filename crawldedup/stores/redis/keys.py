"""Find the indexes that a server holds."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import redis

SCAN_SECONDS: Final = 2.0
"""Limit for a search of namespaces, however many keys a server has."""
_KEYS_PER_SCAN: Final = 10_000
# On a cluster, the number of a partition follows the namespace.
_HEAD: Final = re.compile(r"crawldedup:\{([\w.:-]+)\}:m", re.ASCII)
_HEAD_OF_PART: Final = re.compile(r"crawldedup:\{([\w.:-]+)\.[0-9a-f][0-9]*\}:(?:[hs]:)?m", re.ASCII)


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
