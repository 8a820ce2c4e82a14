"""The Redis index: bytes a page, time of a check, and what a hundred million pages are like.

    python benchmarks/redis_index.py memory --pages 1000000
    python benchmarks/redis_index.py time --pages 1000000,10000000 --real CORPUS.pages.jsonl [...]
    python benchmarks/redis_index.py scale --pages 1000000,10000000,100000000 --dump index.rdb
    python benchmarks/redis_index.py scale --use index.rdb

Each starts a redis-server of its own on a free port and fills it through `Store.load` with random fingerprints
and, but for `scale`, URLs of 79 bytes. The server has one core to itself and the clients another one, where there
are two. Time and memory are what the server itself reports: `script us` is the time inside scripts (for peers:
inside their commands) by the clock, `CPU us` all processor time of its main thread, network and parsing included.
Where the former is more, other programs had the core meanwhile: `--repeat 5` shows the run of the least script time.

`time` asks new pages, as `Deduplicator` would, the dearest case: random ones, and real ones against the random
index. Of each corpus those pages count that are new beside its other pages (`real`); `real, copies too` asks all
of them. The queries are prepared before the clock starts. `scale` counts how many planted pages are
found: near duplicates made by the flip model, and exact copies. Rows for more pages than were loaded are computed
from the curve, and marked so.

`--dump` saves a filled server, `--use` measures it again.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import re
import sys
import time
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from itertools import count as counter
from multiprocessing import get_context
from pathlib import Path
from random import Random
from threading import BrokenBarrierError
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import redis
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.peers import how_to_install, load
from benchmarks.redis_peers import DatasketchIndex, PlainTables, random_signatures
from crawldedup.errors import CrawlDedupError
from crawldedup.evaluation import read_corpus
from crawldedup.hashing.fingerprint import VERIFY_BITS, Fingerprint, fingerprint
from crawldedup.methods.two_stage import TABLES, TwoStage
from crawldedup.queries import QueryMaker
from crawldedup.stores.base import DIGEST_MASK, FOR_EVER, Layout, Query, Record, Status, choose_pages, pack_key
from crawldedup.stores.memory import MemoryStore
from crawldedup.stores.registry import make_store
from tests.servers import RedisServer
from tests.stores.pages import random_page, similar_page

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from multiprocessing.synchronize import Barrier

    from numpy.typing import NDArray

    from crawldedup.stores.base import Answer, Store
    from tests.stores.pages import Page

LAYOUT = Layout("bench", "bench", TABLES, VERIFY_BITS // 8)
METHOD = TwoStage()
ABOUT = "benchmark"
"""A key of the server beside the index: what it was filled with."""
CHUNK = 50_000
"""Pages that one process makes and loads at a time."""
LOAD_BATCH = 2_000
WARM_UP = 300
PREPARATION_SECONDS = 300
SAMPLE = 5_000
"""Keys of a kind whose memory is asked for."""
SINCE_1970 = 1_760_000_000
URL = "https://www.example.com/section/{:020d}/page-{:012d}.html?n=0"
PLANTED_SIMILARITIES = (0.9, 0.93, 0.97)
COMPUTED_PAGES = 10**9

SERVER_CORE, CLIENT_CORE = 0, 1
ENOUGH_CORES = len(os.sched_getaffinity(0)) > 1

PARTS = {"t": "tables", "f": "filter", "u": "URL table", "r": "records"}
"""By the letters that follow the prefix in a key's name."""
OTHER = "other"


# --- the server and what it says of itself --------------------------------------------------------------------------


class IndexServer(RedisServer):
    """A server on a core of its own, which may read a large file at its start."""

    def start(self) -> None:
        with pinned(SERVER_CORE):
            try:
                super().start()
            except redis.BusyLoadingError:
                self._wait_until_loaded()

    def _wait_until_loaded(self) -> None:
        while True:
            try:
                self.reader().ping()
                return
            except redis.BusyLoadingError:
                time.sleep(0.5)

    def reader(self) -> redis.Redis:
        return redis.Redis.from_url(self.url, decode_responses=True, socket_timeout=None)


@contextlib.contextmanager
def pinned(core: int) -> Iterator[None]:
    """This process, and those it starts meanwhile, on one core; of a single core all share it."""
    before = os.sched_getaffinity(0)
    if ENOUGH_CORES:
        os.sched_setaffinity(0, {sorted(before)[core]})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@dataclass(frozen=True)
