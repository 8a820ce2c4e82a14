"""A worker's end of its socket: requests one by one."""

from __future__ import annotations

import contextlib
import json
import select
import socket
from typing import Any, Final, NamedTuple

from crawldedup.workers.framing import REQUEST

_RECEIVED_BYTES: Final = 1 << 18


class Request(NamedTuple):
    """One request: what to do, and a body."""

    header: dict[str, Any]
    body: bytes


class Inbox:
    """Receives requests from a socket."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._received = bytearray()

    def take(self, timeout_seconds: float | None) -> Request | None:
        """Return the next request, or None if none has come in time. Raises EOFError at the end."""
        self._drain()
        while True:
            if len(self._received) >= REQUEST.size:
                head, body = REQUEST.unpack_from(self._received)
                middle, end = REQUEST.size + head, REQUEST.size + head + body
                if len(self._received) >= end:
                    header = json.loads(self._received[REQUEST.size : middle])
                    content = bytes(self._received[middle:end])
                    del self._received[:end]
                    return Request(header, content)
                timeout_seconds = None  # the rest of it is on its way
            if not select.select([self._socket], [], [], timeout_seconds)[0]:
                return None
            if not (data := self._socket.recv(_RECEIVED_BYTES)):
                raise EOFError
            self._received += data

    def _drain(self) -> None:
        """Take what has arrived: the crawl, which is busy for dozens of pages' time, can send on only into room."""
        with contextlib.suppress(BlockingIOError):
            while data := self._socket.recv(_RECEIVED_BYTES, socket.MSG_DONTWAIT):
                self._received += data
