"""Who is at work on an index of a SQLite file; see `Crawler`. Each step is part of its caller's transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawldedup.stores.base import LEASE_SECONDS, Crawler
from crawldedup.stores.process import is_gone, own_process

if TYPE_CHECKING:
    import sqlite3


def join_crawl(db: sqlite3.Connection, index: int, number: int, now: int) -> Crawler:
    """Start or join a crawl; a crawler that joins again gives its number and keeps it, others give 0."""
    crawlers, first = db.execute("SELECT crawlers, first_crawler FROM indexes WHERE number = ?", (index,)).fetchone()
    db.execute("DELETE FROM crawlers WHERE idx = ? AND (expires <= ? OR number = ?)", (index, now, number))
    others = 0
    for other, process in db.execute("SELECT number, process FROM crawlers WHERE idx = ?", (index,)).fetchall():
        if is_gone(process):
            # It died without a word; its fellow we are not.
            leave_crawl(db, index, other)
        else:
            others += 1
    number = number or crawlers + 1
    crawler = Crawler(number, first if others else number)
    db.execute(
        "UPDATE indexes SET crawlers = ?, first_crawler = ? WHERE number = ?",
        (max(crawlers, number), crawler.first, index),
    )
    renew_lease(db, index, number, now)
    return crawler


def renew_lease(db: sqlite3.Connection, index: int, number: int, now: int) -> None:
    """Say that a crawler is at work."""
    db.execute(
        "INSERT OR REPLACE INTO crawlers (idx, number, expires, process) VALUES (?, ?, ?, ?)",
        (index, number, now + LEASE_SECONDS, own_process()),
    )


def count_crawlers(db: sqlite3.Connection, now: int) -> int:
    """How many are at work in the file, on whatever index."""
    (crawlers,) = db.execute("SELECT count(*) FROM crawlers WHERE expires > ?", (now,)).fetchone()
    return int(crawlers)


def leave_crawl(db: sqlite3.Connection, index: int, number: int) -> None:
    """Say that a crawler is at work no more."""
    db.execute("DELETE FROM crawlers WHERE idx = ? AND number = ?", (index, number))
