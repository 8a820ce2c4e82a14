"""Find indexes, end leases, remove cleared epochs, prune, read and measure: steps over many keys."""

from __future__ import annotations

import random
import re
import time
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from crawldedup.stores.anchors import PAGE_BITS
from crawldedup.stores.base import Pruned
from crawldedup.stores.redis.errors import replies_read
from crawldedup.stores.redis.protocol import RECORDS_PER_LIST, loaded, unpacked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import redis

    from crawldedup.stores.base import Layout, Record, Retention

    Send = Callable[[Sequence[tuple[Any, ...]]], list[Any]]
    """Sends commands, whose first argument is a key, and returns the answers."""
    PruneStep = Callable[..., Any]
    """Calls the script `prune` with its arguments."""

_PRUNED_AT_ONCE: Final = 256
_LOADED_AT_ONCE: Final = 200
_UNLINKED_AT_ONCE: Final = 1000
_OF_AN_EPOCH: Final = re.compile(r"(crawldedup:\{[^}]*\}:)([0-9]+):")
SCAN_SECONDS: Final = 2.0
"""Limit for a search of namespaces, however many keys a server has."""
_KEYS_PER_SCAN: Final = 10_000
# On a cluster, a number follows the namespace.
_HEAD: Final = re.compile(r"crawldedup:\{([\w.:-]+)\}:m", re.ASCII)
_HEAD_OF_PART: Final = re.compile(r"crawldedup:\{([\w.:-]+)/[0-9]+\}:m", re.ASCII)
_MAX_DEPTH: Final = 28
SAMPLE: Final = 64
"""About so many keys of a kind are measured to project the size of all."""


@replies_read()
def remove_epochs(send: Send, servers: Iterable[redis.Redis], pattern: str, over: Mapping[str, int]) -> None:
    """Remove the keys behind each prefix in `over` that are of its epoch or an earlier one.

    Later ones may be in use, because others can clear meanwhile. `pattern` matches all these keys.
    """
    for server in servers:
        batch: list[tuple[Any, ...]] = []
        for key in server.scan_iter(match=pattern, count=1000):
            found = _OF_AN_EPOCH.match(key.decode("utf-8", "replace"))
            if found and int(found[2]) <= over.get(found[1], -1):
                batch.append(("UNLINK", key))
            if len(batch) == _UNLINKED_AT_ONCE:
                send(batch)
                batch.clear()
        send(batch)


def prune(steps: Iterable[PruneStep], retention: Retention, now: int) -> Iterator[Pruned]:
    """Prune one part after the other; `now` is 0 for the servers' clocks.

    What has expired goes first, or live pages would go for it.
    """
    examined = freed = 0
    limits = (now or "", retention.ttl_seconds or 0, int(retention.refresh))
    for step in steps:
        first, following = 0, 1
        while first < following:
            removed, following, oldest, pages = step(*limits, 0, first, _PRUNED_AT_ONCE)
            freed += removed
            # Before the oldest page there is nothing to look at.
            first = max(first + _PRUNED_AT_ONCE, oldest - oldest % _PRUNED_AT_ONCE)
            yield Pruned(examined + min(first, following), freed)
        examined += following
        while retention.max_pages is not None and pages > retention.max_pages and oldest < following:
            removed, following, oldest, pages = step(*limits, retention.max_pages, first, _PRUNED_AT_ONCE)
            freed += removed
            yield Pruned(examined, freed)


def load(ask: Callable[..., Any], layout: Layout, prefix: str, pages: Sequence[Record]) -> int:
    """Add pages to a part, some hundred a script call, so that a crawl can go on meanwhile; return how many."""
    added = 0
    for first in range(0, len(pages), _LOADED_AT_ONCE):
        packed = loaded(pages[first : first + _LOADED_AT_ONCE], layout)
        added += ask(prefix, "load", layout.profile, len(layout.tables), packed)[1]
    return added


def records(send: Send, layout: Layout, prefixes: Sequence[str]) -> Iterator[list[Record]]:
    """Yield the records of parts, one list after the other."""
    for prefix in prefixes:
        number, more = 0, True
        while more:
            batch, more = _list_of_records(send, layout, prefix, number)
            if batch:
                yield batch
            number += 1


