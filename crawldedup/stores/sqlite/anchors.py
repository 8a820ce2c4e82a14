"""The anchors (hashes of short passages) in an index, and the pages that have them."""

import sqlite3
from collections.abc import Iterable
from typing import Final, NamedTuple

from crawldedup.stores.anchors import MAX_RETIRED, MOST_HOLDERS, AnchorQuery, Holders
from crawldedup.stores.contract import PageName
from crawldedup.stores.sqlite.index import SqliteIndex

# Numbers are passed as the text of a list, so the text of a statement is always the same.
_NUMBERS: Final = "(SELECT value FROM json_each(?))"


class _CoveredPage(NamedTuple):
    """A page whose paragraphs are remembered by their anchors.

    `before` is the number of anchors of all pages that were added before this one, so the total is
    known without counting. `anchors` is the text of a list, ready for `_NUMBERS`.
    """

    number: int
    page: int  # the bits by which anchors name the page; see `PageName.page`
    url: str
    added_at: int
    before: int
    size: int
    anchors: str


_COLUMNS: Final = ", ".join(_CoveredPage._fields)
_PARAMETERS: Final = ", ".join("?" for _ in _CoveredPage._fields)


class Anchors:
    """The anchors and pages of one index. Each method is part of its caller's transaction."""

    def __init__(self, index: SqliteIndex, now: int) -> None:
        self._db = index.db
        self._now = now
        self._anchors = f"anchors_{index.number}"
        self._pages = f"covered_{index.number}"

    def holders(self, query: AnchorQuery, *, add: bool) -> Holders:
        """Return which pages have the anchors of a page, and remember it if `add` is True."""
        oldest = 0
        if query.ttl_seconds is not None:
            oldest = self._now - query.ttl_seconds
        known = self._page("WHERE page = ?", query.name.page)
        if known is not None and known.added_at < oldest:
            if add:
                self._remove(known)
            known = None
        places = self._places(query.anchors)
        holders = [_earlier_holders(of_anchor, known) for of_anchor in places.values()]
        numbers = {number for pages in holders for number in pages or ()}
        urls = self._urls(numbers, oldest)
        if add:
            self._add(query, known, places)
            self._retire(query, oldest)
        return Holders(tuple(holders), urls, known is not None)

    def forget(self, name: PageName) -> bool:
        """Remove a page and its anchors. Return False if there is no such page."""
        page = self._page("WHERE page = ?", name.page)
        if page is None:
            return False
        self._remove(page)
        return True

    def _places(self, anchors: Iterable[int]) -> dict[int, dict[int, int]]:
        """Return the pages that have each anchor, as places in the order of adding."""
        places: dict[int, dict[int, int]] = {anchor: {} for anchor in anchors}
        rows = self._db.execute(
            f"SELECT k, number, place FROM {self._anchors} WHERE k IN {_NUMBERS} ORDER BY k, place",
            (str(list(places)),),
        )
        for anchor, number, place in rows:
            places[anchor][number] = place
        return places

    def _urls(self, numbers: Iterable[int], oldest: int) -> dict[int, str]:
        """Return the URLs of the pages with these numbers that have not expired."""
        rows = self._db.execute(
            f"SELECT number, url FROM {self._pages} WHERE number IN {_NUMBERS} AND added_at >= ?",
            (str(list(numbers)), oldest),
        )
        return dict(rows.fetchall())

    def _add(
        self, query: AnchorQuery, known: _CoveredPage | None, places: dict[int, dict[int, int]]
    ) -> None:
        """Add a page, or update it. Anchors that too many other pages have are left out."""
        if known is not None:
            self._remove(known)
            number = known.number
            added_at = known.added_at
            before = known.before
        else:
            last = self._newest()
            number = 1
            added_at = self._now
            before = 0
            if last is not None:
                number = last.number + 1
                before = last.before + last.size
        rows = []
        for anchor, of_anchor in places.items():
            if number in of_anchor:
                rows.append((anchor, of_anchor[number], number))
            elif len(of_anchor) < MOST_HOLDERS:
                rows.append((anchor, max(of_anchor.values(), default=0) + 1, number))
        self._db.executemany(
            f"INSERT INTO {self._anchors} (k, place, number) VALUES (?, ?, ?)", rows
        )
        page = _CoveredPage(
            number=number,
            page=query.name.page,
            url=query.url,
            added_at=added_at,
            before=before,
            size=len(rows),
            anchors=str([anchor for anchor, _, _ in rows]),
        )
        self._db.execute(f"INSERT INTO {self._pages} ({_COLUMNS}) VALUES ({_PARAMETERS})", page)

    def _retire(self, query: AnchorQuery, oldest: int) -> None:
        """Remove a few of the oldest pages if they are too old or there are too many anchors."""
        newest = self._newest()
        total = 0
        if newest is not None:
            total = newest.before + newest.size
        for _ in range(MAX_RETIRED):
            first = self._page("ORDER BY number LIMIT 1")
            if first is None:
                return
            is_old = first.added_at < oldest
            is_excess = total - first.before > query.most_anchors
            if not is_old and not is_excess:
                return
            self._remove(first)

    def _remove(self, page: _CoveredPage) -> None:
        self._db.execute(
            f"DELETE FROM {self._anchors} WHERE k IN {_NUMBERS} AND number = ?",
            (page.anchors, page.number),
        )
        self._db.execute(f"DELETE FROM {self._pages} WHERE number = ?", (page.number,))

    def _newest(self) -> _CoveredPage | None:
        return self._page("ORDER BY number DESC LIMIT 1")

    def _page(self, condition: str, *parameters: int) -> _CoveredPage | None:
        cursor = self._db.cursor()
        cursor.row_factory = sqlite3.Row
        sql = f"SELECT {_COLUMNS} FROM {self._pages} {condition}"
        row = cursor.execute(sql, parameters).fetchone()
        return None if row is None else _CoveredPage(**row)


def _earlier_holders(places: dict[int, int], known: _CoveredPage | None) -> tuple[int, ...] | None:
    """Return the pages that had an anchor before this page, or None if too many pages have it."""
    if len(places) >= MOST_HOLDERS:
        return None
    if known is None or known.number not in places:
        # If an anchor is new to the page, all others had it before.
        return tuple(places)
    own_place = places[known.number]
    return tuple(number for number, place in places.items() if place < own_place)
