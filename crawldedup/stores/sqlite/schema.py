"""A SQLite file: open and claim it, translate its errors; begin, find and clear its indexes; who is
at work on them.

Each permuted table is a table of row ids alone: a row id is the key's leading 34 bits and the page
number, so the B-tree of the row ids *is* the sorted table. A probe is a range of row ids. URL keys
are kept in the same way.
"""

import contextlib
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from crawldedup import errors
from crawldedup.stores.contract import LEASE_SECONDS, CrawlSession, Layout, PageName
from crawldedup.stores.process import has_exited, own_process

BUSY_SECONDS: Final = 5.0
IN_MEMORY: Final = ":memory:"
# Of a file, for row ids inserted in random order: 15.4 at a million of them.
BYTES_PER_KEY: Final = 16
SIGN: Final = (
    1 << 63
)  # by which 64-bit integers are shifted: those of SQLite are signed, and their order shall stay
# The profile of an index that was cleared: the next crawler to join gives it another.
CLEARED: Final = ""
_APPLICATION_ID: Final = 0x63726464  # "crdd"
_VERSION: Final = 5

_SCHEMA: Final = (
    "CREATE TABLE indexes (number INTEGER PRIMARY KEY, namespace TEXT NOT NULL UNIQUE, profile "
    "TEXT NOT NULL, key BLOB NOT NULL, freed INTEGER NOT NULL DEFAULT 0, newest_freed INTEGER NOT "
    "NULL DEFAULT 0, swept INTEGER NOT NULL DEFAULT 0, crawlers INTEGER NOT NULL DEFAULT 0)",
    "CREATE TABLE crawlers (idx INTEGER NOT NULL, number INTEGER NOT NULL, expires INTEGER NOT "
    "NULL, process TEXT NOT NULL, PRIMARY KEY (idx, number)) WITHOUT ROWID",
    "CREATE TABLE pending (idx INTEGER NOT NULL, url_key INTEGER NOT NULL, crawler INTEGER NOT "
    "NULL, PRIMARY KEY (idx, url_key)) WITHOUT ROWID",
    "CREATE TABLE notes (idx INTEGER NOT NULL, name TEXT NOT NULL, text TEXT NOT NULL, "
    "PRIMARY KEY (idx, name)) WITHOUT ROWID",
)
_TABLES: Final = {
    "pages": "(number INTEGER PRIMARY KEY, url TEXT NOT NULL, url_key INTEGER NOT NULL, search INTEGER NOT NULL, "
    "signature BLOB NOT NULL, digest INTEGER NOT NULL, rank INTEGER NOT NULL, added_at INTEGER "
    "NOT NULL, seen_at INTEGER NOT NULL, copies INTEGER NOT NULL, crawler INTEGER NOT NULL)",
    "texts": "(number INTEGER PRIMARY KEY, text BLOB NOT NULL)",
    "urls": "(k INTEGER PRIMARY KEY)",
    "covered": "(number INTEGER PRIMARY KEY, page INTEGER NOT NULL UNIQUE, url TEXT NOT NULL, "
    "added_at INTEGER NOT NULL, before INTEGER NOT NULL, size INTEGER NOT NULL, anchors TEXT NOT "
    "NULL)",
    "anchors": "(k INTEGER NOT NULL, place INTEGER NOT NULL, number INTEGER NOT NULL, PRIMARY KEY (k, place)) "
    "WITHOUT ROWID",
}
"""The tables of one index, but those of its keys.

Each has the number of the index behind its name.
"""


def path_of(url: str) -> str:
    """Return the path of the file that a `sqlite` URL names, `IN_MEMORY` for `memory`.

    Raises ConfigurationError.
    """
    scheme, _, rest = url.partition("://")
    if scheme.lower() == "memory":
        if rest:
            raise errors.ConfigurationError(
                f"the store URL {url!r} is not valid: memory:// takes nothing behind it"
            )
        return IN_MEMORY
    path = unquote(rest).removeprefix("/")
    if "///" not in url or not path or path.endswith("/") or "\0" in path:
        raise errors.ConfigurationError(
            f"the store URL {url!r} is not valid: write sqlite:///relative/path.sqlite or "
            "sqlite:////absolute/path.sqlite"
        )
    return path


