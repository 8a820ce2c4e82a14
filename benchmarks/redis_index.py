"""Measure the Redis index: bytes per page, the time of a check, and what is found, as the index
grows.

    python benchmarks/redis_index.py --pages 1000000,10000000
    python benchmarks/redis_index.py --pages 1000000 --urls --real CORPUS.pages.jsonl [...] --repeat 3

For every number of pages, it starts a separate redis-server on a free port and fills it with random
fingerprints. A million of them take some minutes. The server and the clients have a core each, if
there are two. `shared/redis_index.py` says what is measured and how. Other programs disturb the
measurement: `--repeat 5` shows the run with the least script time.

The queries are for new pages, which is the most expensive case: random pages, or pages of a corpus
that aren't in the index. They are prepared before the clock starts. It also looks for planted pages:
near duplicates made with the flip model, and exact copies.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.shared.common import make_parser, make_table, numbers, run
from benchmarks.shared.redis_index import (
    PLANTED_SIMILARITIES,
    PLANTS,
    URL_BYTES,
    WARM_UP,
    Index,
    Queries,
    TimeRow,
    filled_index,
    measure,
    new_fingerprints,
    store_of,
)
from crawldedup.index.queries import QueryBuilder
from crawldedup.options import Options
from crawldedup.stores.contract import Query

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterator, Sequence

    from crawldedup.fingerprinting.bits import Fingerprint


def scale(given: Namespace, console: Console) -> None:
    maker = QueryBuilder(Options(similarity=given.similarity, recall=given.recall))
    queries, new = Queries(maker, urls=given.urls), new_fingerprints(given.real, maker)
    if given.real and len(new) <= WARM_UP * max(given.clients):
        sys.exit(
            f"--real holds {len(new):,} new pages; more than {WARM_UP * max(given.clients):,} are "
            "wanted"
        )
    memories: dict[int, dict[str, float]] = {}
    times: list[TimeRow] = []
    recalls: dict[int, dict[float, float]] = {}
    for pages in given.pages:
        with filled_index(pages, urls=given.urls) as index:
            console.print(
                f"{pages:,} pages written in {index.seconds:.0f} s; load average "
                f"{os.getloadavg()[0]:.1f}"
            )
            memories[pages] = index.memory()
            with store_of(index.server.url) as store:
                recalls[pages] = queries.recall(store, pages, given.planted)
            times += time_rows(index, queries, given, new)
            version = index.server.version
    show_memory(console, version, memories, URL_BYTES if given.urls else 0)
    show_times(console, version, times)
    table = make_table(
        "planted pages that are found", "pages", *(f"J {each:g}" for each in PLANTED_SIMILARITIES)
    )
    for pages, shares in recalls.items():
        table.add_row(f"{pages:,}", *(f"{share:.2%}" for share in shares.values()))
    console.print(table)


def time_rows(
    index: Index, queries: Queries, given: Namespace, new: Sequence[Fingerprint]
) -> Iterator[TimeRow]:
    kinds: dict[str, Callable[[int], list[Query]]] = {
        "random": lambda count: queries.random(index.pages, count)
    }
    if new:
        kinds["real"] = lambda count: queries.real(new, index.pages, count)
    ways = [(clients, 1) for clients in given.clients] + [(1, batch) for batch in given.batch]
    for kind, make in kinds.items():
        for clients, batch in ways:
            asked = (make(given.checks + WARM_UP * clients) for _ in range(given.repeat))
            runs = [
                measure(
                    index.server, each, pages=index.pages, kind=kind, clients=clients, batch=batch
                )
                for each in asked
            ]
            yield min(runs, key=lambda row: row.script_us)


def show_memory(
    console: Console, version: str, memories: dict[int, dict[str, float]], url_bytes: int
) -> None:
    title = f"{version}: bytes a page, with the server's dictionary of keys"
    table = make_table(title, "part", *(f"{pages:,} pages" for pages in memories))
    for name in dict.fromkeys(name for parts in memories.values() for name in parts):
        less = url_bytes if name == "records" else 0
        cells = (f"{parts.get(name, 0.0) / pages - less:.1f}" for pages, parts in memories.items())
        table.add_row("records, beyond the URL" if less else name, *cells)
    table.add_row(
        "all", *(f"{sum(parts.values()) / pages:.1f}" for pages, parts in memories.items())
    )
    table.add_row("all, GB", *(f"{sum(parts.values()) / 1e9:,.2f}" for parts in memories.values()))
    console.print(table)


def show_times(console: Console, version: str, rows: Sequence[TimeRow]) -> None:
    table = make_table(
        f"{version}: check-and-add; figures a check, p50 and p99 of a single check or a whole "
        "batch",
        *(
            "pages",
            "queries",
            "clients",
            "batch",
            "checks/s",
            "script us",
            "CPU us",
            "p50 us",
            "p99 us",
            "probes",
        ),
        "new",
    )
    for row in rows:
        figures = (row.checks_a_second, row.script_us, row.cpu_us, row.p50_us, row.p99_us)
        cells = (
            row.queries,
            str(row.clients),
            str(row.batch),
            *(f"{figure:,.0f}" for figure in figures),
        )
        table.add_row(f"{row.pages:,}", *cells, f"{row.probes:.1f}", f"{row.new:.1%}")
    console.print(table)


def main(words: Sequence[str]) -> int:
    parser = make_parser(__doc__)
    parser.add_argument("--pages", type=numbers, default=[1_000_000, 10_000_000])
    parser.add_argument("--urls", action="store_true", help=f"pages with URLs of {URL_BYTES} bytes")
    parser.add_argument(
        "--real", nargs="+", default=[], metavar="CORPUS", help="as for `crawldedup scan`"
    )
    parser.add_argument(
        "--planted", type=int, default=PLANTS, help=f"pages to look for, at most {PLANTS:,}"
    )
    parser.add_argument("--similarity", type=float, default=0.9)
    parser.add_argument("--recall", type=float, default=0.98)
    parser.add_argument("--checks", type=int, default=10_000, help="checks of each measurement")
    parser.add_argument(
        "--repeat", type=int, default=1, help="show the run of the least script time of so many"
    )
    parser.add_argument(
        "--clients", type=numbers, default=[1, 4], help="numbers of client processes"
    )
    parser.add_argument("--batch", type=numbers, default=[100], help="sizes of batches")
    given = parser.parse_args(words)
    if given.pages[0] < PLANTS:
        parser.error(f"an index that is filled here has {PLANTS:,} pages or more")
    console = Console(markup=False, width=190)
    console.print(f"other programs on the machine, before: load average {os.getloadavg()[0]:.1f}")
    scale(given, console)
    return 0


if __name__ == "__main__":
    run(main, "--pages 2000,4000 --checks 20 --clients 1 --batch 10 --planted 10")
