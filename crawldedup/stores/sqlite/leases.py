"""Leases of the crawlers at work on an index of a SQLite file. Each step is part of its caller's transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawldedup.stores.base import LEASE_SECONDS, CrawlSession
from crawldedup.stores.process import has_exited, own_process

if TYPE_CHECKING:
    import sqlite3


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


def is_at_work(db: sqlite3.Connection, index: int, number: int, now: int) -> bool:
    """Return True if a crawler has a lease, and has not died on this machine."""
    row = db.execute("SELECT expires, process FROM crawlers WHERE idx = ? AND number = ?", (index, number)).fetchone()
    return row is not None and now < row[0] <= now + LEASE_SECONDS and not has_exited(row[1])


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
