"""What the Redis index is measured against: two other ways to keep fingerprints in Redis.

- `PlainTables`, the layout of the literature and of older code: one sorted set for each permuted table. The ranges of
  a probe plan are asked for in one pipeline, and what is new is added in a second one: two round trips, not
  atomic. It keeps fingerprints only: no record, no URL, nothing to verify with.
- `DatasketchIndex`, datasketch's MinHashLSH with its Redis storage: a query and an insertion. It keeps band hashes and
  page numbers only.

Both are a server to fill, then its memory, or the time of its commands.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np
import redis

from benchmarks.peers import load
from benchmarks.redis_parts.server import CLIENT_CORE, IndexServer, measure, pinned
from benchmarks.shared.common import progress
from crawldedup.search.plan import rotated_tables
from crawldedup.stores.base import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from benchmarks.redis_parts.server import TimeRow
    from crawldedup.stores.base import Query

    Advance = Callable[[int], None]

HAMMING_DISTANCE = 3
"""What the literature calls a near duplicate, of 64 bits."""
PERMUTATIONS = 128
MINHASH_THRESHOLD = 0.8
"""Of datasketch's LSH: at 0.9 it misses three in ten of the pages of a similarity just above."""
_CHUNK = 10_000


class PlainTables:
    """One sorted set a table, its members the permuted fingerprints, 8 bytes."""

    candidates = None

    def __init__(self, url: str, tables: int = 2) -> None:
        self.name = f"{tables} tables, one sorted set each"
        self.tables = rotated_tables(tables)
        self._client = redis.Redis.from_url(url, socket_timeout=None)

    def fill(self, pages: int, advance: Advance) -> None:
        """Add random fingerprints."""
        rng = np.random.default_rng(1)
        for start in range(0, pages, _CHUNK):
            count = min(_CHUNK, pages - start)
            fingerprints = rng.integers(0, 1 << 64, count, np.uint64, endpoint=False)
            for number, table in enumerate(self.tables):
                packed = table.keys(fingerprints).astype(">u8").tobytes()
                members = [part for place in range(0, len(packed), 8) for part in (0, packed[place : place + 8])]
                self._client.execute_command("ZADD", f"t{number}", *members)  # type: ignore[no-untyped-call]
            advance(count)

    def ask(self, items: Sequence[Query]) -> list[Status]:
        """Look in each query's ranges, and add the page if nothing near is there."""
        return [self._ask(query) for query in items]

    def _ask(self, query: Query) -> Status:
        plan = query.plan
        lows, highs = plan.lows.astype(">u8").tobytes(), plan.highs.astype(">u8").tobytes()
        ranges = self._client.pipeline(transaction=False)
        for probe, number in enumerate(plan.tables.tolist()):
            place = slice(probe * 8, probe * 8 + 8)
            ranges.zrangebylex(
                f"t{number}", b"[" + lows[place], b"[" + highs[place], start=0, num=query.max_keys_per_side
            )
        for number, members in zip(plan.tables.tolist(), ranges.execute(), strict=True):
            keys = np.frombuffer(b"".join(members), ">u8").astype(np.uint64)
            own = self.tables[number].key(query.record.search)
            for other in keys.tolist():
                if (other ^ own).bit_count() <= HAMMING_DISTANCE:
                    return Status.NEAR
        additions = self._client.pipeline(transaction=False)
        for number, key in enumerate(query.keys):
            additions.zadd(f"t{number}", {key.to_bytes(8, "big"): 0})
        additions.execute()
        return Status.NEW


class DatasketchIndex:
    """MinHashLSH with storage in Redis; pages are numbers, their signatures are not kept."""

    candidates = None

    def __init__(self, url: str) -> None:
        peer = load("datasketch", "datasketch")
        if peer is None:
            raise ModuleNotFoundError("datasketch is not installed: pip install datasketch, or leave it out")
        server = urlsplit(url)
        self._blank = peer.module.MinHash(num_perm=PERMUTATIONS)
        self._lsh = peer.module.MinHashLSH(
            threshold=MINHASH_THRESHOLD,
            num_perm=PERMUTATIONS,
            storage_config={
                "type": "redis",
                "basename": b"datasketch",
                "redis": {"host": server.hostname, "port": server.port},
            },
        )
        self.name = f"datasketch {peer.version} MinHashLSH, {self._lsh.b} bands of {self._lsh.r}"

    def fill(self, pages: int, advance: Advance) -> None:
        """Add random signatures, through datasketch's session for many."""
        rng = np.random.default_rng(1)
        with self._lsh.insertion_session(buffer_size=_CHUNK) as session:
            for number, values in enumerate(random_signatures(rng, pages)):
                session.insert(number, self._minhash(values), check_duplication=False)
                advance(1)

    def ask(self, items: Sequence[tuple[int, NDArray[np.uint64]]]) -> list[Status]:
        """Query, and insert what is new."""
        return [self._ask(number, values) for number, values in items]

    def _ask(self, number: int, values: NDArray[np.uint64]) -> Status:
        minhash = self._minhash(values)
        if self._lsh.query(minhash):
            return Status.NEAR
        self._lsh.insert(number, minhash)
        return Status.NEW

    def _minhash(self, values: NDArray[np.uint64]) -> Any:
        minhash = self._blank.copy()
        minhash.hashvalues = values.astype(self._blank.hashvalues.dtype)
        return minhash


def random_signatures(rng: np.random.Generator, count: int) -> Sequence[NDArray[np.uint64]]:
    """MinHash signatures of unrelated pages."""
    return list(rng.integers(0, 1 << 32, (count, PERMUTATIONS), np.uint64))


@dataclass
class PeerMemory:
    index: str
    holds: str
    pages: int
    bytes_a_page: float


def peer_memories(plain_pages: int, datasketch_pages: int) -> Iterator[PeerMemory]:
    """Fill each peer with so many pages."""
    for tables in (4, 2):
        with IndexServer() as server:
            yield _memory_of(server, PlainTables(server.url, tables), "fingerprint", plain_pages)
    with IndexServer() as server:
        yield _memory_of(server, DatasketchIndex(server.url), "band hashes, page number", datasketch_pages)


def _memory_of(server: IndexServer, peer: PlainTables | DatasketchIndex, holds: str, pages: int) -> PeerMemory:
    before = server.used_memory()
    _fill(peer, pages)
    return PeerMemory(peer.name, holds, pages, (server.used_memory() - before) / pages)


def _fill(peer: PlainTables | DatasketchIndex, pages: int) -> None:
    with pinned(CLIENT_CORE), progress(f"filling {peer.name}", pages) as advance:
        peer.fill(pages, advance)


def plain_row(pages: int, queries: Sequence[Query]) -> TimeRow:
    """Ask two plain tables of so many pages."""
    with IndexServer() as server:
        peer = PlainTables(server.url)
        _fill(peer, pages)
        return measure(server, PlainTables, queries, index=f"{peer.name}, pipelined", pages=pages, queries="random")


def datasketch_row(pages: int, checks: int) -> TimeRow:
    """Ask datasketch so often about other random pages."""
    with IndexServer() as server:
        peer = DatasketchIndex(server.url)
        _fill(peer, pages)
        items = [
            (pages + number, values)
            for number, values in enumerate(random_signatures(np.random.default_rng(2), checks))
        ]
        return measure(server, DatasketchIndex, items, index=peer.name, pages=pages, queries="random")
