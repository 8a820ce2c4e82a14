"""Anchors of paragraphs in a SQLite file. Their tables are made when the first page is added: most files have none."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from crawldedup.stores.anchors import MAX_RETIRED, MOST_HOLDERS, Holders, page_of

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence
    from contextlib import AbstractContextManager

    from crawldedup.stores.anchors import AnchorLimits, AnchorQuery
    from crawldedup.stores.sqlite.index import SqliteIndex

_PRUNED_AT_ONCE: Final = 100
_IN: Final = "IN (SELECT value FROM json_each(?))"


class SqliteAnchors:
    """The methods of `AnchorStore`, for a store that has the others."""

    def _turn(
        self, *, writes: bool = True, many: bool = False, queries: Sequence[Any] = ()
    ) -> AbstractContextManager[SqliteIndex]:
        raise NotImplementedError

    def _connect(self) -> sqlite3.Connection:
        raise NotImplementedError

    def _now(self) -> int:
        raise NotImplementedError

    def _tables(self, index: SqliteIndex) -> _Tables:
        return _Tables(self._connect(), index.number, self._now())

    def anchors(self, query: AnchorQuery, *, add: bool = True) -> Holders:
        """See `AnchorStore`."""
        with self._turn(writes=add, queries=(query,)) as index:
            tables = self._tables(index)
            if add:
                tables.make()
            elif not tables.exist():
                return Holders(((),) * len(query.anchors), {})
            return tables.answer(query, add=add)

    def forget_anchors(self, url_key: int) -> bool:
        """See `AnchorStore`."""
        with self._turn() as index:
            tables = self._tables(index)
            own = tables.page(page_of(url_key)) if tables.exist() else None
            if own is not None:
                tables.remove(own)
            return own is not None

    def prune_anchors(self, limits: AnchorLimits) -> None:
        """See `AnchorStore`."""
        more = True
        while more:
            with self._turn(many=True) as index:
                tables = self._tables(index)
                more = tables.exist() and tables.retire(limits, _PRUNED_AT_ONCE) == _PRUNED_AT_ONCE


def drop_anchors(db: sqlite3.Connection, number: int) -> None:
    """Remove what an index keeps of paragraphs."""
    for name in _names(number):
        db.execute(f"DROP TABLE IF EXISTS {name}")


def _names(number: int) -> tuple[str, str]:
    return f"anchors_{number}", f"covered_{number}"


class _Page(NamedTuple):
    """A row; `before` counts the anchors of all pages that were added before it."""

    number: int
    added_at: int
    before: int
    packed: bytes

    @property
    def anchors(self) -> list[int]:
        found: list[int] = np.frombuffer(self.packed, "<i8").tolist()
        return found


class _Tables:
    """The anchors and pages of one index. Each method is part of its caller's transaction."""

    def __init__(self, db: sqlite3.Connection, index: int, now: int) -> None:
        self._db = db
        self._now = now
        self._anchors, self._pages = _names(index)

    def exist(self) -> bool:
        """Return True if any page was added."""
        found = self._db.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (self._pages,))
        return found.fetchone() is not None

    def make(self) -> None:
        """Make the tables, unless they are there."""
        self._db.execute(f"CREATE TABLE IF NOT EXISTS {self._anchors} (k INTEGER PRIMARY KEY, pages BLOB NOT NULL)")
        self._db.execute(
            f"CREATE TABLE IF NOT EXISTS {self._pages} (number INTEGER PRIMARY KEY, page INTEGER NOT NULL UNIQUE, "
            "url TEXT NOT NULL, added_at INTEGER NOT NULL, before INTEGER NOT NULL, anchors BLOB NOT NULL)"
        )

    def page(self, page: int) -> _Page | None:
        """Return the row of a page."""
        return self._row("WHERE page = ?", page)

    def answer(self, query: AnchorQuery, *, add: bool) -> Holders:
        """Return which pages hold the anchors of a page, which is added if that is wanted."""
        ttl = query.limits.ttl_seconds
        oldest = 0 if ttl is None else self._now - ttl
        own = self.page(query.page)
        if own is not None and own.added_at < oldest:
            if add:
                self.remove(own)
            own = None
        held = self._held(query.anchors)
        of = tuple(_before(own, held[anchor]) for anchor in query.anchors)
        named = json.dumps(list({page for pages in of for page in pages or ()}))
        found = self._db.execute(f"SELECT number, url, added_at FROM {self._pages} WHERE number {_IN}", (named,))
        urls = {number: url for number, url, added_at in found if added_at >= oldest}
        if add:
            self._add(query, own, held)
            self.retire(query.limits, MAX_RETIRED)
        return Holders(of, urls, own is not None)

    def _add(self, query: AnchorQuery, own: _Page | None, held: dict[int, list[int]]) -> None:
        """Add a page, or take from its anchors those that it has no more."""
        last = own or self._row("ORDER BY number DESC LIMIT 1")
        if own is None:
            number, before = (last.number + 1, last.before + len(last.anchors)) if last else (1, 0)
        else:
            number, before = own.number, own.before
            self._take_from(number, set(own.anchors).difference(query.anchors))
        mine = [anchor for anchor, pages in held.items() if number in pages or len(pages) < MOST_HOLDERS]
        self._write((anchor, held[anchor] + [number]) for anchor in mine if number not in held[anchor])
        self._db.execute(
            f"INSERT OR REPLACE INTO {self._pages} VALUES (?, ?, ?, ?, ?, ?)",
            (number, query.page, query.url, own.added_at if own else self._now, before, _packed(mine, "<i8")),
        )

    def remove(self, page: _Page) -> None:
        """Remove a page."""
        self._take_from(page.number, page.anchors)
        self._db.execute(f"DELETE FROM {self._pages} WHERE number = ?", (page.number,))

    def retire(self, limits: AnchorLimits, most: int) -> int:
        """Remove the oldest pages that the limits let go, at most so many; return how many."""
        last = self._row("ORDER BY number DESC LIMIT 1")
        total = last.before + len(last.anchors) if last else 0
        oldest = None if limits.ttl_seconds is None else self._now - limits.ttl_seconds
        for count in range(most):
            first = self._row("ORDER BY number LIMIT 1")
            is_old = first is not None and oldest is not None and first.added_at < oldest
            if first is None or not (is_old or total - first.before > limits.most):
                return count
            self.remove(first)
        return most

    def _row(self, where: str, *values: int) -> _Page | None:
        found = self._db.execute(f"SELECT number, added_at, before, anchors FROM {self._pages} {where}", values)
        row = found.fetchone()
        return None if row is None else _Page(*row)

    def _held(self, anchors: Iterable[int]) -> dict[int, list[int]]:
        """Return the numbers of the pages that hold each anchor."""
        wanted = list(anchors)
        found = self._db.execute(f"SELECT k, pages FROM {self._anchors} WHERE k {_IN}", (json.dumps(wanted),))
        held: dict[int, list[int]] = {anchor: [] for anchor in wanted}
        held.update((anchor, np.frombuffer(pages, "<u4").tolist()) for anchor, pages in found)
        return held

    def _take_from(self, number: int, anchors: Iterable[int]) -> None:
        """Take a page from what holds these anchors."""
        self._write(
            (anchor, [page for page in pages if page != number]) for anchor, pages in self._held(anchors).items()
        )

    def _write(self, held: Iterable[tuple[int, list[int]]]) -> None:
        rows = [(anchor, _packed(pages, "<u4")) for anchor, pages in held]
        self._db.executemany(f"INSERT OR REPLACE INTO {self._anchors} VALUES (?, ?)", [row for row in rows if row[1]])
        self._db.executemany(f"DELETE FROM {self._anchors} WHERE k = ?", [(row[0],) for row in rows if not row[1]])


def _before(own: _Page | None, pages: list[int]) -> tuple[int, ...] | None:
    """Return the pages that held an anchor before a page did; None if too many hold it."""
    if len(pages) >= MOST_HOLDERS:
        return None
    return tuple(pages if own is None or own.number not in pages else pages[: pages.index(own.number)])


def _packed(numbers: Sequence[int], form: str) -> bytes:
    return np.array(numbers, form).tobytes()
