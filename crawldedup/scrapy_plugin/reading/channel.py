"""The crawl's end of a worker's socket: an asyncio protocol that takes answers apart."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from crawldedup.scrapy_plugin.reading.messages import ANSWER

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

# Pages are bounded by Scrapy's CONCURRENT_REQUESTS, so writing never has to pause.
_WRITE_BUFFER_BYTES = 1 << 40


class Channel(asyncio.Protocol):
    """Sends requests, passes answers to `on_answer`, and calls `on_end` once when the other end has gone."""

    def __init__(self, on_answer: Callable[[Any], None], on_end: Callable[[], None]) -> None:
        self._on_answer = on_answer
        self._on_end = on_end
        self._transport: asyncio.Transport | None = None
        self._unsent: list[bytes] = []
        self._received = bytearray()
        self._is_closed = False

    def connect(self, own_end: socket.socket) -> None:
        """Begin to use a connected socket, in the next turn of the running event loop."""
        loop = asyncio.get_running_loop()
        self._connecting = loop.create_task(loop.create_connection(lambda: self, sock=own_end))

    def send(self, message: bytes) -> None:
        """Send a request, now or as soon as there is room. `on_end` tells of what cannot be sent."""
        if self._transport is None:
            self._unsent.append(message)
        else:
            self._transport.write(message)

    def close(self) -> None:
        """Close when all is sent. `on_end` is not called for it."""
        self._is_closed = True
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See `asyncio.Protocol`."""
        assert isinstance(transport, asyncio.Transport)
        transport.set_write_buffer_limits(high=_WRITE_BUFFER_BYTES)
        self._transport = transport
        transport.writelines(self._unsent)
        self._unsent.clear()
        if self._is_closed:
            transport.close()

    def data_received(self, data: bytes) -> None:
        """See `asyncio.Protocol`."""
        self._received += data
        while not self._is_closed and len(self._received) >= ANSWER.size:
            end = ANSWER.size + ANSWER.unpack_from(self._received)[0]
            if len(self._received) < end:
                return
            body = bytes(self._received[ANSWER.size : end])
            del self._received[:end]
            try:
                answer = json.loads(body)
            except ValueError:
                self._end()
            else:
                self._on_answer(answer)

    def connection_lost(self, _: Exception | None) -> None:
        """See `asyncio.Protocol`."""
        self._end()

    def _end(self) -> None:
        if not self._is_closed:
            self.close()
            self._on_end()
