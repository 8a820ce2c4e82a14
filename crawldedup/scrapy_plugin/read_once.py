"""Bytes that were read a short while ago are not read again: session ids and mirrors bring the same page many times."""

from __future__ import annotations

from collections import OrderedDict
from concurrent.futures import Future
from typing import TYPE_CHECKING, Final, Protocol

import mmh3

if TYPE_CHECKING:
    from crawldedup.hashing.fingerprint import Fingerprint
    from crawldedup.scrapy_plugin.workers import Page

REMEMBERED_PAGES: Final = 1000
"""They take 3.5 MB."""

_Key = tuple[bytes, int, str | None, bool]


class Readers(Protocol):
    """Whoever reads pages: a `ReaderPool`."""

    def read(self, page: Page) -> Future[Fingerprint]:
        """Queue a page."""


class ReadOnce:
    """In front of the readers: answers at once for bytes that it has lately seen them read, or sees them reading.

    Not thread-safe: one event loop asks.
    """

    def __init__(self, readers: Readers, remembered_pages: int = REMEMBERED_PAGES) -> None:
        self._readers = readers
        self._remembered_pages = remembered_pages
        self._reads: OrderedDict[_Key, Future[Fingerprint]] = OrderedDict()

    def read(self, page: Page) -> Future[Fingerprint]:
        """The fingerprint of a page, as `ReaderPool.read`. What could not be read is tried again the next time."""
        # The quickest of hashes, for this is done in the event loop; the fingerprint's own rest on it as well.
        key = (mmh3.hash_bytes(page.body), len(page.body), page.encoding, page.is_html)
        reading = self._reads.get(key)
        if reading is None:
            reading = self._reads[key] = self._readers.read(page)
            if len(self._reads) > self._remembered_pages:
                self._reads.popitem(last=False)
        else:
            self._reads.move_to_end(key)
        own = _handed_on(reading)
        # A failure's traceback would keep the response alive.
        reading.add_done_callback(lambda done: self._forget_failed(key, done))
        return own

    def _forget_failed(self, key: _Key, done: Future[Fingerprint]) -> None:
        # In the reader's thread: one step at a time, each of which leaves the others' entries alone.
        if (done.cancelled() or done.exception() is not None) and self._reads.get(key) is done:
            self._reads.pop(key, None)


def _handed_on(reading: Future[Fingerprint]) -> Future[Fingerprint]:
    """A future of one's own for what several wait for: one that gives up waiting must not cancel it for all."""
    own: Future[Fingerprint] = Future()

    def hand_on(done: Future[Fingerprint]) -> None:
        if own.set_running_or_notify_cancel():
            error = done.exception()
            if error is None:
                own.set_result(done.result())
            else:
                own.set_exception(error)

    reading.add_done_callback(hand_on)
    return own
