"""Measure the Redis index: bytes a page, time of a check, and both at a hundred million pages.

    python benchmarks/redis_index.py memory --pages 1000000
    python benchmarks/redis_index.py time --pages 1000000,10000000 --real CORPUS.pages.jsonl [...]
    python benchmarks/redis_index.py scale --pages 1000000,10000000,100000000
    python benchmarks/redis_index.py verify

Each starts a redis-server of its own on a free port for every number of pages, and fills it with random fingerprints
and, but for `scale`, URLs of 79 bytes: see `redis_parts/filling.py`. `verify` shows that what is written so quickly is
what the store itself would have written. The server and the clients have a core each, where there are two.
`redis_parts/server.py` says what is measured, and how. Other programs disturb: `--repeat 5` shows the run of the least
script time.

`time` asks new pages, the most expensive case: random ones, and real ones against the random index. `real` asks the
pages of each corpus that are new beside its other pages; `real, copies too` asks all of them. The queries are prepared
before the clock starts. `scale` counts how many planted pages are found: near duplicates made by the flip model, and
exact copies. For more pages than were written, memory is computed from the curve and recall from the probes of the
queries, and both are marked so; time is not computed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))


from benchmarks.redis_parts.filling import LAYOUT, MOST_PAGES, PLANTS, SINCE_1970
from benchmarks.redis_parts.indexes import (
    Queries,
    contents,
    empty_index,
    filled_index,
    patient_store,
    real_fingerprints,
    store_of,
    written_pages,
)
from benchmarks.redis_parts.scale import COMPUTED_RECALLS, RecallRow, computed_memory, recall_rows, show_recall
from benchmarks.redis_parts.server import WARM_UP, TimeRow, measure
from benchmarks.redis_parts.tables import show_memory, show_ratios, show_time
from benchmarks.shared.common import make_parser, numbers, run
from crawldedup.errors import ConfigurationError
from crawldedup.options import Options
from crawldedup.search.query import QueryBuilder
from crawldedup.stores.base import Answer, Query, Status
from crawldedup.stores.redis.store import RedisStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from benchmarks.redis_parts.indexes import Index
    from benchmarks.redis_parts.memory import Memory
    from crawldedup.fingerprinting.fingerprint import Fingerprint


class OwnIndex:
    """One client of our index."""

    def __init__(self, url: str) -> None:
        self._store = patient_store(url)
        self._store.open()
        self.candidates = 0

    def ask(self, items: Sequence[Query]) -> list[Status]:
        statuses = []
        for answer in self._store.check(items):
            if not isinstance(answer, Answer):
                raise answer
            self.candidates += answer.candidates
            statuses.append(answer.status)
        return statuses


def memory(arguments: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Bytes a page, by part."""
    measured = []
    for pages in arguments.pages:
        with filled_index(pages, urls=not arguments.no_urls) as index:
            measured.append(index.memory())
            version = index.server.version
    show_memory(console, version, measured)
    return {"server": version, "memory": [asdict(own) for own in measured]}


