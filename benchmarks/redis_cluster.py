"""Compare one Redis server with clusters of three and of six masters: checks a second, time of each master, calls.

    python benchmarks/redis_cluster.py
    python benchmarks/redis_cluster.py --clients 8 --pages 20000 --json
    python benchmarks/redis_cluster.py --corpus CORPUS.pages.jsonl --corpus OTHER.pages.jsonl

Starts one redis-server, then clusters without replicas, all on this machine. Client processes ask new pages and near
duplicates of them (J = .93) in turn, half of each. Pages of a place of their own (a site) take one script call; those
of the global scope are looked for in several partitions. As many of each are in the index beforehand.

- random: weights drawn at random;
- mixed: the pages of the corpora, in turn;
- templated: pages of seven templates, filled with the words of the corpora.

Recall is the share of the near duplicates that were found. "Fullest" is the fullest of the 16 partitions, as a
multiple of the mean. How pages are routed, `benchmarks/routing.py` measures closer.

Where there are fewer cores than servers and clients, checks a second say little: all wait for the same cores. What
a master's processor spends on a check (`CPU us`, network and parsing included) tells what it would carry with a
core to itself.
"""

from __future__ import annotations

import contextlib
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
from benchmarks.shared.templated_pages import Site, read_words
from crawldedup.fingerprinting.fingerprint import Fingerprint, fingerprint
from crawldedup.measure import read_corpus
from crawldedup.stores.base import Status
from crawldedup.stores.cluster.store import ClusterStore
from crawldedup.stores.registry import make_store
from tests.servers import ClusterSetup, RedisServer
from tests.stores.pages import LAYOUT, Page, query, random_page, similar_page

if TYPE_CHECKING:
    from collections.abc import Sequence
    from multiprocessing.queues import Queue
    from multiprocessing.synchronize import Barrier

    from crawldedup.stores.base import Query

EARLIER = (
    "For comparison, an index spread by its keys took 10.2 calls in 4.0 rounds a check of the global scope: 633 "
    "checks/s on three masters, 4,692 on one server; 246, 215 and 219 us of each master, 95 of one server."
)
URL_PADDING = "x" * 50
WARM_UP = 40
NEAR = 0.93
INDEX_PAGES = 100_000
"""That the questions are planned for."""
PREPARATION_SECONDS = 600


@dataclass(frozen=True)
class Kind:
    """Where pages are kept, and which: those of a place of their own, or those of the global scope."""

    name: str
    url: str
    masters: Sequence[RedisServer]
    placed: bool
    corpora: tuple[Path, ...] = ()
    source: str = "random"


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
    recall: float
    fullest: float


@dataclass(frozen=True)
class Share:
    """What one client process saw."""

    seconds: list[float]
    calls: int
    rounds: int
    found: int


def pages_of(kind: Kind, seed: int, count: int) -> list[Page]:
    """Pages that no other seed has; of a corpus, as long as it lasts."""
    if kind.source == "random":
        rng = np.random.default_rng(seed)
        return [random_page(rng) for _ in range(count)]
    numbers = range(seed * count, (seed + 1) * count)
    if kind.source == "templated":
        site = Site(read_words(kind.corpora, "en"))
        return [as_page(fingerprint(site.text(number))) for number in numbers if site.kind(number) == "new"]
    texts = [document.text for path in kind.corpora for document in read_corpus(str(path)).documents]
    order = np.random.default_rng(1).permutation(len(texts))
    return [as_page(fingerprint(texts[order[number % len(texts)]])) for number in numbers]


def as_page(page: Fingerprint) -> Page:
    return Page(page.search_weights, page.verify_weights, page.digest, page.thin)