class Reading:
    """What a server has counted; or between two readings."""

    microseconds: float
    """Inside scripts, or inside all commands if there are no scripts."""
    calls: int
    cpu_microseconds: float
    bytes_in: int
    bytes_out: int

    def __sub__(self, earlier: Reading) -> Reading:
        return Reading(
            self.microseconds - earlier.microseconds,
            self.calls - earlier.calls,
            self.cpu_microseconds - earlier.cpu_microseconds,
            self.bytes_in - earlier.bytes_in,
            self.bytes_out - earlier.bytes_out,
        )


SCRIPT_COMMANDS = ("cmdstat_evalsha", "cmdstat_eval", "cmdstat_evalsha_ro", "cmdstat_fcall")
OWN_COMMANDS = ("cmdstat_info", "cmdstat_config", "cmdstat_ping", "cmdstat_scan", "cmdstat_memory", "cmdstat_client")


def read_counters(client: redis.Redis) -> Reading:
    info: dict[str, Any] = client.info("everything")
    commands: dict[str, Any] = {
        name: stats for name, stats in info.items() if name.startswith("cmdstat_") and not name.startswith(OWN_COMMANDS)
    }
    counted = [commands[name] for name in SCRIPT_COMMANDS if name in commands] or list(commands.values())
    return Reading(
        sum(stats["usec"] for stats in counted),
        sum(stats["calls"] for stats in counted),
        (info["used_cpu_user_main_thread"] + info["used_cpu_sys_main_thread"]) * 1e6,
        info["total_net_input_bytes"],
        info["total_net_output_bytes"],
    )


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


def read_memory(client: redis.Redis, pages: int, url_bytes: int, empty: int) -> Memory:
    """Ask for the memory of a sample of the keys of each kind; what is left over is the dictionary that holds them."""
    random = Random(1)
    keys: Counter[str] = Counter()
    samples: dict[str, list[bytes]] = {}
    raw = redis.Redis(connection_pool=redis.ConnectionPool(**_raw_options(client)))
    for key in raw.scan_iter(count=10_000):
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
        pipeline = raw.pipeline(transaction=False)
        for key in sample:
            pipeline.memory_usage(key, samples=0)
        usage[name] = keys[name] * sum(size or 0 for size in pipeline.execute()) / len(sample)
    used = used_memory(client) - empty
    rest_a_key = (used - sum(usage.values())) / max(keys.total(), 1)
    names = [*PARTS.values(), OTHER]
    parts = [Part(name, keys[name], usage[name], usage[name] + rest_a_key * keys[name]) for name in names if keys[name]]
    info: dict[str, Any] = client.info("memory")
    return Memory(pages, url_bytes, parts, used, info["used_memory_rss"])


def used_memory(client: redis.Redis) -> int:
    """Bytes the server uses, without the buffers of its clients."""
    info: dict[str, Any] = client.info("memory")
    return int(info["used_memory"] - info["mem_clients_normal"])


def _raw_options(client: redis.Redis) -> dict[str, Any]:
    return {**client.connection_pool.connection_kwargs, "decode_responses": False}


# --- filling an index -----------------------------------------------------------------------------------------------


def random_records(start: int, count: int, urls: bool) -> list[Record]:
    """Records of unrelated pages, the same for the same `start`."""
    rng = np.random.default_rng(start)
    numbers = rng.integers(0, 1 << 64, (count, 3), np.uint64, endpoint=False).tolist()
    signatures, size = rng.bytes(count * LAYOUT.signature_bytes), LAYOUT.signature_bytes
    return [
        Record(
            url=URL.format(url_key, start + row) if urls else "",
            url_key=url_key,
            search=search,
            signature=signatures[row * size : row * size + size],
            digest=digest & DIGEST_MASK,
            added_at=SINCE_1970,
            seen_at=SINCE_1970,
            copies=0,
        )
        for row, (url_key, search, digest) in enumerate(numbers)
    ]


_loading: Store


def _start_loader(url: str) -> None:
    global _loading
    _loading = make_store(url, LAYOUT)
    _loading.open()


def _load_chunk(task: tuple[int, int, bool]) -> int:
    start, count, urls = task
    records = random_records(start, count, urls)
    for first in range(0, count, LOAD_BATCH):
        _loading.load(records[first : first + LOAD_BATCH])
    return count