def connect(path: str) -> sqlite3.Connection:
    """Connect to a file; claim a new one, refuse one of another program or version, and one in no
    folder.
    """
    if path != IN_MEMORY and not Path(path).parent.exists():
        raise errors.ConfigurationError(
            f"{path}: there is no folder {str(Path(path).parent)!r}; make it first"
        )
    db = sqlite3.connect(
        path, BUSY_SECONDS, isolation_level=None, check_same_thread=False, cached_statements=512
    )
    try:
        _claim(db, path)
        _use_write_ahead_log(db)
        # With a write-ahead log this never corrupts the file; a power cut may lose the last few
        # pages.
        db.execute("PRAGMA synchronous = NORMAL")
        # Every checkpoint waits for the disk. A larger log, of 32 MiB, makes them rare and merges
        # repeated writes.
        db.execute("PRAGMA wal_autocheckpoint = 8192")
        db.execute("PRAGMA cache_size = -65536")  # 64 MiB
        db.execute("PRAGMA mmap_size = 1073741824")
    except BaseException:
        db.close()
        raise
    return db


def _claim(db: sqlite3.Connection, path: str) -> None:
    """Make a new file ours; refuse another program's before anything is written to it."""
    with db:
        db.execute("BEGIN IMMEDIATE")
        (application,) = db.execute("PRAGMA application_id").fetchone()
        (version,) = db.execute("PRAGMA user_version").fetchone()
        (objects,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if (application, version) == (_APPLICATION_ID, _VERSION):
            return
        if application == _APPLICATION_ID:
            age, remedy = (
                ("a newer", "upgrade crawldedup")
                if version > _VERSION
                else ("an older", "crawl again")
            )
            raise errors.ForeignStoreError(
                f"{path} was written by {age} version of crawldedup (layout {version}; this one "
                f"knows {_VERSION} alone) and stays as it is; {remedy}, or choose another path"
            )
        if objects or application:
            raise errors.ForeignStoreError(
                f"{path} is a SQLite file of another program; choose another path"
            )
        for statement in (
            f"PRAGMA application_id = {_APPLICATION_ID}",
            f"PRAGMA user_version = {_VERSION}",
            *_SCHEMA,
        ):
            db.execute(statement)


def _use_write_ahead_log(db: sqlite3.Connection) -> None:
    """Switch the file to a write-ahead log. SQLite does not wait for a lock here, so we do."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if not error.sqlite_errorname.startswith("SQLITE_BUSY") or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


@contextlib.contextmanager
def errors_of(path: str) -> Iterator[None]:
    """Turn SQLite's errors with this file into ours, and those of reading what another program
    wrote into it.
    """
    try:
        yield
    except errors.CrawlDedupError:
        raise  # some of ours are ValueErrors
    except (sqlite3.Error, OSError) as error:
        name = getattr(error, "sqlite_errorname", "") or ""
        if name.startswith("SQLITE_FULL"):
            raise errors.StoreFullError(f"no room left for {path}: {error}") from error
        if name == "SQLITE_NOTADB":
            raise errors.ForeignStoreError(
                f"{path} is not a SQLite file; choose another path"
            ) from error
        unusable = ("SQLITE_BUSY", "SQLITE_CANTOPEN", "SQLITE_IOERR", "SQLITE_READONLY")
        if isinstance(error, OSError) or name.startswith(unusable):
            raise errors.StoreUnavailableError(f"{path} cannot be used: {error}") from error
        raise errors.StoreError(f"{path}: {error}") from error
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise errors.StoreError(f"{path} is damaged: {type(error).__name__}: {error}") from error


def find_index(db: sqlite3.Connection, layout: Layout, path: str) -> tuple[int, Layout] | None:
    """Return the number and layout of the index; None if it is absent or cleared.

    Raises ProfileMismatchError.
    """
    find = "SELECT number, profile, key FROM indexes WHERE namespace = ? AND profile != ?"
    found = db.execute(find, (layout.namespace, CLEARED)).fetchone()
    return None if found is None else (found[0], layout.check_profile(found[1], found[2], path))


def begin_index(db: sqlite3.Connection, layout: Layout, path: str) -> tuple[int, Layout]:
    """Return what `find_index` does, of an index that is created if it is absent or cleared."""
    if found := find_index(db, layout, path):
        return found
    (number,) = db.execute(
        "INSERT INTO indexes (namespace, profile, key) VALUES (?, ?, ?) ON CONFLICT (namespace) "
        "DO UPDATE SET profile = excluded.profile, key = excluded.key RETURNING number",
        (layout.namespace, layout.profile, layout.key.secret),
    ).fetchone()
    for name, columns in (
        _TABLES | {f"keys{table}": _TABLES["urls"] for table in range(len(layout.tables))}
    ).items():
        db.execute(f"CREATE TABLE IF NOT EXISTS {name}_{number} {columns}")
    return number, layout


def clear_index(db: sqlite3.Connection, namespace: str) -> None:
    """Drop the tables and the profile of an index.

    It keeps its number, because crawlers at work go on with it.
    """
    found = db.execute("SELECT number FROM indexes WHERE namespace = ?", (namespace,)).fetchone()
    if found is None:
        return
    tables = db.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB ?", (f"*_{found[0]}",)
    )
    for (name,) in tables.fetchall():
        db.execute(f"DROP TABLE {name}")
    db.execute(f"CREATE TABLE pages_{found[0]} {_TABLES['pages']}")
    for table in ("pending", "notes"):
        db.execute(f"DELETE FROM {table} WHERE idx = ?", found)
    db.execute(
        "UPDATE indexes SET profile = ?, key = x'', freed = 0, newest_freed = 0, swept = 0 WHERE "
        "number = ?",
        (CLEARED, *found),
    )


class Crawlers:
    """What a crawler knows of the others during a transaction, and which pages it notes as pending
    or delivered.
    """

    def __init__(self, db: sqlite3.Connection, index: int, session: CrawlSession, now: int) -> None:
        self._db, self._index, self._session, self.own, self.now = (
            db,
            index,
            session,
            session.number,
            now,
        )
        self._at_work: dict[int, bool] = {}

    def join(self) -> CrawlSession:
        """Join the crawl as this session; fill in what is missing of its number and process."""
        db, index, session = self._db, self._index, self._session
        (last,) = db.execute("SELECT crawlers FROM indexes WHERE number = ?", (index,)).fetchone()
        db.execute("DELETE FROM crawlers WHERE idx = ? AND expires <= ?", (index, self.now))
        for other, process in db.execute(
            "SELECT number, process FROM crawlers WHERE idx = ?", (index,)
        ).fetchall():
            if has_exited(process):
                self.leave(other)
        self._session = CrawlSession(session.number or last + 1, session.process or own_process())
        db.execute(
            "UPDATE indexes SET crawlers = ? WHERE number = ?",
            (max(last, self._session.number), index),
        )
        self.renew()
        return self._session

    def renew(self) -> None:
        row = (self._index, self._session.number, self.now + LEASE_SECONDS, self._session.process)
        self._db.execute(
            "INSERT OR REPLACE INTO crawlers (idx, number, expires, process) VALUES (?, ?, ?, ?)",
            row,
        )

    def leave(self, crawler: int) -> None:
        self._db.execute(
            "DELETE FROM crawlers WHERE idx = ? AND number = ?", (self._index, crawler)
        )

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
        """Return True if a page of another crawler was never delivered, and that one is at work no
        more.
        """
        if crawler == self.own or self.is_at_work(crawler):
            return False
        sql = "SELECT 1 FROM pending WHERE idx = ? AND url_key = ? AND crawler = ?"
        return self._db.execute(sql, (self._index, url_key - SIGN, crawler)).fetchone() is not None

    def deliver(self, names: Iterable[PageName]) -> None:
        """Note that pages were delivered.

        Those that another crawler has taken over are still pending.
        """
        delivered = [(self._index, name.url_key - SIGN, self.own) for name in names]
        self._db.executemany(
            "DELETE FROM pending WHERE idx = ? AND url_key = ? AND crawler = ?", delivered
        )

    def note_pending(self, pending: Mapping[int, bool]) -> None:
        """Note by their URL keys which pages are pending, and which are no more."""
        gone = [
            (self._index, url_key - SIGN)
            for url_key, is_pending in pending.items()
            if not is_pending
        ]
        new = [
            (self._index, url_key - SIGN, self.own)
            for url_key, is_pending in pending.items()
            if is_pending
        ]
        self._db.executemany("DELETE FROM pending WHERE idx = ? AND url_key = ?", gone)
        self._db.executemany(
            "INSERT OR REPLACE INTO pending (idx, url_key, crawler) VALUES (?, ?, ?)", new
        )