def questions(kind: Kind, seed: int, count: int, partitions: int) -> list[Query]:
    """Half of them new pages, each followed by a near duplicate of it."""
    rng = np.random.default_rng(seed)
    asked = []
    for number, page in enumerate(pages_of(kind, seed, count // 2)):
        place = int(rng.integers(1 << 60)) if kind.placed else None
        for text, name in ((page, "page"), (page if page.thin else similar_page(page, NEAR, rng), "copy")):
            url = f"https://example.com/{seed}/{number}/{name}/{URL_PADDING}"
            asked.append(replace(query(text, url, pages=INDEX_PAGES // partitions), shard_key=place))
    return asked


def ask(kind: Kind, seed: int, count: int, together: Barrier, told: Queue[Share]) -> None:
    """A client process: prepare, wait for the others, ask."""
    store = make_store(kind.url, LAYOUT)
    store.open()
    asked = questions(kind, seed, count, store.partitions)
    for question in asked[:WARM_UP]:
        store.find(question)
    before = fanout_of(store)
    together.wait(PREPARATION_SECONDS)
    seconds, found = [], 0
    for number, question in enumerate(asked):
        start = time.perf_counter()
        answer = store.check_and_add(question)
        seconds.append(time.perf_counter() - start)
        found += number % 2 and answer.status in (Status.NEAR, Status.EXACT)
    together.wait(PREPARATION_SECONDS)
    calls, rounds = (after - earlier for after, earlier in zip(fanout_of(store), before, strict=True))
    store.close()
    told.put(Share(seconds, calls, rounds, found))


def fanout_of(store: object) -> tuple[int, int]:
    return (store.nodes.calls, store.nodes.rounds) if isinstance(store, ClusterStore) else (0, 0)


def fullest(kind: Kind) -> float:
    """The fullest partition, as a multiple of the mean."""
    heads = [(master.client, key) for master in kind.masters for key in master.client.scan_iter("crawldedup:{*}:m")]
    pages: list[int] = [int(client.hget(key, "pages") or 0) for client, key in heads]
    return max(pages) * len(pages) / sum(pages)


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
        recall=round(sum(share.found for share in shares) / (checks / 2), 4),
        fullest=round(fullest(kind), 2),
    )


def measure_all(clients: int, pages: int, corpora: tuple[Path, ...]) -> list[Row]:
    rows = []
    sources = ("random", "mixed", "templated") if corpora else ("random",)
    with contextlib.ExitStack() as stack, Progress(console=Console(stderr=True)) as bar:
        single = stack.enter_context(RedisServer())
        three, six = (stack.enter_context(ClusterSetup(masters=count, has_replicas=False)) for count in (3, 6))
        servers = (
            ("one server", single.url, [single]),
            *((f"{len(c.nodes)} masters", c.url, c.nodes) for c in (three, six)),
        )
        kinds = [
            Kind(
                f"{name}, {f'global, {source}' if source else 'placed'}",
                url,
                masters,
                not source,
                corpora,
                source or "random",
            )
            for source in (None, *sources)
            for name, url, masters in servers
        ]
        task = bar.add_task("asking", total=2 * len(kinds))
        for kind in kinds:
            for master in kind.masters:
                master.client.flushall()
            # The same pages for every kind, in two halves.
            for first_seed in (1, 1 + clients):
                row = measure(kind, first_seed, clients, pages)
                bar.advance(task)
            rows.append(row)
    return rows


def show(rows: Sequence[Row], out: Console) -> None:
    table = Table()
    table.add_column("kept by")
    headings = (
        "checks/s",
        "p50 ms",
        "p99 ms",
        "CPU us of each master a check",
        "calls",
        "rounds",
        "recall",
        "fullest",
        "carries",
    )
    for name in headings:
        table.add_column(name, justify="right")
    for place, row in enumerate(rows):
        one = rows[place - place % 3]
        spent = " ".join(f"{one:.0f}" for one in row.cpu_microseconds)
        figures = (f"{row.checks_a_second:,.0f}", f"{row.p50_milliseconds:.2f}", f"{row.p99_milliseconds:.2f}", spent)
        ratio = max(one.cpu_microseconds) / max(row.cpu_microseconds)
        more = (f"{row.calls:.2f}", f"{row.rounds:.2f}", f"{row.recall:.4f}", f"{row.fullest:.2f}", f"{ratio:.2f}")
        table.add_row(row.kind, *figures, *more)
    out.print(table)
    out.print("carries: times the checks of one server, if each master has a core to itself")
    out.print(EARLIER)


def main(given: Sequence[str]) -> int:
    parser = make_parser(__doc__)
    parser.add_argument("--clients", type=int, default=4, help="client processes (default: 4)")
    parser.add_argument("--pages", type=int, default=8000, help="pages to ask of each kind (default: 8,000)")
    parser.add_argument(
        "--corpus", type=Path, action="append", default=[], help="pages for the mixed and templated rows"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    arguments = parser.parse_args(given)
    if arguments.clients < 1 or arguments.pages < 2 * arguments.clients:
        parser.error("there must be a client at least, and two pages for each")
    rows = measure_all(arguments.clients, arguments.pages, tuple(arguments.corpus))
    if arguments.json:
        print(json.dumps({"cores": os.cpu_count(), "rows": [asdict(row) for row in rows]}))
    else:
        show(rows, Console(width=max(160, Console().width)))
    return 0


if __name__ == "__main__":
    run(main, "--clients 1 --pages 20")