@dataclass
class Index:
    """An index on a server of its own, and how it was filled."""

    server: IndexServer
    urls: bool
    empty: int
    """The server's memory before the first page, in bytes."""
    loaded: int = 0
    load_seconds: float = 0.0

    def grow(self, pages: int, loaders: int) -> None:
        """Load random pages until so many were loaded; first of all the pages that `recall_rows` looks for."""
        if not self.loaded:
            with store_of(self.server.url) as store:
                store.load([record_of(plant) for plant in self.plants()])
        starts = range(self.loaded, pages, CHUNK)
        tasks = [(start, min(CHUNK, pages - start), self.urls) for start in starts]
        started = time.perf_counter()
        with (
            pinned(CLIENT_CORE),
            get_context("spawn").Pool(loaders, _start_loader, (self.server.url,)) as pool,
            progress(f"loading {pages:,} pages", pages - self.loaded) as advance,
        ):
            for count in pool.imap_unordered(_load_chunk, tasks):
                advance(count)
        self.load_seconds += time.perf_counter() - started
        self.loaded = pages
        about = {"loaded": pages, "urls": self.urls, "empty": self.empty, "load_seconds": self.load_seconds}
        self.server.reader().set(ABOUT, json.dumps(about))

    def plants(self) -> list[Page]:
        rng = np.random.default_rng(4)
        return [random_page(rng) for _ in range(PLANTS)]

    def memory(self) -> Memory:
        url_bytes = len(URL.format(0, 0)) if self.urls else 0
        return read_memory(self.server.reader(), self.pages(), url_bytes, self.empty)

    def pages(self) -> int:
        with store_of(self.server.url) as store:
            return store.open()

    def save(self) -> None:
        """Write the file that the server was started with."""
        self.server.reader().save()


PLANTS = 2_000


@contextlib.contextmanager
def open_index(*, urls: bool, dump: Path | None = None, use: Path | None = None) -> Iterator[Index]:
    """A new index, or the one saved in the file `use`. What is filled can be saved as the file `dump`."""
    file = use or dump
    options = ["--rdbcompression", "no"]
    if file is not None:
        options += ("--dir", str(file.resolve().parent), "--dbfilename", file.name)
    with IndexServer(*options) as server:
        reader = server.reader()
        if use is not None:
            about = json.loads(reader.get(ABOUT) or "{}")
            if not about:
                sys.exit(f"{use} is no index that this benchmark has saved")
            yield Index(server, **about)
            return
        with store_of(server.url) as store:
            store.clear()  # brings the scripts there, which are no page's
        yield Index(server, urls, used_memory(reader))


@contextlib.contextmanager
def store_of(url: str) -> Iterator[Store]:
    store = make_store(url, LAYOUT)
    store.open()
    try:
        yield store
    finally:
        store.close()


@contextlib.contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda count: bar.advance(task, count)


# --- queries --------------------------------------------------------------------------------------------------------


class Queries:
    """Questions about pages that an index of `known` pages does not know: nothing is asked twice."""

    def __init__(self, maker: QueryMaker, known: int, *, urls: bool = True) -> None:
        self._maker = maker
        self._urls = urls
        # A saved index holds what was asked before it was saved.
        self._drawn = counter(known + 1)

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
        query = self._maker.query(URL.format(draw, row), page, pages=pages, scope_key=scope_key)
        return query if self._urls else replace(query, entry=replace(query.entry, url=""))


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


def record_of(page: Page) -> Record:
    """A planted page as it is remembered; its URL key is its digest, uncut."""
    digest = page.digest & DIGEST_MASK
    return Record("", page.digest, page.search, page.signature, digest, SINCE_1970, SINCE_1970, 0)


def real_fingerprints(files: Sequence[Path], maker: QueryMaker) -> tuple[list[Fingerprint], list[Fingerprint]]:
    """Fingerprints of the pages of corpora: of those that are new beside the ones before, and of all."""
    new: list[Fingerprint] = []
    every: list[Fingerprint] = []
    store = MemoryStore(LAYOUT)
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
            if store.check_and_add(maker.query(document.url, page, pages=len(new))).status is Status.NEW:
                new.append(page)
    # A measurement takes the first of them: those of all corpora alike.
    Random(3).shuffle(new)
    Random(3).shuffle(every)
    return new, every


# --- asking ---------------------------------------------------------------------------------------------------------


class Asker(Protocol):
    """One connection to an index that is measured."""

    def ask(self, item: Any) -> Status:
        """Check and add."""


class OwnIndex:
    """One client of our index."""

    def __init__(self, url: str) -> None:
        self._store = make_store(url, LAYOUT)
        self._store.open()
        self.candidates = 0

    def ask(self, query: Query) -> Status:
        return self._noted(self._store.check_and_add(query))

    def ask_many(self, queries: Sequence[Query]) -> list[Status]:
        return [self._noted(answer) for answer in self._store.check_many(queries)]

    def _noted(self, answer: Answer) -> Status:
        self.candidates += answer.candidates
        return answer.status


