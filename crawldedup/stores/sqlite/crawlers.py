"""Keep track of running crawlers, and of the pages that they have yet to deliver."""

import sqlite3
from collections.abc import Iterable, Mapping

from crawldedup.stores.contract import LEASE_SECONDS, CrawlSession, PageName
from crawldedup.stores.process import has_exited, own_process
from crawldedup.stores.sqlite.pages import SIGN


class Crawlers:
    """The crawlers that are running on an index, as one of them sees and updates them.

    It only looks up once per transaction whether another crawler is running.
    """

    def __init__(self, db: sqlite3.Connection, index: int, session: CrawlSession, now: int) -> None:
        self.now = now
        self._db = db
        self._index = index
        self._session = session
        self._at_work: dict[int, bool] = {}

    @property
    def own_number(self) -> int:
        """The number of this process's crawler within the index."""
        return self._session.number

    def join(self) -> CrawlSession:
        """Join the crawl, so that other crawlers know that this one is running.

        Returns:
            The session, with a number and a process if it had none.
        """
        (last,) = self._db.execute(
            "SELECT crawlers FROM indexes WHERE number = ?", (self._index,)
        ).fetchone()
        self._end_leases()
        self._session = CrawlSession(
            number=self._session.number or last + 1,
            process=self._session.process or own_process(),
        )
        self._db.execute(
            "UPDATE indexes SET crawlers = ? WHERE number = ?",
            (max(last, self._session.number), self._index),
        )
        self.renew()
        return self._session

    def renew(self) -> None:
        """Renew the lease that shows other crawlers that this one is still running."""
        self._db.execute(
            "INSERT OR REPLACE INTO crawlers (idx, number, expires, process) VALUES (?, ?, ?, ?)",
            (self._index, self.own_number, self.now + LEASE_SECONDS, self._session.process),
        )

    def leave(self, crawler: int) -> None:
        """End the lease of a crawler that has stopped."""
        self._db.execute(
            "DELETE FROM crawlers WHERE idx = ? AND number = ?", (self._index, crawler)
        )

    def are_at_work(self) -> bool:
        """Return whether any other crawler is running on an index of the file."""
        sql = "SELECT 1 FROM crawlers WHERE expires > ? AND NOT (idx = ? AND number = ?)"
        row = self._db.execute(sql, (self.now, self._index, self.own_number)).fetchone()
        return row is not None

    def is_at_work(self, crawler: int) -> bool:
        """Return whether another crawler holds a lease and isn't known to have died."""
        if crawler == self.own_number:
            return False
        if crawler not in self._at_work:
            self._at_work[crawler] = self._has_lease(crawler)
        return self._at_work[crawler]

    def is_abandoned(self, url_key: int, crawler: int) -> bool:
        """Return whether a page was never delivered, and its crawler is no longer there to do so.

        Args:
            url_key: The URL key of the page.
            crawler: The number of the crawler that checked the page last.
        """
        if crawler == self.own_number or self.is_at_work(crawler):
            return False
        sql = "SELECT 1 FROM pending WHERE idx = ? AND url_key = ? AND crawler = ?"
        row = self._db.execute(sql, (self._index, url_key - SIGN, crawler)).fetchone()
        return row is not None

    def deliver(self, names: Iterable[PageName]) -> None:
        """Note that this crawler has delivered pages.

        Pages that another crawler has taken over are still pending.
        """
        rows = [(self._index, name.url_key - SIGN, self.own_number) for name in names]
        self._db.executemany(
            "DELETE FROM pending WHERE idx = ? AND url_key = ? AND crawler = ?", rows
        )

    def note_pending(self, pending: Mapping[int, bool]) -> None:
        """Note which pages this crawler has yet to deliver, and which no longer, by URL key."""
        delivered = []
        undelivered = []
        for url_key, is_pending in pending.items():
            if is_pending:
                undelivered.append((self._index, url_key - SIGN, self.own_number))
            else:
                delivered.append((self._index, url_key - SIGN))
        self._db.executemany("DELETE FROM pending WHERE idx = ? AND url_key = ?", delivered)
        self._db.executemany(
            "INSERT OR REPLACE INTO pending (idx, url_key, crawler) VALUES (?, ?, ?)", undelivered
        )

    def _end_leases(self) -> None:
        """End the leases that have expired, and those of processes that have exited."""
        self._db.execute(
            "DELETE FROM crawlers WHERE idx = ? AND expires <= ?", (self._index, self.now)
        )
        leases = self._db.execute(
            "SELECT number, process FROM crawlers WHERE idx = ?", (self._index,)
        ).fetchall()
        for crawler, process in leases:
            if has_exited(process):
                self.leave(crawler)

    def _has_lease(self, crawler: int) -> bool:
        sql = "SELECT expires, process FROM crawlers WHERE idx = ? AND number = ?"
        row = self._db.execute(sql, (self._index, crawler)).fetchone()
        if row is None:
            return False
        expires, process = row
        # A lease that ends later than possible was written with a wrong clock.
        return self.now < expires <= self.now + LEASE_SECONDS and not has_exited(process)
