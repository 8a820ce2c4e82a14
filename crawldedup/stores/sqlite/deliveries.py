"""Pages of a SQLite file that are not delivered yet. Each step is part of its caller's transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawldedup.stores.sqlite.leases import is_at_work
from crawldedup.stores.sqlite.statements import signed

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from crawldedup.stores.sqlite.index import Page


class Crew:
    """What an index knows now, for a crawler, of the others: who is at work, and which pages are on their way."""

    def __init__(self, db: sqlite3.Connection, index: int, crawler: int, now: int) -> None:
        self._db = db
        self._index = index
        self._crawler = crawler
        self._now = now

    def is_at_work(self, crawler: int) -> bool:
        """Return True for another crawler that has a lease, and has not died on this machine."""
        return crawler != self._crawler and is_at_work(self._db, self._index, crawler, self._now)

    def set_out(self, url_key: int) -> None:
        """Note that the crawler has a page on its way."""
        row = (self._index, signed(url_key), self._crawler)
        self._db.execute("INSERT OR REPLACE INTO on_their_way (idx, url_key, crawler) VALUES (?, ?, ?)", row)

    def deliver(self, url_keys: Sequence[int]) -> None:
        """Note that pages were delivered. Those that another crawler has taken over are still on their way."""
        rows = [(self._index, signed(url_key), self._crawler) for url_key in url_keys]
        self._db.executemany("DELETE FROM on_their_way WHERE idx = ? AND url_key = ? AND crawler = ?", rows)

    def arrive(self, url_key: int) -> None:
        """Note that a page is on nobody's way."""
        self._db.execute("DELETE FROM on_their_way WHERE idx = ? AND url_key = ?", (self._index, signed(url_key)))

    def is_abandoned(self, page: Page) -> bool:
        """Return True if a page of another crawler was never delivered, and that one is at work no more."""
        query = "SELECT crawler FROM on_their_way WHERE idx = ? AND url_key = ?"
        row = self._db.execute(query, (self._index, page.url_key)).fetchone()
        return row == (page.crawler,) and page.crawler != self._crawler and not self.is_at_work(page.crawler)
