"""Bytes that were read a short while ago are not read again: session ids and mirrors bring the same page many times."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

import mmh3

from crawldedup.scrapy_plugin.runtime.pending import Pending, succeeded

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawldedup.fingerprinting.fingerprint import Fingerprint
    from crawldedup.scrapy_plugin.reading.base import Page

REMEMBERED_PAGES: Final = 1000
"""They take 2 MB."""

_Key = tuple[bytes, int, str | None, bool]


class ReadOnce:
    """In front of the readers: answers at once for bytes that it has lately seen them read, or sees them reading."""

    def __init__(self, read: Callable[[Page], Pending[Fingerprint]], remembered_pages: int = REMEMBERED_PAGES) -> None:
        self._read = read
        self._remembered_pages = remembered_pages
        self._reads: OrderedDict[_Key, Pending[Fingerprint] | Fingerprint] = OrderedDict()

    def read(self, page: Page) -> Pending[Fingerprint]:
        """The fingerprint of a page, as `Readers.read`. What could not be read is tried again the next time."""
        # The quickest of hashes, for this is done in the event loop; the fingerprint's own rest on it as well.
        key = (mmh3.hash_bytes(page.body), len(page.body), page.encoding, page.is_html)
        known = self._reads.get(key)
        if known is not None:
            self._reads.move_to_end(key)
            return known if isinstance(known, Pending) else succeeded(known)
        reading = self._reads[key] = self._read(page)
        if len(self._reads) > self._remembered_pages:
            self._reads.popitem(last=False)
        reading.when_done(lambda done: self._remember(key, done))
        return reading

    def _remember(self, key: _Key, done: Pending[Fingerprint]) -> None:
        if self._reads.get(key) is not done:
            return
        if done.error is None:
            self._reads[key] = done.result()
        else:
            # Its traceback would keep the response alive.
            del self._reads[key]
