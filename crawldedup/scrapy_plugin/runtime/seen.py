"""Pages that this crawl has let pass, to tell retries from pages unchanged since an earlier crawl."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO

FILE_NAME = "crawldedup.visits"
_KEY_BYTES = 8


class SeenPages:
    """A set of pages, named by their `page_key`. With a file, the runs of one paused and resumed job share it.

    Each page takes 8 bytes of the file, which is opened at the first question. Clocks are not asked: those of a
    crawler and of a shared index may differ. Raises OSError if the file cannot be used.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._file: BinaryIO | None = None
        self._keys: set[int] = set()

    def __contains__(self, key: int) -> bool:
        self._open()
        return key in self._keys

    def add(self, key: int) -> None:
        """Note a page, in the file at once: a crawl may be killed."""
        self._open()
        if key not in self._keys:
            if self._file is not None:
                self._file.write(array("Q", [key]).tobytes())
            self._keys.add(key)

    def close(self, *, finished: bool) -> None:
        """Close the file, and remove it if the job is done: the next one in its place is another crawl."""
        if self._file is not None:
            self._file.close()
            self._file = None
        if finished and self._path is not None:
            self._path.unlink(missing_ok=True)

    def _open(self) -> None:
        if self._path is None or self._file is not None:
            return
        # Without a buffer: what was noted is in the file when the process is killed.
        file = self._path.open("ab", buffering=0)
        content = self._path.read_bytes()
        whole = len(content) // _KEY_BYTES * _KEY_BYTES
        # A write that a crash has cut short would shift all that come after it.
        file.truncate(whole)
        self._keys.update(array("Q", content[:whole]))
        self._file = file
