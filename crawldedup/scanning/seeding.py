"""Write the pages that a scan keeps into an index, so that a crawl knows them."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any, Final

import mmh3
import numpy as np

from crawldedup.errors import ConfigurationError
from crawldedup.stores.base import DIGEST_MASK, Record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawldedup.batch.folder import ScanFolder
    from crawldedup.deduplicator import Deduplicator
    from crawldedup.scanning.results import Results

_NOTE: Final = "scan"
_RECORDS_AT_ONCE: Final = 1000


class Seeding:
    """An index to write to. Raises ConfigurationError unless it is empty, or holds what this scan has begun to write.

    `files` are plain values that tell those of this scan from others. Raises StoreError.
    """

    def __init__(self, dedup: Deduplicator, files: Any) -> None:
        self._dedup = dedup
        # From now on the index has its key.
        dedup.open()
        self._name = f"{mmh3.hash128(json.dumps(files).encode()):032x}"
        if dedup.info().pages and dedup.note(_NOTE) != self._name:
            raise ConfigurationError(
                f"the namespace {dedup.options.namespace!r} holds {dedup.info().pages:,} pages, which a scan does not "
                f"compare with its own: name another namespace, or use `crawldedup check`"
            )

    def load(self, folder: ScanFolder, results: Results) -> int:
        """Write the kept pages, of those of one URL the first. Return how many the index holds. Raises StoreError."""
        self._dedup.note(_NOTE, self._name)
        for records in self._records(folder, results):
            self._dedup.load(records)
        return self._dedup.info().pages

    def _records(self, folder: ScanFolder, results: Results) -> Iterator[list[Record]]:
        now = int(time.time())
        columns, options = folder.columns(), self._dedup.options
        url_keys, homes = folder.column("url_key"), folder.column("home")
        kept = np.flatnonzero(~results.is_duplicate)
        for start in range(0, len(kept), _RECORDS_AT_ONCE):
            yield [
                Record(
                    results.url(page) if options.store_urls else "",
                    int(url_keys[page]),
                    int(columns.search[page]),
                    columns.verify[page].tobytes(),
                    int(columns.digest[page]) & DIGEST_MASK,
                    added_at=now,
                    seen_at=now,
                    copies=int(results.copies[page]),
                    home=int(homes[page]) if options.scope == "global" else None,
                    rank=int(columns.rank[page]),
                )
                for page in kept[start : start + _RECORDS_AT_ONCE].tolist()
            ]
