"""Measure the HTTP service over a large Redis index: checks a second, latencies, and whose processor time they are.

    python benchmarks/service.py
    python benchmarks/service.py --pages 1000000 --workers 2 --seconds 10

Starts a redis-server of its own with random pages, and `crawldedup serve` beside it; this process is the client, with
so many connections that each ask about a page, or a batch of 50, and wait for the answer. All pages are new, which is
the most expensive case: texts of 4,500 letters, of 20,000 made-up words, or their fingerprints. "us" are microseconds
of the processor for one check.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from rich.console import Console

from benchmarks.shared.common import count, make_parser, make_table, numbers, run
from benchmarks.shared.redis_index import IndexServer, fill, store_of
from crawldedup import Deduplicator, wire
from tests.service.serving import ServiceProcess

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

LETTERS: Final = 4_500
BATCH: Final = 50
WORDS: Final = 20_000
WARM_UP: Final = 0.2
"""This share of the seconds is asked before the clock starts."""
_CALIBRATION: Final = 200
_TICKS: Final = os.sysconf("SC_CLK_TCK")


@dataclass
class Asked:
    """What the connections have seen."""

    until: float
    milliseconds: list[float] = field(default_factory=list)


class Connection(asyncio.Protocol):
    """Sends one request after the other until time is up."""

    def __init__(self, requests: Iterator[bytes], asked: Asked, done: asyncio.Future[None]) -> None:
        self._requests = requests
        self._asked = asked
        self._done = done
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._ask()

    def _ask(self) -> None:
        self._begun = time.perf_counter()
        request = next(self._requests, None) if self._begun < self._asked.until else None
        if request is None:
            self._transport.close()
            self._done.set_result(None)
        else:
            self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, separator, body = self._received.partition(b"\r\n\r\n")
        if not separator or len(body) < int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0]):
            return
        if b" 200 " not in head.split(b"\r\n")[0]:
            sys.exit(f"the service refuses: {self._received.decode()}")
        self._asked.milliseconds.append(1000 * (time.perf_counter() - self._begun))
        self._received = b""
        self._ask()


class Pages:
    """New pages, never asked about before."""

    def __init__(self, dedup: Deduplicator) -> None:
        self._dedup = dedup
        self._rng = Random(5)
        lengths = [self._rng.randint(2, 10) for _ in range(WORDS)]
        self._words = ["".join(self._rng.choices("abcdefghijklmnopqrst", k=length)) for length in lengths]
        # Some words are frequent, as in any language.
        self._shares = list(accumulate(1 / (rank + 100) for rank in range(WORDS)))
        self._made = 0

    def page(self, *, fingerprint: bool) -> dict[str, Any]:
        text = " ".join(self._rng.choices(self._words, cum_weights=self._shares, k=LETTERS // 3))[:LETTERS]
        content = {"fingerprint": wire.plain(self._dedup.fingerprint(text=text))} if fingerprint else {"text": text}
        self._made += 1
        return {"url": f"https://www.example.com/{self._made}", **content}

    def fingerprint_us(self) -> float:
        """Return what the fingerprint of such a page takes by itself, by which machines can be compared."""
        warm_up, *texts = [self.page(fingerprint=False)["text"] for _ in range(1 + _CALIBRATION)]
        self._dedup.fingerprint(text=warm_up)
        begun = time.process_time()
        for text in texts:
            self._dedup.fingerprint(text=text)
        return 1e6 * (time.process_time() - begun) / _CALIBRATION

    def requests(self, number: int, batch: int, *, fingerprint: bool) -> list[bytes]:
        made = []
        for _ in range(number):
            pages = [self.page(fingerprint=fingerprint) for _ in range(batch)]
            body = json.dumps(pages if batch > 1 else pages[0]).encode()
            path = b"/v1/check/batch" if batch > 1 else b"/v1/check"
            head = (
                b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
            )
            made.append(head % (path, len(body)) + body)
        return made


@contextmanager
def filled_server(pages: int) -> Iterator[IndexServer]:
    """Yield a Redis with an index of random pages that a Deduplicator can open."""
    with IndexServer() as server:
        with Deduplicator() as dedup:
            dedup.clear()
            profile, name, _ = dedup.info().profile.partition("/key.")
        with store_of(server.url, f"{profile}{name}0") as store:
            fill(store, pages, urls=True)
        yield server


def measure(
    service: ServiceProcess, server: IndexServer, requests: Iterator[bytes], connections: int, seconds: float
) -> tuple[list[float], list[float]]:
    """Ask for some seconds; return the milliseconds of each request, sorted, and the seconds that it all took.

    These are by the clock, and of the processor: of the service, of Redis and of this process.
    """
    _ask(service.port, requests, connections, WARM_UP * seconds)
    before = _clocks(service, server)
    asked = _ask(service.port, requests, connections, seconds)
    return sorted(asked.milliseconds), [now - then for now, then in zip(_clocks(service, server), before, strict=True)]


def _ask(port: int, requests: Iterator[bytes], connections: int, seconds: float) -> Asked:
    async def main() -> Asked:
        loop = asyncio.get_running_loop()
        asked = Asked(time.perf_counter() + seconds)
        ends = [loop.create_future() for _ in range(connections)]
        for end in ends:
            await loop.create_connection(partial(Connection, requests, asked, end), "127.0.0.1", port)
        await asyncio.gather(*ends)
        return asked

    return asyncio.run(main())


def _clocks(service: ServiceProcess, server: IndexServer) -> tuple[float, float, float, float]:
    info: Any = server.client.info("cpu")
    parent = service.process.pid
    children = subprocess.run(["pgrep", "-P", str(parent)], capture_output=True, text=True, check=False).stdout.split()
    own = sum(map(_seconds, [str(parent), *children]))
    return time.perf_counter(), own, info["used_cpu_user"] + info["used_cpu_sys"], time.process_time()


def _seconds(process: str) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def main(given: Sequence[str]) -> None:
    """Measure and print."""
    parser = make_parser(__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--pages", type=count, default=1_000_000, help="pages in the index")
    parser.add_argument("--workers", type=count, default=1, help="processes of the service")
    parser.add_argument("--connections", type=numbers, default=[1, 4, 16], help="connections at once, single checks")
    parser.add_argument("--seconds", type=float, default=5, help="how long to ask each way")
    parser.add_argument("--most", type=count, default=10_000, help="pages to prepare for each way")
    arguments = parser.parse_args(given)
    rows: list[dict[str, Any]] = []
    with ExitStack() as stack:
        server = stack.enter_context(filled_server(arguments.pages))
        options = ("--store", server.url, "--namespace", "bench", "--log-level", "warning")
        service = stack.enter_context(ServiceProcess(*options, "--workers", str(arguments.workers)))
        pages = Pages(stack.enter_context(Deduplicator(server.url, namespace="bench")))
        alone = pages.fingerprint_us()
        ways = [(connections, 1) for connections in arguments.connections] + [(2, BATCH)]
        for kind in ("texts", "fingerprints"):
            for connections, batch in ways:
                requests = pages.requests(arguments.most // batch, batch, fingerprint=kind == "fingerprints")
                latencies, took = measure(service, server, iter(requests), connections, arguments.seconds)
                checks = len(latencies) * batch
                row = {"pages": f"{kind}, {batch} at once" if batch > 1 else kind, "connections": connections}
                row["checks/s"] = checks / took[0]
                row |= {f"p{at} ms": latencies[at * (len(latencies) - 1) // 100] for at in (50, 99)}
                names = ("service us", "Redis us", "client us")
                row |= {name: 1e6 * seconds / checks for name, seconds in zip(names, took[1:], strict=True)}
                rows.append(row)
    if arguments.json:
        print(json.dumps({"fingerprint_us": alone, "rows": rows}))
        return
    title = f"{arguments.pages:,} pages in Redis, workers: {arguments.workers}; a fingerprint takes {alone:.0f} us"
    table = make_table(title, *rows[0])
    for row in rows:
        table.add_row(
            *(
                f"{cell:,.{int(name.endswith('ms'))}f}" if name[-2:] in ("ms", "us", "/s") else str(cell)
                for name, cell in row.items()
            )
        )
    Console(width=120).print(table)


if __name__ == "__main__":
    run(main, "--pages 2000 --most 600 --seconds 0.3 --connections 2")
