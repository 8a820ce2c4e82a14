"""Leave what exists before a crawl out of Python's full garbage collections, which stop the event loop."""

from __future__ import annotations

import gc
from typing import ClassVar, Final

_PYTHONS_OWN: Final = 1000
"""Python 3.12 freezes some 375 objects itself when it starts, others none. With Scrapy a program holds 100,000."""


class StartupObjects:
    """What a process holds when its first crawl starts: modules above all, some 100,000 objects and no garbage.

    A program that has disabled the collector, or frozen objects itself, keeps its policy.
    """

    _users: ClassVar[set[StartupObjects]] = set()

    def freeze(self) -> None:
        """Leave them out from now on. Collects once, so that no garbage is kept."""
        if not self._users:
            if gc.get_freeze_count() > _PYTHONS_OWN or not gc.isenabled():
                return
            gc.collect()
            gc.freeze()
        self._users.add(self)

    def unfreeze(self) -> None:
        """Collect as before, once the last crawl of the process has ended; harmless when repeated."""
        if self in self._users:
            self._users.remove(self)
            if not self._users:
                gc.unfreeze()
