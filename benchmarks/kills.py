"""Kill crawlers of a fleet at random, over and over, and count the contents that nobody delivered.

    python benchmarks/kills.py
    python benchmarks/kills.py --kills 200 --store redis --json

Fleets of crawlers share an index in a SQLite file, on one Redis server and on a cluster of three masters, all on this
machine. Each crawler checks the pages of its queue as not delivered yet, and delivers those that pass; every second one
asks about twenty at once. Each content comes at five URLs, half of the contents exactly and half with one word changed.
Now and then one crawler is killed (SIGKILL), and a successor goes on with its queue.

- lost: contents of which no page was delivered;
- unanswered: pages that no crawler got a verdict on;
- delivered twice: how often an exact content came once more than needed;
- needless: those that no kill explains, for their crawler had told what it delivered before it died, or lived on.

The SQLite file and the server hear of a delivery with the next check, the cluster of fifty at once.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from rich.console import Console

from benchmarks.shared.common import count, make_parser, make_table, one_of, progress, run
from tests.attacks.fleet import BATCH, Fleet
from tests.servers import ClusterSetup, RedisServer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

STORES: Final = ("sqlite", "redis", "cluster")
SEED: Final = 1
_UNTOLD_TO_A_CLUSTER: Final = 50


@dataclass(frozen=True)
class Row:
    """What became of the contents of fleets on one store."""

    store: str
    contents: int
    kills: int
    lost: int
    unanswered: int
    delivered_twice: int
    needless: int
    seconds: float


@contextlib.contextmanager
def store_of(kind: str, folder: Path) -> Iterator[str]:
    """Yield the URL of an empty store."""
    if kind == "sqlite":
        yield f"sqlite:///{folder}/index.sqlite"
    elif kind == "redis":
        with RedisServer() as server:
            yield server.url
    else:
        with ClusterSetup(has_replicas=False) as cluster:
            yield cluster.url


def measure(kind: str, kills: int, contents: int, every: float, limit: float) -> Row:
    """Let fleets crawl so many contents each, all on one index, until so many crawlers were killed or time is up."""
    lost = unanswered = twice = needless = killed = begun = 0
    untold = _UNTOLD_TO_A_CLUSTER + BATCH if kind == "cluster" else 1
    with tempfile.TemporaryDirectory() as name, store_of(kind, Path(name)) as url, progress(kind, kills) as advance:
        fleet = Fleet(url, Path(name), random.Random(SEED), untold=untold)
        start = time.monotonic()
        while killed < kills and (not begun or time.monotonic() - start < limit):
            outcome = fleet.crawl(range(begun, begun + contents), kills=kills - killed, every=every)
            begun += contents
            killed += outcome.kills
            lost += outcome.lost
            unanswered += outcome.unanswered
            twice += outcome.twice
            needless += outcome.needless
            advance(outcome.kills)
        seconds = time.monotonic() - start
    return Row(kind, begun, killed, lost, unanswered, twice, needless, round(seconds, 1))


def main(given: Sequence[str]) -> int:
    parser = make_parser(__doc__)
    parser.add_argument("--kills", type=count, default=1000, help="crawlers to kill on each store (default: 1000)")
    parser.add_argument("--store", type=one_of(*STORES), default=list(STORES), help="stores, with commas between them")
    parser.add_argument("--contents", type=count, default=600, help="contents of one fleet (default: 600)")
    parser.add_argument("--every", type=float, default=0.05, help="seconds between two kills, about (default: 0.05)")
    parser.add_argument("--limit", type=float, default=900, help="seconds for each store, about (default: 900)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    arguments = parser.parse_args(given)
    rows = [
        measure(kind, arguments.kills, arguments.contents, arguments.every, arguments.limit) for kind in arguments.store
    ]
    if arguments.json:
        print(json.dumps({"cores": os.cpu_count(), "rows": [asdict(row) for row in rows]}))
    else:
        headings = ("store", "contents", "kills", "lost", "unanswered", "delivered twice", "needless", "seconds")
        table = make_table("Fleets of eight crawlers", *headings)
        for row in rows:
            table.add_row(row.store, *(f"{value:,}" for value in list(asdict(row).values())[1:]))
        Console(width=max(120, Console().width)).print(table)
    return int(any(row.lost or row.unanswered or row.needless for row in rows))


if __name__ == "__main__":
    run(main, "--kills 3 --contents 16")
