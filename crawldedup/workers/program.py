"""The program that runs in a worker process: it answers requests until its standard input ends.

The first frame sets up the process, and each further one is a request. A frame is a length followed
by plain data as MessagePack, never a pickle. If a hostile page takes over a worker, the worker can
give wrong answers, but these can't run code. This module must not import Scrapy or Twisted, which
would double the memory of a worker and the time it takes to start.
"""

import gc
import logging
import os
import pkgutil
import resource
import signal
import socket
import struct
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from io import BufferedReader
from pathlib import Path
from typing import Any, Final, Self

import msgspec

from crawldedup.errors import ConfigurationError, CrawlDedupError, PageError, UnexpectedReadError

LENGTH: Final = struct.Struct("!I")  # before each frame: the length of the rest
START_SECONDS: Final = 60  # the time limit for making the handler
# The memory that reading a page may take. The most hostile pages known take half of it.
_PAGE_BYTES: Final = 1 << 30
# How much a process may grow between two pages, because C libraries release little memory.
_KEPT_BYTES: Final = 300 << 20
# Added to the limit that the parent enforces. If the parent was killed, only the alarm ends a page
# in C code.
_GRACE_SECONDS: Final = 10
# If the parent is busy while many pages are read, the worker can only read ahead as far as this
# buffer reaches.
_AHEAD_BYTES: Final = 1 << 20


class Answer(msgspec.Struct, array_like=True):
    """The answer of a worker: a value, or an error as its counter, message and reason.

    After its last answer, a worker ends: it has grown too large, or could not be set up.
    """

    is_last: bool = False
    value: msgspec.Raw = msgspec.Raw(b"\xc0")
    failure: tuple[str, str, str] | None = None

    @classmethod
    def of(cls, error: BaseException) -> Self:
        """Describe an error in an answer.

        For an error that isn't PageError or ConfigurationError, the answer has its traceback and
        the name of its class, which may only exist in the worker.
        """
        if isinstance(error, MemoryError):
            error = PageError.after(error, "reading")
        if isinstance(error, PageError | ConfigurationError):
            return cls(
                failure=(error.counter, valid(str(error)), valid(getattr(error, "reason", "")))
            )
        return cls(
            failure=("", valid("".join(traceback.format_exception(error))), type(error).__name__)
        )

    def error(self) -> CrawlDedupError | None:
        """Turn the description of an error back into an error, or return None if there was none."""
        if self.failure is None:
            return None
        counter, message, reason = self.failure
        if counter == ConfigurationError.counter:
            return ConfigurationError(message)
        return (PageError if counter == PageError.counter else UnexpectedReadError)(reason, message)


def framed(value: object) -> bytes:
    """Return a frame with this value, which must be plain data."""
    content = msgspec.msgpack.encode(value)
    return LENGTH.pack(len(content)) + content


def valid(text: str) -> str:
    """Replace lone surrogates in a text with "?", so it can be encoded as UTF-8 for MessagePack."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def main(name: str) -> None:
    """Run a worker: answer the requests on standard input with "package.module:function".

    It ends with standard input, when the parent dies, or after its last answer: see `Answer`.
    """
    connected = _inherited_socket()
    inbox = BufferedReader(socket.SocketIO(connected, "r"), _AHEAD_BYTES)
    # The parent decides when this process ends. Signals to a whole group are not meant for it.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    # The default action of an alarm ends the process, even inside C code that never returns to
    # Python.
    signal.alarm(START_SECONDS + _GRACE_SECONDS)
    # The errors if the parent didn't finish sending a request, or doesn't accept the answer.
    with suppress(struct.error, msgspec.DecodeError, ConnectionError):
        setup = _next_frame(inbox)
        try:
            handle = pkgutil.resolve_name(name)(setup)
            # All objects that exist now stay, so the garbage collector can skip them.
            gc.freeze()
            answer = Answer()
        except BaseException as error:
            answer = Answer.of(error)
            answer.is_last = True
        is_large = bound_memory()
        connected.sendall(framed(answer))
        while not answer.is_last:
            signal.alarm(0)
            seconds, message = _next_frame(inbox)
            signal.alarm(seconds + _GRACE_SECONDS)
            try:
                answer = Answer(value=msgspec.Raw(msgspec.msgpack.encode(handle(message))))
            # Anything that a library raises, even an exit or a panic in Rust, only affects one
            # page.
            except BaseException as error:
                answer = Answer.of(error)
            answer.is_last = is_large()
            connected.sendall(framed(answer))


def _next_frame(inbox: "BufferedReader[Any]") -> Any:
    (length,) = LENGTH.unpack(inbox.read(LENGTH.size))
    return msgspec.msgpack.decode(inbox.read(length))


def _inherited_socket() -> socket.socket:
    """Take over the socket on standard input, so nothing else can use it, and return it.

    From then on, whatever the process prints goes to standard error.
    """
    connected = socket.socket(fileno=os.dup(0))
    # Programs that an extractor starts, and libraries that print, must not use it.
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    os.dup2(2 if sys.stderr else 0, 1)
    # A library that complains about a page must not fill the parent's log.
    logging.getLogger().addHandler(logging.NullHandler())
    return connected


def bound_memory() -> Callable[[], bool]:
    """Limit the memory of the process: allocations of `_PAGE_BYTES` above the current level fail.

    Return a function that says whether much more memory is in use than now. Without /proc, there
    are no limits.
    """
    try:
        held, allocated = _held()
    except OSError:
        return lambda: False
    limits = resource.getrlimit(resource.RLIMIT_DATA)
    most = min(
        [allocated + _PAGE_BYTES, *(each for each in limits if each != resource.RLIM_INFINITY)]
    )
    resource.setrlimit(resource.RLIMIT_DATA, (most, limits[1]))
    return lambda: _held()[0] > held + _KEPT_BYTES


def _held() -> tuple[int, int]:
    """Return how much private memory the process uses, and how much it has allocated, in bytes.

    Raises OSError without /proc.
    """
    _, resident, shared, _, _, data, _ = map(
        int, Path("/proc/self/statm").read_text("ascii").split()
    )
    page = resource.getpagesize()
    return (resident - shared) * page, data * page
