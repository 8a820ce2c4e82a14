"""Pickles over a socket, to and from a worker process, without ever making the event loop wait."""

from __future__ import annotations

import contextlib
import pickle
import socket
from collections import deque
from typing import TYPE_CHECKING, Any, Final

from crawldedup.scrapy_plugin.reading.worker import HEAD
from crawldedup.scrapy_plugin.runtime.bridge import watch

if TYPE_CHECKING:
    from collections.abc import Callable

_READ_BYTES: Final = 1 << 18


class Channel:
    """Messages leave as pickles one behind the other; those that come have their length in front, as `worker` sends.

    `on_message` is called for each that has come, and `on_end` once, when the other side has gone or sends what is
    none. What was sent then may or may not have arrived.
    """

    def __init__(self, connected: socket.socket, on_message: Callable[[Any], None], on_end: Callable[[], None]) -> None:
        connected.setblocking(False)
        self._socket = connected
        self._on_message = on_message
        self._on_end = on_end
        self._received = bytearray()
        self._unsent: deque[memoryview] = deque()
        self._is_open = True
        self._watch = watch(connected, self._read, self._room)

    def send(self, message: object) -> None:
        """Send, now or as soon as there is room. What cannot be sent any more is left to `on_end`."""
        self._unsent.append(memoryview(pickle.dumps(message, pickle.HIGHEST_PROTOCOL)))
        if len(self._unsent) == 1 and not self._write():
            self._watch.want_room(True)

    def close(self) -> None:
        """Close at once; `on_end` is not called for it."""
        if self._is_open:
            self._is_open = False
            self._watch.stop()
            self._socket.close()

    def finish(self) -> None:
        """Tell the other side that nothing more will come. Only when all was answered: what is unsent is lost."""
        if self._is_open:
            with contextlib.suppress(OSError):  # it has gone already
                self._socket.shutdown(socket.SHUT_WR)

    def _write(self) -> bool:
        """Send what there is room for; True if that was all."""
        while self._unsent and self._is_open:
            try:
                sent = self._socket.send(self._unsent[0])
            except BlockingIOError:
                return False
            except OSError:
                # The reading side will notice, too, when it has read what was answered before.
                self._unsent.clear()
                break
            self._unsent[0] = self._unsent[0][sent:]
            if not self._unsent[0]:
                self._unsent.popleft()
        return True

    def _room(self) -> None:
        if self._write() and self._is_open:
            self._watch.want_room(False)

    def _read(self) -> None:
        if not self._is_open:
            return
        try:
            data = self._socket.recv(_READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self._received += data
        understood = self._take_messages()
        if not (data and understood) and self._is_open:
            self.close()
            self._on_end()

    def _take_messages(self) -> bool:
        """Pass on what has come whole; False for what is no message."""
        received = self._received
        while self._is_open and len(received) >= HEAD.size:
            (size,) = HEAD.unpack_from(received)
            end = HEAD.size + size
            if len(received) < end:
                break
            data = bytes(received[HEAD.size : end])
            # Before it is passed on: whatever that raises, no message comes twice.
            del received[:end]
            try:
                message = pickle.loads(data)
            # A library that writes to where answers are written may write anything.
            except Exception:
                return False
            self._on_message(message)
        return True
