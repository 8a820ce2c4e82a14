"""Measure the HTTP service over a large index: checks per second, latencies, and which part takes
the processor time.

    python benchmarks/service.py --workers 2 --seconds 10
    python benchmarks/service.py --pages 100000 --sqlite

Starts a separate redis-server with random pages, or fills a SQLite file, and runs `crawldedup serve`
with it. This process is the client. Each of its connections asks about a page, or a batch of 50, and
waits for the answer. All pages are new, which is the most expensive case: texts of 4,500 letters
made from 20,000 generated words, the same texts as HTML, or their fingerprints. "us" is microseconds
of processor time for one check. "units" is the time of the service divided by the time that the
fingerprint of a text takes in the same seconds. "p99 at half" is the latency when the connections
send half as many requests as they could.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate, product
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
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
MOST: Final = 3_500  # pages that are prepared for each second
WARM_UP: Final = 0.2  # this share of the seconds is asked before the clock starts
_CALIBRATION: Final = 200
_TICKS: Final = os.sysconf("SC_CLK_TCK")


@dataclass
class Asked:
    """What the connections have seen."""

    until: float
    pause: float
    milliseconds: list[float] = field(default_factory=list)


class Connection(asyncio.Protocol):
    """Sends one request after the other until time is up."""

    def __init__(self, requests: Iterator[bytes], asked: Asked, done: asyncio.Future[None]) -> None:
        self._requests = requests
        self._asked = asked
        self._done = done
        self._received = b""
        self._next = time.perf_counter()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._ask()

    def _ask(self) -> None:
        self._begun = time.perf_counter()
        self._next = max(self._next + self._asked.pause, self._begun)
        request = next(self._requests, None) if self._begun < self._asked.until else None
        if request is None:
            self._transport.close()
            self._done.set_result(None)
        else:
            self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, separator, body = self._received.partition(b"\r\n\r\n")
        if not separator or len(body) < int(
            head.lower().partition(b"content-length:")[2].split(b"\r\n")[0]
        ):
            return
        if b" 200 " not in head.split(b"\r\n")[0]:
            sys.exit(f"the service refuses: {self._received.decode()}")
        self._asked.milliseconds.append(1000 * (time.perf_counter() - self._begun))
        self._received = b""
        asyncio.get_running_loop().call_later(self._next - time.perf_counter(), self._ask)


class Pages:
    """New pages, never asked about before."""

    def __init__(self, dedup: Deduplicator) -> None:
        self._dedup = dedup
        self._rng = Random(5)
        lengths = [self._rng.randint(2, 10) for _ in range(WORDS)]
        self._words = [
            "".join(self._rng.choices("abcdefghijklmnopqrst", k=length)) for length in lengths
        ]
        # Some words are frequent, as in any language.
        self._shares = list(accumulate(1 / (rank + 100) for rank in range(WORDS)))
        self._made = 0

    def page(self, kind: str) -> dict[str, Any]:
        text = " ".join(self._rng.choices(self._words, cum_weights=self._shares, k=LETTERS // 3))[
            :LETTERS
        ]
        self._made += 1
        url = f"https://www.example.com/{self._made}"
        if kind == "fingerprints":
            return {"url": url, "fingerprint": wire.plain(self._dedup.fingerprint(text=text))}
        if kind == "texts":
            return {"url": url, "text": text}
        body = "".join(f"<p>{text[start : start + 450]}" for start in range(0, LETTERS, 450))
        links = "".join(
            f"<li><a href='/{word}' class='item'>{word}</a>" for word in self._words[:60]
        )
        return {
            "url": url,
            "html": f"<title>{self._made}</title><nav><ul>{links}</ul></nav><article>{body}</article>",
        }

    def alone_us(self, kind: str) -> float:
        """Return what reading such a page and its fingerprint take by themselves, by which machines
        are compared.
        """
        contents = [dict([self.page(kind).popitem()]) for _ in range(_CALIBRATION)]
        self._dedup.fingerprint(**contents[0])
        begun = time.process_time()
        for content in contents:
            self._dedup.fingerprint(**content)
        return 1e6 * (time.process_time() - begun) / _CALIBRATION

    def requests(self, number: int, batch: int, kind: str) -> list[bytes]:
        made = []
        for _ in range(number):
            pages = [self.page(kind) for _ in range(batch)]
            body = json.dumps(pages if batch > 1 else pages[0]).encode()
            path = b"/v1/check/batch" if batch > 1 else b"/v1/check"
            head = (
                b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
                b"application/json\r\nContent-Length: %d"
            )
            made.append(head % (path, len(body)) + b"\r\n\r\n" + body)
        return made


@contextmanager
def filled_store(pages: int, *, sqlite: bool) -> Iterator[tuple[str, IndexServer | None]]:
    """Yield the URL of a store with an index of random pages that a Deduplicator can open, and its
    server.
    """
    with ExitStack() as stack:
        server = None if sqlite else stack.enter_context(IndexServer())
        url = (
            server.url
            if server
            else f"sqlite:///{stack.enter_context(TemporaryDirectory())}/index.sqlite"
        )
        with Deduplicator() as dedup:
            profile, name, _ = dedup.info().profile.partition("/key.")
        with store_of(url, f"{profile}{name}0") as store:
            fill(store, pages, urls=True)
        yield url, server


def measure(
    service: ServiceProcess,
    server: IndexServer | None,
    requests: Iterator[bytes],
    connections: int,
    seconds: float,
) -> tuple[list[float], list[float], float]:
    """Ask for some seconds.

    Return the milliseconds of each request, the seconds it took, and p99 at half of the load.

    The seconds are by the clock, and of the processor: of the service, of Redis and of this
    process.
    """
    _ask(service.port, requests, connections, WARM_UP * seconds)
    before = _clocks(service, server)
    asked = _ask(service.port, requests, connections, seconds)
    took = [now - then for now, then in zip(_clocks(service, server), before, strict=True)]
    halved = _ask(
        service.port, requests, connections, seconds, 2 * connections * took[0] / len(asked)
    )
    return asked, took, percentile(halved, 99)


def percentile(values: Sequence[float], at: int) -> float:
    return values[at * (len(values) - 1) // 100] if values else float("nan")


def _ask(
    port: int, requests: Iterator[bytes], connections: int, seconds: float, pause: float = 0
) -> list[float]:
    async def main() -> list[float]:
        loop = asyncio.get_running_loop()
        asked = Asked(time.perf_counter() + seconds, pause)
        ends = [loop.create_future() for _ in range(connections)]
        for number, end in enumerate(ends):
            await loop.create_connection(
                partial(Connection, requests, asked, end), "127.0.0.1", port
            )
            await asyncio.sleep(pause / connections * (number > 0))
        await asyncio.gather(*ends)
        return sorted(asked.milliseconds)

    return asyncio.run(main())


def _clocks(
    service: ServiceProcess, server: IndexServer | None
) -> tuple[float, float, float, float]:
    info: Any = server.client.info("cpu") if server else {}
    redis = sum(info.get(name, 0.0) for name in ("used_cpu_user", "used_cpu_sys"))
    return time.perf_counter(), _seconds(service.process.pid), redis, time.process_time()


def _seconds(process: int) -> float:
    """Return the processor time of a process and of those that it has started."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return (int(fields[11]) + int(fields[12])) / _TICKS + sum(map(_seconds, map(int, children)))


