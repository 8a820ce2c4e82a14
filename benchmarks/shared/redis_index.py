"""A Redis server on a separate core, indexes of random pages on it, and clients that ask about
other pages.

The server itself reports time and memory. `script us` is the time that passes inside scripts, and
`CPU us` is the processor time of its main thread, including network and parsing. If the former is
larger, other programs were using the core at that time.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections import Counter
from dataclasses import dataclass, replace
from itertools import count as counter
from itertools import islice
from multiprocessing import get_context
from random import Random
from threading import BrokenBarrierError
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import redis

from benchmarks.shared.common import progress
from crawldedup.fingerprinting.bits import VERIFY_BITS, Fingerprint, fingerprint
from crawldedup.index.queries import TABLES, QueryBuilder, Subject
from crawldedup.key import NO_KEY
from crawldedup.measure import read_corpus
from crawldedup.page import Page as Asked
from crawldedup.stores.contract import DIGEST_MASK, Answer, Layout, Query, Record
from crawldedup.stores.registry import make_store
from crawldedup.verdict import Kind
from tests.servers import RedisServer
from tests.stores.pages import EQUAL_ONLY, NO_PROBES, random_page, similar_page

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from multiprocessing.synchronize import Barrier

    from numpy.typing import NDArray

    from crawldedup.stores.contract import Store
    from tests.stores.pages import Page

LAYOUT: Final = Layout("bench", "bench", TABLES, VERIFY_BITS // 8)
WARM_UP: Final = 300
"""Questions of each client that are not counted."""
PREPARATION_SECONDS: Final = 300
SERVER_CORE, CLIENT_CORE = 0, 1
SCRIPT_COMMANDS: Final = ("cmdstat_evalsha", "cmdstat_eval", "cmdstat_evalsha_ro", "cmdstat_fcall")
URL: Final = "https://www.example.com/section/{:020d}/page-{:012d}.html?n=0"
URL_BYTES: Final = len(URL.format(0, 0))
PLANTS: Final = 2_000
"""So many pages of every index, the first, can be looked for."""
CHUNK: Final = 1_000
"""Pages that are sent at a time."""
SAMPLE: Final = 5_000
"""Keys of a kind whose memory is asked for."""
PARTS: Final = {"t": "tables", "f": "filter", "u": "URL table", "r": "records"}
"""By the letters that follow the epoch in a key's name."""
PLANTED_SIMILARITIES: Final = (0.9, 0.93, 0.97, 1.0)
"""1 for exact copies."""


class IndexServer(RedisServer):
    """A server on a core of its own."""

    def start(self) -> None:
        with pinned(SERVER_CORE):
            super().start()

    def reader(self) -> redis.Redis:
        return redis.Redis.from_url(self.url, decode_responses=True, socket_timeout=None)

    @property
    def version(self) -> str:
        info: dict[str, Any] = self.reader().info("server")
        return (
            f"valkey {info['valkey_version']}"
            if "valkey_version" in info
            else f"redis {info['redis_version']}"
        )

    def used_memory(self) -> int:
        """Return the bytes that the server uses, without the buffers of its clients."""
        info: dict[str, Any] = self.reader().info("memory")
        return int(info["used_memory"] - info["mem_clients_normal"])


@contextlib.contextmanager
def pinned(core: int) -> Iterator[None]:
    """Keep this thread, and what it starts meanwhile, on one core; of a single core all share it."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {sorted(before)[min(core, len(before) - 1)]})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextlib.contextmanager
def store_of(url: str, profile: str = LAYOUT.profile) -> Iterator[Store]:
    """Open a store that waits longer than a crawl does: no hour's work is lost for one late answer."""
    store = make_store(
        url if "sqlite" in url else f"{url}?socket_timeout=60", replace(LAYOUT, profile=profile)
    )
    store.open()
    try:
        yield store
    finally:
        store.close()


