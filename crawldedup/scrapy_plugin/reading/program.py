"""The program of a worker process: it serves the socket that it was started with until that ends.

The first request sets the process up. Nothing here may import Scrapy or Twisted, which would double a worker's memory
and the time it takes to start.
"""

from __future__ import annotations

import contextlib
import gc
import json
import logging
import os
import select
import shutil
import signal
import threading
import time
from typing import TYPE_CHECKING, Any, Final

from crawldedup.scrapy_plugin.reading.progress import Progress
from crawldedup.scrapy_plugin.reading.worker import Worker
from crawldedup.workers.framing import answer, plain_error
from crawldedup.workers.inbox import Inbox
from crawldedup.workers.memory import bound_memory
from crawldedup.workers.starting import inherited_socket

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

_DYING_SECONDS: Final = 0.5
_MOST_WARNINGS: Final = 10


class _Warnings(logging.Handler):
    """Keeps the warnings of a process that has no log of its own."""

    def __init__(self, level: int) -> None:
        super().__init__(level)
        self._kept: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a warning; of many, the first."""
        if len(self._kept) < _MOST_WARNINGS:
            self._kept.append(record.getMessage())

    def take(self) -> list[str]:
        """Return what is kept, once."""
        kept, self._kept = self._kept, []
        return kept


def main(progress: int) -> None:
    """Serve standard input, a socket, until it ends, as it does when the parent dies. `progress` is a descriptor."""
    connected = inherited_socket()
    # The parent decides when a crawl ends; Ctrl-C in a terminal is not meant for the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def tell(value: object) -> None:
        connected.sendall(answer(value))

    inbox = Inbox(connected)
    try:
        setup = json.loads(inbox.take(None).body)  # type: ignore[union-attr]
        watching = threading.Thread(target=_end_with_parent, args=(connected, setup), daemon=True)
        watching.start()
    except EOFError:
        os._exit(0)
    with contextlib.suppress(EOFError, ConnectionError):
        _serve(inbox, tell, setup, progress)
        os._exit(0)
    # It finds out whether the parent died, and ends the process.
    watching.join()


def _serve(inbox: Inbox, tell: Callable[[object], None], setup: dict[str, Any], progress: int) -> None:
    try:
        warnings = _Warnings(logging.WARNING)
        logging.getLogger("crawldedup").addHandler(warnings)
        worker = Worker(setup, tell, Progress(progress, setup["page_seconds"]), warnings.take)
    except Exception as error:
        tell({"ready": plain_error(error)})
        return
    # What is there now is no garbage, and is not searched again.
    gc.freeze()
    tell({"ready": None})
    worker.serve(inbox, bound_memory())


def _end_with_parent(connected: socket.socket, setup: dict[str, Any]) -> None:
    """End at once when the parent closes the socket or dies, even while a page is being read that never ends."""
    # Asks for no event but the end, so that pages do not wake it.
    watch = select.poll()
    watch.register(connected, getattr(select, "POLLRDHUP", 0))
    watch.poll()
    # A process that dies closes its files first.
    deadline = time.monotonic() + _DYING_SECONDS
    while setup["private"] is not None and time.monotonic() < deadline:
        if os.getppid() != setup["parent"]:
            shutil.rmtree(setup["private"], ignore_errors=True)
            break
        time.sleep(0.01)
    os._exit(0)
