"""Files of items that a crawl dropped and set aside, so that they can be restored.

They are JSON lines, each compressed separately, so a process that is killed doesn't lose the lines
it wrote before.
"""

import gzip
import json
import os
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Any, BinaryIO, Final

from crawldedup.checks import refused, string
from crawldedup.verdict import Kind, Verdict

EVIDENCE: Final = ("exact_duplicate", "near_duplicate", "unchanged", "partial")
"""The reasons why items are dropped.

The page or text of an item is a copy, is unchanged, or has few new words.
"""

FORMAT: Final = "crawldedup_aside"
VERSION: Final = 1
SUFFIX: Final = ".gz"
_LEVEL: Final = 6
_MAGIC: Final = b"\x1f\x8b\x08"
_CHUNK_BYTES: Final = 1 << 16
_GZIP: Final = 31  # zlib's number for the gzip format


def check_path(name: str, value: object) -> str:
    """Check the path of a file of items, and return it.

    Raises ConfigurationError, with a message that begins with `name`, unless the name of the file
    ends with .gz, its folder exists, and the file is new, empty, or already has such items.
    """
    path = string(name, value)
    if not path.endswith(SUFFIX):
        raise refused(name, value, 'a file whose name ends with .gz, such as "aside.jl.gz"')
    folder = str(Path(path).parent)
    if not Path(folder).is_dir():
        raise refused(name, value, f"a file in a folder that exists; make {folder!r} first")
    # Opening a named pipe would block forever.
    if Path(path).exists() and not Path(path).is_file():
        raise refused(name, value, "a file, not a folder or a pipe")
    if Path(path).is_file() and not _can_take_items(Path(path)):
        raise refused(name, value, "a new file, or one with items that were set aside")
    return path


def evidence_of(verdict: Verdict) -> str:
    """Return the reason why an item with this verdict was dropped, as one of `EVIDENCE`."""
    if verdict.is_duplicate:
        return str(verdict.kind)
    return "unchanged" if verdict.kind is Kind.REVISIT else "partial"


class AsideFile:
    """A file to which items are appended, perhaps by several processes at the same time.

    If the file is removed in the meantime, a new one begins at its path. `was_removed` says so.

    Raises:
        OSError: The file cannot be opened or, in `put`, written.
    """

    def __init__(self, path: str) -> None:
        self.was_removed = False
        self._path = path
        self._file = self._open()

    def _open(self) -> int:
        return os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)

    def put(self, record: str) -> None:
        """Append a JSON record. When this returns, it's in the file, even if the process is killed.

        Raises OSError if the record can't be written in full.
        """
        packed = gzip.compress(f"{record}\n".encode("ascii"), _LEVEL, mtime=0)
        self._begin_again_if_removed()
        self._write(packed)
        # It may have been removed at this very moment.
        if self._begin_again_if_removed():
            self._write(packed)

    def close(self) -> None:
        """Close the file."""
        self.was_removed |= self._is_removed()
        os.close(self._file)

    def _write(self, packed: bytes) -> None:
        written = os.write(self._file, packed)
        if written < len(packed):
            raise OSError(f"only {written} of {len(packed)} bytes could be written")

    def _begin_again_if_removed(self) -> bool:
        if not self._is_removed():
            return False
        self.was_removed = True
        removed, self._file = self._file, self._open()
        os.close(removed)
        return True

    def _is_removed(self) -> bool:
        """Return whether the file was removed.

        A renamed file doesn't count, as it has all items.
        """
        return os.fstat(self._file).st_nlink == 0


