"""The site's server: a process of its own that listens on loopback addresses at one port.

The truth is a header, which the crawl's accounting reads and no tool under test does.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from benchmarks.shared.serving import serving_apart
from benchmarks.whole_site_parts.counters import loaded, with_counters
from benchmarks.whole_site_parts.pages import ADDRESSES
from benchmarks.whole_site_parts.site import Site

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.connection import Connection
    from pathlib import Path

    from benchmarks.whole_site_parts.pages import Page

CONTENT_HEADER: Final = "X-Content"
_TRIES: Final = 20


@dataclass(frozen=True)
class Recipe:
    """What a site is made by; two processes make the same of it."""

    seed: int
    scale: float
    articles: Path | None = None
    counters: bool = False
    kind: str = "whole"
    day: int = 1

    def site(self, port: int) -> Site:
        return Site(port, self.seed, self.scale, self.articles, self.kind, self.day)


@contextlib.contextmanager
def serving(recipe: Recipe, port: int = 0) -> Iterator[Site]:
    """Serve the site from another process, at any free port or at one; yields the site as it is served."""
    with serving_apart(_serve, (recipe, port)) as port:
        yield recipe.site(port)


def _serve(task: tuple[Recipe, int], port_wanted: Connection) -> None:
    asyncio.run(_serve_for_ever(*task, port_wanted))


async def _serve_for_ever(recipe: Recipe, wanted: int, port_wanted: Connection) -> None:
    sockets = _listening(wanted)
    port = sockets[0].getsockname()[1]
    pages = recipe.site(port).pages.items()
    shown = with_counters if recipe.counters else lambda page: page
    answers = {url.partition("//")[2]: _answer(shown(page)) for url, page in pages}
    loop = asyncio.get_running_loop()
    for each in sockets:
        await loop.create_server(lambda: _Connection(answers), sock=each)
    port_wanted.send(port)
    await asyncio.Event().wait()


def _listening(wanted: int) -> list[socket.socket]:
    """Sockets on all addresses, at one port that is free on each."""
    for _ in range(_TRIES):
        sockets = [socket.socket() for _ in ADDRESSES]
        port = wanted
        try:
            for each, address in zip(sockets, ADDRESSES, strict=True):
                each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                each.bind((address, port))
                port = each.getsockname()[1]
        except OSError:
            for each in sockets:
                each.close()
        else:
            return sockets
    raise OSError(f"no port is free on all of {', '.join(ADDRESSES)}")


@dataclass(frozen=True)
class _Answer:
    """What goes over the wire, and whether the connection ends with it; else the page's length is told."""

    head: bytes
    body: bytes
    closes: bool = False

    def sent(self) -> bytes:
        body = loaded(self.body)
        return self.head + (b"" if self.closes else b"Content-Length: %d\r\n" % len(body)) + b"\r\n" + body


def _answer(page: Page) -> _Answer:
    status = b"HTTP/1.0 200 OK" if page.old_http else b"HTTP/1.1 302 Found" if page.location else b"HTTP/1.1 200 OK"
    head = {"Content-Type": page.content_type}
    if page.content:
        head[CONTENT_HEADER] = page.content
    if page.location:
        head["Location"] = page.location
    lines = [status, *(f"{name}: {value}".encode() for name, value in head.items()), b""]
    return _Answer(b"\r\n".join(lines), page.body, page.old_http)


_NOT_FOUND: Final = _Answer(b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\n", b"")


class _Connection(asyncio.Protocol):
    """GET requests without a body, one after the other."""

    def __init__(self, answers: dict[str, _Answer]) -> None:
        self._answers = answers
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
            answer = self._answers.get(self._host + target, _NOT_FOUND)
            self._transport.write(answer.sent())
            if answer.closes:
                self._transport.close()
