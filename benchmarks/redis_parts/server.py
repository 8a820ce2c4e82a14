"""A Redis server to be measured: a core of its own, what it says of itself, and the clients that keep it busy.

Time and memory are what the server itself reports. `script us` is the time inside scripts (for indexes without any:
inside their commands) by the clock, `CPU us` all processor time of its main thread, network and parsing included. Where
the former is more, other programs had the core meanwhile.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter
from dataclasses import dataclass, field
from multiprocessing import get_context
from threading import BrokenBarrierError
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import redis

from crawldedup.stores.base import Query, Status
from tests.servers import RedisServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from multiprocessing.synchronize import Barrier

    from numpy.typing import NDArray


WARM_UP = 300
"""Questions of each client that are not counted."""
PREPARATION_SECONDS = 300

SERVER_CORE, CLIENT_CORE = 0, 1
ENOUGH_CORES = len(os.sched_getaffinity(0)) > 1


SCRIPT_COMMANDS = ("cmdstat_evalsha", "cmdstat_eval", "cmdstat_evalsha_ro", "cmdstat_fcall")
OWN_COMMANDS = ("cmdstat_info", "cmdstat_config", "cmdstat_ping", "cmdstat_scan", "cmdstat_memory", "cmdstat_client")


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
            f"{'valkey' if 'valkey_version' in info else 'redis'} {info.get('valkey_version', info['redis_version'])}"
        )

    def used_memory(self) -> int:
        """Bytes the server uses, without the buffers of its clients."""
        info: dict[str, Any] = self.reader().info("memory")
        return int(info["used_memory"] - info["mem_clients_normal"])


@contextlib.contextmanager
def pinned(core: int) -> Iterator[None]:
    """This thread, and what it starts meanwhile, on one core; of a single core all share it."""
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


class Asker(Protocol):
    """One connection to an index that is measured."""

    @property
    def candidates(self) -> int | None:
        """Records compared so far, if that is known."""

    def ask(self, items: Sequence[Any]) -> list[Status]:
        """Check and add each; together, if there are several."""


@dataclass(frozen=True)
class Job:
    """What one client process does: to ask about the items, `batch` at a time."""

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
    candidates: int | None


_together: Barrier


def _start_client(together: Barrier) -> None:
    global _together
    _together = together


def _ask_all(job: Job) -> Done:
    asker = job.asker(job.url)
    warm_up, items = job.items[:WARM_UP], job.items[WARM_UP:]
    for item in warm_up:
        asker.ask([item])
    before = asker.candidates
    statuses: Counter[Status] = Counter()
    latencies = np.empty(-(-len(items) // job.batch))
    _together.wait()  # for the other clients
    _together.wait()  # for the first reading of the server's counters
    began = time.monotonic()
    for place, first in enumerate(range(0, len(items), job.batch)):
        started = time.perf_counter()
        statuses.update(asker.ask(items[first : first + job.batch]))
        latencies[place] = time.perf_counter() - started
    ended = time.monotonic()
    compared = None if before is None or asker.candidates is None else asker.candidates - before
    return Done(latencies, began, ended, statuses, compared)


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
    compared = [client.candidates for client in done if client.candidates is not None]
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
        candidates=sum(compared) / checks if compared else None,
        statuses={status.value: number for status, number in statuses.items()},
    )