@replies_read()
def _list_of_records(send: Send, layout: Layout, prefix: str, number: int) -> tuple[list[Record], bool]:
    """Return the records in one list, and True if lists follow it."""
    (head,) = send([("HMGET", f"{prefix}m", "epoch", "next")])
    epoch, following = (int(value or 0) for value in head)
    lists = f"{prefix}{epoch}:r:"
    last = max(following - 1, 0) // RECORDS_PER_LIST
    found, ends = send([("LRANGE", f"{lists}{number}", 0, -1), ("EXISTS", f"{lists}{last}")])
    first = number * RECORDS_PER_LIST
    pages = {first + place: record for place, record in enumerate(found) if record}
    texts = send([("GET", f"{prefix}{epoch}:x:{page}") for page in pages])
    batch = [unpacked(record, layout, text or b"") for record, text in zip(pages.values(), texts, strict=True)]
    # Of a head that names far more pages than there are, the lists end before the last one.
    return batch, number < last and bool(ends or found)


@replies_read()
def noted(send: Send, prefix: str, name: str, text: str | None) -> str:
    """Return a note of an index, written before if there is a text."""
    key = f"{prefix}notes"
    *_, found = send([*([] if text is None else [("HSET", key, name, text)]), ("HGET", key, name)])
    return (found or b"").decode("utf-8", "replace")


@replies_read()
def measure(send: Send, prefixes: Sequence[str], tables: int) -> tuple[int, int, int]:
    """Return the pages of an index, its bytes and those of its tables, projected from a sample of its keys."""
    pages = 0
    in_tables: list[tuple[str, range]] = []
    others: list[tuple[str, range]] = []
    fields = ("pages", "next", "depth", "split", "oldest", "epoch")
    heads = send([("HMGET", f"{prefix}m", *fields) for prefix in prefixes])
    for prefix, head in zip(prefixes, heads, strict=True):
        count, following, depth, split, oldest, epoch = (int(value or 0) for value in head)
        if min(following, split, oldest) < 0 or not 0 <= depth <= _MAX_DEPTH:
            raise ValueError("the head is damaged")
        buckets, data = bucket_numbers(depth, split), f"{prefix}{epoch}:"
        in_tables += [(f"{data}t{table}:", buckets) for table in range(tables)]
        in_tables += [(f"{data}f{table}:", range(depth, depth + 2)) for table in range(tables)]
        pages += count
        lists = range(oldest // RECORDS_PER_LIST, -(-following // RECORDS_PER_LIST))
        # The last are a cluster's, see `cluster/lua/directory.lua`.
        others += [(f"{data}u:", buckets), (f"{data}r:", lists), (f"{data}d:", buckets)]
        others.append((f"{data}x:", range(oldest, following)))
    most = -(-SAMPLE // len(prefixes))
    table_bytes = _projected_bytes(send, in_tables, most)
    return pages, table_bytes + _projected_bytes(send, others, most), table_bytes


@replies_read()
def measure_anchors(send: Send, prefixes: Sequence[str]) -> int:
    """Return the bytes of anchors and of the pages that hold them, projected from a sample."""
    most = -(-SAMPLE // len(prefixes))
    epochs = send([("HGET", f"{prefix}m", "epoch") for prefix in prefixes])
    size = 0
    for prefix, epoch in zip(prefixes, epochs, strict=True):
        data = f"{prefix}{int(epoch or 0)}:"
        asked = [("HGET", f"{data}ah", "buckets"), ("LLEN", f"{data}aq"), ("LRANGE", f"{data}aq", 0, most - 1)]
        buckets, pages, oldest = send(asked)
        names = [f"{data}ap:".encode() + each[: PAGE_BITS // 8] for each in oldest]
        sizes = send([("MEMORY USAGE", name, "SAMPLES", 0) for name in names])
        size += round(sum(each or 0 for each in sizes) * int(pages) / max(1, len(names)))
        size += _projected_bytes(send, [(f"{data}a:", range(int(buckets or 0)))], most)
    return size


def bucket_numbers(depth: int, split: int) -> range:
    """Return the numbers of a table's buckets, `split` of which are cut one bit deeper (see `lua/lib/layout.lua`)."""
    return range((1 << depth) + split, (2 << depth) + 2 * split)


def _projected_bytes(send: Send, kinds: Sequence[tuple[str, range]], most: int) -> int:
    """Return the memory of keys, given by stems and numbers, of which at most so many of each kind are measured."""
    samples = [random.sample(numbers, min(most, len(numbers))) for _, numbers in kinds]
    names = [f"{stem}{number}" for (stem, _), sample in zip(kinds, samples, strict=True) for number in sample]
    sizes = iter(send([("MEMORY USAGE", name, "SAMPLES", 0) for name in names]))
    return round(
        sum(
            sum(size or 0 for size in islice(sizes, len(sample))) * len(numbers) / len(sample)
            for (_, numbers), sample in zip(kinds, samples, strict=True)
            if sample
        )
    )


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
