"""Measure the Redis index: bytes a page, time of a check, and what is found, up to a hundred million pages.

    python benchmarks/redis_index.py scale --pages 1000000,10000000,100000000
    python benchmarks/redis_index.py scale --pages 1000000,10000000 --urls --real CORPUS.pages.jsonl [...] --repeat 3
    python benchmarks/redis_index.py verify

Each starts a redis-server of its own on a free port for every number of pages, and fills it with random fingerprints:
see `redis_parts/filling.py`. `verify` shows that what is written so quickly is what the store itself would have
written. The server and the clients have a core each, where there are two. `redis_parts/server.py` says what is
measured, and how. Other programs disturb: `--repeat 5` shows the run of the least script time.

New pages are asked, the most expensive case: random ones, and of corpora the real ones that are new beside their other
pages. The queries are prepared before the clock starts. Planted pages are looked for: near duplicates made by the flip
model, and exact copies.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.redis_parts.filling import MOST_PAGES, PLANTS, SINCE_1970, URL_BYTES
from benchmarks.redis_parts.indexes import (
    PLANTED_SIMILARITIES,
    Index,
    Queries,
    contents,
    empty_index,
    filled_index,
    new_fingerprints,
    written_pages,
)
from benchmarks.redis_parts.server import LAYOUT, WARM_UP, TimeRow, measure, store_of
from benchmarks.shared.common import make_parser, make_table, numbers, run
from crawldedup.options import Options
from crawldedup.search.query import QueryBuilder
from crawldedup.stores.base import Answer, Query
from crawldedup.stores.redis.store import RedisStore

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterator, Sequence

    from crawldedup.fingerprinting.fingerprint import Fingerprint


def scale(given: Namespace, console: Console) -> int:
    """Memory, time and recall as the index grows."""
    maker = QueryBuilder(Options(similarity=given.similarity, recall=given.recall))
    queries, new = Queries(maker, urls=given.urls), new_fingerprints(given.real, maker)
    if given.real and len(new) <= WARM_UP * max(given.clients):
        sys.exit(f"--real holds {len(new):,} new pages; more than {WARM_UP * max(given.clients):,} are wanted")
    memories: dict[int, dict[str, float]] = {}
    times: list[TimeRow] = []
    recalls: dict[int, dict[float, float]] = {}
    for pages in given.pages:
        with filled_index(pages, urls=given.urls) as index:
            console.print(f"{pages:,} pages written in {index.seconds:.0f} s; load average {os.getloadavg()[0]:.1f}")
            memories[pages] = index.memory()
            with store_of(index.server.url) as store:
                recalls[pages] = queries.recall(store, pages, given.planted)
            times += time_rows(index, queries, given, new)
            version = index.server.version
    show_memory(console, version, memories, URL_BYTES if given.urls else 0)
    show_times(console, version, times)
    table = make_table("planted pages that are found", "pages", *(f"J {each:g}" for each in PLANTED_SIMILARITIES))
    for pages, shares in recalls.items():
        table.add_row(f"{pages:,}", *(f"{share:.2%}" for share in shares.values()))
    console.print(table)
    return 0


def time_rows(index: Index, queries: Queries, given: Namespace, new: Sequence[Fingerprint]) -> Iterator[TimeRow]:
    kinds: dict[str, Callable[[int], list[Query]]] = {"random": lambda count: queries.random(index.pages, count)}
    if new:
        kinds["real"] = lambda count: queries.real(new, index.pages, count)
    ways = [(clients, 1) for clients in given.clients] + [(1, batch) for batch in given.batch]
    for kind, make in kinds.items():
        for clients, batch in ways:
            asked = (make(given.checks + WARM_UP * clients) for _ in range(given.repeat))
            runs = [
                measure(index.server, each, pages=index.pages, kind=kind, clients=clients, batch=batch)
                for each in asked
            ]
            yield min(runs, key=lambda row: row.script_us)


def show_memory(console: Console, version: str, memories: dict[int, dict[str, float]], url_bytes: int) -> None:
    title = f"{version}: bytes a page, with the server's dictionary of keys"
    table = make_table(title, "part", *(f"{pages:,} pages" for pages in memories))
    for name in dict.fromkeys(name for parts in memories.values() for name in parts):
        less = url_bytes if name == "records" else 0
        cells = (f"{parts.get(name, 0.0) / pages - less:.1f}" for pages, parts in memories.items())
        table.add_row("records, beyond the URL" if less else name, *cells)
    table.add_row("all", *(f"{sum(parts.values()) / pages:.1f}" for pages, parts in memories.items()))
    table.add_row("all, GB", *(f"{sum(parts.values()) / 1e9:,.2f}" for parts in memories.values()))
    console.print(table)


def show_times(console: Console, version: str, rows: Sequence[TimeRow]) -> None:
    table = make_table(
        f"{version}: check-and-add; figures a check, p50 and p99 of a single check or a whole batch",
        *("pages", "queries", "clients", "batch", "checks/s", "script us", "CPU us", "p50 us", "p99 us", "probes"),
        "new",
    )
    for row in rows:
        figures = (row.checks_a_second, row.script_us, row.cpu_us, row.p50_us, row.p99_us)
        cells = (row.queries, str(row.clients), str(row.batch), *(f"{figure:,.0f}" for figure in figures))
        table.add_row(f"{row.pages:,}", *cells, f"{row.probes:.1f}", f"{row.new:.1%}")
    console.print(table)


def verify(given: Namespace, console: Console) -> int:
    """Compare an index that was written quickly with one that the store has made page by page, key by key."""
    with filled_index(given.pages[-1], urls=True) as written, empty_index() as (server, empty):
        with store_of(server.url):
            # One that has not joined has the number 0, as the crawler of the pages that were written.
            store = RedisStore(f"{server.url}?socket_timeout=60", LAYOUT, clock=lambda: SINCE_1970)
            for queries in written_pages(written.server):
                for answer in store.check(queries):
                    if not isinstance(answer, Answer):
                        raise answer
            store.close()
        own, checked = contents(written.server), contents(server)
        used = written.used, server.used_memory() - empty
    differing = sorted(name for name in own.keys() | checked.keys() if own.get(name) != checked.get(name))
    console.print(f"{written.pages:,} pages, written in {written.seconds:.1f} s, and checked: {len(own):,} keys")
    console.print(f"memory: {used[0]:,} bytes if written, {used[1]:,} if checked")
    console.print(f"keys that differ: {len(differing)} {differing[:10]}")
    return int(bool(differing))


def main(words: Sequence[str]) -> int:
    parser = make_parser(__doc__)
    commands = parser.add_subparsers(required=True)
    for command, pages in ((scale, [1_000_000, 10_000_000, 100_000_000]), (verify, [30_000])):
        add = commands.add_parser(command.__name__, help=command.__doc__)
        add.set_defaults(command=command)
        add.add_argument("--pages", type=numbers, default=pages)
        if command is scale:
            add.add_argument("--urls", action="store_true", help=f"pages with URLs of {URL_BYTES} bytes")
            add.add_argument("--real", nargs="+", default=[], metavar="CORPUS", help="as for `crawldedup scan`")
            add.add_argument("--planted", type=int, default=PLANTS, help=f"pages to look for, at most {PLANTS:,}")
            add.add_argument("--similarity", type=float, default=0.9)
            add.add_argument("--recall", type=float, default=0.98)
            add.add_argument("--checks", type=int, default=10_000, help="checks of each measurement")
            add.add_argument("--repeat", type=int, default=1, help="show the run of the least script time of so many")
            add.add_argument("--clients", type=numbers, default=[1, 4], help="numbers of client processes")
            add.add_argument("--batch", type=numbers, default=[100], help="sizes of batches")
    given = parser.parse_args(words)
    if given.pages[0] < PLANTS or given.pages[-1] > MOST_PAGES:
        parser.error(f"an index that is written here has {PLANTS:,} to {MOST_PAGES:,} pages")
    console = Console(markup=False, width=190)
    console.print(f"other programs on the machine, before: load average {os.getloadavg()[0]:.1f}")
    return int(given.command(given, console))


if __name__ == "__main__":
    run(
        main,
        "scale --pages 2000,4000 --checks 20 --clients 1 --batch 10 --planted 10",
        "verify --pages 2000",
    )
