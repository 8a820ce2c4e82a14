"""The SQLite file itself: connect to it, translate its errors, and create and find indexes in it.

Each permuted table is a table of row IDs only: a row ID consists of the leading 34 bits of a key
and the number of the page, so the B-tree of the row IDs *is* the sorted table. A probe is a range
of row IDs. URL keys and exact keys are stored in the same way.
"""

import contextlib
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import unquote

from crawldedup import errors
from crawldedup.passwords import shown_url
from crawldedup.stores.contract import Layout
from crawldedup.stores.sqlite.index import EXACT_TABLES
from crawldedup.stores.sqlite.pages import PageRow

BUSY_SECONDS: Final = 5.0
IN_MEMORY: Final = ":memory:"
# How many bytes of the file a row ID takes if they are inserted in random order. With a million of
# them, 15.4 bytes were measured.
BYTES_PER_KEY: Final = 16
# The profile of an index that was cleared. The next crawler that joins sets another one.
CLEARED: Final = ""
_APPLICATION_ID: Final = 0x63726464  # "crdd"
_VERSION: Final = 6
# SQLite doesn't say which of these is missing.
_WHERE_TO_WRITE: Final = "; the file and its folder must exist and be writable"

# The tables that all indexes of a file share.
_SHARED_TABLES: Final = {
    "indexes": """(
        number INTEGER PRIMARY KEY,
        namespace TEXT NOT NULL UNIQUE,
        profile TEXT NOT NULL,
        key BLOB NOT NULL,
        freed INTEGER NOT NULL DEFAULT 0,
        newest_freed INTEGER NOT NULL DEFAULT 0,
        swept INTEGER NOT NULL DEFAULT 0,
        crawlers INTEGER NOT NULL DEFAULT 0
    )""",
    "crawlers": """(
        idx INTEGER NOT NULL,
        number INTEGER NOT NULL,
        expires INTEGER NOT NULL,
        process TEXT NOT NULL,
        PRIMARY KEY (idx, number)
    ) WITHOUT ROWID""",
    "pending": """(
        idx INTEGER NOT NULL,
        url_key INTEGER NOT NULL,
        crawler INTEGER NOT NULL,
        PRIMARY KEY (idx, url_key)
    ) WITHOUT ROWID""",
    "notes": """(
        idx INTEGER NOT NULL,
        name TEXT NOT NULL,
        text TEXT NOT NULL,
        PRIMARY KEY (idx, name)
    ) WITHOUT ROWID""",
}
_PAGE_COLUMNS: Final = ", ".join(
    f"{name} {declaration}" for name, declaration in PageRow.COLUMNS.items()
)
_KEYS: Final = "(k INTEGER PRIMARY KEY)"
# The tables of one index, whose names end with the number of the index. There are also the tables
# of its search keys, as many as its layout has.
_INDEX_TABLES: Final = {
    "pages": f"({_PAGE_COLUMNS})",
    "texts": "(number INTEGER PRIMARY KEY, text BLOB NOT NULL)",
    "urls": _KEYS,
    **dict.fromkeys(EXACT_TABLES, _KEYS),
    # The pages whose paragraphs have anchors, and which of these pages have an anchor.
    "covered": """(
        number INTEGER PRIMARY KEY,
        page INTEGER NOT NULL UNIQUE,
        url TEXT NOT NULL,
        added_at INTEGER NOT NULL,
        before INTEGER NOT NULL,
        size INTEGER NOT NULL,
        anchors TEXT NOT NULL
    )""",
    "anchors": """(
        k INTEGER NOT NULL,
        place INTEGER NOT NULL,
        number INTEGER NOT NULL,
        PRIMARY KEY (k, place)
    ) WITHOUT ROWID""",
}


class IndexEntry(NamedTuple):
    """An index in a file: its layout, and its number, which is part of the names of its tables."""

    number: int
    layout: Layout


def path_of(url: str) -> str:
    """Return the path of the file that a store URL names, or `IN_MEMORY` for an index in memory.

    Raises:
        ConfigurationError: The URL is not valid.
    """
    scheme, _, rest = url.partition("://")
    if scheme.lower() == "memory":
        if rest:
            raise errors.ConfigurationError(
                f"the store URL {shown_url(url)!r} is not valid: nothing can follow memory://"
            )
        return IN_MEMORY
    path = unquote(rest).removeprefix("/")
    if "///" not in url or not path or path.endswith("/") or "\0" in path:
        raise errors.ConfigurationError(
            f"the store URL {shown_url(url)!r} is not valid: write "
            "sqlite:///relative/path.sqlite or sqlite:////absolute/path.sqlite"
        )
    return path


