"""Compare one Redis server with a cluster of three masters: checks a second, time of each master, and the fan-out.

    python benchmarks/redis_cluster.py
    python benchmarks/redis_cluster.py --clients 8 --pages 20000 --json

Starts one redis-server, then a cluster of three masters with a replica each, all on this machine. Client processes ask
random pages and near duplicates of them in turn, half of each: of one place each (a site of its own, one script
call), or of the global scope, which is spread over all masters. As many of each are in the index beforehand.

Where there are fewer cores than servers and clients, checks a second say little: all wait for the same cores. What
a master's processor spends on a check (`CPU us`, network and parsing included) tells what it would carry with a
core to itself.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.shared.common import make_parser, run
from crawldedup.stores.cluster.store import ClusterStore
from crawldedup.stores.registry import make_store
from tests.servers import ClusterSetup, RedisServer
from tests.stores.pages import LAYOUT, near_page, query, random_page

if TYPE_CHECKING:
    from collections.abc import Sequence
    from multiprocessing.queues import Queue
    from multiprocessing.synchronize import Barrier

    from crawldedup.stores.base import Query

URL_PADDING = "x" * 50
WARM_UP = 40
PREPARATION_SECONDS = 600


@dataclass(frozen=True)
class Kind:
    """Where pages are kept, and which: those of a place of their own, or those of the global scope."""

    name: str
    url: str
    masters: Sequence[RedisServer]
    placed: bool


@dataclass(frozen=True)
class Row:
    """What was measured of one kind."""

    kind: str
    checks: int
    checks_a_second: float
    p50_milliseconds: float
    p99_milliseconds: float
    cpu_microseconds: list[float]
    """Of each master, a check."""
    calls: float
    rounds: float


@dataclass(frozen=True)
class Share:
    """What one client process saw."""

    seconds: list[float]
    calls: int
    rounds: int


def questions(seed: int, count: int, *, placed: bool) -> list[Query]:
    """Half of them new pages, each followed by a near duplicate of it."""
    rng = np.random.default_rng(seed)
    asked = []
    for number in range(count // 2):
        page = random_page(rng)
        place = int(rng.integers(1 << 60)) if placed else None
        for text, name in ((page, "page"), (near_page(page), "copy")):
            url = f"https://example.com/{seed}/{number}/{name}/{URL_PADDING}"
            asked.append(replace(query(text, url, pages=100_000), shard_key=place))
    return asked


def ask(kind: Kind, seed: int, count: int, together: Barrier, told: Queue[Share]) -> None:
    """A client process: prepare, wait for the others, ask."""
    asked = questions(seed, count, placed=kind.placed)
    store = make_store(kind.url, LAYOUT)
    store.open()
    for question in asked[:WARM_UP]:
        store.find(question)
    before = fanout_of(store)
    together.wait(PREPARATION_SECONDS)
    seconds = []
    for question in asked:
        start = time.perf_counter()
        store.check_and_add(question)
        seconds.append(time.perf_counter() - start)
    together.wait(PREPARATION_SECONDS)
    calls, rounds = (after - earlier for after, earlier in zip(fanout_of(store), before, strict=True))
    store.close()
    told.put(Share(seconds, calls, rounds))


def fanout_of(store: object) -> tuple[int, int]:
    return (store.fanout.calls, store.fanout.rounds) if isinstance(store, ClusterStore) else (0, 0)


def cpu_seconds(server: RedisServer) -> float:
    spent: Any = server.client.info("cpu")
    return float(spent["used_cpu_user"] + spent["used_cpu_sys"])


def measure(kind: Kind, seed: int, clients: int, pages: int) -> Row:
    """Let so many client processes ask so many pages together."""
    context = multiprocessing.get_context("spawn")
    together, told = context.Barrier(clients + 1), context.Queue()
    each = pages // clients
    processes = [
        context.Process(target=ask, args=(replace(kind, masters=()), seed + number, each, together, told), daemon=True)
        for number in range(clients)
    ]
    for process in processes:
        process.start()
    together.wait(PREPARATION_SECONDS)
    before, start = [cpu_seconds(master) for master in kind.masters], time.perf_counter()
    together.wait(PREPARATION_SECONDS)
    seconds = time.perf_counter() - start
    spent = [cpu_seconds(master) - earlier for master, earlier in zip(kind.masters, before, strict=True)]
    shares = [told.get() for _ in processes]
    for process in processes:
        process.join()
    times = [one for share in shares for one in share.seconds]
    checks = len(times)
    p50, p99 = np.percentile(times, [50, 99])
    return Row(
        kind=kind.name,
        checks=checks,
        checks_a_second=round(checks / seconds, 1),
        p50_milliseconds=round(float(p50) * 1e3, 3),
        p99_milliseconds=round(float(p99) * 1e3, 3),
        cpu_microseconds=[round(one / checks * 1e6, 1) for one in spent],
        calls=round(sum(share.calls for share in shares) / checks, 2) if kind.url.startswith("redis+") else 1.0,
        rounds=round(sum(share.rounds for share in shares) / checks, 2) if kind.url.startswith("redis+") else 1.0,
    )


def measure_all(clients: int, pages: int) -> list[Row]:
    rows = []
    with RedisServer() as single, ClusterSetup() as cluster, Progress(console=Console(stderr=True)) as bar:
        masters = cluster.nodes[:3]
        kinds = [
            Kind("one server, pages with a place", single.url, [single], placed=True),
            Kind("three masters, pages with a place", cluster.url, masters, placed=True),
            Kind("one server, global scope", single.url, [single], placed=False),
            Kind("three masters, global scope", cluster.url, masters, placed=False),
        ]
        task = bar.add_task("asking", total=2 * len(kinds))
        for number, kind in enumerate(kinds):
            first_seed = 1000 * number
            measure(kind, first_seed, clients, pages)
            bar.advance(task)
            rows.append(measure(kind, first_seed + clients, clients, pages))
            bar.advance(task)
    return rows


def show(rows: Sequence[Row], out: Console) -> None:
    table = Table()
    table.add_column("kept by")
    for name in ("checks/s", "p50 ms", "p99 ms", "CPU us of each master a check", "script calls", "rounds"):
        table.add_column(name, justify="right")
    for row in rows:
        spent = " ".join(f"{one:.0f}" for one in row.cpu_microseconds)
        figures = (f"{row.checks_a_second:,.0f}", f"{row.p50_milliseconds:.2f}", f"{row.p99_milliseconds:.2f}", spent)
        table.add_row(row.kind, *figures, f"{row.calls:.1f}", f"{row.rounds:.1f}")
    out.print(table)
    for one, three in zip(rows[::2], rows[1::2], strict=True):
        ratio = max(one.cpu_microseconds) / max(three.cpu_microseconds)
        out.print(f"{three.kind}: {ratio:.1f} times the checks of one server, if each master has a core to itself")


def main(given: Sequence[str]) -> int:
    parser = make_parser(__doc__)
    parser.add_argument("--clients", type=int, default=4, help="client processes (default: 4)")
    parser.add_argument("--pages", type=int, default=8000, help="pages to ask of each kind (default: 8,000)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    arguments = parser.parse_args(given)
    if arguments.clients < 1 or arguments.pages < 2 * arguments.clients:
        parser.error("there must be a client at least, and two pages for each")
    rows = measure_all(arguments.clients, arguments.pages)
    if arguments.json:
        print(json.dumps({"cores": os.cpu_count(), "rows": [asdict(row) for row in rows]}))
    else:
        show(rows, Console(soft_wrap=True))
    return 0


if __name__ == "__main__":
    run(main, "--clients 1 --pages 20")
