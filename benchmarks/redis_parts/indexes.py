"""Redis indexes to be measured, their memory and their recall, and questions about pages that are in none."""

from __future__ import annotations

import contextlib
import re
import time
from collections import Counter
from dataclasses import dataclass, replace
from itertools import count as counter
from random import Random
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import redis

from benchmarks.redis_parts.filling import URL, fill, filtered_bits, plants
from benchmarks.redis_parts.server import LAYOUT, PREFIX, IndexServer, store_of
from crawldedup.fingerprinting.fingerprint import Fingerprint, fingerprint
from crawldedup.measure import read_corpus
from crawldedup.page import Page as Asked
from crawldedup.reading.keys import NO_KEY
from crawldedup.search.query import TABLES, QueryBuilder
from crawldedup.stores.base import Query, Status
from crawldedup.stores.redis.protocol import unpack_record
from crawldedup.stores.registry import make_store
from tests.stores.pages import EQUAL_ONLY, NO_PROBES, random_page, similar_page

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crawldedup.stores.base import Store
    from tests.stores.pages import Page

OF_JOINING: Final = (b"epoch", b"crawlers")
"""What joining leaves in the head of an index."""
SAMPLE: Final = 5_000
"""Keys of a kind whose memory is asked for."""
PARTS: Final = {"t": "tables", "f": "filter", "u": "URL table", "r": "records"}
"""By the letters that follow the epoch in a key's name."""
PLANTED_SIMILARITIES: Final = (0.9, 0.93, 0.97, 1.0)
"""1 for exact copies."""


@dataclass(frozen=True)
class Index:
    """An index of random pages on a server of its own. `empty`: its memory before the first page, in bytes.

    `seconds`: how long it took to fill.
    """

    server: IndexServer
    pages: int
    empty: int
    seconds: float

    @property
    def used(self) -> int:
        """Return the bytes that the server uses more than when it was empty."""
        return self.server.used_memory() - self.empty

    def memory(self) -> dict[str, float]:
        """Return the bytes of each kind of keys, from a sample of each; the dictionary of keys is shared out evenly."""
        random, keys, samples = Random(1), Counter[str](), dict[str, list[bytes]]()
        client = redis.Redis.from_url(self.server.url, socket_timeout=None)
        for key in client.scan_iter(count=10_000):
            found = re.search(rb"\}:(?:\d+:)?([a-z]+)", key)
            name = PARTS.get(found[1].decode(), "other") if found else "other"
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
        rest_a_key = (self.used - sum(usage.values())) / keys.total()
        return {name: usage[name] + rest_a_key * keys[name] for name in (*PARTS.values(), "other") if keys[name]}


@contextlib.contextmanager
def empty_index() -> Iterator[tuple[IndexServer, int]]:
    """Yield a new server with an index without pages, and the memory it uses, in bytes."""
    with IndexServer() as server:
        with store_of(server.url) as store:
            store.clear()  # brings the scripts there, which are no page's
        yield server, server.used_memory()


@contextlib.contextmanager
def filled_index(pages: int, *, urls: bool) -> Iterator[Index]:
    """Yield a new server with an index of so many random pages, the first of them `plants`."""
    with empty_index() as (server, empty):
        started = time.monotonic()
        fill(server, pages, urls=urls)
        yield Index(server, pages, empty, time.monotonic() - started)


