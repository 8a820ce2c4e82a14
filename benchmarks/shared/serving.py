"""Run a benchmark's web server in another process, so that its work does not count as the crawl's.

The server does as little as possible: it looks up the request line and sends an answer that is
ready. It reports how much processor time it took, because the crawl has to do without that time if
there are few cores.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import Callable
from multiprocessing import get_context
from typing import TYPE_CHECKING, Final, Protocol
from urllib.request import urlopen

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from multiprocessing.connection import Connection as Pipe

START_SECONDS: Final = 60.0
CPU_PATH: Final = "/processor-seconds"
LOOPBACK: Final = "127.0.0.1"
_TRIES: Final = 20

Answering = Callable[[str], tuple[bytes, bool]]
"""Takes a URL without its scheme; returns what goes over the wire, and whether the connection ends
with it.
"""


class Served(Protocol):
    """A site that is sent to the server's process."""

    def answering(self, port: int) -> Answering:
        """Return what answers for the site at a port."""


@contextlib.contextmanager
def serving_apart(
    site: Served, addresses: Sequence[str] = (LOOPBACK,), port: int = 0, latency: float = 0.0
) -> Iterator[int]:
    """Serve a site on these addresses, at a port or any free one; yields the port.

    Each answer waits for `latency` seconds.
    """
    context = get_context("spawn")
    own_end, other_end = context.Pipe()
    process = context.Process(
        target=_serve, args=(site, addresses, port, latency, other_end), daemon=True
    )
    process.start()
    other_end.close()
    try:
        if not own_end.poll(START_SECONDS):
            raise TimeoutError(f"the web server did not start within {START_SECONDS:.0f} s")
        yield own_end.recv()
    finally:
        process.terminate()
        process.join()


def cpu_seconds(port: int) -> float:
    """Return the processor time that a server has taken."""
    with urlopen(f"http://{LOOPBACK}:{port}{CPU_PATH}", timeout=START_SECONDS) as answer:
        return float(answer.read())


def answer(
    body: bytes, status: bytes = b"200 OK", head: str = "Content-Type: text/html\r\n"
) -> bytes:
    """Return an answer as it goes over the wire."""
    return b"HTTP/1.1 %b\r\n%bContent-Length: %d\r\n\r\n%b" % (
        status,
        head.encode(),
        len(body),
        body,
    )


def _serve(
    site: Served, addresses: Sequence[str], wanted: int, latency: float, port_wanted: Pipe
) -> None:
    async def serve() -> None:
        sockets = _listening(addresses, wanted)
        port = sockets[0].getsockname()[1]
        answering = site.answering(port)
        for each in sockets:
            await asyncio.get_running_loop().create_server(
                lambda: _Connection(answering, latency), sock=each
            )
        port_wanted.send(port)
        await asyncio.Event().wait()

    asyncio.run(serve())


def _listening(addresses: Sequence[str], wanted: int) -> list[socket.socket]:
    """Return sockets on all addresses, at one port that is free on each."""
    for _ in range(_TRIES):
        sockets, port = [socket.socket() for _ in addresses], wanted
        try:
            for each, address in zip(sockets, addresses, strict=True):
                each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                each.bind((address, port))
                port = each.getsockname()[1]
        except OSError:
            for each in sockets:
                each.close()
        else:
            return sockets
    raise OSError(f"no port is free on all of {', '.join(addresses)}")


class _Connection(asyncio.Protocol):
    """GET requests without a body, one after the other."""

    def __init__(self, answering: Answering, latency: float) -> None:
        self._answering = answering
        self._latency = latency
        self._received = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        host, port = transport.get_extra_info("sockname")
        self._host = f"{host}:{port}"

    def data_received(self, data: bytes) -> None:
        self._received += data
        *requests, rest = self._received.split(b"\r\n\r\n")
        self._received = rest
        for request in requests:
            target = request.split(b" ", 2)[1].decode("latin-1")
            if target == CPU_PATH:
                self._transport.write(answer(str(time.process_time()).encode()))
                continue
            sent, closes = self._answering(self._host + target)
            if self._latency:
                asyncio.get_running_loop().call_later(self._latency, self._send, sent, closes)
            else:
                self._send(sent, closes)

    def _send(self, sent: bytes, closes: bool) -> None:
        self._transport.write(sent)
        if closes:
            self._transport.close()
