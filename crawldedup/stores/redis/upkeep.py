"""Steps over all keys of one index on a server: leases of dead processes, cleared epochs, reading, measuring."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawldedup.stores.process import has_exited
from crawldedup.stores.redis.client import retry_once
from crawldedup.stores.redis.errors import replies_read
from crawldedup.stores.redis.keys import Names, bucket_names, sample
from crawldedup.stores.redis.protocol import RECORDS_PER_LIST, unpacked

if TYPE_CHECKING:
    from collections.abc import Sequence

    import redis

    from crawldedup.stores.base import Layout, Record

_UNLINKED_AT_ONCE = 1000


@replies_read()
def expire_dead_sessions(client: redis.Redis, prefix: str) -> None:
    """Expire the leases of crawlers whose process on this machine has exited."""
    processes: Any = client.hgetall(f"{prefix}w")
    dead = [number for number, process in processes.items() if has_exited(process.decode("utf-8", "replace"))]
    if dead:
        client.zrem(f"{prefix}c", *dead)
        client.hdel(f"{prefix}w", *dead)


@replies_read()
def remove_epochs(client: redis.Redis, prefix: str, newest: int) -> None:
    """Remove the keys of epochs up to this one. Later ones may be in use, because others can clear meanwhile."""
    batch: list[bytes] = []
    for key in client.scan_iter(match=f"{prefix}[0-9]*", count=1000):
        if int(key[len(prefix) :].partition(b":")[0]) <= newest:
            batch.append(key)
        if len(batch) == _UNLINKED_AT_ONCE:
            client.unlink(*batch)
            batch.clear()
    if batch:
        client.unlink(*batch)


@replies_read()
def list_of_records(client: redis.Redis, prefix: str, layout: Layout, number: int) -> tuple[list[Record], bool]:
    """Return the records in one list, and True if lists follow it."""
    meta: Any = retry_once(lambda _: client.hmget(f"{prefix}m", "epoch", "next"))
    epoch, following = (int(value or 0) for value in meta)
    found: Any = retry_once(lambda _: client.lrange(f"{prefix}{epoch}:r:{number}", 0, -1))
    records = [unpacked(record, layout) for record in found if record]
    return records, (number + 1) * RECORDS_PER_LIST < following


@replies_read()
def measure(client: redis.Redis, prefix: str, tables: int) -> tuple[int, int, int]:
    """Return the pages of an index, its bytes and those of its tables, projected from a sample of its keys."""
    meta: Any = client.hgetall(f"{prefix}m")
    pages, depth, split, following, oldest, epoch = (
        int(meta.get(name, 0)) for name in (b"pages", b"depth", b"split", b"next", b"oldest", b"epoch")
    )
    data = f"{prefix}{epoch}:"
    in_tables = 0
    for table in range(tables):
        in_tables += _sampled_bytes(client, bucket_names(f"{data}t{table}:", depth, split))
        in_tables += _sampled_bytes(client, [Names(f"{data}f{table}:", range(depth, depth + 2))])
    lists = range(oldest // RECORDS_PER_LIST, -(-following // RECORDS_PER_LIST))
    others = _sampled_bytes(client, bucket_names(f"{data}u:", depth, split))
    others += _sampled_bytes(client, [Names(f"{data}r:", lists)])
    return pages, in_tables + others, in_tables


def _sampled_bytes(client: redis.Redis, names: Sequence[Names]) -> int:
    chosen, keys = sample(names)
    pipeline = client.pipeline(transaction=False)
    for key in chosen:
        pipeline.memory_usage(key, samples=0)
    sizes = [size or 0 for size in pipeline.execute()]
    return round(sum(sizes) / len(sizes) * keys) if sizes else 0
