"""The memory of a Redis index by kinds of keys, as the server reports it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

import redis

if TYPE_CHECKING:
    from benchmarks.redis_parts.server import IndexServer

SAMPLE = 5_000
"""Keys of a kind whose memory is asked for."""
PARTS = {"t": "tables", "f": "filter", "u": "URL table", "r": "records"}
"""By the letters that follow the epoch in a key's name."""
OTHER = "other"


@dataclass
class Part:
    """Memory of one kind of keys, in bytes: as MEMORY USAGE has it, and with its share of the dictionary of keys."""

    name: str
    keys: int
    usage: float
    whole: float


@dataclass
class Memory:
    """Memory of an index. `used` is what the server uses more than when it was empty."""

    pages: int
    url_bytes: int
    parts: list[Part]
    used: int
    resident: int

    def part(self, name: str) -> Part:
        return next((part for part in self.parts if part.name == name), Part(name, 0, 0.0, 0.0))


def read_memory(server: IndexServer, pages: int, url_bytes: int, empty: int) -> Memory:
    """Ask for the memory of a sample of the keys of each kind; what is left over is the dictionary that holds them."""
    random = Random(1)
    keys: Counter[str] = Counter()
    samples: dict[str, list[bytes]] = {}
    client = redis.Redis.from_url(server.url, socket_timeout=None)
    for key in client.scan_iter(count=10_000):
        found = re.search(rb"\}:(?:\d+:)?([a-z]+)", key)
        name = PARTS.get(found[1].decode(), OTHER) if found else OTHER
        keys[name] += 1
        sample = samples.setdefault(name, [])
        if len(sample) < SAMPLE:
            sample.append(key)
        elif (place := random.randrange(keys[name])) < SAMPLE:
            sample[place] = key
    usage = {}
    for name, sample in samples.items():
        pipeline = client.pipeline(transaction=False)
        for key in sample:
            pipeline.memory_usage(key, samples=0)
        usage[name] = keys[name] * sum(size or 0 for size in pipeline.execute()) / len(sample)
    used = server.used_memory() - empty
    rest_a_key = (used - sum(usage.values())) / max(keys.total(), 1)
    names = [*PARTS.values(), OTHER]
    parts = [Part(name, keys[name], usage[name], usage[name] + rest_a_key * keys[name]) for name in names if keys[name]]
    info: dict[str, Any] = client.info("memory")
    return Memory(pages, url_bytes, parts, used, info["used_memory_rss"])
