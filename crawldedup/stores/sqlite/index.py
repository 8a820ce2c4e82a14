"""The pages of one index in a SQLite file, how they are found and compared, and the anchors of
their paragraphs.

Arrays run over all keys and pages of a batch. Keys are as SQLite has them: signed, the lower bits a
page's number.
"""

import operator
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crawldedup.errors import StoreFullError
from crawldedup.search.decision import Prefilter
from crawldedup.search.plan import KEY_BITS, STORED_BITS, ProbePlan
from crawldedup.stores.contract import (
    MAX_RETIRED,
    MOST_HOLDERS,
    AnchorQuery,
    Holders,
    Layout,
    PageName,
    Query,
    Record,
)
from crawldedup.stores.sqlite.schema import SIGN

MAX_PAGES: Final = 1 << (64 - STORED_BITS)
ID_MASK: Final = MAX_PAGES - 1
NEVER: Final = 1 << 40  # the cost of a page that is not accepted at any
_NO_PREFILTER: Final = Prefilter(bytes(KEY_BITS), 0)
_OF_BATCH: Final = 1 << 31
_NOW: Final = (1 << 62, 1 << 62)
# A range is given by the key in its middle: as its width is a power of 2, the bits behind the last
# 1 are its own.
_IN_RANGES: Final = (
    "SELECT key, k FROM json_each(?) CROSS JOIN {0} ON k BETWEEN value & value - 1 AND value | "
    "value - 1 LIMIT ?"
)
# Of each range, the last keys below the one that is probed for, and the first from there on.
_ABOUT_PROBES: Final = (
    "WITH r AS (SELECT key, value & value - 1 AS low, value | value - 1 AS high, ? AS own FROM "
    "json_each(?)) "
    "SELECT key, k FROM r CROSS JOIN {0} ON k "
    "BETWEEN ifnull((SELECT k FROM {0} WHERE k >= low AND k < (low | (own & (high - low))) "
    "ORDER BY k DESC LIMIT 1 OFFSET ?), low) "
    "AND ifnull((SELECT k FROM {0} WHERE k BETWEEN (low | (own & (high - low))) AND high "
    "ORDER BY k LIMIT 1 OFFSET ?), high)"
)
# Numbers are given as the text of a list, so that the text of a statement is always the same.
_GIVEN: Final = "(SELECT value FROM json_each(?))"
Ints = NDArray[np.int64]
Ranges = tuple[
    Ints, Ints
]  # that queries read, best first: of which table, and the key in the middle


class Page(NamedTuple):
    """A page that is kept: its number, the fields of its record, and who delivered it last."""

    number: int
    url: str
    url_key: int
    search: int
    signature: bytes
    digest: int
    rank: int
    added_at: int
    seen_at: int
    copies: int
    crawler: int

    def record(self, packed_text: bytes = b"") -> Record:
        return Record(*self[1:7], packed_text, *self[7:10])


def _page(row: tuple[Any, ...]) -> Page:
    url_key, search, digest, *counts = map(
        operator.index, (*row[2:4], *row[5:])
    )  # the file may be damaged
    return Page(row[0], row[1], url_key + SIGN, search + SIGN, row[4], digest, *counts)


