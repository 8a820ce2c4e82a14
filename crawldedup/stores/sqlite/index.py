"""The pages of one index in a SQLite file. Each method is part of its caller's transaction."""

import sqlite3
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from crawldedup.errors import StoreFullError
from crawldedup.search.plan import STORED_BITS
from crawldedup.stores.base import Layout, Record
from crawldedup.stores.sqlite.schema import SIGN

MAX_PAGES: Final = 1 << (64 - STORED_BITS)
ID_MASK: Final = MAX_PAGES - 1


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


_TYPES: Final = tuple(Page.__annotations__.values())
_VALUES: Final = ", ".join("?" * len(_TYPES))


class SqliteIndex:
    """The tables of an index, while a store has locked the file. `load_head` begins each transaction.

    Pages are numbered in the order of adding. No number is given again. `pages` counts them: no counter has to be
    written for every page that is added.
    """

    def __init__(self, db: sqlite3.Connection, number: int, layout: Layout, path: str) -> None:
        self.number, self.layout, self.db, self._path = number, layout, db, path
        self.newest = self.freed = self.swept = 0
        self._pages, self._texts, self._urls = (f"{name}_{number}" for name in ("pages", "texts", "urls"))
        self.key_tables = [f"keys{table}_{number}" for table in range(len(layout.tables))]
        # The bit of the search bits behind each bit that is kept of a key.
        self.key_bits = np.array([table.order[:STORED_BITS] for table in layout.tables], np.intp)
        self.load_head()

    def load_head(self) -> str:
        """Read what the index knows of its pages as a whole; return its profile."""
        newest = f"max(newest_freed, ifnull((SELECT max(number) FROM {self._pages}), 0))"
        head = f"SELECT profile, {newest}, freed, swept FROM indexes WHERE number = {self.number}"
        profile, *counts = self.db.execute(head).fetchone()
        if set(map(type, counts)) != {int}:
            raise ValueError("it counts its pages otherwise")
        self.newest, self.freed, self.swept = counts
        self._written = self.freed, self.swept
        return str(profile)

    def write_head(self) -> None:
        """Write the counters if they have changed, which is so once a page is gone."""
        if self._written != (self.freed, self.swept):
            self._written = self.freed, self.swept
            head = (self.newest, *self._written, self.number)
            self.db.execute("UPDATE indexes SET newest_freed = ?, freed = ?, swept = ? WHERE number = ?", head)

    @property
    def pages(self) -> int:
        return self.newest - self.freed

    def next_number(self) -> int:
        """Return the number of a page that is added. Raises StoreFullError if there are none left."""
        if self.newest + 1 >= MAX_PAGES:
            raise StoreFullError(
                f"{self._path} has given all its {MAX_PAGES} page numbers; clear the index, or crawl into another"
            )
        self.newest += 1
        return self.newest

    def rows(self, columns: str, numbers: Iterable[int]) -> list[tuple[Any, ...]]:
        """Return columns of the pages with these numbers."""
        sql = f"SELECT {columns} FROM json_each(?) CROSS JOIN {self._pages} ON number = value"
        return self.db.execute(sql, (str(list(numbers)),)).fetchall()

    def pages_of(self, numbers: Iterable[int]) -> list[Page]:
        return self._sound(self.rows(f"{self._pages}.*", numbers))

    def pages_after(self, number: int, most: int) -> list[Page]:
        sql = f"SELECT * FROM {self._pages} WHERE number > ? ORDER BY number LIMIT ?"
        return self._sound(self.db.execute(sql, (number, most)))

    def pages_with(self, url_keys: Iterable[int]) -> list[Page]:
        sql = (
            f"SELECT p.* FROM json_each(?) CROSS JOIN {self._urls} ON k BETWEEN value & {~ID_MASK} "
            f"AND value | {ID_MASK} CROSS JOIN {self._pages} p ON number = (k & {ID_MASK}) AND url_key = value"
        )
        return self._sound(self.db.execute(sql, (str([url_key - SIGN for url_key in url_keys]),)))

    def _sound(self, rows: Iterable[tuple[Any, ...]]) -> list[Page]:
        pages = []
        for row in rows:
            # SQLite keeps values of any type in any column.
            if tuple(map(type, row)) != _TYPES or len(row[4]) != self.layout.signature_bytes:
                raise ValueError(f"the page {row[0]!r} is none")
            pages.append(Page(row[0], row[1], row[2] + SIGN, row[3] + SIGN, *row[4:]))
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

    def keep(self, pages: Iterable[Page]) -> None:
        """Write what the index knows of pages but their keys."""
        rows = [(page[0], page[1], page[2] - SIGN, page[3] - SIGN, *page[4:]) for page in pages]
        self.db.executemany(f"INSERT OR REPLACE INTO {self._pages} VALUES ({_VALUES})", rows)

    def file(self, pages: Collection[Page], keys: Iterable[Sequence[int]], *, remove: bool = False) -> None:
        """Add the URL keys of pages and these keys to the tables, or remove them."""
        sql = "DELETE FROM {} WHERE k = ?" if remove else "INSERT INTO {} VALUES (?)"
        columns = zip(*[(page.url_key, *own) for page, own in zip(pages, keys, strict=True)], strict=True)
        for name, column in zip((self._urls, *self.key_tables), columns, strict=True):
            rows = [((key & ~ID_MASK | page.number) - SIGN,) for key, page in zip(column, pages, strict=True)]
            self.db.executemany(sql.format(name), rows)

    def unfile(self, pages: Collection[Page]) -> None:
        self.file(pages, [self.layout.keys(page.search) for page in pages], remove=True)

    def remove(self, pages: Collection[Page]) -> None:
        """Remove pages. Who does it counts them as freed."""
        self.unfile(pages)
        for table in (self._pages, self._texts):
            self.db.executemany(f"DELETE FROM {table} WHERE number = ?", [(page.number,) for page in pages])