def connect(path: str) -> sqlite3.Connection:
    """Connect to a SQLite file. If it is new, create the tables that all indexes share.

    Raises:
        ConfigurationError: Its folder does not exist.
        ForeignStoreError: Another program or another version wrote the file.
        sqlite3.Error: The file cannot be used.
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
        # With a write-ahead log this never corrupts the file, although a power cut may lose the
        # last few pages.
        db.execute("PRAGMA synchronous = NORMAL")
        # Every checkpoint waits for the disk. A larger log (32 MiB) makes checkpoints rare and
        # merges repeated writes.
        db.execute("PRAGMA wal_autocheckpoint = 8192")
        db.execute("PRAGMA cache_size = -65536")  # 64 MiB
        db.execute("PRAGMA mmap_size = 1073741824")
    except BaseException:
        db.close()
        raise
    return db


def _claim(db: sqlite3.Connection, path: str) -> None:
    """Create the shared tables in a new file.

    Raises ForeignStoreError for a file of another program or version, before writing to it.
    """
    with db:
        db.execute("BEGIN IMMEDIATE")
        (application,) = db.execute("PRAGMA application_id").fetchone()
        (version,) = db.execute("PRAGMA user_version").fetchone()
        (objects,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if (application, version) == (_APPLICATION_ID, _VERSION):
            return
        if application == _APPLICATION_ID:
            if version > _VERSION:
                age = "a newer"
                remedy = "upgrade crawldedup"
            else:
                age = "an older"
                remedy = "crawl again"
            raise errors.ForeignStoreError(
                f"{path} was written by {age} version of crawldedup (layout {version}; this one "
                f"only knows {_VERSION}) and stays as it is; {remedy}, or choose another path"
            )
        if objects or application:
            raise errors.ForeignStoreError(
                f"{path} is a SQLite file of another program; choose another path"
            )
        db.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {_VERSION}")
        for name, columns in _SHARED_TABLES.items():
            db.execute(f"CREATE TABLE {name} {columns}")


def _use_write_ahead_log(db: sqlite3.Connection) -> None:
    """Switch the file to a write-ahead log, and wait for its lock, because SQLite doesn't."""
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
    """Turn errors inside a `with` block that uses a file into errors of crawldedup.

    They come from SQLite, or from values in the file that only another program can have written.

    Raises:
        StoreFullError: There is no room left on the disk.
        ForeignStoreError: The file is not a SQLite file.
        StoreUnavailableError: The file is locked, or cannot be read or written.
        StoreError: The file is damaged, or anything else went wrong.
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
            is_refused = name.startswith(("SQLITE_CANTOPEN", "SQLITE_READONLY"))
            remedy = _WHERE_TO_WRITE if is_refused else ""
            raise errors.StoreUnavailableError(f"{path} cannot be used: {error}{remedy}") from error
        raise errors.StoreError(f"{path}: {error}") from error
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise errors.StoreError(f"{path} is damaged: {type(error).__name__}: {error}") from error


def find_index(db: sqlite3.Connection, layout: Layout, path: str) -> IndexEntry | None:
    """Find the index in a file that has the namespace of a layout.

    Returns:
        Its number, and its layout with its own key; None if it is absent or was cleared.

    Raises:
        ProfileMismatchError: The index was built with other settings.
    """
    row = db.execute(
        "SELECT number, profile, key FROM indexes WHERE namespace = ? AND profile != ?",
        (layout.namespace, CLEARED),
    ).fetchone()
    if row is None:
        return None
    number, profile, key = row
    return IndexEntry(number, layout.check_profile(profile, key, path))


def begin_index(db: sqlite3.Connection, layout: Layout, path: str) -> IndexEntry:
    """Return an index as `find_index` does, but first create it if it is absent or was cleared."""
    entry = find_index(db, layout, path)
    if entry is not None:
        return entry
    (number,) = db.execute(
        "INSERT INTO indexes (namespace, profile, key) VALUES (?, ?, ?) ON CONFLICT (namespace) "
        "DO UPDATE SET profile = excluded.profile, key = excluded.key RETURNING number",
        (layout.namespace, layout.profile, layout.key.secret),
    ).fetchone()
    tables = dict(_INDEX_TABLES)
    for table in range(len(layout.tables)):
        tables[f"keys{table}"] = _KEYS
    for name, columns in tables.items():
        db.execute(f"CREATE TABLE IF NOT EXISTS {name}_{number} {columns}")
    return IndexEntry(number, layout)


def clear_index(db: sqlite3.Connection, namespace: str) -> None:
    """Drop the tables of an index, and forget its profile.

    The index keeps its number, because running crawlers continue with it. If there is no such
    index, nothing is changed.
    """
    row = db.execute("SELECT number FROM indexes WHERE namespace = ?", (namespace,)).fetchone()
    if row is None:
        return
    (number,) = row
    tables = db.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB ?", (f"*_{number}",)
    ).fetchall()
    for (name,) in tables:
        db.execute(f"DROP TABLE {name}")
    db.execute(f"CREATE TABLE pages_{number} {_INDEX_TABLES['pages']}")
    db.execute("DELETE FROM pending WHERE idx = ?", (number,))
    db.execute("DELETE FROM notes WHERE idx = ?", (number,))
    db.execute(
        "UPDATE indexes SET profile = ?, key = x'', freed = 0, newest_freed = 0, swept = 0 "
        "WHERE number = ?",
        (CLEARED, number),
    )
