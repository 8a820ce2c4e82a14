"""A Redis server to be measured: a core of its own, what it says of itself, and the clients that keep it busy.

Time and memory are what the server itself reports. `script us` is the time inside scripts by the clock, `CPU us` all
processor time of its main thread, network and parsing included. Where the former is more, other programs had the core
meanwhile.
"""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass
from multiprocessing import get_context
from threading import BrokenBarrierError
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import redis

from crawldedup.fingerprinting.fingerprint import VERIFY_BITS
from crawldedup.search.query import TABLES
from crawldedup.stores.base import Answer, Layout, Query, Status
from crawldedup.stores.registry import make_store
from tests.servers import RedisServer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from multiprocessing.synchronize import Barrier

    from numpy.typing import NDArray

    from crawldedup.stores.base import Store

LAYOUT: Final = Layout("bench", "bench", TABLES, VERIFY_BITS // 8)
PREFIX: Final = f"crawldedup:{{{LAYOUT.namespace}}}:"
WARM_UP: Final = 300
"""Questions of each client that are not counted."""
PREPARATION_SECONDS: Final = 300
SERVER_CORE, CLIENT_CORE = 0, 1
SCRIPT_COMMANDS: Final = ("cmdstat_evalsha", "cmdstat_eval", "cmdstat_evalsha_ro", "cmdstat_fcall")


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
        return f"valkey {info['valkey_version']}" if "valkey_version" in info else f"redis {info['redis_version']}"

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
def store_of(url: str) -> Iterator[Store]:
    """Open a store that waits longer than a crawl does: no hour's work is lost for one late answer."""
    store = make_store(f"{url}?socket_timeout=60", LAYOUT)
    store.open()
    try:
        yield store
    finally:
        store.close()


@dataclass(frozen=True)
class TimeRow:
    """Check-and-add, as the server and as the clients saw it. p50 and p99 are of a single check, or a whole batch."""

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
                new += answer.status is Status.NEW
        return Done(np.array(latencies), began, time.monotonic(), new)


def measure(
    server: IndexServer, queries: Sequence[Query], *, pages: int, kind: str, clients: int, batch: int
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
        script, cpu = (after - earlier for after, earlier in zip(_microseconds(reader), before, strict=True))
    checks = len(queries) - WARM_UP * clients
    latencies = np.concatenate([client.latencies for client in done]) * 1e6
    p50, p99 = np.percentile(latencies, (50, 99)).tolist()
    return TimeRow(
        pages=pages,
        queries=kind,
        clients=clients,
        batch=batch,
        checks_a_second=checks / (max(client.ended for client in done) - min(client.began for client in done)),
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
