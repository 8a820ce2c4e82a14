"""Open, claim and upgrade a SQLite file, run transactions in it, and translate its errors."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from crawldedup.errors import (
    ConfigurationError,
    CrawlDedupError,
    ForeignStoreError,
    StoreError,
    StoreFullError,
    StoreUnavailableError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

BUSY_SECONDS: Final = 5.0
IN_MEMORY: Final = ":memory:"
_BUSY_PAUSE_SECONDS: Final = 0.01
_CACHE_KIB: Final = 64 * 1024
_MAP_BYTES: Final = 1 << 30
# There is a statement for every number of probes per table: each check would parse long ones again.
_CACHED_STATEMENTS: Final = 512
_LOG_PAGES: Final = 8192  # 32 MiB
_APPLICATION_ID: Final = 0x63726464  # "crdd"
_VERSION: Final = 4
"""The version of the layout. A new one changes `_SCHEMA` and adds a step to `_UPGRADES`."""
_ON_THEIR_WAY: Final = (
    "CREATE TABLE on_their_way (idx INTEGER NOT NULL, url_key INTEGER NOT NULL, crawler INTEGER NOT NULL, "
    "PRIMARY KEY (idx, url_key)) WITHOUT ROWID"
)
_UPGRADES: Final[dict[int, tuple[str, ...]]] = {
    1: (
        "ALTER TABLE pages_{number} ADD COLUMN home INTEGER",
        "ALTER TABLE indexes DROP COLUMN first_crawler",
        "ALTER TABLE indexes ADD COLUMN key BLOB NOT NULL DEFAULT x''",
        _ON_THEIR_WAY,
    ),
    2: ("ALTER TABLE pages_{number} ADD COLUMN rank INTEGER NOT NULL DEFAULT 0",),
    3: ("CREATE TABLE texts_{number} (number INTEGER PRIMARY KEY, text BLOB NOT NULL)",),
}
"""By version, the statements that make its layout that of the next version, {number} being that of each index."""

_SCHEMA: Final = (
    _ON_THEIR_WAY,
    """
    CREATE TABLE indexes (
        number INTEGER PRIMARY KEY, namespace TEXT NOT NULL UNIQUE, profile TEXT NOT NULL, tables INTEGER NOT NULL,
        freed INTEGER NOT NULL DEFAULT 0, newest_freed INTEGER NOT NULL DEFAULT 0, swept INTEGER NOT NULL DEFAULT 0,
        crawlers INTEGER NOT NULL DEFAULT 0, key BLOB NOT NULL DEFAULT x''
    )
    """,
    """
    CREATE TABLE crawlers (
        idx INTEGER NOT NULL, number INTEGER NOT NULL, expires INTEGER NOT NULL, process TEXT NOT NULL,
        PRIMARY KEY (idx, number)
    ) WITHOUT ROWID
    """,
)


def path_of(url: str) -> str:
    """Return the path of the file that a `sqlite` URL names. Raises ConfigurationError."""
    path = unquote(url.partition("://")[2]).removeprefix("/")
    if "///" not in url or not path or path.endswith("/") or "\0" in path:
        raise ConfigurationError(
            f"the store URL {url!r} is not valid: write sqlite:///relative/path.sqlite or "
            f"sqlite:////absolute/path.sqlite"
        )
    return path


def connect(path: str) -> sqlite3.Connection:
    """Connect to a file; claim a new one, upgrade an older one, refuse another program's."""
    if path != IN_MEMORY:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    db = sqlite3.connect(
        path,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=_CACHED_STATEMENTS,
    )
    try:
        _claim(db, path)
        _use_write_ahead_log(db)
        # With a write-ahead log this never corrupts the file; a power cut may lose the last few pages.
        db.execute("PRAGMA synchronous = NORMAL")
        # Every checkpoint waits for the disk. A larger log makes them rare and merges repeated writes.
        db.execute(f"PRAGMA wal_autocheckpoint = {_LOG_PAGES}")
        db.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        db.execute(f"PRAGMA mmap_size = {_MAP_BYTES}")
    except BaseException:
        db.close()
        raise
    return db


def _claim(db: sqlite3.Connection, path: str) -> None:
    """Make a new file ours and upgrade an older one; refuse another program's before anything is written to it."""
    with transaction(db):
        (application,) = db.execute("PRAGMA application_id").fetchone()
        (objects,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if application == _APPLICATION_ID:
            _upgrade(db, path)
            return
        if objects or application:
            raise ForeignStoreError(f"{path} is a SQLite file of another program; choose another path")
        db.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {_VERSION}")
        for statement in _SCHEMA:
            db.execute(statement)


def _upgrade(db: sqlite3.Connection, path: str) -> None:
    """Bring the layout of a file of ours to this version. Raises ForeignStoreError for one of a newer version."""
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if version > _VERSION:
        raise ForeignStoreError(
            f"{path} was written by a newer version of crawldedup (layout {version}; this one knows up to {_VERSION}); "
            f"upgrade crawldedup, or choose another path"
        )
    for older in range(version, _VERSION):
        for statement in _UPGRADES[older]:
            numbers = db.execute("SELECT number FROM indexes").fetchall() if "{number}" in statement else [(0,)]
            for (number,) in numbers:
                db.execute(statement.replace("{number}", str(number)))
        db.execute(f"PRAGMA user_version = {older + 1}")


def holds_anything(path: str) -> bool:
    """Return True for a file that exists and is not empty: others hold no index. Raises OSError."""
    file = Path(path)
    return file.exists() and file.stat().st_size > 0


@contextlib.contextmanager
def transaction(db: sqlite3.Connection, kind: str = "IMMEDIATE") -> Iterator[sqlite3.Connection]:
    """Run a transaction. The default kind locks at its start: no other process decides between our read and write."""
    db.execute(f"BEGIN {kind}")
    try:
        yield db
        db.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            db.execute("ROLLBACK")
        raise


def _use_write_ahead_log(db: sqlite3.Connection) -> None:
    """Switch the file to a write-ahead log. SQLite does not wait for a lock here, so we do."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if not error.sqlite_errorname.startswith("SQLITE_BUSY") or time.monotonic() > deadline:
                raise
            time.sleep(_BUSY_PAUSE_SECONDS)
        else:
            return


@contextlib.contextmanager
def errors_of(path: str) -> Iterator[None]:
    """Turn SQLite's errors with this file into ours, and those of reading what another program wrote into it."""
    try:
        yield
    except CrawlDedupError:
        raise  # some of ours are ValueErrors
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "") or ""
        if name.startswith("SQLITE_FULL"):
            raise StoreFullError(f"no room left for {path}: {error}") from error
        if name == "SQLITE_NOTADB":
            raise ForeignStoreError(f"{path} is not a SQLite file; choose another path") from error
        if name.startswith(("SQLITE_BUSY", "SQLITE_CANTOPEN", "SQLITE_IOERR", "SQLITE_READONLY")):
            raise StoreUnavailableError(f"{path} cannot be used: {error}") from error
        raise StoreError(f"{path}: {error}") from error
    except OSError as error:
        raise StoreUnavailableError(f"{path} cannot be used: {error}") from error
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise StoreError(f"{path} is damaged: {type(error).__name__}: {error}") from error
