"""The shared memory by which a worker tells the crawl how far it is, and the alarm that ends it."""

from __future__ import annotations

import mmap
import signal
import struct
from typing import Final

PROGRESS: Final = struct.Struct("=Q?")
"""What a worker writes into shared memory: the number of the request it is at, and whether it asks the store."""

STORE_SECONDS: Final = 60
"""The store has this long beyond the limit of a page. Its own time limits are shorter."""

# Beyond the limits that the parent enforces: if the parent was killed, only the alarm ends a page in C code.
_GRACE_SECONDS: Final = 10


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
