"""Begin, find and clear the indexes of a SQLite file. Each step is part of its caller's transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from crawldedup.stores.sqlite.anchors import drop_anchors
from crawldedup.stores.sqlite.index import SqliteIndex
from crawldedup.stores.sqlite.statements import table_names

if TYPE_CHECKING:
    import sqlite3

    from crawldedup.stores.base import Layout

_MOST_TABLES: Final = 1000
CLEARED: Final = ""
"""The profile of an index that was cleared: the next crawler to join gives it another."""


def find_index(db: sqlite3.Connection, layout: Layout, path: str) -> SqliteIndex | None:
    """Return the index, or None if it is absent or cleared. Raises ProfileMismatchError."""
    row = _row_of(db, layout.namespace)
    return None if row is None or row[1] == CLEARED else begin_index(db, layout, path)


def begin_index(db: sqlite3.Connection, layout: Layout, path: str) -> SqliteIndex:
    """Return the index, which is created if it is absent or cleared. Raises ProfileMismatchError."""
    number, profile, tables, key = _row_of(db, layout.namespace) or (None, CLEARED, 0, b"")
    if profile != CLEARED:
        layout = layout.fitted(profile, key, path)
    else:
        if number is not None:
            _drop_tables(db, number, tables)
        cursor = db.execute(
            "INSERT INTO indexes (number, namespace, profile, tables, key) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT (number) DO UPDATE SET profile = excluded.profile, tables = excluded.tables, "
            "key = excluded.key",
            (number, layout.namespace, layout.profile, len(layout.tables), layout.key.secret),
        )
        number = number or cursor.lastrowid
        _create_tables(db, number or 0, len(layout.tables))
    return SqliteIndex(db, number or 0, layout, path)


def clear_index(db: sqlite3.Connection, namespace: str) -> None:
    """Empty an index and take its profile away. It keeps its number, because crawlers at work go on with it."""
    row = _row_of(db, namespace)
    if row is None:
        return
    number, _, tables, _ = row
    _drop_tables(db, number, tables)
    _create_tables(db, number, tables)
    db.execute("DELETE FROM on_their_way WHERE idx = ?", (number,))
    if _has_notes(db):
        db.execute("DELETE FROM notes WHERE idx = ?", (number,))
    db.execute(
        "UPDATE indexes SET profile = ?, key = x'', freed = 0, newest_freed = 0, swept = 0 WHERE number = ?",
        (CLEARED, number),
    )


def noted(db: sqlite3.Connection, number: int, name: str, text: str | None) -> str:
    """Return a note of an index, written before if there is a text."""
    if text is not None:
        # Made when the first is written: most files have none.
        db.execute(
            "CREATE TABLE IF NOT EXISTS notes "
            "(idx INTEGER NOT NULL, name TEXT NOT NULL, text TEXT NOT NULL, PRIMARY KEY (idx, name)) WITHOUT ROWID"
        )
        db.execute("INSERT OR REPLACE INTO notes VALUES (?, ?, ?)", (number, name, text))
    if not _has_notes(db):
        return ""
    found = db.execute("SELECT text FROM notes WHERE idx = ? AND name = ?", (number, name)).fetchone()
    return "" if found is None else str(found[0])


def _has_notes(db: sqlite3.Connection) -> bool:
    return db.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'notes'").fetchone() is not None


def _row_of(db: sqlite3.Connection, namespace: str) -> tuple[int, str, int, bytes] | None:
    """Return number, profile, number of tables and key of an index, if it is there."""
    found: tuple[int, str, int, bytes] | None = db.execute(
        "SELECT number, profile, tables, key FROM indexes WHERE namespace = ?", (namespace,)
    ).fetchone()
    if found is not None and not 0 <= found[2] <= _MOST_TABLES:
        raise ValueError(f"it has {found[2]!r} tables")
    return found


def _create_tables(db: sqlite3.Connection, number: int, tables: int) -> None:
    """Create the tables of an index with so many permuted tables."""
    pages, texts, *sorted_tables = table_names(number, tables)
    db.execute(
        f"CREATE TABLE {pages} (number INTEGER PRIMARY KEY, url TEXT NOT NULL, "
        "url_key INTEGER NOT NULL, search INTEGER NOT NULL, signature BLOB NOT NULL, "
        "digest INTEGER NOT NULL, added_at INTEGER NOT NULL, seen_at INTEGER NOT NULL, "
        "copies INTEGER NOT NULL, crawler INTEGER NOT NULL, home INTEGER, rank INTEGER NOT NULL DEFAULT 0)"
    )
    db.execute(f"CREATE TABLE {texts} (number INTEGER PRIMARY KEY, text BLOB NOT NULL)")
    for name in sorted_tables:
        db.execute(f"CREATE TABLE {name} (k INTEGER PRIMARY KEY)")


def _drop_tables(db: sqlite3.Connection, number: int, tables: int) -> None:
    """Drop the tables of an index, which may be one of other settings with so many permuted tables."""
    for name in table_names(number, tables):
        db.execute(f"DROP TABLE {name}")
    drop_anchors(db, number)
