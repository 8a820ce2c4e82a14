"""A worker's end of its socket: requests one by one, and the shared memory that tells the crawl how far it is."""

from __future__ import annotations

import contextlib
import json
import mmap
import select
import signal
import socket
import struct
from typing import Any, Final, NamedTuple

from crawldedup.scrapy_plugin.reading.messages import REQUEST

PROGRESS: Final = struct.Struct("=Q?")
"""What a worker writes into shared memory: the number of the request it is at, and whether it asks the store."""

STORE_SECONDS: Final = 60
"""The store has this long beyond the limit of a page. Its own time limits are shorter."""

# Beyond the limits that the parent enforces: if the parent was killed, only the alarm ends a page in C code.
_GRACE_SECONDS: Final = 10
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


class Progress:
    """Tells the parent which request is being dealt with, and bounds the time of each by an alarm."""

    def __init__(self, descriptor: int, page_seconds: float) -> None:
        self._shared = mmap.mmap(descriptor, PROGRESS.size)
        self._alarm_seconds = int(page_seconds) + _GRACE_SECONDS
        self._begun = 0

    def begin(self) -> None:
        """Say that the next request is begun."""
        self._begun += 1
        self.read()

    def read(self) -> None:
        """Say that the store was asked, and that the page's own time counts again."""
        PROGRESS.pack_into(self._shared, 0, self._begun, False)
        # Its default action ends the process, even inside C code that never returns to Python.
        signal.alarm(self._alarm_seconds)

    def ask_store(self) -> None:
        """Say that the store is asked, whose time is no page's."""
        PROGRESS.pack_into(self._shared, 0, self._begun, True)
        signal.alarm(self._alarm_seconds + STORE_SECONDS)

    def rest(self) -> None:
        """Say that there is nothing to do."""
        PROGRESS.pack_into(self._shared, 0, self._begun, False)
        signal.alarm(0)
