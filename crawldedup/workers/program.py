"""The program of a worker process: it serves the socket that is its standard input until that ends.

The first frame sets the process up, each further one is a request. Nothing here may import Scrapy or Twisted, which
would double a worker's memory and the time it takes to start.
"""

import contextlib
import gc
import importlib
import logging
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec

from crawldedup.workers.frames import LENGTH, Answer, Failure, framed

# What reading a page may take. The most hostile pages known take half of it.
_PAGE_BYTES: Final = 1 << 30
# By so much a process may have grown between two pages, since C libraries give little back.
_KEPT_BYTES: Final = 300 << 20
# Beyond the limit that the parent enforces: if the parent was killed, only the alarm ends a page in C code.
_GRACE_SECONDS: Final = 10


def main(name: str, seconds: int) -> None:
    """Serve standard input with the handler "package.module:function" until it ends, as when the parent dies.

    The function may take so many seconds to make the handler.
    """
    inbox = Inbox(_inherited_socket())
    # The parent decides when this process ends; signals to a whole group are not meant for it.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    # The default action of an alarm ends the process, even inside C code that never returns to Python.
    signal.alarm(seconds + _GRACE_SECONDS)
    with contextlib.suppress(EOFError, ConnectionError):
        setup = inbox.take()
        try:
            module, _, function = name.partition(":")
            handle = getattr(importlib.import_module(module), function)(setup)
            # What is there now is no garbage, and is not searched again.
            gc.freeze()
            answer = Answer(is_last=False)
        except BaseException as error:
            answer = Answer(is_last=True, failure=Failure.of(error))
        is_large = bound_memory()
        inbox.answer(answer)
        while not answer.is_last:
            signal.alarm(0)
            seconds, message = inbox.take()
            signal.alarm(seconds + _GRACE_SECONDS)
            try:
                answer = Answer(is_last=False, value=msgspec.Raw(msgspec.msgpack.encode(handle(message))))
            # Whatever a library raises, even to end the program, or in Rust to panic, is one page's trouble.
            except BaseException as error:
                answer = Answer(is_last=False, failure=Failure.of(error))
            answer.is_last = is_large()
            inbox.answer(answer)


class Inbox:
    """Takes requests from a socket, and answers there."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._received = bytearray()

    def take(self) -> Any:
        """Return the content of the next frame. Raises EOFError at the end."""
        # What has arrived is taken at once: the parent, busy for dozens of pages' time, can send on only into room.
        with contextlib.suppress(BlockingIOError):
            while self._receive(socket.MSG_DONTWAIT):
                pass
        end = LENGTH.size
        while len(self._received) < end or len(self._received) < (end := LENGTH.size + self._length()):
            if not self._receive():
                raise EOFError
        content = msgspec.msgpack.decode(memoryview(self._received)[LENGTH.size : end])
        del self._received[:end]
        return content

    def answer(self, answer: Answer) -> None:
        self._socket.sendall(framed(answer))

    def _length(self) -> int:
        return int(LENGTH.unpack_from(self._received)[0])

    def _receive(self, flags: int = 0) -> int:
        data = self._socket.recv(1 << 18, flags)
        self._received += data
        return len(data)


def _inherited_socket() -> socket.socket:
    """Return the socket that is standard input, which nothing else of the process then has."""
    connected = socket.socket(fileno=os.dup(0))
    # Programs that an extractor starts, and libraries that print, must not have it.
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    os.dup2(2 if sys.stderr else 0, 1)
    # A library that complains about a page must not fill the parent's log.
    logging.getLogger().addHandler(logging.NullHandler())
    return connected


def bound_memory() -> Callable[[], bool]:
    """Let allocations fail beyond `_PAGE_BYTES` more than now; return what tells if far more is held than now.

    Where there is no /proc there are no bounds.
    """
    try:
        held, allocated = _held()
    except OSError:
        return lambda: False
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    bounds = [bound for bound in (allocated + _PAGE_BYTES, soft, hard) if bound != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_DATA, (min(bounds), hard))
    return lambda: _held()[0] > held + _KEPT_BYTES


def _held() -> tuple[int, int]:
    """Return the bytes of own memory that are in use, and those of all that was allocated. Raises OSError."""
    _, resident, shared, _, _, data, _ = map(int, Path("/proc/self/statm").read_text("ascii").split())
    page = resource.getpagesize()
    return (resident - shared) * page, data * page
