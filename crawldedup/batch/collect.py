"""Collect the pages of many sources in a folder, read by several processes."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from crawldedup.batch.pool import WorkerPool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from crawldedup.batch.folder import ScanFolder
    from crawldedup.page import Page

    OnSkipped = Callable[[Page, str], None]

_PAGES_A_CHUNK: Final = 64
_CHARACTERS_A_CHUNK: Final = 1 << 22
_STEP_SECONDS: Final = 2.0


@dataclass
class Collector:
    """Reads sources into a folder, from where an earlier run of the same scan ended.

    `open_source` returns the pages of a source, always in the same order, and hands what is wrong with items to
    `on_error`. `setup` is that of `BatchReader`.
    """

    folder: ScanFolder
    open_source: Callable[[str, Callable[[Exception], None]], Iterator[Page]]
    on_error: Callable[[Exception], None]
    on_skipped: OnSkipped
    setup: dict[str, Any]
    workers: int
    progress: Callable[[int], None] = lambda _pages: None
    _errors: int = field(default=0, init=False)

    def collect(self, names: Sequence[str]) -> None:
        """Read the sources of these names."""
        self._errors = self.folder.step.errors
        skipped = Counter(self.folder.step.skipped)
        last_step = float("-inf")
        with WorkerPool(self.workers, self.setup) as pool:
            for (source, items, errors), pages, read in pool.read(self._chunks(names)):
                self.folder.add(read, [page.url for at, page in enumerate(pages) if at not in read.skipped])
                for at, reason in read.skipped.items():
                    self.on_skipped(pages[at], reason)
                skipped.update(read.skipped.values())
                if time.monotonic() > last_step + _STEP_SECONDS:
                    self.folder.finish_step(source, items, errors, skipped)
                    last_step = time.monotonic()
                self.progress(self.folder.step.pages)
        self.folder.finish_step(len(names), 0, self._errors, skipped)

    def _chunks(self, names: Sequence[str]) -> Iterator[tuple[tuple[int, int, int], list[Page]]]:
        """Yield the pages that are not read yet, after the source, its items up to there, and the errors before it."""
        begun = self.folder.step
        for source in range(begun.source, len(names)):
            before = self._errors
            items = begun.items if source == begun.source else 0
            pages = islice(self.open_source(names[source], self._note), items, None)
            chunk: list[Page] = []
            size = 0
            for page in pages:
                chunk.append(page)
                items += 1
                size += len(page.html or page.text or "")
                if len(chunk) == _PAGES_A_CHUNK or size > _CHARACTERS_A_CHUNK:
                    yield (source, items, before), chunk
                    chunk, size = [], 0
            if chunk:
                yield (source, items, before), chunk

    def _note(self, error: Exception) -> None:
        self._errors += 1
        self.on_error(error)
