"""Journals in files: written a line at a time, so that a process that is killed leaves all that it has written."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import time
from itertools import count
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from crawldedup.errors import ConfigurationError
from crawldedup.journal.records import FORMAT, VERSION, header_in, line_of, record_in
from crawldedup.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

MOST_BYTES: Final = 2_000_000_000
"""So many bytes of earlier crawls are kept. The last of them is kept whatever it takes."""

_LONGEST_HEADER: Final = 1 << 16
_LONGEST_END: Final = 1 << 20
_LOCKLESS_SECONDS: Final = 86_400


class Journal(NamedTuple):
    """A file, and the header that it begins with."""

    path: Path
    header: dict[str, Any]


class FileJournal:
    """Writes a journal into a new file of a directory, where journals of earlier crawls make room.

    A line that there is no room for is lost, and the next one that is written stands behind a line that says how many
    were. `trouble` tells of the last failure. `lost` counts the lines that are not there.
    """

    def __init__(self, directory: Path, header: Mapping[str, Any], writer: str, *, keep: int) -> None:
        self.lost = self._told = 0
        self._header = line_of(header)
        self.trouble: str | None = None
        self._file: int | None = None
        try:
            directory.mkdir(parents=True, exist_ok=True)
            prune(directory, keep, present=header["crawl"])
            self._file = _create(directory, f"{header['crawl']}-{writer}")
        except OSError as error:
            self.trouble = str(error)
        else:
            self._append(b"")

    def write(self, line: bytes) -> None:
        """Write a line, if there is room for it."""
        gap = line_of({"lost": self.lost}) if self.lost > self._told else b""
        if self._append(gap + line):
            self._told = self.lost
        else:
            self.lost += 1

    def _append(self, lines: bytes) -> bool:
        """Write lines, behind the header if that is not there yet. Return True if all of them are written."""
        if self._file is None:
            return False
        lines = self._header + lines
        try:
            if (written := os.write(self._file, lines)) < len(lines):
                # The next line would be a part of what was cut off.
                os.ftruncate(self._file, os.fstat(self._file).st_size - written)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            self.trouble = str(error)
            return False
        self._header = b""
        return True

    def close(self) -> None:
        """Close the file; harmless when repeated."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                os.close(self._file)
            self._file = None


def journals_in(directory: Path) -> Iterator[Journal]:
    """Yield the journals in a directory. Raises OSError if it cannot be listed."""
    for path in sorted(directory.glob("*.jsonl")):
        # To open a named pipe would wait for ever.
        if path.is_file() and (header := header_of(path)) is not None:
            yield Journal(path, header)


def header_of(path: Path) -> dict[str, Any] | None:
    """Return the header of a file; None for a file without one, or one that cannot be read."""
    try:
        with path.open("rb") as file:
            return header_in(file.readline(_LONGEST_HEADER))
    except OSError:
        return None


def newer_header_of(path: Path) -> dict[str, Any] | None:
    """Return the header of a journal that a newer version of crawldedup wrote; None for any other file."""
    with contextlib.suppress(OSError), path.open("rb") as file:
        match record_in(file.readline(_LONGEST_HEADER)):
            case {"crawldedup_journal": int() as version} as header if version > VERSION:
                return header
    return None


def newer_in(directory: Path) -> Iterator[Journal]:
    """Yield the journals in a directory that a newer version wrote."""
    for path in sorted(directory.glob("*.jsonl")):
        if path.is_file() and (header := newer_header_of(path)) is not None:
            yield Journal(path, header)


def refusal_of(path: Path) -> ConfigurationError:
    """Return the error for a file that has no header of this version."""
    shown, newer = printable(str(path)), newer_header_of(path)
    if newer is None:
        return ConfigurationError(f"{shown} is no journal of a crawl: its first line is no header of one")
    return ConfigurationError(
        f"{shown} was written by a newer crawldedup: it has version {newer[FORMAT]} of the format, and this crawldedup "
        f"reads version {VERSION}; upgrade it"
    )


def end_of(path: Path) -> dict[str, Any] | None:
    """Return the last line of a journal that was brought to its end, else None. Raises OSError."""
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - _LONGEST_END))
        lines = file.read().splitlines()
    end = record_in(lines[-1]) if lines else None
    return end if end is not None and isinstance(end.get("end"), str) else None


def is_written(path: Path) -> bool:
    """Return True for a journal whose crawl still runs, told by its lock. Raises OSError if it cannot be opened."""
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:  # a file system without locks
            return time.time() - os.fstat(file.fileno()).st_mtime < _LOCKLESS_SECONDS
    return False


def prune(directory: Path, keep: int, *, present: str) -> None:
    """Remove the oldest crawls beyond so many, the `present` one included, and beyond `MOST_BYTES`.

    Other files stay, and crawls that still run. Raises OSError if the directory cannot be listed.
    """
    crawls: dict[str, list[Journal]] = {}
    for journal in journals_in(directory):
        crawls.setdefault(journal.header["crawl"], []).append(journal)
    crawls.pop(present, None)
    size = 0
    newest_first = sorted(crawls.values(), key=lambda crawl: -max(one.header["started"] for one in crawl))
    for place, crawl in enumerate(newest_first, start=1):
        # Other crawls may do the same at the same time, and files may be another user's.
        with contextlib.suppress(OSError):
            size += sum(journal.path.stat().st_size for journal in crawl)
            is_surplus = place >= keep or (place > 1 and size > MOST_BYTES)
            if is_surplus and not any(is_written(journal.path) for journal in crawl):
                for journal in crawl:
                    journal.path.unlink(missing_ok=True)


def _create(directory: Path, stem: str) -> int:
    """Create a file that was not there: process ids are used again, and one process may run several crawls."""
    for number in count(1):
        path = directory / (f"{stem}.jsonl" if number == 1 else f"{stem}-{number}.jsonl")
        with contextlib.suppress(FileExistsError):
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o666)
            with contextlib.suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return file
    raise AssertionError("numbers do not end")
