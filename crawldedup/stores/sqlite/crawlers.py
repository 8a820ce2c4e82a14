"""Who is at work on an index of a SQLite file, and which pages are pending. Part of its caller's transaction."""

import sqlite3
from collections.abc import Iterable

from crawldedup.stores.base import LEASE_SECONDS, CrawlSession
from crawldedup.stores.process import has_exited, own_process
from crawldedup.stores.sqlite.schema import signed


def join_crawl(db: sqlite3.Connection, index: int, session: CrawlSession, now: int) -> CrawlSession:
    """Join the crawl as this session; fill in what is missing of its number and process."""
    (crawlers,) = db.execute("SELECT crawlers FROM indexes WHERE number = ?", (index,)).fetchone()
    db.execute("DELETE FROM crawlers WHERE idx = ? AND expires <= ?", (index, now))
    for other, process in db.execute("SELECT number, process FROM crawlers WHERE idx = ?", (index,)).fetchall():
        if has_exited(process):
            leave_crawl(db, index, other)
    joined = CrawlSession(session.number or crawlers + 1, session.process or own_process())
    db.execute("UPDATE indexes SET crawlers = ? WHERE number = ?", (max(crawlers, joined.number), index))
    renew_lease(db, index, joined, now)
    return joined


def renew_lease(db: sqlite3.Connection, index: int, session: CrawlSession, now: int) -> None:
    """Extend the lease of a session by LEASE_SECONDS from now."""
    db.execute(
        "INSERT OR REPLACE INTO crawlers (idx, number, expires, process) VALUES (?, ?, ?, ?)",
        (index, session.number, now + LEASE_SECONDS, session.process),
    )


def has_others(db: sqlite3.Connection, index: int, number: int, now: int) -> bool:
    """Return True if crawlers other than this one are at work on any index of the file."""
    query = "SELECT EXISTS (SELECT 1 FROM crawlers WHERE expires > ? AND NOT (idx = ? AND number = ?))"
    (found,) = db.execute(query, (now, index, number)).fetchone()
    return bool(found)


def leave_crawl(db: sqlite3.Connection, index: int, number: int) -> None:
    """End a crawler's lease."""
    db.execute("DELETE FROM crawlers WHERE idx = ? AND number = ?", (index, number))


class Crawlers:
    """What a crawler knows of the others during a transaction, and which pages it notes as pending or delivered.

    `write` writes the notes. Until then, `is_abandoned` does not look at them: they are of its own pages alone.
    """

    def __init__(self, db: sqlite3.Connection, index: int, own: int, now: int) -> None:
        self._db, self._index, self.own, self._now = db, index, own, now
        self._at_work: dict[int, bool] = {}
        self._pending: dict[int, bool] = {}
        self._delivered: list[int] = []

    def is_at_work(self, crawler: int) -> bool:
        """Return True for another crawler that has a lease, and has not died on this machine."""
        if crawler == self.own:
            return False
        if crawler not in self._at_work:
            query = "SELECT expires, process FROM crawlers WHERE idx = ? AND number = ?"
            row = self._db.execute(query, (self._index, crawler)).fetchone()
            is_leased = row is not None and self._now < row[0] <= self._now + LEASE_SECONDS
            self._at_work[crawler] = is_leased and not has_exited(row[1])
        return self._at_work[crawler]

    def is_abandoned(self, url_key: int, crawler: int) -> bool:
        """Return True if a page of another crawler was never delivered, and that one is at work no more."""
        if crawler == self.own or self.is_at_work(crawler):
            return False
        query = "SELECT crawler FROM pending WHERE idx = ? AND url_key = ?"
        row: tuple[int] | None = self._db.execute(query, (self._index, signed(url_key))).fetchone()
        return row == (crawler,)

    def mark(self, url_key: int, *, is_pending: bool) -> None:
        """Note that this crawler has a page pending, or that nobody has."""
        self._pending[url_key] = is_pending

    def deliver(self, url_keys: Iterable[int]) -> None:
        """Note that pages were delivered. Those that another crawler has taken over are still pending."""
        for url_key in url_keys:
            if url_key in self._pending:
                self._pending[url_key] = False
            else:
                self._delivered.append(url_key)

    def write(self) -> None:
        """Write what was noted."""
        own = [(self._index, signed(url_key), self.own) for url_key in self._delivered]
        gone = [(self._index, signed(url_key)) for url_key, is_pending in self._pending.items() if not is_pending]
        new = [(self._index, signed(url_key), self.own) for url_key, is_pending in self._pending.items() if is_pending]
        for sql, rows in (
            ("DELETE FROM pending WHERE idx = ? AND url_key = ? AND crawler = ?", own),
            ("DELETE FROM pending WHERE idx = ? AND url_key = ?", gone),
            ("INSERT OR REPLACE INTO pending (idx, url_key, crawler) VALUES (?, ?, ?)", new),
        ):
            if rows:
                self._db.executemany(sql, rows)
        self._pending, self._delivered = {}, []