@dataclass(frozen=True)
class Job:
    """What one client process does: `items` one by one, or in batches if `batch` is above 1."""

    asker: Callable[[str], Asker]
    url: str
    batch: int
    items: Sequence[Any]


@dataclass(frozen=True)
class Done:
    """What a client saw. Times in seconds; the two clock times compare between processes."""

    latencies: NDArray[np.float64]
    began: float
    ended: float
    statuses: Counter[Status]
    candidates: int


_together: Barrier


def _start_client(together: Barrier) -> None:
    global _together
    _together = together


def _ask_all(job: Job) -> Done:
    asker = job.asker(job.url)
    warm_up, items = job.items[:WARM_UP], job.items[WARM_UP:]
    for item in warm_up:
        asker.ask(item)
    before = getattr(asker, "candidates", 0)
    statuses: Counter[Status] = Counter()
    latencies = np.empty(-(-len(items) // job.batch))
    _together.wait()  # for the other clients
    _together.wait()  # for the first reading of the server's counters
    began = time.monotonic()
    for place, first in enumerate(range(0, len(items), job.batch)):
        started = time.perf_counter()
        if isinstance(asker, OwnIndex) and job.batch > 1:
            statuses.update(asker.ask_many(items[first : first + job.batch]))
        else:
            statuses[asker.ask(items[first])] += 1
        latencies[place] = time.perf_counter() - started
    ended = time.monotonic()
    return Done(latencies, began, ended, statuses, getattr(asker, "candidates", 0) - before)


@dataclass
class TimeRow:
    """Check-and-add, as the server and as the clients saw it; figures a check."""

    index: str
    pages: int
    queries: str
    clients: int
    batch: int
    checks: int
    checks_a_second: float
    script_microseconds: float
    cpu_microseconds: float
    p50_microseconds: float
    """Of a single check, or of a whole batch."""
    p99_microseconds: float
    calls: float
    bytes_in: float
    bytes_out: float
    probes: float | None
    candidates: float | None
    statuses: dict[str, int] = field(default_factory=dict)


def measure(
    server: IndexServer,
    asker: Callable[[str], Asker],
    items: Sequence[Any],
    *,
    index: str,
    pages: int,
    queries: str,
    clients: int = 1,
    batch: int = 1,
) -> TimeRow:
    """Let client processes share the items. The first WARM_UP of each are not counted."""
    context = get_context("spawn")
    # Not for ever: a client that fails would leave the others waiting.
    together = context.Barrier(clients + 1, timeout=PREPARATION_SECONDS)
    jobs = [Job(asker, server.url, batch, items[number::clients]) for number in range(clients)]
    reader = server.reader()
    with pinned(CLIENT_CORE), context.Pool(clients, _start_client, (together,)) as pool:
        running = pool.map_async(_ask_all, jobs, chunksize=1)
        while together.n_waiting < clients and not running.ready():
            time.sleep(0.01)
        with contextlib.suppress(BrokenBarrierError):
            if not running.ready():
                together.wait()
                before = read_counters(reader)
                together.wait()
        done = running.get()
        spent = read_counters(reader) - before
    checks = sum(client.statuses.total() for client in done)
    latencies = np.concatenate([client.latencies for client in done]) * 1e6
    statuses = sum((client.statuses for client in done), Counter[Status]())
    candidates = sum(client.candidates for client in done)
    own = asker is OwnIndex
    return TimeRow(
        index=index,
        pages=pages,
        queries=queries,
        clients=clients,
        batch=batch,
        checks=checks,
        checks_a_second=checks / (max(client.ended for client in done) - min(client.began for client in done)),
        script_microseconds=spent.microseconds / checks,
        cpu_microseconds=spent.cpu_microseconds / checks,
        p50_microseconds=float(np.percentile(latencies, 50)),
        p99_microseconds=float(np.percentile(latencies, 99)),
        calls=spent.calls / checks,
        bytes_in=spent.bytes_in / checks,
        bytes_out=spent.bytes_out / checks,
        probes=float(np.mean([len(item.plan) for item in items])) if isinstance(items[0], Query) else None,
        candidates=candidates / checks if own else None,
        statuses={status.value: number for status, number in statuses.items()},
    )


@dataclass
class RecallRow:
    """Share of planted pages that are found: as the server does, and as ranges and rules of the queries alone tell."""

    pages: int
    similarity: float
    """1 for exact copies, 0 for pages that are like none."""
    planted: int
    seen: float | None
    computed: float


def recall_rows(index: Index, queries: Queries, pages: int, *, ask: bool = True) -> list[RecallRow]:
    """Check pages that were made of the planted ones. With `ask` False the server is left alone."""
    rows = []
    plants = index.plants()
    for similarity in (*PLANTED_SIMILARITIES, 1.0):
        rng = np.random.default_rng([5, int(similarity * 100)])
        seen = computed = 0
        with store_of(index.server.url) as store:
            for number, plant in enumerate(plants):
                page = plant if similarity == 1 else similar_page(plant, similarity, rng)
                query = queries.about(page, number, pages)
                computed += meets(query, plant)
                if ask:
                    found = store.find(query)
                    seen += any(record.url_key == plant.digest for record in found)
        share = len(plants)
        rows.append(RecallRow(pages, similarity, share, seen / share if ask else None, computed / share))
    return rows


def meets(query: Query, plant: Page) -> bool:
    """True if the planted page lies in the ranges and is accepted, all other pages aside."""
    plan, keys = query.plan, np.array(LAYOUT.keys(plant.search, plant.signature), np.uint64)
    own = keys.take(plan.tables)
    hit = (plan.lows <= own) & (own <= plan.highs)
    packed = np.array([pack_key(key, 0) for key in own[hit].tolist()], np.uint64)
    return bool(choose_pages(query, LAYOUT, plan.tables[hit], packed)) and (
        query.rule.cost(query.entry.signature, plant.signature) <= query.rule.limit
    )


# --- commands -------------------------------------------------------------------------------------------------------


@dataclass
class PeerMemory:
    index: str
    holds: str
    pages: int
    bytes_a_page: float


def memory(arguments: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Bytes a page, by part, and of the peers."""
    with open_index(urls=not arguments.no_urls, dump=arguments.dump, use=arguments.use) as index:
        if arguments.use is None:
            index.grow(arguments.pages[-1], arguments.loaders)
        if arguments.dump:
            index.save()
        own = index.memory()
        version = server_name(index.server)
    peers = [] if arguments.no_peers else list(peer_memories(arguments))
    show_memory(console, version, [own])
    table = make_table(f"{version}: bytes a page, other layouts", "layout", "holds", "pages", "bytes a page")
    ours = own.used / own.pages
    table.add_row("crawldedup", f"fingerprint, record, URL ({own.url_bytes} bytes)", f"{own.pages:,}", f"{ours:.1f}")
    for peer in peers:
        table.add_row(peer.index, peer.holds, f"{peer.pages:,}", f"{peer.bytes_a_page:,.1f}")
    console.print(table)
    return {"server": version, "memory": asdict(own), "peers": [asdict(peer) for peer in peers]}


def peer_memories(arguments: argparse.Namespace) -> Iterator[PeerMemory]:
    for tables in (4, 2):
        name = f"{tables} tables, one sorted set each"
        with IndexServer() as server:
            yield filled_peer(server, PlainTables(server.url, tables), name, "fingerprint", arguments.peer_pages)
    with IndexServer() as server:
        peer = DatasketchIndex(server.url)
        holds = "band hashes, page number"
        yield filled_peer(server, peer, peer.name, holds, arguments.datasketch_pages)


def filled_peer(
    server: IndexServer, peer: PlainTables | DatasketchIndex, name: str, holds: str, pages: int
) -> PeerMemory:
    client = server.reader()
    before = used_memory(client)
    with pinned(CLIENT_CORE), progress(f"filling {name}", pages) as advance:
        peer.fill(pages, advance)
    return PeerMemory(name, holds, pages, (used_memory(client) - before) / pages)


def time_(arguments: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Check-and-add of new pages, and of the peers."""
    maker = query_maker(arguments)
    new, every = real_fingerprints(arguments.real, maker)
    rows: list[TimeRow] = []
    with open_index(urls=not arguments.no_urls, dump=arguments.dump, use=arguments.use) as index:
        version = server_name(index.server)
        queries = Queries(maker, index.pages(), urls=index.urls)
        for pages in sizes(index, arguments):
            rows += own_rows(index, queries, pages, arguments, new, every)
        if arguments.dump:
            index.save()
    if not arguments.no_peers:
        rows += plain_rows(Queries(maker, 0), arguments)
        rows.append(datasketch_row(arguments))
    show_time(console, f"{version}: check-and-add, similarity {arguments.similarity:g}", rows)
    show_ratios(console, rows)
    return {"server": version, "rows": [asdict(row) for row in rows]}


def sizes(index: Index, arguments: argparse.Namespace) -> Iterator[int]:
    """The sizes to measure at, the index grown to each; of a saved index the one it has."""
    if arguments.use is not None:
        yield index.loaded
        return
    for pages in arguments.pages:
        index.grow(pages, arguments.loaders)
        yield pages


def own_rows(
    index: Index,
    queries: Queries,
    pages: int,
    arguments: argparse.Namespace,
    new: Sequence[Fingerprint],
    every: Sequence[Fingerprint],
) -> Iterator[TimeRow]:
    kinds: list[tuple[str, Callable[[int], list[Query]]]] = [
        ("random", lambda count: queries.random(pages, count)),
        ("real", lambda count: queries.real(new, pages, count)),
        ("real, copies too", lambda count: queries.real(every, pages, count)),
    ]
    ways = [(clients, 1) for clients in arguments.clients] + [(1, batch) for batch in arguments.batch]
    for name, make in kinds if new else kinds[:1]:
        for clients, batch in ways:
            runs = [
                measure(
                    index.server,
                    OwnIndex,
                    make(arguments.checks + WARM_UP * clients),
                    index="crawldedup",
                    pages=pages,
                    queries=name,
                    clients=clients,
                    batch=batch,
                )
                for _ in range(arguments.repeat)
            ]
            yield min(runs, key=lambda row: row.script_microseconds)


def plain_rows(queries: Queries, arguments: argparse.Namespace) -> Iterator[TimeRow]:
    with IndexServer() as server:
        with pinned(CLIENT_CORE), progress("filling plain tables", arguments.peer_pages) as advance:
            PlainTables(server.url).fill(arguments.peer_pages, advance)
        items = queries.random(arguments.peer_pages, arguments.checks + WARM_UP)
        yield measure(
            server, PlainTables, items, index="2 sorted sets, pipelined", pages=arguments.peer_pages, queries="random"
        )


def datasketch_row(arguments: argparse.Namespace) -> TimeRow:
    pages = arguments.datasketch_pages
    with IndexServer() as server:
        peer = DatasketchIndex(server.url)
        with pinned(CLIENT_CORE), progress("filling datasketch", pages) as advance:
            peer.fill(pages, advance)
        signatures = random_signatures(np.random.default_rng(2), min(arguments.checks, 2_000) + WARM_UP)
        items = [(pages + number, values) for number, values in enumerate(signatures)]
        return measure(server, DatasketchIndex, items, index=peer.name, pages=pages, queries="random")


def scale(arguments: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Memory, time and recall as the index grows, and what follows for a thousand million pages."""
    memories: list[Memory] = []
    times: list[TimeRow] = []
    recalls: list[RecallRow] = []
    with open_index(urls=arguments.urls, dump=arguments.dump, use=arguments.use) as index:
        version = server_name(index.server)
        queries = Queries(query_maker(arguments), index.pages(), urls=index.urls)
        for pages in sizes(index, arguments):
            memories.append(index.memory())
            if arguments.dump and pages == arguments.pages[-1]:
                index.save()
            recalls += recall_rows(index, queries, pages)
            times += own_rows(index, queries, pages, arguments, (), ())
        loaded_a_second = index.loaded / index.load_seconds if index.load_seconds else 0.0
        recalls += recall_rows(index, queries, COMPUTED_PAGES, ask=False)
    computed = computed_memory(memories) if len(memories) > 1 else None
    show_memory(console, version, memories, computed)
    show_time(console, f"{version}: check-and-add of random pages", times)
    computed_us = computed_time(times)
    if computed_us is not None:
        console.print(f"{COMPUTED_PAGES:,} pages: {computed_us:.0f} script us a check (computed)")
    show_recall(console, recalls)
    console.print(f"loaded {loaded_a_second:,.0f} pages a second")
    return {
        "server": version,
        "memory": [asdict(row) for row in memories],
        "computed_memory": computed and asdict(computed),
        "time": [asdict(row) for row in times],
        "computed_script_microseconds": computed_us,
        "recall": [asdict(row) for row in recalls],
        "loaded_a_second": loaded_a_second,
    }


def on_the_curve(pages: Sequence[int], values: Sequence[float], wanted: int) -> float:
    """The straight line through the values over the logarithm of the pages, at `wanted` pages.

    No less than the last value: what goes up and down with the powers of two must not be taken for a fall.
    """
    slope, level = np.polyfit(np.log10(pages), values, 1)
    return max(float(slope * math.log10(wanted) + level), values[-1])


def computed_memory(memories: Sequence[Memory]) -> Memory:
    """What COMPUTED_PAGES take: keys and bytes a page of each part on its curve, and the dictionary by its rule."""
    pages = [memory.pages for memory in memories]
    names = [part.name for part in memories[-1].parts if part.name != OTHER]

    def computed(values: Sequence[float]) -> float:
        return COMPUTED_PAGES * on_the_curve(pages, np.divide(values, pages).tolist(), COMPUTED_PAGES)

    keys = {name: round(computed([memory.part(name).keys for memory in memories])) for name in names}
    usage = {name: computed([memory.part(name).usage for memory in memories]) for name in names}
    # A server has the least power of two of slots, of 8 bytes, that is no less than the number of keys.
    all_keys = sum(keys.values())
    slot_bytes_a_key = 8 * 2 ** math.ceil(math.log2(all_keys)) / all_keys
    parts = [Part(name, keys[name], usage[name], usage[name] + slot_bytes_a_key * keys[name]) for name in names]
    used = round(sum(part.whole for part in parts))
    resident = round(used * memories[-1].resident / memories[-1].used)
    return Memory(COMPUTED_PAGES, memories[-1].url_bytes, parts, used, resident)


def computed_time(rows: Sequence[TimeRow]) -> float | None:
    single = [row for row in rows if row.batch == 1 and row.clients == 1]
    if len(single) < 2:
        return None
    return on_the_curve([row.pages for row in single], [row.script_microseconds for row in single], COMPUTED_PAGES)


# --- tables ---------------------------------------------------------------------------------------------------------


def make_table(title: str, *headings: str) -> Table:
    table = Table(title=title)
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="left" if place == 0 else "right")
    return table


def show_memory(console: Console, version: str, measured: Sequence[Memory], computed: Memory | None = None) -> None:
    """Bytes a page; with the dictionary of keys, and in brackets without."""
    rows = [*measured, computed] if computed else list(measured)
    headings = [f"{row.pages:,}{' (computed)' if row is computed else ''}" for row in rows]
    title = f"{version}: bytes a page, with the dictionary of keys (as MEMORY USAGE has it); keys a page"
    table = make_table(title, "part", *headings)

    def cell(row: Memory, name: str, less: float = 0.0) -> str:
        part = row.part(name)
        whole, usage = part.whole / row.pages - less, part.usage / row.pages - less
        return f"{whole:.1f} ({usage:.1f}); {part.keys / row.pages:.4f}"

    for name in [*PARTS.values(), OTHER]:
        if any(row.part(name).keys for row in rows):
            table.add_row(name, *(cell(row, name) for row in rows))
        if name == "records" and any(row.url_bytes for row in rows):
            table.add_row("records beyond the URL", *(cell(row, name, row.url_bytes) for row in rows))
    table.add_section()
    table.add_row("all (used_memory)", *(f"{row.used / row.pages:.1f}" for row in rows))
    table.add_row("resident", *(f"{row.resident / row.pages:.1f}" for row in rows))
    table.add_row("all, GB", *(f"{row.used / 1e9:,.2f}" for row in rows))
    console.print(table)


def show_time(console: Console, title: str, rows: Sequence[TimeRow]) -> None:
    table = make_table(
        f"{title}; figures a check, p50 and p99 of a single check or a whole batch",
        *("index", "pages", "queries", "clients", "batch", "checks/s", "script us", "CPU us", "p50 us", "p99 us"),
        *("calls", "bytes in, out", "probes", "compared", "checks", "new"),
    )
    for row in rows:
        table.add_row(
            row.index,
            f"{row.pages:,}",
            row.queries,
            str(row.clients),
            str(row.batch),
            f"{row.checks_a_second:,.0f}",
            f"{row.script_microseconds:.0f}",
            f"{row.cpu_microseconds:.0f}",
            f"{row.p50_microseconds:.0f}",
            f"{row.p99_microseconds:.0f}",
            f"{row.calls:.2f}",
            f"{row.bytes_in:.0f}, {row.bytes_out:.0f}",
            "" if row.probes is None else f"{row.probes:.1f}",
            "" if row.candidates is None else f"{row.candidates:.2f}",
            f"{row.checks:,}",
            f"{row.statuses.get('new', 0) / row.checks:.1%}",
        )
    console.print(table)


def show_ratios(console: Console, rows: Sequence[TimeRow]) -> None:
    """How much longer a check takes in the largest index than in the smallest."""
    own = [row for row in rows if row.index == "crawldedup"]
    smallest, largest = min(row.pages for row in own), max(row.pages for row in own)
    if smallest == largest:
        return
    by_size = {(row.queries, row.clients, row.batch, row.pages): row.script_microseconds for row in own}
    for queries, clients, batch, pages in by_size:
        if pages == largest and clients == 1:
            ratio = by_size[queries, clients, batch, largest] / by_size[queries, clients, batch, smallest]
            way = f"batches of {batch}" if batch > 1 else "single"
            console.print(f"{queries}, {way}: {largest:,} pages take {ratio:.2f} times the script time of {smallest:,}")


def show_recall(console: Console, rows: Sequence[RecallRow]) -> None:
    table = make_table(
        "planted pages that are found: seen (computed)",
        *("pages", *(f"J {similarity:g}" for similarity in PLANTED_SIMILARITIES), "exact copies"),
    )
    for pages in dict.fromkeys(row.pages for row in rows):
        of_size = [row for row in rows if row.pages == pages]
        cells = [f"{'' if row.seen is None else f'{row.seen:.2%} '}({row.computed:.2%})" for row in of_size]
        table.add_row(f"{pages:,}", *cells)
    console.print(table)


# --- the command line -----------------------------------------------------------------------------------------------


def query_maker(arguments: argparse.Namespace) -> QueryMaker:
    return QueryMaker(METHOD, "global", arguments.similarity, arguments.recall, FOR_EVER)


def server_name(server: IndexServer) -> str:
    info: dict[str, Any] = server.reader().info("server")
    return f"{'valkey' if 'valkey_version' in info else 'redis'} {info.get('valkey_version', info['redis_version'])}"


def numbers(text: str) -> list[int]:
    """Whole numbers with commas between them, ascending."""
    return sorted(int(number) for number in text.split(","))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--loaders", type=int, default=2, help="processes that load pages")
    common.add_argument("--dump", type=Path, metavar="FILE", help="save the filled server as this new file")
    common.add_argument("--use", type=Path, metavar="FILE", help="measure the server that is saved in this file")
    common.add_argument("--json", action="store_true", help="print JSON instead of tables")
    peers = argparse.ArgumentParser(add_help=False)
    peers.add_argument("--no-urls", action="store_true", help="pages without URLs")
    peers.add_argument("--no-peers", action="store_true")
    peers.add_argument("--peer-pages", type=int, default=1_000_000, help="pages of the plain layout")
    peers.add_argument("--datasketch-pages", type=int, default=20_000)
    asking = argparse.ArgumentParser(add_help=False)
    asking.add_argument("--similarity", type=float, default=0.9)
    asking.add_argument("--recall", type=float, default=0.98)
    asking.add_argument("--checks", type=int, default=10_000, help="checks of each measurement")
    asking.add_argument("--repeat", type=int, default=1, help="measure so often, show the run of the least script time")
    asking.add_argument("--clients", type=numbers, default=[1, 4], help="numbers of client processes")
    asking.add_argument("--batch", type=numbers, default=[100], help="sizes of batches")
    commands = parser.add_subparsers(dest="command", required=True)
    add = commands.add_parser("memory", parents=[common, peers], help=memory.__doc__)
    add.add_argument("--pages", type=numbers, default=[1_000_000])
    add = commands.add_parser("time", parents=[common, peers, asking], help=time_.__doc__)
    add.add_argument("--pages", type=numbers, default=[1_000_000, 10_000_000])
    add.add_argument("--real", type=Path, nargs="+", default=[], metavar="CORPUS", help="as for `crawldedup scan`")
    add = commands.add_parser("scale", parents=[common, asking], help=scale.__doc__)
    add.add_argument("--pages", type=numbers, default=[1_000_000, 10_000_000, 100_000_000])
    add.add_argument("--urls", action="store_true", help="pages with URLs")
    arguments = parser.parse_args()
    if arguments.dump and arguments.dump.exists():
        parser.error(f"{arguments.dump} is there already: remove it, or measure it with --use")
    if arguments.use and not arguments.use.is_file():
        parser.error(f"{arguments.use} is no file")
    if arguments.use and arguments.dump:
        parser.error("--dump saves what was loaded anew, so it cannot go with --use")
    if not getattr(arguments, "no_peers", True) and load("datasketch", "datasketch") is None:
        parser.error(f"datasketch is not here: {how_to_install('datasketch')}, or leave the peers out with --no-peers")
    return arguments


COMMANDS: dict[str, Callable[[argparse.Namespace, Console], dict[str, Any]]] = {
    "memory": memory,
    "time": time_,
    "scale": scale,
}


def main() -> None:
    arguments = parse()
    # With --json, tables are for whoever watches.
    console = Console(markup=False, width=190, stderr=arguments.json)
    busy, _, _ = os.getloadavg()
    figures = {**COMMANDS[arguments.command](arguments, console), "load_average": busy}
    console.print(f"other programs on the machine, before: load average {busy:.1f}")
    if arguments.json:
        print(json.dumps(figures))


if __name__ == "__main__":
    main()
