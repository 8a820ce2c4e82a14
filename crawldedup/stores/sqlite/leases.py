"""Leases of the crawlers at work on an index of a SQLite file. Each step is part of its caller's transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawldedup.stores.base import LEASE_SECONDS, CrawlSession
from crawldedup.stores.process import has_exited, own_process

if TYPE_CHECKING:
    import sqlite3


def join_crawl(db: sqlite3.Connection, index: int, session: CrawlSession, now: int) -> CrawlSession:
    """Start or join a crawl as this session; fill in what is missing of its number, first crawler and process."""
    crawlers, first = db.execute("SELECT crawlers, first_crawler FROM indexes WHERE number = ?", (index,)).fetchone()
    db.execute("DELETE FROM crawlers WHERE idx = ? AND (expires <= ? OR number = ?)", (index, now, session.number))
    others = 0
    for other, process in db.execute("SELECT number, process FROM crawlers WHERE idx = ?", (index,)).fetchall():
        if has_exited(process):
            leave_crawl(db, index, other)
        else:
            others += 1
    number = session.number or crawlers + 1
    joined = CrawlSession(number, session.first or (first if others else number), session.process or own_process())
    db.execute(
        "UPDATE indexes SET crawlers = ?, first_crawler = ? WHERE number = ?",
        (max(crawlers, number), first if others else joined.first, index),
    )
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