@dataclass(frozen=True, slots=True)
class Aside:
    """An item that was dropped and set aside, and the evidence against it."""

    item: dict[str, Any]  #: The fields of the item.
    url: str  #: The URL of its page, or its own.
    evidence: str  #: Why it was dropped.
    cluster: str | None  #: The URL of the page, or the item, that it is a copy of.
    similarity: float | None  #: How similar the two are.
    encoding: str | None = None  #: The encoding of the crawl's feeds, or None for ASCII.
    time: float | None = None  #: When it was set aside, in seconds since 1970 (UTC).

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "Aside":
        """Make the item from a record of the file. Raises ValueError if it isn't one."""
        verdict = record.get("verdict")
        item = record.get("item")
        is_ours = record.get(FORMAT) == VERSION
        if not is_ours or not isinstance(verdict, dict) or not isinstance(item, dict):
            raise ValueError("not an item that was set aside")
        return cls(
            item=item,
            url=str(verdict.get("url") or ""),
            evidence=str(record.get("evidence")),
            cluster=record.get("cluster"),
            similarity=verdict.get("similarity"),
            encoding=record.get("encoding"),
            time=record.get("time"),
        )

    def line(self) -> bytes:
        """Return the line of JSON that the crawl would have written to a feed for the item.

        If the encoding of the feed is unknown or lacks some of the characters, the line is in
        ASCII.
        """
        if isinstance(self.encoding, str):
            with suppress(UnicodeError, LookupError):
                return f"{json.dumps(self.item, ensure_ascii=False)}\n".encode(self.encoding)
        return f"{json.dumps(self.item)}\n".encode("ascii")


def items_in(path: Path) -> Iterator[Aside | None]:
    """Yield the items in a file, in order, and None in place of what can't be read.

    Each item is normally a gzip member of its own (a part). A part that is broken, because its
    process was killed or the disk was full, counts as one None. In a complete part, each line that
    isn't an item counts as one None. If somebody has unpacked the file and packed it again, all
    lines are in a single part.

    Raises:
        OSError: The file cannot be read.
    """
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        start = 0
        while start < size:
            part = _Part(file, start)
            unreadable = 0
            for line in part.lines():
                aside = _item_on(line)
                if aside is not None:
                    yield aside
                elif line.strip():
                    unreadable += 1
            if part.end is None:
                yield None
                start = _next_start(file, start + 1, size)
            else:
                yield from repeat(None, unreadable)
                start = part.end


def _can_take_items(path: Path) -> bool:
    """Return whether items can be appended to a file: it's empty or already has such items.

    After a kill, it may begin with half of one. A file that can't be read counts as well.
    """
    try:
        with path.open("rb") as file:
            first = next(_Part(file, 0).lines(), None)
            if first is None:
                file.seek(0)
                return file.read(len(_MAGIC)) in (b"", _MAGIC)
        return _item_on(first) is not None or any(items_in(path))
    except OSError:
        # If it can't be written either, items are delivered.
        return True


def _item_on(line: bytes) -> Aside | None:
    try:
        return Aside.from_record(json.loads(line))
    except (ValueError, AttributeError, RecursionError):
        return None


class _Part:
    """A part of a file of items that is compressed by itself.

    Once its lines were read, `end` is the position after it, or None if it's broken.
    """

    def __init__(self, file: BinaryIO, start: int) -> None:
        self.end: int | None = None
        self._file = file
        self._start = start

    def lines(self) -> Iterator[bytes]:
        """Yield the lines of the part, and set `end`. The last line of a broken part is left out.

        It may be complete, but the process that wrote it was killed, so the crawl hasn't dropped
        its item.
        """
        self._file.seek(self._start)
        unpacker = zlib.decompressobj(_GZIP)
        rest = b""
        try:
            while not unpacker.eof:
                chunk = self._file.read(_CHUNK_BYTES)
                if not chunk:
                    return
                rest += unpacker.decompress(chunk)
                # The last line is held back.
                *lines, last = rest.splitlines(keepends=True) or [b""]
                yield from lines
                rest = last
        except zlib.error:
            return
        self.end = self._file.tell() - len(unpacker.unused_data)
        yield rest


def _next_start(file: BinaryIO, start: int, size: int) -> int:
    """Find the next place, from `start` on, where a part may begin, or return the file's size."""
    file.seek(start)
    before = b""
    place = start
    while chunk := file.read(_CHUNK_BYTES):
        found = (before + chunk).find(_MAGIC)
        if found >= 0:
            return place - len(before) + found
        place += len(chunk)
        before = chunk[-len(_MAGIC) + 1 :]
    return size
