"""Time the search for all near pairs among a million fingerprints, ours and that of simhash-pybind, in one process.

    python benchmarks/exact_search.py

The corpus is random, with 10,000 planted pairs within the distance. Both methods are complete by construction, and
their pairs are compared. simhash-pybind is the C++ code of seomoz's simhash-py; it takes a set of Python integers,
which is made before the clock starts.
"""

from __future__ import annotations

import json
import platform
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import peers
from benchmarks.shared.common import make_parser, make_table, run
from crawldedup.literature.simhash_py import Corpus, find_all

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from numpy.typing import NDArray

PLANTED = 10_000


@dataclass
class Row:
    blocks: int
    distance: int
    tables: int
    prefix_bits: int
    pairs: int
    seconds: float
    peer: str
    peer_seconds: float | None
    same_pairs: bool | None


def collection(size: int, distance: int, seed: int = 1) -> NDArray[np.uint64]:
    generator = np.random.default_rng(seed)
    fingerprints = generator.integers(0, 1 << 64, size, np.uint64, endpoint=False)
    planted = min(PLANTED, size // 2)
    for row in range(planted):
        flips = generator.choice(64, size=generator.integers(1, distance + 1), replace=False)
        fingerprints[size - 1 - row] = fingerprints[row] ^ np.bitwise_or.reduce(np.uint64(1) << flips.astype(np.uint64))
    return fingerprints


def best_of(rounds: int, call: Callable[[], Collection[tuple[int, int]]]) -> tuple[float, Collection[tuple[int, int]]]:
    best = float("inf")
    for _ in range(rounds):
        started = time.perf_counter()
        found = call()
        best = min(best, time.perf_counter() - started)
    return best, found


def measure(fingerprints: NDArray[np.uint64], blocks: int, distance: int, rounds: int, peer: peers.Peer | None) -> Row:
    tables = Corpus(blocks, distance).tables
    seconds, found = best_of(rounds, lambda: find_all(fingerprints, blocks, distance))
    row = Row(
        blocks=blocks,
        distance=distance,
        tables=len(tables),
        prefix_bits=min(table.search_mask.bit_count() for table in tables),
        pairs=len(found),
        seconds=seconds,
        peer=f"simhash-pybind {peer.version}" if peer else "simhash-pybind",
        peer_seconds=None,
        same_pairs=None,
    )
    if peer:
        given = set(fingerprints.tolist())
        row.peer_seconds, theirs = best_of(rounds, lambda: peer.module.find_all(given, blocks, distance))
        row.same_pairs = {(min(pair), max(pair)) for pair in theirs} == set(found)
    return row


def main(given: Sequence[str]) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--fingerprints", type=int, default=1_000_000)
    parser.add_argument("--distance", type=int, default=3)
    parser.add_argument("--blocks", default="4,5,6", help="numbers of blocks, with commas (4,5,6)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    arguments = parser.parse_args(given)

    peer = peers.load("simhash-pybind", "simhash")
    fingerprints = collection(arguments.fingerprints, arguments.distance)
    rows = [
        measure(fingerprints, int(blocks), arguments.distance, arguments.rounds, peer)
        for blocks in arguments.blocks.split(",")
    ]
    if arguments.json:
        print(json.dumps([asdict(row) for row in rows]))
        return
    table = make_table(
        f"all pairs within {arguments.distance} bits of {arguments.fingerprints:,} fingerprints; best of "
        f"{arguments.rounds} rounds, one thread, Python {platform.python_version()}, numpy {np.__version__}",
        *("blocks", "tables", "shared bits", "pairs", "seconds", f"{rows[0].peer}, seconds", "same pairs"),
    )
    for row in rows:
        table.add_row(
            str(row.blocks),
            str(row.tables),
            f"{row.prefix_bits}+",
            f"{row.pairs:,}",
            f"{row.seconds:.2f}",
            "not installed" if row.peer_seconds is None else f"{row.peer_seconds:.2f}",
            {None: "", True: "yes", False: "NO"}[row.same_pairs],
        )
    console = Console(markup=False)
    console.print(table)
    if peer is None:
        console.print('simhash-pybind is not installed: pip install "crawldedup[bench]", or python benchmarks/peers.py')


if __name__ == "__main__":
    run(main, "--fingerprints 2000 --blocks 4,5 --rounds 1")