def time_(arguments: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Check-and-add of new pages."""
    maker = query_maker(arguments)
    new, every = real_fingerprints(arguments.real, maker)
    if arguments.real and len(new) <= WARM_UP * max(arguments.clients):
        raise ConfigurationError(
            f"--real holds {len(new):,} pages that are no copies of others; more than "
            f"{WARM_UP * max(arguments.clients):,} are wanted, some thousands for figures that mean something"
        )
    rows: list[TimeRow] = []
    queries = Queries(maker, urls=not arguments.no_urls)
    for pages in arguments.pages:
        with filled_index(pages, urls=not arguments.no_urls) as index:
            rows += own_rows(index, queries, arguments, new, every)
            version = index.server.version
    show_time(console, f"{version}: check-and-add, similarity {arguments.similarity:g}", rows)
    show_ratios(console, rows)
    return {"server": version, "rows": [asdict(row) for row in rows]}


def own_rows(
    index: Index,
    queries: Queries,
    arguments: argparse.Namespace,
    new: Sequence[Fingerprint],
    every: Sequence[Fingerprint],
) -> Iterator[TimeRow]:
    kinds: list[tuple[str, Callable[[int], list[Query]]]] = [
        ("random", lambda count: queries.random(index.pages, count)),
        ("real", lambda count: queries.real(new, index.pages, count)),
        ("real, copies too", lambda count: queries.real(every, index.pages, count)),
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
                    pages=index.pages,
                    queries=name,
                    clients=clients,
                    batch=batch,
                )
                for _ in range(arguments.repeat)
            ]
            yield min(runs, key=lambda row: row.script_microseconds)


def scale(arguments: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Memory, time and recall as the index grows, for 1,000 million pages, too, and recall for 100 million."""
    memories: list[Memory] = []
    times: list[TimeRow] = []
    recalls: list[RecallRow] = []
    queries = Queries(query_maker(arguments), urls=arguments.urls)
    for pages in arguments.pages:
        with filled_index(pages, urls=arguments.urls) as index:
            console.print(f"{pages:,} pages written in {index.seconds:.0f} s; load average {os.getloadavg()[0]:.1f}")
            memories.append(index.memory())
            with store_of(index.server.url) as store:
                recalls += recall_rows(store, queries, pages, arguments.planted)
            times += own_rows(index, queries, arguments, (), ())
            version = index.server.version
    for pages in COMPUTED_RECALLS:
        if pages not in arguments.pages:
            recalls += recall_rows(None, queries, pages, arguments.planted)
    computed = computed_memory(memories) if len(memories) > 1 else None
    show_memory(console, version, memories, computed)
    show_time(console, f"{version}: check-and-add of random pages", times)
    show_recall(console, recalls)
    return {
        "server": version,
        "memory": [asdict(row) for row in memories],
        "computed_memory": computed and asdict(computed),
        "time": [asdict(row) for row in times],
        "recall": [asdict(row) for row in recalls],
    }


def verify(arguments: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Compare an index that was written quickly with one that the store has made page by page, key by key."""
    with filled_index(arguments.pages[-1], urls=not arguments.no_urls) as written, empty_index() as (server, empty):
        with store_of(server.url):
            # One that has not joined has the number 0, as the crawler of the pages that were written.
            store = RedisStore(f"{server.url}?socket_timeout=60", LAYOUT, clock=lambda: SINCE_1970)
            for queries in written_pages(written.server):
                for answer in store.check(queries):
                    if not isinstance(answer, Answer):
                        raise answer
            store.close()
        own, loaded = contents(written.server), contents(server)
        used = written.memory().used, server.used_memory() - empty
    differing = sorted(name for name in own.keys() | loaded.keys() if own.get(name) != loaded.get(name))
    console.print(
        f"{written.pages:,} pages, written in {written.seconds:.1f} s, and checked: {len(own):,} keys each way"
    )
    console.print(f"memory: {used[0]:,} bytes if written, {used[1]:,} if checked")
    console.print(f"keys that differ: {len(differing)} {differing[:10]}")
    if differing:
        sys.exit(1)
    return {"pages": written.pages, "keys": len(own), "used": used}


def query_maker(arguments: argparse.Namespace) -> QueryBuilder:
    return QueryBuilder(Options(similarity=arguments.similarity, recall=arguments.recall))


def parse(given: Sequence[str]) -> argparse.Namespace:
    parser = make_parser(__doc__)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--json", action="store_true", help="print JSON instead of tables")
    plain = argparse.ArgumentParser(add_help=False)
    plain.add_argument("--no-urls", action="store_true", help="pages without URLs")
    asking = argparse.ArgumentParser(add_help=False)
    asking.add_argument("--similarity", type=float, default=0.9)
    asking.add_argument("--recall", type=float, default=0.98)
    asking.add_argument("--checks", type=int, default=10_000, help="checks of each measurement")
    asking.add_argument("--repeat", type=int, default=1, help="measure so often, show the run of the least script time")
    asking.add_argument("--clients", type=numbers, default=[1, 4], help="numbers of client processes")
    asking.add_argument("--batch", type=numbers, default=[100], help="sizes of batches")
    commands = parser.add_subparsers(dest="command", required=True)
    add = commands.add_parser("memory", parents=[common, plain], help=memory.__doc__)
    add.add_argument("--pages", type=numbers, default=[1_000_000])
    add = commands.add_parser("time", parents=[common, plain, asking], help=time_.__doc__)
    add.add_argument("--pages", type=numbers, default=[1_000_000, 10_000_000])
    add.add_argument("--real", type=Path, nargs="+", default=[], metavar="CORPUS", help="as for `crawldedup scan`")
    add = commands.add_parser("scale", parents=[common, asking], help=scale.__doc__)
    add.add_argument("--pages", type=numbers, default=[1_000_000, 10_000_000, 100_000_000])
    add.add_argument("--urls", action="store_true", help="pages with URLs")
    add.add_argument("--planted", type=int, default=PLANTS, help=f"pages to look for, at most {PLANTS:,}")
    add = commands.add_parser("verify", parents=[common, plain], help=verify.__doc__)
    add.add_argument("--pages", type=numbers, default=[30_000])
    arguments = parser.parse_args(given)
    if arguments.pages[0] < PLANTS or arguments.pages[-1] > MOST_PAGES:
        parser.error(f"an index that is written here has {PLANTS:,} to {MOST_PAGES:,} pages")
    return arguments


COMMANDS: dict[str, Callable[[argparse.Namespace, Console], dict[str, Any]]] = {
    "memory": memory,
    "time": time_,
    "scale": scale,
    "verify": verify,
}


def main(given: Sequence[str]) -> None:
    arguments = parse(given)
    # With --json, tables are for whoever watches.
    console = Console(markup=False, width=190, stderr=arguments.json)
    busy, _, _ = os.getloadavg()
    figures = {**COMMANDS[arguments.command](arguments, console), "load_average": busy}
    console.print(f"other programs on the machine, before: load average {busy:.1f}")
    if arguments.json:
        print(json.dumps(figures))


if __name__ == "__main__":
    run(
        main,
        "memory --pages 2000",
        "time --pages 2000 --checks 20 --clients 1 --batch 10",
        "scale --pages 2000,4000 --checks 20 --clients 1 --batch , --planted 10",
        "verify --pages 2000",
    )