def main(given: Sequence[str]) -> None:
    """Measure and print."""
    parser = make_parser(__doc__)
    parser.add_argument("--pages", type=count, default=1_000_000, help="pages in the index")
    parser.add_argument(
        "--sqlite", action="store_true", help="keep the index in a file instead of Redis"
    )
    parser.add_argument("--workers", type=count, default=1, help="processes of the service")
    parser.add_argument(
        "--connections", type=numbers, default=[1, 4, 16], help="connections at once, single checks"
    )
    parser.add_argument("--seconds", type=float, default=5, help="how long to ask each way")
    arguments = parser.parse_args(given)
    with ExitStack() as stack:
        url, server = stack.enter_context(filled_store(arguments.pages, sqlite=arguments.sqlite))
        options = ("--store", url, "--namespace", "bench", "--log-level", "warning")
        service = stack.enter_context(ServiceProcess(*options, "--workers", str(arguments.workers)))
        pages = Pages(stack.enter_context(Deduplicator(url, namespace="bench")))
        text, html = map(pages.alone_us, ("texts", "HTML"))
        title = (
            f"{arguments.pages:,} pages; microseconds of one alone: text {text:.0f}, HTML "
            f"{html:.0f}"
        )
        names = (
            "checks/s",
            "p50 ms",
            "p99 ms",
            "p99 at half",
            "service us",
            "Redis us",
            "client us",
            "units",
        )
        table = make_table(title, "pages", "connections", *names)
        ways = [(connections, 1) for connections in arguments.connections] + [(2, BATCH)]
        for kind, (connections, batch) in product(("texts", "HTML", "fingerprints"), ways):
            requests = pages.requests(int(MOST * arguments.seconds) // batch, batch, kind)
            before = pages.alone_us("texts")
            latencies, took, halved = measure(
                service, server, iter(requests), connections, arguments.seconds
            )
            alone = (before + pages.alone_us("texts")) / 2
            us = [1e6 * seconds / len(latencies) / batch for seconds in took]
            times = [
                1e6 / us[0],
                percentile(latencies, 50),
                percentile(latencies, 99),
                halved,
                *us[1:],
                us[1] / alone,
            ]
            cells = [f"{time:,.{int(time < 100)}f}" for time in times]
            table.add_row(
                f"{kind}, {batch} at once" if batch > 1 else kind, str(connections), *cells
            )
    Console(width=120).print(table)


if __name__ == "__main__":
    run(main, "--pages 2000 --seconds 0.3 --connections 2")
