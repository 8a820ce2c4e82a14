"""Let pairs of pages wait on disk for their turn, so that memory holds those of some pages only."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final, Self

import numpy as np

from crawldedup.batch.pairs import distinct, later_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import BinaryIO

    from crawldedup.batch.keys import Keys

_PAGES_A_FILE: Final = 1 << 16
_MOST_FILES: Final = 256
_PAIRS_IN_MEMORY: Final = 1 << 20


class WaitingPairs:
    """Pairs in files of a folder, each for a block of later pages. Raises OSError."""

    def __init__(self, folder: Path, pages: int) -> None:
        self._block = max(_PAGES_A_FILE, -(-pages // _MOST_FILES))
        self._paths = [folder / f"pairs-{number}" for number in range(max(1, -(-pages // self._block)))]
        self._files: list[BinaryIO] = []
        self._parts: list[Keys] = []
        self._count = 0

    def __enter__(self) -> Self:
        for path in self._paths:
            self._files.append(path.open("wb"))
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._files:
            # What could not be written cannot be flushed.
            with suppress(OSError):
                file.close()

    def add(self, pairs: Keys) -> None:
        """Add pairs, as `pair` makes them."""
        self._parts.append(pairs)
        self._count += len(pairs)
        if self._count >= _PAIRS_IN_MEMORY:
            self._write()

    def blocks(self) -> Iterator[tuple[float, Keys]]:
        """Yield the distinct pairs of each block, after the share of the blocks that went before. Can be used once."""
        self._write()
        for number, (path, file) in enumerate(zip(self._paths, self._files, strict=True)):
            file.close()
            yield number / len(self._paths), distinct(np.fromfile(path, np.uint64))
            path.unlink()

    def _write(self) -> None:
        pairs = distinct(np.concatenate(self._parts)) if self._parts else np.empty(0, np.uint64)
        self._parts, self._count = [], 0
        blocks = later_of(pairs) // self._block
        ends = np.searchsorted(blocks, np.arange(len(self._files)), side="right")
        for file, part in zip(self._files, np.split(pairs, ends[:-1]), strict=True):
            file.write(part.tobytes())
