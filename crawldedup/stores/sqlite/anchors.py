"""Anchors of paragraphs in a SQLite file: which pages hold an anchor, and the anchors of each page."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from crawldedup.stores.base import MAX_RETIRED, MOST_HOLDERS, AnchorQuery, Holders, PageName
from crawldedup.stores.sqlite.index import SqliteIndex
from crawldedup.stores.sqlite.schema import GIVEN, anchor_tables


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


class Anchors:
    """The anchors and pages of one index. Each method is part of its caller's transaction."""

    def __init__(self, index: SqliteIndex, now: int) -> None:
        self._db, self._now = index.db, now
        self._anchors, self._pages = anchor_tables(index.number)

    def holders(self, query: AnchorQuery, *, add: bool) -> Holders:
        """Return which pages hold the anchors of a page, which is added if that is wanted."""
        oldest = 0 if query.ttl_seconds is None else self._now - query.ttl_seconds
        own = self._page("WHERE page = ?", query.name.page)
        if own is not None and own.added_at < oldest:
            if add:
                self._remove(own)
            own = None
        held = self._held(query.anchors)
        of = tuple(_before(own, held[anchor]) for anchor in query.anchors)
        numbers = str(list({number for pages in of for number in pages or ()}))
        sql = (
            f"SELECT number, url FROM {self._pages} WHERE added_at >= ? AND number IN (SELECT value FROM json_each(?))"
        )
        urls = dict(self._db.execute(sql, (oldest, numbers)).fetchall())
        if add:
            self._add(query, own, held)
            self._retire(query, oldest)
        return Holders(of, urls, own is not None)

    def forget(self, name: PageName) -> bool:
        """Remove the anchors of a page; return False if there were none."""
        own = self._page("WHERE page = ?", name.page)
        if own is not None:
            self._remove(own)
        return own is not None

    def _add(self, query: AnchorQuery, own: _Page | None, held: dict[int, list[int]]) -> None:
        """Add a page, or take from its anchors those that it has no more."""
        if own is None:
            last = self._page("ORDER BY number DESC LIMIT 1")
            number, before = (last.number + 1, last.before + len(last.anchors)) if last else (1, 0)
        else:
            number, before = own.number, own.before
            self._take_from(number, set(own.anchors).difference(query.anchors))
        mine = [anchor for anchor, pages in held.items() if number in pages or len(pages) < MOST_HOLDERS]
        self._write((anchor, held[anchor] + [number]) for anchor in mine if number not in held[anchor])
        row = (number, query.name.page, query.url, own.added_at if own else self._now, before, _packed(mine, "<i8"))
        self._db.execute(f"INSERT OR REPLACE INTO {self._pages} VALUES (?, ?, ?, ?, ?, ?)", row)

    def _retire(self, query: AnchorQuery, oldest: int) -> None:
        """Remove some of the oldest pages that the limits let go."""
        last = self._page("ORDER BY number DESC LIMIT 1")
        total = last.before + len(last.anchors) if last else 0
        for _ in range(MAX_RETIRED):
            first = self._page("ORDER BY number LIMIT 1")
            if first is None or (first.added_at >= oldest and total - first.before <= query.most_anchors):
                return
            self._remove(first)

    def _remove(self, page: _Page) -> None:
        self._take_from(page.number, page.anchors)
        self._db.execute(f"DELETE FROM {self._pages} WHERE number = ?", (page.number,))

    def _page(self, where: str, *values: int) -> _Page | None:
        row = self._db.execute(
            f"SELECT number, added_at, before, anchors FROM {self._pages} {where}", values
        ).fetchone()
        return None if row is None else _Page(*row)

    def _held(self, anchors: Iterable[int]) -> dict[int, list[int]]:
        """Return the numbers of the pages that hold each anchor."""
        held: dict[int, list[int]] = {anchor: [] for anchor in anchors}
        sql = f"SELECT k, pages FROM {self._anchors} WHERE k IN {GIVEN}"
        found = self._db.execute(sql, (str(list(held)),))
        held.update((anchor, np.frombuffer(pages, "<u4").tolist()) for anchor, pages in found)
        return held

    def _take_from(self, number: int, anchors: Iterable[int]) -> None:
        """Take a page from what holds these anchors."""
        held = self._held(anchors)
        self._write((anchor, [page for page in pages if page != number]) for anchor, pages in held.items())

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