@dataclass(frozen=True)
class TimeRow:
    """Check-and-add, as the server and as the clients saw it. p50 and p99 are of a single check, or
    a whole batch.
    """

    pages: int
    queries: str
    clients: int
    batch: int
    checks_a_second: float
    script_us: float
    cpu_us: float
    p50_us: float
    p99_us: float
    probes: float
    new: float


class Done(NamedTuple):
    """What a client saw. Times in seconds; the two clock times compare between processes."""

    latencies: NDArray[np.float64]
    began: float
    ended: float
    new: int


_together: Barrier


def _start_client(together: Barrier) -> None:
    global _together
    _together = together


def _ask_all(url: str, queries: Sequence[Query], batch: int) -> Done:
    """Check the queries, `batch` at a time, and add them."""
    new = 0
    with store_of(url) as store:
        for query in queries[:WARM_UP]:
            store.check([query])
        _together.wait()  # for the other clients
        _together.wait()  # for the first reading of the server's counters
        latencies, began = [], time.monotonic()
        for first in range(WARM_UP, len(queries), batch):
            started = time.perf_counter()
            answers = store.check(queries[first : first + batch])
            latencies.append(time.perf_counter() - started)
            for answer in answers:
                if not isinstance(answer, Answer):
                    raise answer
                new += answer.kind is Kind.NEW
        return Done(np.array(latencies), began, time.monotonic(), new)


def measure(
    server: IndexServer,
    queries: Sequence[Query],
    *,
    pages: int,
    kind: str,
    clients: int,
    batch: int,
) -> TimeRow:
    """Let client processes share the queries. The first WARM_UP of each are not counted."""
    context = get_context("spawn")
    # Not for ever: a client that fails would leave the others waiting.
    together = context.Barrier(clients + 1, timeout=PREPARATION_SECONDS)
    jobs = [(server.url, queries[number::clients], batch) for number in range(clients)]
    reader, before = server.reader(), (0.0, 0.0)
    with pinned(CLIENT_CORE), context.Pool(clients, _start_client, (together,)) as pool:
        running = pool.starmap_async(_ask_all, jobs, chunksize=1)
        while together.n_waiting < clients and not running.ready():
            time.sleep(0.01)
        with contextlib.suppress(BrokenBarrierError):
            if not running.ready():
                together.wait()
                before = _microseconds(reader)
                together.wait()
        done = running.get()
        script, cpu = (
            after - earlier for after, earlier in zip(_microseconds(reader), before, strict=True)
        )
    checks = len(queries) - WARM_UP * clients
    latencies = np.concatenate([client.latencies for client in done]) * 1e6
    p50, p99 = np.percentile(latencies, (50, 99)).tolist()
    return TimeRow(
        pages=pages,
        queries=kind,
        clients=clients,
        batch=batch,
        checks_a_second=checks
        / (max(client.ended for client in done) - min(client.began for client in done)),
        script_us=script / checks,
        cpu_us=cpu / checks,
        p50_us=p50,
        p99_us=p99,
        probes=float(np.mean([len(query.plan) for query in queries])),
        new=sum(client.new for client in done) / checks,
    )


def _microseconds(client: redis.Redis) -> tuple[float, float]:
    """Return the time of the server inside scripts, and the processor time of its main thread."""
    info: dict[str, Any] = client.info("everything")
    scripts = sum(info[name]["usec"] for name in SCRIPT_COMMANDS if name in info)
    return scripts, (info["used_cpu_user_main_thread"] + info["used_cpu_sys_main_thread"]) * 1e6