def contents(server: IndexServer) -> dict[str, Any]:
    """Return what an index holds, key by key, but for what joining it has left. Of use for small ones."""
    client = redis.Redis.from_url(server.url)
    head: Any = client.hgetall(f"{PREFIX}m")
    data = f"{PREFIX}{head[b'epoch'].decode()}:"
    found: dict[str, Any] = {key.decode().removeprefix(data): client.dump(key) for key in client.scan_iter(f"{data}*")}
    # Below `split` the filter of the lesser depth has bits that nobody asks for, as they were when a bucket was cut.
    depth, split = int(head[b"depth"]), int(head[b"split"])
    for number in range(len(TABLES)):
        bits: Any = client.get(f"{data}f{number}:{depth}")
        found[f"f{number}:{depth}"] = bits[(split << filtered_bits(depth) - depth) // 8 :]
    return found | {name.decode(): value for name, value in head.items() if name not in OF_JOINING}


class Queries:
    """Questions about pages that are in no index: nothing is asked twice."""

    def __init__(self, maker: QueryBuilder, *, urls: bool = True) -> None:
        self._maker = maker
        self._urls = urls
        self._drawn = counter(1)

    def random(self, pages: int, count: int) -> list[Query]:
        """Return queries of unrelated pages, weights drawn from the normal distribution."""
        draw = next(self._drawn)
        rng = np.random.default_rng([7, draw])
        return [self._query(draw, row, as_fingerprint(random_page(rng)), pages, "") for row in range(count)]

    def real(self, fingerprints: Sequence[Fingerprint], pages: int, count: int) -> list[Query]:
        """Return those of real pages. A salt a draw makes other bits of them, with the same distances between them."""
        draw = next(self._drawn)
        return [self._query(draw, row, page, pages, f"draw {draw}") for row, page in enumerate(fingerprints[:count])]

    def recall(self, store: Store, pages: int, count: int) -> dict[float, float]:
        """Return the share of planted pages that are found, by pages of so much similarity with them."""
        shares = {}
        for similarity in PLANTED_SIMILARITIES:
            rng = np.random.default_rng([5, int(similarity * 100)])
            found = 0
            for number, plant in enumerate(plants()[:count]):
                page = plant if similarity == 1 else similar_page(plant, similarity, rng)
                query = self._query(0, number, as_fingerprint(page), pages, "")
                found += any(record.url_key == plant.digest for record in store.find([query])[0])
            shares[similarity] = found / count
        return shares

    def _query(self, draw: int, row: int, page: Fingerprint, pages: int, scope_key: str) -> Query:
        query = query_of(self._maker, URL.format(draw, row), page, pages, scope_key)
        return query if self._urls else replace(query, record=replace(query.record, url=""))


def query_of(maker: QueryBuilder, url: str, page: Fingerprint, pages: int, scope_key: str | None = None) -> Query:
    return maker.queries([(Asked(url, text="", scope_key=scope_key), page)], NO_KEY, pages)[0]


def written_pages(server: IndexServer) -> Iterator[list[Query]]:
    """Yield the pages of an index in the order of their numbers, list by list, as queries that look for no others."""
    client = redis.Redis.from_url(server.url)
    epoch: Any = client.hget(f"{PREFIX}m", "epoch")
    for number in counter():
        rows: Any = client.lrange(f"{PREFIX}{epoch.decode()}:r:{number}", 0, -1)
        if not rows:
            return
        records = [unpack_record(row, LAYOUT) for row in rows]
        yield [Query(record, LAYOUT.keys(record.search), NO_PROBES, EQUAL_ONLY) for record in records]


def as_fingerprint(page: Page) -> Fingerprint:
    return Fingerprint(
        search=page.search,
        search_weights=page.search_weights,
        verify=page.signature,
        verify_weights=page.verify_weights,
        digest=page.digest,
        words=1000,
        thin=False,
    )


def new_fingerprints(files: Sequence[str], maker: QueryBuilder) -> list[Fingerprint]:
    """Return fingerprints of the pages of corpora that are new beside the ones before."""
    new: list[Fingerprint] = []
    store = make_store("memory://", LAYOUT)
    store.open()
    for file in files:
        for document in read_corpus(file).documents:
            page = fingerprint(document.text)
            (answer,) = store.check([query_of(maker, document.url, page, len(new))])
            if not page.thin and getattr(answer, "status", None) is Status.NEW:
                new.append(page)
    # A measurement takes the first of them: those of all corpora alike.
    Random(3).shuffle(new)
    return new
