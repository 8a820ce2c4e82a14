"""The pages of one index in a SQLite file. Each method is part of its caller's transaction."""

import sqlite3
from collections.abc import Collection, Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crawldedup.errors import StoreFullError
from crawldedup.stores.base import Layout, Query, Record
from crawldedup.stores.candidates import (
    ID_MASK,
    MAX_PAGES,
    NEVER,
    Indexes,
    Keys,
    Ranges,
    costs_of_keys,
    costs_of_pages,
    likeliest,
)
from crawldedup.stores.sqlite.schema import GIVEN, row_id, unsigned

_SIGN: Final = np.uint64(1 << 63)
_NO_PLACES: Final = np.empty(0, np.intp)
_NO_KEYS: Final = np.empty(0, np.uint64)
_OF_BATCH: Final = 1 << 31
_NOW: Final = (1 << 62, 1 << 62)
_RANGES_SQL: Final = "SELECT key, k FROM json_each(?) CROSS JOIN {} ON k BETWEEN value AND value + ? LIMIT ?"


class Page(NamedTuple):
    """One row: a page's number, the fields of its record, and who delivered it last. 64-bit integers are signed."""

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
        """Return what the page's record says."""
        _, url, url_key, search, signature, digest, rank, *times, _ = self
        return Record(url, unsigned(url_key), unsigned(search), signature, digest, rank, packed_text, *times)


_TYPES: Final = tuple(Page.__annotations__.values())


class Candidate(NamedTuple):
    """A page that a query is to be compared with: its number, or -1 minus the place of an earlier query of the batch.

    The cost is NEVER for one that the query's rule refuses. `keys` of the page are in the query's ranges.
    """

    number: int
    keys: int
    cost: int
    added_at: int
    seen_at: int


class Candidates(NamedTuple):
    """What a query is to be compared with. Pages of its batch may have `room` for so many keys among them."""

    pages: list[Candidate]
    room: int


