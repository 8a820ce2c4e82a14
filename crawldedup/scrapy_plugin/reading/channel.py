"""The crawl's end of a worker's socket: an asyncio protocol that takes answers apart."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from crawldedup.workers.framing import ANSWER, LARGEST_ANSWER

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

# Pages are bounded by Scrapy's CONCURRENT_REQUESTS, so writing never has to pause.
_WRITE_BUFFER_BYTES = 1 << 40


class Channel(asyncio.Protocol):
    """Sends requests, and passes the bytes of each answer to `on_answer`, which raises ValueError for nonsense.

    Calls `on_end` once: with that error, or with None when the other end has gone.
    """

    def __init__(self, on_answer: Callable[[bytes], None], on_end: Callable[[ValueError | None], None]) -> None:
        self._on_answer = on_answer
        self._on_end = on_end
        self._transport: asyncio.Transport | None = None
        self._socket: socket.socket | None = None
        self._unsent: list[bytes] = []
        self._received = bytearray()
        self._is_closed = False

    def connect(self, own_end: socket.socket) -> None:
        """Begin to use a connected socket, in the next turn of the running event loop."""
        self._socket = own_end
        self._connecting = asyncio.get_running_loop().create_task(self._connect(own_end))

    async def _connect(self, own_end: socket.socket) -> None:
        try:
            await asyncio.get_running_loop().create_connection(lambda: self, sock=own_end)
        except OSError:
            own_end.close()
            self._end(None)

    def send(self, message: bytes) -> None:
        """Send a request, now or as soon as there is room. `on_end` tells of what cannot be sent."""
        if self._transport is None:
            self._unsent.append(message)
        elif not self._transport.is_closing():
            self._transport.write(message)

    def close(self) -> None:
        """Close at once. `on_end` is not called for it."""
        self._is_closed = True
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See `asyncio.Protocol`."""
        assert isinstance(transport, asyncio.Transport)
        transport.set_write_buffer_limits(high=_WRITE_BUFFER_BYTES)
        self._transport = transport
        transport.writelines(self._unsent)
        self._unsent.clear()
        if self._is_closed:
            transport.abort()

    def data_received(self, data: bytes) -> None:
        """See `asyncio.Protocol`."""
        self._received += data
        try:
            while not self._is_closed and (body := self._next_body()) is not None:
                self._on_answer(body)
        except ValueError as nonsense:
            self._end(nonsense)

    def connection_lost(self, _: Exception | None) -> None:
        """See `asyncio.Protocol`."""
        # A request that cannot be written ends the transport before it has read what was answered.
        with contextlib.suppress(OSError):
            while not self._is_closed and self._socket is not None and (data := self._socket.recv(1 << 16)):
                self.data_received(data)
        self._end(None)

    def _next_body(self) -> bytes | None:
        if len(self._received) < ANSWER.size:
            return None
        (length,) = ANSWER.unpack_from(self._received)
        if length > LARGEST_ANSWER:
            raise ValueError(f"it answered with {length:,} bytes")
        end = ANSWER.size + length
        if len(self._received) < end:
            return None
        body = bytes(self._received[ANSWER.size : end])
        del self._received[:end]
        return body

    def _end(self, nonsense: ValueError | None) -> None:
        if not self._is_closed:
            self.close()
            self._on_end(nonsense)