@dataclass(frozen=True)
class Index:
    """An index of random pages on a server of its own.

    `empty`: its memory before the first page, in bytes.

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
        """Return the bytes of each kind of keys, from a sample of each; the dictionary of keys is
        shared out evenly.
        """
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
        return {
            name: usage[name] + rest_a_key * keys[name]
            for name in (*PARTS.values(), "other")
            if keys[name]
        }


@contextlib.contextmanager
def empty_index() -> Iterator[tuple[IndexServer, int]]:
    """Yield a new server with an index without pages, and the memory it uses, in bytes."""
    with IndexServer() as server:
        with store_of(server.url) as store:
            store.clear()  # brings the scripts there, which are no page's
        yield server, server.used_memory()


@contextlib.contextmanager
def filled_index(pages: int, *, urls: bool) -> Iterator[Index]:
    """Yield a new server with an index of so many random pages, the first of `unrelated_pages`."""
    with empty_index() as (server, empty):
        started = time.monotonic()
        with store_of(server.url) as store:
            fill(store, pages, urls=urls)
        yield Index(server, pages, empty, time.monotonic() - started)


def fill(store: Store, count: int, *, urls: bool) -> None:
    """Add so many unrelated pages, which look for no others."""
    pages = unrelated_pages()
    with pinned(CLIENT_CORE), progress(f"adding {count:,} pages", count) as advance:
        for start in range(0, count, CHUNK):
            numbers = range(start, min(start + CHUNK, count))
            for answer in store.check([addition(next(pages), number, urls) for number in numbers]):
                if not isinstance(answer, Answer):
                    raise answer
            advance(len(numbers))


def unrelated_pages() -> Iterator[Page]:
    """Yield the pages of every index in their order: the first of them are looked for."""
    rng = np.random.default_rng(4)
    while True:
        yield random_page(rng)


def addition(page: Page, number: int, urls: bool) -> Query:
    """Return a query that adds a page. Its digest names it."""
    url = URL.format(page.digest, number) if urls else ""
    record = Record(url, page.digest, page.search, page.signature, page.digest & DIGEST_MASK)
    return Query(record, LAYOUT.keys(record.search), NO_PROBES, EQUAL_ONLY)


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
        return [
            self._query(draw, row, as_fingerprint(random_page(rng)), pages, "")
            for row in range(count)
        ]

    def real(self, fingerprints: Sequence[Fingerprint], pages: int, count: int) -> list[Query]:
        """Return those of real pages.

        A salt a draw makes other bits of them, with the same distances between them.
        """
        draw = next(self._drawn)
        return [
            self._query(draw, row, page, pages, f"draw {draw}")
            for row, page in enumerate(fingerprints[:count])
        ]

    def recall(self, store: Store, pages: int, count: int) -> dict[float, float]:
        """Return the share of planted pages that are found, by pages of so much similarity with
        them.
        """
        shares = {}
        for similarity in PLANTED_SIMILARITIES:
            rng = np.random.default_rng([5, int(similarity * 100)])
            found = 0
            for number, plant in enumerate(islice(unrelated_pages(), count)):
                page = plant if similarity == 1 else similar_page(plant, similarity, rng)
                query = self._query(0, number, as_fingerprint(page), pages, "")
                found += any(record.url_key == plant.digest for record in store.find([query])[0])
            shares[similarity] = found / count
        return shares

    def _query(self, draw: int, row: int, page: Fingerprint, pages: int, scope_key: str) -> Query:
        query = query_of(self._maker, URL.format(draw, row), page, pages, scope_key)
        return query if self._urls else replace(query, record=replace(query.record, url=""))


def query_of(
    maker: QueryBuilder, url: str, page: Fingerprint, pages: int, scope_key: str | None = None
) -> Query:
    subject = Subject(Asked(url, text="", scope_key=scope_key), page)
    return maker.queries([subject], NO_KEY, pages)[0]


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
    """Return fingerprints of the pages of corpora that don't resemble the ones before."""
    new: list[Fingerprint] = []
    store = make_store("memory://", LAYOUT)
    store.open()
    for file in files:
        for document in read_corpus(file).documents:
            page = fingerprint(document.text)
            (answer,) = store.check([query_of(maker, document.url, page, len(new))])
            if not page.thin and getattr(answer, "kind", None) is Kind.NEW:
                new.append(page)
    # A measurement takes the first of them: those of all corpora alike.
    Random(3).shuffle(new)
    return new
