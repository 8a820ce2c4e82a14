"""Anchors of paragraphs in a SQLite file. Pages that hold them have numbers of their own, in the order of adding."""

from typing import Final, NamedTuple

from crawldedup.stores.base import MAX_RETIRED, MOST_HOLDERS, AnchorQuery, Holders, PageName
from crawldedup.stores.sqlite.index import SqliteIndex

# Numbers are given as the text of a list, so that the text of a statement is always the same.
_GIVEN: Final = "(SELECT value FROM json_each(?))"


class _Page(NamedTuple):
    """A row; `before` counts the anchors of all pages that were added before it. Its own are the text of a list."""

    number: int
    added_at: int
    before: int
    size: int
    anchors: str


class Anchors:
    """The anchors and pages of one index. Each method is part of its caller's transaction."""

    def __init__(self, index: SqliteIndex, now: int) -> None:
        self._db, self._now = index.db, now
        self._anchors, self._pages = f"anchors_{index.number}", f"covered_{index.number}"

    def holders(self, query: AnchorQuery, *, add: bool) -> Holders:
        """Return which pages hold the anchors of a page, which is added if that is wanted."""
        oldest = 0 if query.ttl_seconds is None else self._now - query.ttl_seconds
        own = self._page("WHERE page = ?", query.name.page)
        if own is not None and own.added_at < oldest:
            if add:
                self._remove(own)
            own = None
        # Of each anchor, the places of the pages that hold it: in which order it took them in.
        held: dict[int, dict[int, int]] = {anchor: {} for anchor in query.anchors}
        sql = f"SELECT k, number, place FROM {self._anchors} WHERE k IN {_GIVEN} ORDER BY k, place"
        for anchor, number, place in self._db.execute(sql, (str(list(held)),)):
            held[anchor][number] = place
        of: list[tuple[int, ...] | None] = []
        for places in held.values():
            # An anchor that is new to the page was held by all others before.
            last = places.get(own.number if own else 0, 1 << 62)
            earlier = tuple(number for number, place in places.items() if place < last)
            of.append(None if len(places) >= MOST_HOLDERS else earlier)
        numbers = {number for pages in of for number in pages or ()}
        sql = f"SELECT number, url FROM {self._pages} WHERE number IN {_GIVEN} AND added_at >= ?"
        urls = dict(self._db.execute(sql, (str(list(numbers)), oldest)).fetchall())
        if add:
            self._add(query, own, held)
            self._retire(query, oldest)
        return Holders(tuple(of), urls, own is not None)

    def forget(self, name: PageName) -> bool:
        own = self._page("WHERE page = ?", name.page)
        if own is not None:
            self._remove(own)
        return own is not None

    def _add(self, query: AnchorQuery, own: _Page | None, held: dict[int, dict[int, int]]) -> None:
        """Add a page, or bring it up to date. What too many others hold is left out."""
        if own is None:
            last = self._page("ORDER BY number DESC LIMIT 1") or _Page(0, 0, 0, 0, "")
            own = _Page(last.number + 1, self._now, last.before + last.size, 0, "[]")
        self._remove(own)
        mine = [anchor for anchor, places in held.items() if own.number in places or len(places) < MOST_HOLDERS]
        places = [held[anchor].get(own.number, max(held[anchor].values(), default=0) + 1) for anchor in mine]
        rows = [(anchor, place, own.number) for anchor, place in zip(mine, places, strict=True)]
        self._db.executemany(f"INSERT INTO {self._anchors} VALUES (?, ?, ?)", rows)
        row = (own.number, query.name.page, query.url, own.added_at, own.before, len(mine), str(mine))
        self._db.execute(f"INSERT INTO {self._pages} VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    def _retire(self, query: AnchorQuery, oldest: int) -> None:
        """Remove some of the oldest pages that the limits let go."""
        last = self._page("ORDER BY number DESC LIMIT 1")
        total = last.before + last.size if last else 0
        for _ in range(MAX_RETIRED):
            first = self._page("ORDER BY number LIMIT 1")
            if first is None or (first.added_at >= oldest and total - first.before <= query.most_anchors):
                return
            self._remove(first)

    def _remove(self, page: _Page) -> None:
        sql = f"DELETE FROM {self._anchors} WHERE k IN {_GIVEN} AND number = ?"
        self._db.execute(sql, (page.anchors, page.number))
        self._db.execute(f"DELETE FROM {self._pages} WHERE number = ?", (page.number,))

    def _page(self, where: str, *values: int) -> _Page | None:
        sql = f"SELECT number, added_at, before, size, anchors FROM {self._pages} {where}"
        row = self._db.execute(sql, values).fetchone()
        return None if row is None else _Page(*row)
