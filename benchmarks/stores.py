"""Measure time and memory of check-and-add in every store, at a given number of pages.

    python benchmarks/stores.py --pages 1000000

Fills each store with random fingerprints and URLs of 79 bytes, through the call that a crawl uses but without probes.
Then it times new pages with about as many probes as a page makes on average in a million. That is the most expensive
case: a duplicate stops earlier.
Redis runs as a server of its own on a free port; its time and memory are what the server itself reports.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import redis
from rich.console import Console
from rich.progress import track

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.shared.common import make_parser, make_table, run
from crawldedup.search.decision import likelihood_prefilter, likelihood_rule
from crawldedup.search.model import search_similarity
from crawldedup.search.plan import ProbePlan, prefix_bits, volatile_plan
from crawldedup.search.query import KEPT, TABLES
from crawldedup.stores.base import DIGEST_MASK, Entry, Layout, Query, Store
from crawldedup.stores.registry import make_store
from tests.servers import RedisServer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

SIGNATURE_BITS = 256
SIMILARITY = search_similarity(0.9)
NO_PROBES = ProbePlan(np.empty(0, np.intp), np.empty(0, np.uint64), np.empty(0, np.uint64), 0.0)


@dataclass
class Row:
    store: str
    pages: int
    probes: int
    microseconds: float
    p99_microseconds: float
    server_microseconds: float | None
    index_bytes: float | None
    total_bytes: float
    calls_a_page: float | None


def entries(count: int, seed: int) -> list[Entry]:
    rng = np.random.default_rng(seed)
    numbers = rng.integers(0, 1 << 64, (count, 3), np.uint64, endpoint=False).tolist()
    signatures = rng.bytes(count * 32)
    return [
        Entry(
            url=f"https://www.example.com/section/{url_key:020d}/page-{row:012d}.html?n={seed:04d}",
            url_key=url_key,
            search=search,
            signature=signatures[row * 32 : row * 32 + 32],
            digest=digest & DIGEST_MASK,
            keys=tuple(table.key(search) for table in TABLES),
        )
        for row, (url_key, search, digest) in enumerate(numbers)
    ]


def fill(store: Store, pages: int) -> None:
    weights = np.ones(SIGNATURE_BITS, np.float32)
    rule = likelihood_rule(weights, 0.86)
    chunk = 50_000
    for start in track(range(0, pages, chunk), description="filling", console=Console(stderr=True)):
        for entry in entries(min(chunk, pages - start), seed=start // chunk):
            store.check_and_add(Query(entry, NO_PROBES, rule))


def measure(store: Store, pages: int, probes: int, checks: int) -> NDArray[np.float64]:
    rng = np.random.default_rng(7)
    queries = []
    for entry in entries(checks, seed=9999):
        weights = rng.standard_normal(64).astype(np.float32)
        plan = volatile_plan(
            entry.search,
            weights,
            TABLES,
            prefix=prefix_bits(pages),
            similarity=SIMILARITY,
            recall=0.9999999,
            budget=probes,
        )
        rule = likelihood_rule(rng.standard_normal(SIGNATURE_BITS).astype(np.float32), 0.86)
        queries.append(Query(entry, plan, rule, prefilter=likelihood_prefilter(weights, SIMILARITY, KEPT)))
    times = np.empty(len(queries))
    for number, query in enumerate(queries):
        started = time.perf_counter()
        store.check_and_add(query)
        times[number] = time.perf_counter() - started
    return times * 1e6


def redis_row(layout: Layout, pages: int, probes: int, checks: int) -> Row:
    with RedisServer() as server:
        store = make_store(server.url, layout)
        store.open()
        fill(store, pages)
        client = redis.Redis.from_url(server.url)
        client.config_resetstat()
        times = measure(store, pages, probes, checks)
        stats = client.info("commandstats")["cmdstat_evalsha"]
        memory = client.info("memory")
        parts: dict[str, int] = {}
        for key in client.scan_iter(count=10_000):
            # A key of a table is {namespace}:epoch:t...
            suffix = key.split(b":")[-2][:1].decode()
            parts[suffix] = parts.get(suffix, 0) + (client.memory_usage(key, samples=0) or 0)
        version = client.info("server")["redis_version"]
        return Row(
            f"redis {version}",
            pages,
            probes,
            float(np.mean(times)),
            float(np.percentile(times, 99)),
            stats["usec_per_call"],
            parts["t"] / (pages + checks),
            memory["used_memory"] / (pages + checks),
            stats["calls"] / checks,
        )


def embedded_row(name: str, url: str, layout: Layout, pages: int, probes: int, checks: int) -> Row:
    store = make_store(url, layout)
    store.open()
    fill(store, pages)
    times = measure(store, pages, probes, checks)
    info = store.info()
    store.close()
    return Row(
        name,
        pages,
        probes,
        float(np.mean(times)),
        float(np.percentile(times, 99)),
        None,
        None,
        info.bytes / info.pages,
        None,
    )


def main(given: Sequence[str]) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--pages", type=int, default=1_000_000)
    parser.add_argument("--probes", type=int, default=64)
    parser.add_argument("--checks", type=int, default=5_000)
    parser.add_argument("--stores", default="memory,sqlite,redis")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    arguments = parser.parse_args(given)

    layout = Layout("bench", "bench", TABLES, SIGNATURE_BITS // 8)
    common = (layout, arguments.pages, arguments.probes, arguments.checks)
    rows = []
    for name in arguments.stores.split(","):
        if name == "redis":
            rows.append(redis_row(*common))
        elif name == "sqlite":
            with tempfile.TemporaryDirectory() as folder:
                rows.append(embedded_row("sqlite", f"sqlite:///{folder}/bench.sqlite", *common))
        else:
            rows.append(embedded_row("memory", "memory://", *common))
    if arguments.json:
        print(json.dumps([vars(row) for row in rows]))
        return
    table = make_table(
        f"check-and-add of a new page, {arguments.pages:,} pages, {arguments.probes} probes",
        *("store", "us a page", "p99 us", "of it server us", "round trips", "tables B/page", "all B/page"),
    )
    for row in rows:
        table.add_row(
            row.store,
            f"{row.microseconds:.0f}",
            f"{row.p99_microseconds:.0f}",
            "" if row.server_microseconds is None else f"{row.server_microseconds:.0f}",
            "" if row.calls_a_page is None else f"{row.calls_a_page:.2f}",
            "" if row.index_bytes is None else f"{row.index_bytes:.1f}",
            f"{row.total_bytes:.0f}",
        )
    Console().print(table)


if __name__ == "__main__":
    run(main, "--pages 300 --checks 20")
