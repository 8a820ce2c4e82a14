"""The tables of one index in a SQLite file: its pages, their texts, and the keys that find them.

A key is stored together with its page: its leading `STORED_BITS` bits come first, the number of the
page takes the remaining bits, and the whole number is shifted by `SIGN`.

Exact keys are stored in the same way. They are multiplied first, because all of their bits count
and not all of them are kept.
"""

import operator
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Self

import numpy as np

from crawldedup.errors import StoreFullError
from crawldedup.marks.exact_keys import EXACT_KEY_BITS, MOST_PER_KEY, ExactKeys
from crawldedup.search.plan import STORED_BITS
from crawldedup.stores.contract import Layout
from crawldedup.stores.sqlite.pages import SIGN, PageRow

MAX_PAGES: Final = 1 << (64 - STORED_BITS)
# The bits of a stored key that hold the number of its page.
NUMBER_MASK: Final = MAX_PAGES - 1

# The tables of exact keys: one for each of a page's `ExactKeys`, by its name.
EXACT_TABLES: Final = tuple(f"exact_{name}" for name in ExactKeys._fields)
# Exact keys are multiplied by this number and cut. It is the golden section of their range, made
# odd, so two keys that agree in their first 24 bits, or in all other bits, stay different.
_SPREAD: Final = 0x9E3779B97F
# The pages that were added last under each exact key.
_NEWEST: Final = (
    "SELECT key, k & {mask} FROM json_each(?) CROSS JOIN {table} ON k "
    "BETWEEN ifnull((SELECT k FROM {table} WHERE k BETWEEN value AND value | {mask} "
    f"ORDER BY k DESC LIMIT 1 OFFSET {MOST_PER_KEY - 1}), value) AND value | {{mask}}"
)

_COLUMNS: Final = ", ".join(PageRow.COLUMNS)
_PARAMETERS: Final = ", ".join(f":{column}" for column in PageRow.COLUMNS)


class StoredSignature(NamedTuple):
    """The columns of a page that show how similar it is to another, and if it has expired."""

    number: int
    signature: bytes
    digest: int
    added_at: int
    seen_at: int
    marks: bytes

    @classmethod
    def of(cls, page: PageRow) -> Self:
        """Take these columns from the row of a page."""
        return cls(
            page.number, page.signature, page.digest, page.added_at, page.seen_at, page.marks
        )


