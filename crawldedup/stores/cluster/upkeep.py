"""All partitions of an index on a cluster, one after the other: pruning, telling, removing and measuring them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from crawldedup.stores.base import Pruned
from crawldedup.stores.cluster.nodes import Call, script_call
from crawldedup.stores.cluster.protocol import prefixes
from crawldedup.stores.redis.keys import Names, bucket_names, heads_on, namespaces_among, sample
from crawldedup.stores.redis.protocol import RECORDS_PER_LIST, unpacked

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from crawldedup.stores.base import Layout, Record, Retention
    from crawldedup.stores.cluster.nodes import Nodes
    from crawldedup.stores.cluster.spread import Spread

_PRUNED_AT_ONCE: Final = 256
_REMOVED_AT_ONCE: Final = 1000
_OF_AN_EPOCH: Final = re.compile(r"(crawldedup:\{[^}]*\}:(?:[hs]:)?)([0-9]+):")


def prune(nodes: Nodes, spread: Spread, placed: Sequence[str], retention: Retention, now: int) -> Iterator[Pruned]:
    """Free what has expired, then the oldest beyond the limit of each partition; `now` is 0 for the servers' clocks."""
    spread.finish()
    examined, freed = 0, 0
    limits = (now or "", retention.ttl_seconds or 0, int(retention.refresh))
    for home, prefix in [*((None, prefix) for prefix in placed), *enumerate(spread.homes)]:

        def step(most: int, first: int, home: int | None = home, prefix: str = prefix) -> Any:
            asked = (*limits, most, first, _PRUNED_AT_ONCE)
            if home is None:
                return nodes.run([script_call("prune", prefix, *asked)])[0]
            return spread.prune(home, *asked)

        first, following = 0, 1
        while first < following:
            removed, following, oldest, pages = step(0, first)
            freed += removed
            # Before the oldest page there is nothing to look at.
            first = max(first + _PRUNED_AT_ONCE, oldest - oldest % _PRUNED_AT_ONCE)
            yield Pruned(examined + min(first, following), freed)
        examined += following
        while retention.max_pages is not None and pages > retention.max_pages and oldest < following:
            removed, following, oldest, pages = step(retention.max_pages, first)
            freed += removed
            yield Pruned(examined, freed)


def records(nodes: Nodes, layout: Layout, parts: Sequence[str]) -> Iterator[list[Record]]:
    """The pages of partitions that have these prefixes, some at a time."""
    for prefix in parts:
        number, following = 0, 1
        while number * RECORDS_PER_LIST < following:
            head = f"{prefix}m"
            (told,) = nodes.run([Call(head, ("HMGET", head, "epoch", "next"))])
            epoch, following = (int(value or 0) for value in told)
            name = f"{prefix}{epoch}:r:{number}"
            (found,) = nodes.run([Call(name, ("LRANGE", name, 0, -1))])
            if batch := [unpacked(record, layout) for record in found if record]:
                yield batch
            number += 1


def remove_epochs(nodes: Nodes, over: Mapping[str, int]) -> None:
    """Remove the keys behind each of some prefixes that are of the epoch given for it, or an earlier one.

    Later ones are in use, for others may have cleared since.
    """
    namespace = next(iter(over)).rpartition(".")[0]
    for node in nodes.masters():
        batch: list[Call] = []
        for key in node.scan_iter(match=f"{namespace}.*", count=1000):
            found = _OF_AN_EPOCH.match(key.decode("utf-8", "replace"))
            if found and int(found[2]) <= over.get(found[1], -1):
                batch.append(Call(found[0], ("UNLINK", key)))
            if len(batch) == _REMOVED_AT_ONCE:
                nodes.run(batch)
                batch.clear()
        nodes.run(batch)


def namespaces(nodes: Nodes, wanted: str) -> list[str]:
    """Return the names of the indexes on a cluster, or only `wanted` if any part of it is there."""
    heads = [f"{prefix}m" for prefix in prefixes(wanted)]
    if any(nodes.run([Call(head, ("EXISTS", head)) for head in heads])):
        return [wanted]
    return namespaces_among((head for node in nodes.masters() for head in heads_on(node)), partitioned=True)


@dataclass(frozen=True, slots=True)
class Figures:
    """Pages, and bytes: of all, and of the permuted tables."""

    pages: int
    bytes: int
    table_bytes: int


def measure(
    nodes: Nodes, layout: Layout, placed: Sequence[str], homes: Sequence[str], tables: Sequence[str]
) -> Figures:
    """Figures of the parts of an index with these prefixes, projected from a sample of their keys."""
    pages, in_tables, others = 0, 0, 0
    for parts, has_tables, has_records in ((placed, True, True), (homes, False, True), (tables, True, False)):
        told = nodes.run([Call(f"{prefix}m", ("HGETALL", f"{prefix}m")) for prefix in parts])
        buckets: list[Names] = []
        filters: list[Names] = []
        records: list[Names] = []
        for prefix, flat in zip(parts, told, strict=True):
            head = dict(zip(flat[::2], flat[1::2], strict=True))
            part_pages, depth, split, following, oldest, epoch = (
                int(head.get(name, 0)) for name in (b"pages", b"depth", b"split", b"next", b"oldest", b"epoch")
            )
            data = f"{prefix}{epoch}:"
            if has_tables:
                for table in range(len(layout.tables)):
                    buckets += bucket_names(f"{data}t{table}:", depth, split)
                    filters.append(Names(f"{data}f{table}:", range(depth, depth + 2)))
            if has_records:
                pages += part_pages
                lists = range(oldest // RECORDS_PER_LIST, -(-following // RECORDS_PER_LIST))
                records.append(Names(f"{data}r:", lists))
                others += _sampled_bytes(nodes, bucket_names(f"{data}u:", depth, split))
        in_tables += _sampled_bytes(nodes, buckets) + _sampled_bytes(nodes, filters)
        others += _sampled_bytes(nodes, records)
    return Figures(pages, in_tables + others, in_tables)


def _sampled_bytes(nodes: Nodes, names: Sequence[Names]) -> int:
    """Memory of keys, projected from a sample."""
    chosen, keys = sample(names)
    sizes: list[Any] = nodes.run([Call(key, ("MEMORY", "USAGE", key, "SAMPLES", 0)) for key in chosen])
    return round(sum(size or 0 for size in sizes) / len(sizes) * keys) if sizes else 0