class SqliteIndex:
    """The tables of an index, while a store has locked the file.

    `load_head` begins each transaction.

    Pages are numbered in the order of adding. No number is given again, so `pages` needs no counter
    that is written.
    """

    def __init__(self, db: sqlite3.Connection, number: int, layout: Layout, path: str) -> None:
        self.number, self.layout, self.db, self._path = number, layout, db, path
        self.newest = self.freed = self.swept = 0
        self._pages, self._texts, self._urls = (
            f"{name}_{number}" for name in ("pages", "texts", "urls")
        )
        self.key_tables = [f"keys{table}_{number}" for table in range(len(layout.tables))]
        # The bit of the search bits behind each bit that is kept of a key.
        self.key_bits = np.array([table.order[:STORED_BITS] for table in layout.tables], np.intp)
        self.load_head()

    def load_head(self) -> str:
        """Read what the index knows of its pages as a whole; return its profile."""
        newest = f"max(newest_freed, ifnull((SELECT max(number) FROM {self._pages}), 0))"
        head = f"SELECT profile, {newest}, freed, swept FROM indexes WHERE number = {self.number}"
        profile, *counts = self.db.execute(head).fetchone()
        self.newest, self.freed, self.swept = map(operator.index, counts)
        self._written = self.freed, self.swept
        return str(profile)

    def write_head(self) -> None:
        """Write the counters if they have changed, which is so once a page is gone."""
        if self._written != (self.freed, self.swept):
            self._written = self.freed, self.swept
            head = (self.newest, *self._written, self.number)
            self.db.execute(
                "UPDATE indexes SET newest_freed = ?, freed = ?, swept = ? WHERE number = ?", head
            )

    @property
    def pages(self) -> int:
        return self.newest - self.freed

    def next_number(self) -> int:
        """Return the number of a page that is added.

        Raises StoreFullError if there are none left.
        """
        if self.newest + 1 >= MAX_PAGES:
            raise StoreFullError(
                f"{self._path} has no page numbers left: clear the index, or crawl into another"
            )
        self.newest += 1
        return self.newest

    def rows(self, columns: str, numbers: Iterable[int]) -> list[tuple[Any, ...]]:
        """Return columns of the pages with these numbers."""
        sql = f"SELECT {columns} FROM json_each(?) CROSS JOIN {self._pages} ON number = value"
        return self.db.execute(sql, (str(list(numbers)),)).fetchall()

    def pages_of(self, numbers: Iterable[int]) -> list[Page]:
        return [_page(row) for row in self.rows(f"{self._pages}.*", numbers)]

    def pages_after(self, number: int, most: int) -> list[Page]:
        sql = f"SELECT * FROM {self._pages} WHERE number > ? ORDER BY number LIMIT ?"
        return [_page(row) for row in self.db.execute(sql, (number, most))]

    def pages_with(self, url_keys: Iterable[int]) -> list[Page]:
        sql = (
            f"SELECT p.* FROM json_each(?) CROSS JOIN {self._urls} ON k BETWEEN value & {~ID_MASK} "
            f"AND value | {ID_MASK} CROSS JOIN {self._pages} p ON number = (k & {ID_MASK}) AND "
            "url_key = value"
        )
        return [
            _page(row)
            for row in self.db.execute(sql, (str([url_key - SIGN for url_key in url_keys]),))
        ]

    def text(self, number: int) -> bytes:
        row = self.db.execute(
            f"SELECT text FROM {self._texts} WHERE number = ?", (number,)
        ).fetchone()
        return row[0] if row and isinstance(row[0], bytes) else b""

    def keep_texts(self, texts: Mapping[int, bytes]) -> None:
        self.db.executemany(f"INSERT OR REPLACE INTO {self._texts} VALUES (?, ?)", texts.items())

    def keep(self, pages: Iterable[Page]) -> None:
        """Write what the index knows of pages but their keys."""
        rows = [(page[0], page[1], page[2] - SIGN, page[3] - SIGN, *page[4:]) for page in pages]
        places = ", ".join("?" * len(Page._fields))
        self.db.executemany(f"INSERT OR REPLACE INTO {self._pages} VALUES ({places})", rows)

    def file(
        self, pages: Collection[Page], keys: Iterable[Sequence[int]], *, remove: bool = False
    ) -> None:
        """Add the URL keys of pages and these keys to the tables, or remove them."""
        sql = "DELETE FROM {} WHERE k = ?" if remove else "INSERT INTO {} VALUES (?)"
        columns = zip(
            *[(page.url_key, *own) for page, own in zip(pages, keys, strict=True)], strict=True
        )
        for name, column in zip((self._urls, *self.key_tables), columns, strict=True):
            rows = [
                ((key & ~ID_MASK | page.number) - SIGN,)
                for key, page in zip(column, pages, strict=True)
            ]
            self.db.executemany(sql.format(name), rows)

    def unfile(self, pages: Collection[Page]) -> None:
        self.file(pages, [self.layout.keys(page.search) for page in pages], remove=True)

    def remove(self, pages: Collection[Page]) -> None:
        """Remove pages. Who does it counts them as freed."""
        self.unfile(pages)
        for table in (self._pages, self._texts):
            self.db.executemany(
                f"DELETE FROM {table} WHERE number = ?", [(page.number,) for page in pages]
            )


