"""The event loops that Scrapy runs on, as far as the plugin needs them: results of threads, and sockets to watch."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any, Protocol

from scrapy.utils.asyncio import is_asyncio_available

if TYPE_CHECKING:
    from collections.abc import Callable
    from socket import socket

    Post = Callable[..., object]


def in_asyncio() -> bool:
    """Whether asyncio's loop runs here. Before 2.15 Scrapy itself can tell only where a reactor is installed."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return is_asyncio_available()
    return True


def later(seconds: float, call: Callable[[], object]) -> Callable[[], object]:
    """Have the loop that runs call something later; what this returns takes it back, which is harmless afterwards."""
    if in_asyncio():
        return asyncio.get_running_loop().call_later(seconds, call).cancel
    timer = _reactor().callLater(seconds, call)
    return lambda: timer.active() and timer.cancel()


def poster() -> Post:
    """What another thread calls, with a function and its arguments, to have it called by the loop. Ask in the loop."""
    if not in_asyncio():
        return _reactor().callFromThread  # type: ignore[no-any-return]
    loop = asyncio.get_running_loop()

    def post(call: Callable[..., object], *arguments: object) -> None:
        # A loop that is closed has nobody left who would wait for it.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(call, *arguments)

    return post


class Watch(Protocol):
    """Calls when a socket has something to read, and, once it was asked to, when there is room to write."""

    def want_room(self, wanted: bool) -> None:
        """Ask for the calls about room, or for no more of them."""

    def stop(self) -> None:
        """No more calls. Harmless when repeated; before the socket is closed."""


def watch(watched: socket, on_readable: Callable[[], None], on_room: Callable[[], None]) -> Watch:
    """Watch a socket in the loop that runs."""
    if in_asyncio():
        return _AsyncioWatch(asyncio.get_running_loop(), watched, on_readable, on_room)
    return _ReactorWatch(_reactor(), watched, on_readable, on_room)


class _AsyncioWatch:
    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        watched: socket,
        on_readable: Callable[[], None],
        on_room: Callable[[], None],
    ) -> None:
        self._loop, self._socket, self._on_room = loop, watched, on_room
        loop.add_reader(watched, on_readable)

    def want_room(self, wanted: bool) -> None:
        if wanted:
            self._loop.add_writer(self._socket, self._on_room)
        else:
            self._loop.remove_writer(self._socket)

    def stop(self) -> None:
        self._loop.remove_reader(self._socket)
        self._loop.remove_writer(self._socket)


class _ReactorWatch:
    def __init__(
        self, reactor: Any, watched: socket, on_readable: Callable[[], None], on_room: Callable[[], None]
    ) -> None:
        self._reactor, self._socket, self._on_readable, self._on_room = reactor, watched, on_readable, on_room
        reactor.addReader(self)

    def want_room(self, wanted: bool) -> None:
        if wanted:
            self._reactor.addWriter(self)
        else:
            self._reactor.removeWriter(self)

    def stop(self) -> None:
        self._reactor.removeReader(self)
        self._reactor.removeWriter(self)

    # What the reactor asks of a descriptor (twisted.internet.interfaces.IReadWriteDescriptor), in its own spelling.

    def fileno(self) -> int:
        return self._socket.fileno()

    def doRead(self) -> None:  # noqa: N802
        self._on_readable()

    def doWrite(self) -> None:  # noqa: N802
        self._on_room()

    def connectionLost(self, reason: object) -> None:  # noqa: N802
        """The reactor has noticed before a read did: let the read find out."""
        del reason
        self._on_readable()

    def logPrefix(self) -> str:  # noqa: N802
        return "crawldedup"


def _reactor() -> Any:
    # Importing the reactor installs one, which would be wrong in the other modes.
    from twisted.internet import reactor

    return reactor