class SqliteIndex:
    """The tables of an index, while a store has locked the file. `load_head` begins each transaction.

    Pages are numbered in the order of adding. No number is given again. `pages` counts them: no counter has to be
    written for every page that is added.
    """

    def __init__(self, db: sqlite3.Connection, number: int, layout: Layout, path: str) -> None:
        self.number, self.layout, self.db, self._path = number, layout, db, path
        self.newest = self.freed = self.swept = 0
        names = ("pages", "texts", "urls", *(f"keys{table}" for table in range(len(layout.tables))))
        self._pages, self._texts, self._urls, *self._keys = (f"{name}_{number}" for name in names)
        self._select = f"SELECT * FROM {self._pages}"

    def load_head(self) -> str:
        """Read what the index knows of its pages as a whole; return its profile."""
        head = f"SELECT profile, newest_freed, freed, swept FROM indexes WHERE number = {self.number}"
        profile, *counts = self.db.execute(head).fetchone()
        if set(map(type, counts)) != {int}:
            raise ValueError("it counts its pages otherwise")
        self.newest, self.freed, self.swept = counts
        if profile:
            (newest,) = self.db.execute(f"SELECT max(number) FROM {self._pages}").fetchone()
            self.newest = max(self.newest, newest or 0)
        return str(profile)

    @property
    def pages(self) -> int:
        """The number of pages."""
        return self.newest - self.freed

    def next_number(self) -> int:
        """Return the number of a page that is added. Raises StoreFullError if there are none left."""
        if self.newest + 1 >= MAX_PAGES:
            raise StoreFullError(
                f"{self._path} has given all its {MAX_PAGES} page numbers; clear the index, or crawl into another"
            )
        self.newest += 1
        return self.newest

    def pages_of(self, numbers: Iterable[int]) -> list[Page]:
        """Return the pages with these numbers."""
        return self._sound(self.db.execute(f"{self._select} WHERE number IN {GIVEN}", (str(list(numbers)),)))

    def pages_after(self, number: int, most: int) -> list[Page]:
        """Return the first pages behind a number, at most so many."""
        return self._sound(self.db.execute(f"{self._select} WHERE number > ? ORDER BY number LIMIT ?", (number, most)))

    def pages_with(self, url_keys: Collection[int]) -> dict[int, Page]:
        """Return the pages with these URL keys."""
        lows = [row_id(url_key, 0) for url_key in url_keys]
        sql = (
            f"SELECT p.* FROM json_each(?) CROSS JOIN {self._urls} ON k BETWEEN value AND value + {int(ID_MASK)} "
            f"CROSS JOIN {self._pages} p ON number = (k & {int(ID_MASK)})"
        )
        found = self._sound(self.db.execute(sql, (str(lows),)))
        return {key: page for page in found if (key := unsigned(page.url_key)) in url_keys}

    def _sound(self, rows: Iterable[tuple[object, ...]]) -> list[Page]:
        # SQLite keeps values of any type in any column.
        pages: list[Page] = list(map(Page._make, rows))
        for page in pages:
            if tuple(map(type, page)) != _TYPES or len(page.signature) != self.layout.signature_bytes:
                raise ValueError(f"the page {page.number!r} is none")
        return pages

    def text(self, number: int) -> bytes:
        """Return the text that is kept of the page with this number, if any."""
        row = self.db.execute(f"SELECT text FROM {self._texts} WHERE number = ?", (number,)).fetchone()
        return row[0] if row and isinstance(row[0], bytes) else b""

    def keep_text(self, number: int, text: bytes) -> None:
        """Keep a text of a page in place of the one that was kept; none if it is empty."""
        if text:
            self.db.execute(f"INSERT OR REPLACE INTO {self._texts} VALUES (?, ?)", (number, text))
        else:
            self.db.execute(f"DELETE FROM {self._texts} WHERE number = ?", (number,))

    def add(self, pages: Sequence[Page], keys: Sequence[Sequence[int]]) -> None:
        """Add pages with these keys."""
        values = ", ".join("?" * len(Page._fields))
        self.db.executemany(f"INSERT INTO {self._pages} VALUES ({values})", pages)
        urls = [(row_id(unsigned(page.url_key), page.number),) for page in pages]
        self.db.executemany(f"INSERT INTO {self._urls} VALUES (?)", urls)
        self.file([page.number for page in pages], keys)

    def file(self, numbers: Sequence[int], keys: Sequence[Sequence[int]], *, remove: bool = False) -> None:
        """Add the keys of pages to the tables, or remove them."""
        sql = "DELETE FROM {} WHERE k = ?" if remove else "INSERT INTO {} VALUES (?)"
        for name, column in zip(self._keys, zip(*keys, strict=True), strict=True):
            rows = [(row_id(key, number),) for key, number in zip(column, numbers, strict=True)]
            self.db.executemany(sql.format(name), rows)

    def unfile(self, pages: Sequence[Page]) -> None:
        """Remove the keys of pages from the tables."""
        keys = [self.layout.keys(unsigned(page.search)) for page in pages]
        self.file([page.number for page in pages], keys, remove=True)

    def update(self, pages: Iterable[Page]) -> None:
        """Write what changes of pages but their keys."""
        sql = (
            f"UPDATE {self._pages} SET search = ?, signature = ?, digest = ?, rank = ?, seen_at = ?, copies = ?, "
            "crawler = ? WHERE number = ?"
        )
        self.db.executemany(sql, [(*page[3:7], *page[8:], page.number) for page in pages])

    def remove(self, pages: Sequence[Page]) -> None:
        """Remove pages. Who does it counts them as freed."""
        self.unfile(pages)
        urls = [(row_id(unsigned(page.url_key), page.number),) for page in pages]
        self.db.executemany(f"DELETE FROM {self._urls} WHERE k = ?", urls)
        for table in (self._pages, self._texts):
            self.db.executemany(f"DELETE FROM {table} WHERE number = ?", [(page.number,) for page in pages])

    def write_head(self) -> None:
        """Write the counters, which are needed once a page is gone."""
        head = (self.freed, self.newest, self.swept, self.number)
        self.db.execute("UPDATE indexes SET freed = ?, newest_freed = ?, swept = ? WHERE number = ?", head)

    def note(self, name: str, text: str | None) -> str:
        """Return a note of the index, written before if there is a text."""
        if text is not None:
            self.db.execute("INSERT OR REPLACE INTO notes VALUES (?, ?, ?)", (self.number, name, text))
        sql = "SELECT text FROM notes WHERE idx = ? AND name = ?"
        found = self.db.execute(sql, (self.number, name)).fetchone()
        return "" if found is None else str(found[0])

    def file_bytes(self) -> int:
        """Return the size of the file."""
        sizes = self.db.execute("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
        return int(sizes.fetchone()[0])

    def candidates(self, batch: Sequence[Query], asked: Sequence[int]) -> dict[int, Candidates]:
        """Return the pages to compare with queries of a batch, by the places of these.

        Earlier queries of the batch count as pages. A query whose ranges hold more keys than may be read is left out:
        pages of the batch would change which keys are read. It is asked by `candidates_alone`.
        """
        ranges, tables = Ranges.to_read(batch, asked), len(self._keys)
        sides = np.array([query.max_keys_per_side for query in batch])
        found = self._keys_in_ranges(ranges, int(sides[list(asked)].sum()))
        if found is None:
            return {}
        places, keys, earlier = ranges.within_batch(batch)
        places, keys = np.concatenate((found[0], places)), np.concatenate((found[1], keys))
        pages = np.concatenate(((found[1] & ID_MASK).astype(np.int64), -1 - earlier))
        of, table = ranges.of[places], ranges.tables[places]
        costs = costs_of_keys(batch, self.layout, of, table, keys)
        is_met = costs != NEVER
        is_there = (pages > 0) | ~is_met
        counts = np.bincount((of * tables + table)[is_there], minlength=len(batch) * tables).reshape(-1, tables)
        room = (sides[:, None] - 1 - counts).min(axis=1)
        room = np.minimum(room, [query.max_keys for query in batch] - counts.sum(axis=1))
        pairs = np.sort(of[is_met] << 32 | pages[is_met] + _OF_BATCH)
        firsts = np.flatnonzero(np.diff(pairs, prepend=-1))
        key_counts = np.diff(firsts, append=len(pairs)).tolist()
        of, met = pairs[firsts] >> 32, (pairs[firsts] & 0xFFFF_FFFF) - _OF_BATCH
        counts = np.bincount(of[met > 0], minlength=len(batch))
        rooms = np.minimum(room, [query.max_candidates for query in batch] - counts).tolist()
        compared = self._compared(batch, of, met, key_counts)
        return {place: Candidates(compared[place], rooms[place]) for place in asked if rooms[place] >= 0}

    def candidates_alone(self, query: Query) -> list[Candidate]:
        """Return the pages of the file to compare with a query."""
        ranges, side = Ranges.to_read([query], [0]), query.max_keys_per_side
        found = self._keys_in_ranges(ranges, side)
        if found is not None and not len(found[0]):
            return []
        if found is None or len(found[0]) > query.max_keys or np.bincount(ranges.tables[found[0]]).max() >= side:
            found = self._keys_in_cut_ranges(query, ranges)
        places, keys = found
        costs = costs_of_keys([query], self.layout, ranges.of[places], ranges.tables[places], keys)
        is_met = costs != NEVER
        pages: Sequence[int] = list(dict.fromkeys((keys[is_met] & ID_MASK).tolist()))
        if len(pages) > query.max_candidates:
            order = np.lexsort((keys[is_met], places[is_met]))
            pages = likeliest(
                (keys[is_met][order] & ID_MASK).tolist(), costs[is_met][order].tolist(), query.max_candidates
            )
        of = np.zeros(len(pages), np.intp)
        return self._compared([query], of, np.array(pages, np.int64), [1] * len(pages))[0]

    def _compared(
        self, batch: Sequence[Query], of: Indexes, pages: NDArray[np.int64], keys: list[int]
    ) -> list[list[Candidate]]:
        """Compare the queries of a batch with the pages that they met, by so many keys."""
        found: list[list[Candidate]] = [[] for _ in batch]
        if not len(pages):
            return found
        numbers = sorted({number for number in pages.tolist() if number > 0})
        # Most are read only to be refused, so their URLs stay where they are.
        sql = f"SELECT number, signature, digest, added_at, seen_at FROM {self._pages} WHERE number IN {GIVEN}"
        rows = sorted(self.db.execute(sql, (str(numbers),)))
        if len(rows) != len(numbers):
            raise LookupError("keys of pages that are not there")
        signatures = [row[1] for row in rows] + [query.record.signature for query in batch]
        digests = [row[2] for row in rows] + [query.record.digest for query in batch]
        at = np.where(pages >= 0, np.searchsorted(numbers, pages), len(rows) - 1 - pages)
        times = [row[3:] for row in rows] + [_NOW] * len(batch)
        costs = costs_of_pages(batch, of, signatures, digests, at)
        for place, page, count, cost, row in zip(of.tolist(), pages.tolist(), keys, costs, at.tolist(), strict=True):
            found[place].append(Candidate(page, count, cost, *times[row]))
        return found

    def _keys_in_ranges(self, ranges: Ranges, limit: int) -> tuple[Indexes, Keys] | None:
        """Return the ranges with keys in them, and these keys; None if there are `limit` in ranges of one width."""
        spans = ranges.highs - ranges.lows
        widths = set(spans.tolist())
        places, keys = [_NO_PLACES], [_NO_KEYS]
        for table, name in enumerate(self._keys):
            is_own = ranges.tables == table
            for span in widths:
                mine = np.flatnonzero(is_own & (spans == span))
                if len(mine):
                    lows = str(_signed(ranges.lows[mine]).tolist())
                    rows = self.db.execute(_RANGES_SQL.format(name), (lows, span, limit)).fetchall()
                    if len(rows) == limit:
                        return None
                    if rows:
                        found = np.array(rows, np.int64)
                        places.append(mine[found[:, 0]])
                        keys.append(_unsigned(found[:, 1]))
        return np.concatenate(places), np.concatenate(keys)

    def _keys_in_cut_ranges(self, query: Query, ranges: Ranges) -> tuple[Indexes, Keys]:
        """Return what `_keys_in_ranges` does: of each range the keys about its middle, of all ranges the best first."""
        bounds = _signed(np.stack((ranges.lows, ranges.middles(query), ranges.highs), axis=1))
        found: list[tuple[int, int]] = []
        for table, name in enumerate(self._keys):
            mine = np.flatnonzero(ranges.tables == table)
            sql = _cut_ranges_sql(name, len(mine), query.max_keys_per_side)
            places = mine.tolist()
            rows = self.db.execute(sql, bounds[mine].ravel().tolist()) if places else ()
            found.extend((places[number], key) for number, key in rows)
        found.sort()
        best = np.array(found[: query.max_keys], np.int64).reshape(-1, 2)
        return best[:, 0], _unsigned(best[:, 1])


def _cut_ranges_sql(name: str, ranges: int, limit: int) -> str:
    """Return SQL for the last `limit` keys below each range's middle and the first `limit` from there on.

    It gives rows (range number, key), and takes each low, middle and high.
    """
    values = ",".join(f"({number},?,?,?)" for number in range(ranges))
    side = f"SELECT k FROM {name} WHERE k"
    first = f"({side} >= low AND k < middle ORDER BY k DESC LIMIT 1 OFFSET {limit - 1})"
    last = f"({side} BETWEEN middle AND high ORDER BY k LIMIT 1 OFFSET {limit - 1})"
    return (
        f"WITH r(number, low, middle, high) AS (VALUES {values}) "
        f"SELECT number, k FROM r CROSS JOIN {name} ON k BETWEEN ifnull({first}, low) AND ifnull({last}, high)"
    )


def _signed(values: Keys) -> NDArray[np.int64]:
    return (values ^ _SIGN).view(np.int64)


def _unsigned(values: NDArray[np.int64]) -> Keys:
    return values.astype(np.uint64) ^ _SIGN