class Candidate(NamedTuple):
    """A page that a query is to be compared with: its number, or -1 minus the place of an earlier
    query of the batch.

    The cost is NEVER for one that the query's rule refuses. `keys` of the page are in the query's
    ranges.
    """

    number: int
    keys: int
    cost: int
    added_at: int
    seen_at: int


def candidates(
    index: SqliteIndex, batch: Sequence[Query], asked: Sequence[int]
) -> dict[int, tuple[list[Candidate], int]]:
    """Return the pages to compare with queries of a batch, by the places of these.

    Earlier queries of the batch count as pages; so many keys they may have together. A query whose
    ranges hold more keys than may be read is left out: pages of the batch would change which are
    read. Ask it by `candidates_alone`.
    """
    plans, tables = [batch[place].plan for place in asked], len(index.key_tables)
    ranges, range_of = _ranges(plans), np.repeat(asked, [len(plan.tables) for plan in plans])
    own = _signed([query.keys for query in batch])
    sides = np.array([query.max_keys_per_side for query in batch])
    rows = _keys_in_ranges(index, ranges, int(sides[list(asked)].sum()))
    if rows is None:
        return {}
    within, earlier = _keys_of_batch(ranges, range_of, own & ~ID_MASK)
    places, keys = np.concatenate((rows, within)).T
    pages = np.concatenate((rows[:, 1] & ID_MASK, -1 - earlier))
    of, table = range_of[places], ranges[0][places]
    costs = _costs_of_keys(index, batch, of, table, keys ^ own[of, table])
    is_met = costs != NEVER
    is_there = (pages > 0) | ~is_met
    counts = np.bincount((of * tables + table)[is_there], minlength=len(batch) * tables).reshape(
        -1, tables
    )
    room = (sides[:, None] - 1 - counts).min(axis=1)
    room = np.minimum(room, [query.max_keys for query in batch] - counts.sum(axis=1))
    pairs = np.sort(of[is_met] << 32 | pages[is_met] + _OF_BATCH)
    firsts = np.flatnonzero(np.diff(pairs, prepend=-1))
    key_counts = np.diff(firsts, append=len(pairs)).tolist()
    of, met = pairs[firsts] >> 32, (pairs[firsts] & 0xFFFF_FFFF) - _OF_BATCH
    counts = np.bincount(of[met > 0], minlength=len(batch))
    rooms = np.minimum(room, [query.max_candidates for query in batch] - counts).tolist()
    compared = _compared(index, batch, of, met.tolist(), key_counts)
    return {place: (compared[place], rooms[place]) for place in asked if rooms[place] >= 0}


def candidates_alone(index: SqliteIndex, query: Query) -> list[Candidate]:
    """Return the pages of the file to compare with a query."""
    ranges, own = _ranges([query.plan]), _signed(query.keys)
    rows = _keys_in_ranges(index, ranges, query.max_keys_per_side)
    if rows is None or len(rows) > query.max_keys:
        rows = _keys_about_probes(index, ranges, own, query)
    if not len(rows):
        return []
    places, keys = rows.T
    tables, of = ranges[0][places], np.zeros(len(places), np.intp)
    costs = _costs_of_keys(index, [query], of, tables, keys ^ own[tables])
    met = np.flatnonzero(costs != NEVER)
    if len(met) > query.max_candidates:
        met = met[np.lexsort((keys[met], places[met]))]
    # The pages whose keys cost least, the first one among equals.
    best: dict[int, int] = {}
    for page, cost in zip((keys[met] & ID_MASK).tolist(), costs[met].tolist(), strict=True):
        best[page] = min(cost, best.get(page, cost))
    pages = sorted(best, key=best.__getitem__)[: query.max_candidates]
    return _compared(index, [query], of[: len(pages)], pages, [1] * len(pages))[0]


