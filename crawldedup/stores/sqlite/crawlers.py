"""Who is at work on an index of a SQLite file, and which pages are pending. Part of its caller's transaction."""

import sqlite3
from collections.abc import Iterable

from crawldedup.stores.base import LEASE_SECONDS, CrawlSession, PageName
from crawldedup.stores.process import has_exited, own_process
from crawldedup.stores.sqlite.schema import SIGN


class Crawlers:
    """What a crawler knows of the others during a transaction, and which pages it notes as pending or delivered.

    `write` writes the notes. Until then, `is_abandoned` does not look at them: they are of its own pages alone.
    """

    def __init__(self, db: sqlite3.Connection, index: int, session: CrawlSession, now: int) -> None:
        self._db, self._index, self._session, self.own, self.now = db, index, session, session.number, now
        self._at_work: dict[int, bool] = {}
        self._pending: dict[int, bool] = {}

    def join(self) -> CrawlSession:
        """Join the crawl as this session; fill in what is missing of its number and process."""
        db, index, session = self._db, self._index, self._session
        (last,) = db.execute("SELECT crawlers FROM indexes WHERE number = ?", (index,)).fetchone()
        db.execute("DELETE FROM crawlers WHERE idx = ? AND expires <= ?", (index, self.now))
        for other, process in db.execute("SELECT number, process FROM crawlers WHERE idx = ?", (index,)).fetchall():
            if has_exited(process):
                self.leave(other)
        self._session = CrawlSession(session.number or last + 1, session.process or own_process())
        db.execute("UPDATE indexes SET crawlers = ? WHERE number = ?", (max(last, self._session.number), index))
        self.renew()
        return self._session

    def renew(self) -> None:
        row = (self._index, self._session.number, self.now + LEASE_SECONDS, self._session.process)
        self._db.execute("INSERT OR REPLACE INTO crawlers (idx, number, expires, process) VALUES (?, ?, ?, ?)", row)

    def leave(self, crawler: int) -> None:
        self._db.execute("DELETE FROM crawlers WHERE idx = ? AND number = ?", (self._index, crawler))

    def are_at_work(self) -> bool:
        """Return whether other crawlers are at work on any index of the file."""
        sql = "SELECT 1 FROM crawlers WHERE expires > ? AND NOT (idx = ? AND number = ?)"
        return self._db.execute(sql, (self.now, self._index, self.own)).fetchone() is not None

    def is_at_work(self, crawler: int) -> bool:
        """Return True for another crawler that has a lease, and has not died on this machine."""
        if crawler != self.own and crawler not in self._at_work:
            sql = "SELECT expires, process FROM crawlers WHERE idx = ? AND number = ?"
            row = self._db.execute(sql, (self._index, crawler)).fetchone()
            is_leased = row is not None and self.now < row[0] <= self.now + LEASE_SECONDS
            self._at_work[crawler] = is_leased and not has_exited(row[1])
        return crawler != self.own and self._at_work[crawler]

    def is_abandoned(self, url_key: int, crawler: int) -> bool:
        """Return True if a page of another crawler was never delivered, and that one is at work no more."""
        if crawler == self.own or self.is_at_work(crawler):
            return False
        sql = "SELECT 1 FROM pending WHERE idx = ? AND url_key = ? AND crawler = ?"
        return self._db.execute(sql, (self._index, url_key - SIGN, crawler)).fetchone() is not None

    def mark(self, url_key: int, *, is_pending: bool) -> None:
        self._pending[url_key] = is_pending

    def deliver(self, names: Iterable[PageName]) -> None:
        """Note that pages were delivered. Those that another crawler has taken over are still pending."""
        delivered = [(self._index, name.url_key - SIGN, self.own) for name in names]
        self._db.executemany("DELETE FROM pending WHERE idx = ? AND url_key = ? AND crawler = ?", delivered)

    def write(self) -> None:
        gone = [(self._index, url_key - SIGN) for url_key, is_pending in self._pending.items() if not is_pending]
        new = [(self._index, url_key - SIGN, self.own) for url_key, is_pending in self._pending.items() if is_pending]
        self._db.executemany("DELETE FROM pending WHERE idx = ? AND url_key = ?", gone)
        self._db.executemany("INSERT OR REPLACE INTO pending (idx, url_key, crawler) VALUES (?, ?, ?)", new)
        self._pending = {}