class SqliteIndex:
    """The tables of one index. They are used while the store has locked the file.

    Call `load_head` at the start of each transaction, and `write_head` after pages were removed or
    swept.

    Pages are numbered in the order in which they are added. Because no number is used twice, the
    number of pages follows from the newest number and from how many were freed, and adding a page
    writes no counter.
    """

    def __init__(self, db: sqlite3.Connection, number: int, layout: Layout, path: str) -> None:
        self.db = db
        self.number = number
        self.layout = layout
        self.newest = 0  # the number of the page that was added last
        self.freed = 0  # how many pages were removed
        self.swept = 0  # the number of the page that was last examined for its age
        self._path = path
        self._pages = f"pages_{number}"
        self._texts = f"texts_{number}"
        self._urls = f"urls_{number}"
        self.key_tables = [f"keys{table}_{number}" for table in range(len(layout.tables))]
        self._exact_tables = [f"{name}_{number}" for name in EXACT_TABLES]
        # For each table, the search bits in the stored part of a key, from the left.
        self.key_bits = np.array([table.order[:STORED_BITS] for table in layout.tables], np.intp)
        self.load_head()

    def load_head(self) -> str:
        """Read the counters of the index, because other processes may have changed them.

        Returns:
            The profile of the index.
        """
        row = self.db.execute(
            "SELECT profile, freed, swept, "
            f"max(newest_freed, ifnull((SELECT max(number) FROM {self._pages}), 0)) AS newest "
            f"FROM indexes WHERE number = {self.number}"
        ).fetchone()
        profile, freed, swept, newest = row
        self.newest = operator.index(newest)
        self.freed = operator.index(freed)
        self.swept = operator.index(swept)
        self._stored_freed = self.freed
        self._stored_swept = self.swept
        return str(profile)

    def write_head(self) -> None:
        """Write the counters of the index if removing or sweeping pages has changed them."""
        if self.freed == self._stored_freed and self.swept == self._stored_swept:
            return
        self._stored_freed = self.freed
        self._stored_swept = self.swept
        self.db.execute(
            "UPDATE indexes SET newest_freed = ?, freed = ?, swept = ? WHERE number = ?",
            (self.newest, self.freed, self.swept, self.number),
        )

    @property
    def pages(self) -> int:
        """The number of pages in the index."""
        return self.newest - self.freed

    def next_number(self) -> int:
        """Return the number for a page that is added.

        Raises:
            StoreFullError: There are no numbers left.
        """
        if self.newest + 1 >= MAX_PAGES:
            raise StoreFullError(
                f"{self._path} has no page numbers left: clear the index, or crawl into another"
            )
        self.newest += 1
        return self.newest

    def pages_of(self, numbers: Iterable[int]) -> list[PageRow]:
        """Return the pages with these numbers. Numbers without a page are skipped."""
        sql = f"SELECT {_COLUMNS} FROM json_each(?) CROSS JOIN {self._pages} ON number = value"
        return self._select(sql, (_list(numbers),))

    def pages_after(self, number: int, limit: int) -> list[PageRow]:
        """Return up to `limit` pages that were added after the one with this number, in order."""
        sql = f"SELECT {_COLUMNS} FROM {self._pages} WHERE number > ? ORDER BY number LIMIT ?"
        return self._select(sql, (number, limit))

    def pages_with(self, url_keys: Iterable[int]) -> list[PageRow]:
        """Return the pages with these URL keys. URL keys without a page are skipped."""
        sql = (
            f"SELECT {_COLUMNS} FROM json_each(?) "
            f"CROSS JOIN {self._urls} "
            f"ON k BETWEEN value & {~NUMBER_MASK} AND value | {NUMBER_MASK} "
            f"CROSS JOIN {self._pages} ON number = (k & {NUMBER_MASK}) AND url_key = value"
        )
        return self._select(sql, (_list(url_key - SIGN for url_key in url_keys),))

    def signatures_of(self, numbers: Iterable[int]) -> list[StoredSignature]:
        """Return the columns that comparisons need of the pages with these numbers.

        Most pages are only read to be rejected, so the other columns aren't read.
        """
        columns = ", ".join(StoredSignature._fields)
        sql = f"SELECT {columns} FROM json_each(?) CROSS JOIN {self._pages} ON number = value"
        return [StoredSignature(*row) for row in self.db.execute(sql, (_list(numbers),))]

    def newest_with(self, table: int, keys: Sequence[int]) -> dict[int, list[int]]:
        """Return the pages that were added last under exact keys, by their numbers, in their order.

        Args:
            table: Which of the `ExactKeys` these are.
            keys: The keys. Those without pages are left out of the result.
        """
        newest: dict[int, list[int]] = {}
        if not keys:
            return newest
        sql = _NEWEST.format(table=self._exact_tables[table], mask=NUMBER_MASK)
        for place, number in self.db.execute(
            sql, (_list(stored_exact_key(key, 0) for key in keys),)
        ):
            newest.setdefault(keys[place], []).append(number)
        return newest

    def text(self, number: int) -> bytes:
        """Return the text of a page, or b"" if none is stored."""
        sql = f"SELECT text FROM {self._texts} WHERE number = ?"
        for (text,) in self.db.execute(sql, (number,)):
            if isinstance(text, bytes):
                return text
        return b""

    def put_pages(self, pages: Iterable[PageRow]) -> None:
        """Insert or update the rows of pages.

        Their keys are written by `add_keys` and `add_exact_keys`.
        """
        sql = f"INSERT OR REPLACE INTO {self._pages} ({_COLUMNS}) VALUES ({_PARAMETERS})"
        self.db.executemany(sql, [page.as_row() for page in pages])

    def put_texts(self, texts: Mapping[int, bytes]) -> None:
        """Write the texts of pages, by their numbers."""
        sql = f"INSERT OR REPLACE INTO {self._texts} (number, text) VALUES (?, ?)"
        self.db.executemany(sql, texts.items())

    def add_keys(self, pages: Collection[PageRow], keys: Collection[Sequence[int]]) -> None:
        """Add pages to the table of URL keys, and to each table of search keys.

        Args:
            pages: The pages.
            keys: The search keys of each page, in the order of the layout's tables.
        """
        self._for_keys("INSERT INTO {} VALUES (?)", pages, keys)

    def remove_keys(self, pages: Collection[PageRow]) -> None:
        """Remove pages from the tables of keys, so no search finds them."""
        keys = [self.layout.keys(page.search) for page in pages]
        self._for_keys("DELETE FROM {} WHERE k = ?", pages, keys)

    def add_exact_keys(self, keys: Mapping[int, ExactKeys]) -> None:
        """File pages under their exact keys. The pages are given by their numbers."""
        self._for_exact_keys("INSERT INTO {} VALUES (?)", keys)

    def remove_exact_keys(self, pages: Collection[PageRow]) -> None:
        """Remove pages from the tables of exact keys."""
        keys = {page.number: page.exact_keys for page in pages}
        self._for_exact_keys("DELETE FROM {} WHERE k = ?", keys)

    def remove(self, pages: Collection[PageRow]) -> None:
        """Remove pages with their keys and texts. The caller counts them as freed."""
        self.remove_keys(pages)
        self.remove_exact_keys(pages)
        numbers = [(page.number,) for page in pages]
        self.db.executemany(f"DELETE FROM {self._pages} WHERE number = ?", numbers)
        self.db.executemany(f"DELETE FROM {self._texts} WHERE number = ?", numbers)

    def _for_keys(
        self, statement: str, pages: Collection[PageRow], keys: Collection[Sequence[int]]
    ) -> None:
        """Execute a statement once for each key of the pages, one table after the other."""
        url_keys = [(_stored_key(page.url_key, page.number),) for page in pages]
        self.db.executemany(statement.format(self._urls), url_keys)
        for table, name in enumerate(self.key_tables):
            stored_keys = [
                (_stored_key(page_keys[table], page.number),)
                for page, page_keys in zip(pages, keys, strict=True)
            ]
            self.db.executemany(statement.format(name), stored_keys)

    def _for_exact_keys(self, statement: str, keys: Mapping[int, ExactKeys]) -> None:
        """Execute a statement once for each exact key of the pages."""
        for table, name in enumerate(self._exact_tables):
            stored_keys = []
            for number, keys_of_page in keys.items():
                key = keys_of_page[table]
                if key is not None:
                    stored_keys.append((stored_exact_key(key, number),))
            if stored_keys:
                self.db.executemany(statement.format(name), stored_keys)

    def _select(self, sql: str, parameters: Sequence[Any]) -> list[PageRow]:
        cursor = self.db.cursor()
        cursor.row_factory = sqlite3.Row
        return [PageRow.from_row(row) for row in cursor.execute(sql, parameters)]


def _stored_key(key: int, number: int) -> int:
    return (key & ~NUMBER_MASK | number) - SIGN


def stored_exact_key(key: int, number: int) -> int:
    """Return the number that SQLite stores for an exact key of a page."""
    spread = key * _SPREAD << 64 - EXACT_KEY_BITS
    return _stored_key(spread & (1 << 64) - 1, number)


def _list(numbers: Iterable[int]) -> str:
    """Return numbers as the text of a JSON list.

    As one parameter of `json_each`, they don't change the text of a statement, so SQLite compiles
    it only once.
    """
    return str(list(numbers))