def _ranges(plans: Sequence[ProbePlan]) -> Ranges:
    lows, highs = (
        np.concatenate([plan.lows for plan in plans]),
        np.concatenate([plan.highs for plan in plans]),
    )
    inner = lows ^ highs | ID_MASK
    return np.concatenate([plan.tables for plan in plans]), _signed((highs | inner) ^ inner >> 1)


def _signed(values: ArrayLike) -> Ints:
    return (np.asarray(values, np.uint64) ^ SIGN).view(np.int64)


def _keys_in_ranges(index: SqliteIndex, ranges: Ranges, limit: int) -> Ints | None:
    """Return rows (range, key) of the keys in ranges; None if there are `limit` in one table."""
    found: list[Ints] = []
    for name, places, middles in _of_tables(index, ranges):
        keys = index.db.execute(_IN_RANGES.format(name), (middles, limit)).fetchall()
        if len(keys) == limit:
            return None
        rows = np.array(keys, np.int64).reshape(-1, 2)
        rows[:, 0] = places[rows[:, 0]]
        found.append(rows)
    return np.concatenate(found)


def _keys_about_probes(index: SqliteIndex, ranges: Ranges, own: Ints, query: Query) -> Ints:
    """Return rows (range, key) of the keys about what each range probes for, of all ranges the best
    first.
    """
    found: list[tuple[int, int]] = []
    others = query.max_keys_per_side - 1
    for (name, places, middles), key in zip(
        _of_tables(index, ranges), (own & ~ID_MASK).tolist(), strict=True
    ):
        place_of = places.tolist()
        rows = index.db.execute(_ABOUT_PROBES.format(name), (key, middles, others, others))
        found += [(place_of[number], key) for number, key in rows]
    return np.array(sorted(found)[: query.max_keys], np.int64).reshape(-1, 2)


def _of_tables(index: SqliteIndex, ranges: Ranges) -> list[tuple[str, Ints, str]]:
    """Return the ranges of each table: their places, and the keys in their middles, as SQL has
    them.
    """
    tables, middles = ranges
    places = [np.flatnonzero(tables == table) for table in range(len(index.key_tables))]
    return [
        (name, mine, str(middles[mine].tolist()))
        for name, mine in zip(index.key_tables, places, strict=True)
    ]


def _keys_of_batch(ranges: Ranges, range_of: Ints, keys: Ints) -> tuple[Ints, Ints]:
    """Return rows (range, key) of the keys of earlier queries of the batch in ranges, and whose
    they are.
    """
    tables, middles = ranges
    # One order of the keys of all tables: those of a table lie behind those of the table before it.
    leading = (keys >> KEY_BITS - STORED_BITS) + (np.arange(keys.shape[1]) << STORED_BITS)
    order = leading.argsort(axis=None)
    ordered, of_table = leading.ravel()[order], tables << STORED_BITS
    first = ordered.searchsorted(((middles & middles - 1) >> KEY_BITS - STORED_BITS) + of_table)
    last = ordered.searchsorted(
        ((middles | middles - 1) >> KEY_BITS - STORED_BITS) + of_table, "right"
    )
    counts = last - first
    met = np.repeat(np.arange(len(counts)), counts)
    place = order[np.arange(len(met)) + np.repeat(last - counts.cumsum(), counts)] // keys.shape[1]
    is_earlier = place < range_of[met]
    met, place = met[is_earlier], place[is_earlier]
    return np.stack((met, keys[place, tables[met]]), axis=1), place


def _costs_of_keys(
    index: SqliteIndex, batch: Sequence[Query], of: Ints, tables: Ints, differing: Ints
) -> Ints:
    """Return what keys cost by the prefilter of the query that met each, or NEVER where it rejects
    them; (keys,).

    `of` numbers the queries, `tables` the tables. `differing` are the bits that keys do not share
    with the query's.
    """
    rules = [query.prefilter or _NO_PREFILTER for query in batch]
    costs_of = np.frombuffer(b"".join([rule.costs for rule in rules]), np.uint8).reshape(
        len(rules), -1
    )
    bits = np.unpackbits(
        differing.astype(">i8").view(np.uint8).reshape(-1, 8), axis=1, count=STORED_BITS
    )
    bits *= costs_of[of[:, None], index.key_bits[tables]]
    costs: Ints = bits.sum(axis=1, dtype=np.int64)
    costs[costs > np.array([rule.limit for rule in rules])[of]] = NEVER
    return costs


