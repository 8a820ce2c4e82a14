"""Redis indexes to be measured: filled ones, empty ones, and questions about pages that are in none."""

from __future__ import annotations

import contextlib
import sys
import time
from dataclasses import dataclass, replace
from itertools import count as counter
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import redis

from benchmarks.redis_parts.filling import LAYOUT, PREFIX, URL, URL_BYTES, Filler, Wire, filtered_bits
from benchmarks.redis_parts.memory import read_memory
from benchmarks.redis_parts.server import CLIENT_CORE, IndexServer, pinned
from benchmarks.shared.common import progress
from crawldedup.errors import CrawlDedupError
from crawldedup.fingerprinting.fingerprint import Fingerprint, fingerprint
from crawldedup.measure import read_corpus
from crawldedup.page import Page as Asked
from crawldedup.reading.keys import NO_KEY
from crawldedup.search.query import TABLES, QueryBuilder
from crawldedup.stores.base import Query, Status
from crawldedup.stores.redis.protocol import unpack_record
from crawldedup.stores.registry import make_store
from tests.stores.pages import EQUAL_ONLY, NO_PROBES, random_page

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from benchmarks.redis_parts.memory import Memory
    from crawldedup.stores.base import Store
    from tests.stores.pages import Page

    Keys = NDArray[np.uint64]
    Packet = list[bytes | memoryview]

OF_JOINING = (b"epoch", b"crawlers")
"""What joining leaves in the head of an index."""


@dataclass(frozen=True)
class Index:
    """An index of random pages on a server of its own. `empty`: its memory before the first page, in bytes."""

    server: IndexServer
    pages: int
    urls: bool
    empty: int
    seconds: float
    """How long it took to fill."""

    def memory(self) -> Memory:
        return read_memory(self.server, self.pages, URL_BYTES if self.urls else 0, self.empty)


@contextlib.contextmanager
def empty_index() -> Iterator[tuple[IndexServer, int]]:
    """A new server with an index without pages, and the memory it uses, in bytes."""
    with IndexServer() as server:
        with store_of(server.url) as store:
            store.clear()  # brings the scripts there, which are no page's
        yield server, server.used_memory()


@contextlib.contextmanager
def filled_index(pages: int, *, urls: bool) -> Iterator[Index]:
    """A new server with an index of so many random pages, the first of them `plants`."""
    with empty_index() as (server, empty):
        reader, head = server.reader(), f"{PREFIX}m"
        epoch: Any = reader.hget(head, "epoch")
        data = f"{PREFIX}{epoch}:"
        steps = pages * (len(TABLES) + 2)
        started = time.monotonic()
        with pinned(CLIENT_CORE), Wire(server) as wire, progress(f"writing {pages:,} pages", steps) as advance:
            cut = Filler(wire, data, pages, urls, advance).fill()
        reader.hset(head, mapping={"pages": pages, "next": pages, "depth": cut.depth, "split": cut.split})
        yield Index(server, pages, urls, empty, time.monotonic() - started)


def patient_store(url: str) -> Store:
    """A store that waits longer than a crawl does: an hour's work is not lost for one late answer on a busy machine."""
    return make_store(f"{url}?socket_timeout=60", LAYOUT)


@contextlib.contextmanager
def store_of(url: str) -> Iterator[Store]:
    store = patient_store(url)
    store.open()
    try:
        yield store
    finally:
        store.close()


def contents(server: IndexServer) -> dict[str, Any]:
    """What an index holds, key by key, but for what joining it has left. Of use for small ones."""
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
        """Of unrelated pages, weights drawn from the normal distribution."""
        draw = next(self._drawn)
        rng = np.random.default_rng([7, draw])
        return [self._query(draw, row, as_fingerprint(random_page(rng)), pages, "") for row in range(count)]

    def real(self, fingerprints: Sequence[Fingerprint], pages: int, count: int) -> list[Query]:
        """Of real pages. A salt a draw makes other bits of them, with the same distances between them."""
        draw = next(self._drawn)
        return [self._query(draw, row, page, pages, f"draw {draw}") for row, page in enumerate(fingerprints[:count])]

    def about(self, page: Page, number: int, pages: int) -> Query:
        """Of a page that is like a planted one; for looking only."""
        return self._query(0, number, as_fingerprint(page), pages, "")

    def _query(self, draw: int, row: int, page: Fingerprint, pages: int, scope_key: str) -> Query:
        query = query_of(self._maker, URL.format(draw, row), page, pages, scope_key)
        return query if self._urls else replace(query, record=replace(query.record, url=""))


def query_of(maker: QueryBuilder, url: str, page: Fingerprint, pages: int, scope_key: str | None = None) -> Query:
    asked = Asked(url, text="", scope_key=scope_key)
    return maker.queries([(asked, page)], NO_KEY, pages)[0]


def written_pages(server: IndexServer) -> Iterator[list[Query]]:
    """The pages of an index in the order of their numbers, list by list, as queries that look for no others."""
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


def real_fingerprints(files: Sequence[Path], maker: QueryBuilder) -> tuple[list[Fingerprint], list[Fingerprint]]:
    """Fingerprints of the pages of corpora: of those that are new beside the ones before, and of all."""
    new: list[Fingerprint] = []
    every: list[Fingerprint] = []
    store = make_store("memory://", LAYOUT)
    store.open()
    for file in files:
        try:
            documents = read_corpus(str(file)).documents
        except (CrawlDedupError, OSError) as error:
            sys.exit(f"{file}: {error}")
        for document in documents:
            page = fingerprint(document.text)
            if page.thin:
                continue
            every.append(page)
            (answer,) = store.check([query_of(maker, document.url, page, len(new))])
            if getattr(answer, "status", None) is Status.NEW:
                new.append(page)
    # A measurement takes the first of them: those of all corpora alike.
    Random(3).shuffle(new)
    Random(3).shuffle(every)
    return new, every
