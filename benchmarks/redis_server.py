"""A Redis server to be measured: a core of its own, what it says of itself, and the clients that keep it busy.

Time and memory are what the server itself reports. `script us` is the time inside scripts (for indexes without any:
inside their commands) by the clock, `CPU us` all processor time of its main thread, network and parsing included. Where
the former is more, other programs had the core meanwhile.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections import Counter
from dataclasses import dataclass, field
from multiprocessing import get_context
from random import Random
from threading import BrokenBarrierError
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import redis

from benchmarks.common import make_table
from crawldedup.stores.base import Query, Status
from tests.servers import RedisServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from multiprocessing.synchronize import Barrier

    from numpy.typing import NDArray
    from rich.console import Console


WARM_UP = 300
"""Questions of each client that are not counted."""
PREPARATION_SECONDS = 300
SAMPLE = 5_000
"""Keys of a kind whose memory is asked for."""

SERVER_CORE, CLIENT_CORE = 0, 1
ENOUGH_CORES = len(os.sched_getaffinity(0)) > 1

PARTS = {"t": "tables", "f": "filter", "u": "URL table", "r": "records"}
"""By the letters that follow the epoch in a key's name."""
OTHER = "other"

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


# --- memory ---------------------------------------------------------------------------------------------------------


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


# --- time -----------------------------------------------------------------------------------------------------------


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


# --- tables ---------------------------------------------------------------------------------------------------------


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