def _compared(
    index: SqliteIndex, batch: Sequence[Query], of: Ints, pages: Sequence[int], keys: Sequence[int]
) -> list[list[Candidate]]:
    """Compare the queries of a batch with the pages that they met, by so many keys."""
    found: list[list[Candidate]] = [[] for _ in batch]
    if not pages:
        return found
    records = [query.record for query in batch]
    rows = [
        (-1 - place, record.signature, record.digest, *_NOW) for place, record in enumerate(records)
    ]
    # Most are read only to be refused, so their URLs stay where they are.
    rows += index.rows(
        "number, signature, digest, added_at, seen_at", {page for page in pages if page > 0}
    )
    numbers, signatures, digests, _, _ = zip(*rows, strict=True)
    place_of = dict(zip(numbers, range(len(rows)), strict=True))
    at = [place_of[page] for page in pages]
    packed, digest = (
        np.frombuffer(b"".join(signatures), np.uint8).reshape(len(rows), -1),
        np.array(digests),
    )
    # The first rows are the queries' own.
    bits = np.unpackbits(packed[at] ^ packed[of], axis=1)
    bits *= np.frombuffer(b"".join([query.rule.costs for query in batch]), np.uint8).reshape(
        len(batch), -1
    )[of]
    costs = bits.sum(axis=1, dtype=np.int64)
    costs[
        costs > np.array([-1 if query.exact_only else query.rule.bounds.far for query in batch])[of]
    ] = NEVER
    costs[digest[at] == digest[of]] = 0
    for place, page, count, cost, row in zip(
        of.tolist(), pages, keys, costs.tolist(), at, strict=True
    ):
        found[place].append(Candidate(page, count, cost, *rows[row][3:]))
    return found


class _Covered(NamedTuple):
    """A row; `before` counts the anchors of all pages that were added before it.

    Its own are the text of a list.
    """

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

    def _add(
        self, query: AnchorQuery, own: _Covered | None, held: dict[int, dict[int, int]]
    ) -> None:
        """Add a page, or bring it up to date. What too many others hold is left out."""
        if own is None:
            last = self._page("ORDER BY number DESC LIMIT 1") or _Covered(0, 0, 0, 0, "")
            own = _Covered(last.number + 1, self._now, last.before + last.size, 0, "[]")
        self._remove(own)
        mine = [
            anchor
            for anchor, places in held.items()
            if own.number in places or len(places) < MOST_HOLDERS
        ]
        places = [
            held[anchor].get(own.number, max(held[anchor].values(), default=0) + 1)
            for anchor in mine
        ]
        rows = [(anchor, place, own.number) for anchor, place in zip(mine, places, strict=True)]
        self._db.executemany(f"INSERT INTO {self._anchors} VALUES (?, ?, ?)", rows)
        row = (
            own.number,
            query.name.page,
            query.url,
            own.added_at,
            own.before,
            len(mine),
            str(mine),
        )
        self._db.execute(f"INSERT INTO {self._pages} VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    def _retire(self, query: AnchorQuery, oldest: int) -> None:
        last = self._page("ORDER BY number DESC LIMIT 1")
        total = last.before + last.size if last else 0
        for _ in range(MAX_RETIRED):
            first = self._page("ORDER BY number LIMIT 1")
            if first is None or (
                first.added_at >= oldest and total - first.before <= query.most_anchors
            ):
                return
            self._remove(first)

    def _remove(self, page: _Covered) -> None:
        sql = f"DELETE FROM {self._anchors} WHERE k IN {_GIVEN} AND number = ?"
        self._db.execute(sql, (page.anchors, page.number))
        self._db.execute(f"DELETE FROM {self._pages} WHERE number = ?", (page.number,))

    def _page(self, where: str, *values: int) -> _Covered | None:
        sql = f"SELECT number, added_at, before, size, anchors FROM {self._pages} {where}"
        row = self._db.execute(sql, values).fetchone()
        return None if row is None else _Covered(*row)
