"""The database rows that describe pages. The keys and texts of pages are in other tables.

To add a column, add it to `PageRow`: its field, its type in `COLUMNS`, and its place in `from_row`
and `as_row`. If it belongs to the page's record, `of_record` and `record` pass it on.
"""

import operator
import sqlite3
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Self

from crawldedup.fingerprinting.bits import VERIFY_BITS
from crawldedup.marks.exact_keys import ExactKeys, exact_keys
from crawldedup.marks.packing import unpacked
from crawldedup.stores.contract import Record

# SQLite's 64-bit integers are signed. Shifting ours by this value keeps their order.
SIGN: Final = 1 << 63
_SIGNATURE_BYTES: Final = VERIFY_BITS // 8


@dataclass(frozen=True, slots=True)
class PageRow:
    """The row of a page: its number, its record, and the crawler that added or revisited it."""

    number: int
    url: str
    url_key: int
    search: int
    signature: bytes
    digest: int
    marks: bytes
    rank: int
    added_at: int
    seen_at: int
    copies: int
    crawler: int  # the number of the crawler that added or revisited the page last

    #: The columns of the table, in order, with their declarations.
    COLUMNS: ClassVar = {
        "number": "INTEGER PRIMARY KEY",
        "url": "TEXT NOT NULL",
        "url_key": "INTEGER NOT NULL",
        "search": "INTEGER NOT NULL",
        "signature": "BLOB NOT NULL",
        "digest": "INTEGER NOT NULL",
        "marks": "BLOB NOT NULL",
        "rank": "INTEGER NOT NULL",
        "added_at": "INTEGER NOT NULL",
        "seen_at": "INTEGER NOT NULL",
        "copies": "INTEGER NOT NULL",
        "crawler": "INTEGER NOT NULL",
    }

    @classmethod
    def from_row(cls, row: sqlite3.Row) -> Self:
        """Read a page from a row of the table.

        Raises TypeError or ValueError for an invalid value, because the file may be damaged.
        """
        if len(memoryview(row["signature"])) != _SIGNATURE_BYTES:
            raise ValueError("a signature has another length")
        memoryview(row["marks"])
        if not isinstance(row["url"], str):
            raise TypeError("a URL is no text")
        return cls(
            number=row["number"],
            url=row["url"],
            url_key=operator.index(row["url_key"]) + SIGN,
            search=operator.index(row["search"]) + SIGN,
            signature=row["signature"],
            digest=operator.index(row["digest"]),
            marks=row["marks"],
            rank=operator.index(row["rank"]),
            added_at=operator.index(row["added_at"]),
            seen_at=operator.index(row["seen_at"]),
            copies=operator.index(row["copies"]),
            crawler=operator.index(row["crawler"]),
        )

    def as_row(self) -> dict[str, Any]:
        """Return the row to write: the values of its columns by name, as SQLite stores them."""
        return {
            "number": self.number,
            "url": self.url,
            "url_key": self.url_key - SIGN,
            "search": self.search - SIGN,
            "signature": self.signature,
            "digest": self.digest,
            "marks": self.marks,
            "rank": self.rank,
            "added_at": self.added_at,
            "seen_at": self.seen_at,
            "copies": self.copies,
            "crawler": self.crawler,
        }

    @classmethod
    def of_record(cls, record: Record, *, number: int, now: int, copies: int, crawler: int) -> Self:
        """Make the row for a page that is added now."""
        return cls(
            number=number,
            # A URL may contain lone surrogates, which SQLite can't store.
            url=record.url.encode("utf-8", "replace").decode(),
            url_key=record.url_key,
            search=record.search,
            signature=record.signature,
            digest=record.digest,
            marks=record.marks,
            rank=record.rank,
            added_at=now,
            seen_at=now,
            copies=copies,
            crawler=crawler,
        )

    @property
    def exact_keys(self) -> ExactKeys:
        """The exact keys under which the page is filed."""
        return exact_keys(self.search, self.digest, self.marks)

    def with_text_of(self, record: Record) -> Self:
        """Return the row with the fingerprint, marks and rank of the page's new text.

        Its URL, times and copies stay the same.
        """
        return replace(
            self,
            search=record.search,
            signature=record.signature,
            digest=record.digest,
            marks=record.marks,
            rank=record.rank,
        )

    def record(self, packed_text: bytes = b"") -> Record:
        """Turn the row into the record that the store contract asks for, with the given text.

        Raises ValueError for invalid marks, because the file may be damaged.
        """
        unpacked(self.marks)
        return Record(
            url=self.url,
            url_key=self.url_key,
            search=self.search,
            signature=self.signature,
            digest=self.digest,
            rank=self.rank,
            packed_text=packed_text,
            marks=self.marks,
            added_at=self.added_at,
            seen_at=self.seen_at,
            copies=self.copies,
        )
