"""Hold the connection to a SQLite file. A process that is forked gives up the one that it inherits."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from weakref import WeakSet

from crawldedup.stores.sqlite.database import IN_MEMORY, connect, holds_anything


class SqliteFile:
    """A file, the connection of this process to it, and the lock under which threads use that."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._is_absent = False
        self._is_forked = False
        _held.add(self)

    def _exists(self) -> bool:
        return holds_anything(self._path)

    def _connect(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection, self._is_forked = connect(self._path), False
        return self._connection

    def _connect_in_memory(self) -> sqlite3.Connection:
        """Take an empty database in memory in place of an absent file."""
        self._disconnect()
        self._connection, self._is_absent = connect(IN_MEMORY), True
        return self._connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection, self._is_absent, self._is_forked = None, False, False

    def part_from_parent(self) -> None:
        """Give up the inherited connection: SQLite would take the parent's locks for ours, and pages would get lost."""
        if self._connection is None or self._is_absent or self._path == IN_MEMORY:
            return
        if self._lock.locked():
            # A thread that only the parent has was using it: closing would wait for it forever.
            _abandoned.append(self._connection)
            self._lock = threading.Lock()
        else:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
        self._connection, self._is_forked = None, True


_held: WeakSet[SqliteFile] = WeakSet()
_abandoned: list[sqlite3.Connection] = []


def _part_from_parent() -> None:
    for file in list(_held):
        file.part_from_parent()


# Windows has no fork.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_part_from_parent)
