"""Read pages into columns: what each worker process of a scan does."""

import json
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, Self

import numpy as np

from crawldedup.advice.copies import names_a_view
from crawldedup.errors import PageError
from crawldedup.options import Options
from crawldedup.page import Page, PageContent, PageReader
from crawldedup.reading.keys import Key
from crawldedup.scan.columns import LAYOUT, Columns
from crawldedup.scan.decision import Goal
from crawldedup.search.query import QueryBuilder, salted

_LENGTH: Final = struct.Struct("!I")


class UnsoundError(ValueError):
    """Raised for an answer of a worker process that is none: a hostile page may have taken it over."""


@dataclass(frozen=True, slots=True)
class ReadPages:
    """Pages that were read, and the places of those that were not, with the reasons."""

    columns: Columns
    skipped: dict[int, str]

    def packed(self) -> bytes:
        """Return the bytes that `unpacked` reads."""
        head = json.dumps({"pages": len(self.columns), "skipped": self.skipped}).encode("ascii")
        arrays = self.columns.by_name().values()
        return b"".join((_LENGTH.pack(len(head)), head, *(array.tobytes() for array in arrays)))

    @classmethod
    def unpacked(cls, message: bytes, pages: int) -> Self:
        """Return what a worker read of so many pages. Raises UnsoundError."""
        try:
            (length,) = _LENGTH.unpack_from(message)
            head = json.loads(message[_LENGTH.size : _LENGTH.size + length])
            skipped = {int(place): str(reason)[:_LONGEST_REASON] for place, reason in head["skipped"].items()}
            read = int(head["pages"])
            if read + len(skipped) != pages or not all(0 <= place < pages for place in skipped):
                raise ValueError("it tells of other pages")
            arrays: dict[str, Any] = {}
            offset = _LENGTH.size + length
            for name, (kind, shape) in LAYOUT.items():
                count = read * int(np.prod(shape, dtype=int))
                arrays[name] = np.frombuffer(message, kind, count, offset).reshape(read, *shape)
                offset += arrays[name].nbytes
            if offset != len(message):
                raise ValueError("it has another length")
        except (ValueError, TypeError, KeyError, AttributeError, struct.error, RecursionError) as error:
            raise UnsoundError(str(error)) from error
        return cls(Columns(**arrays), skipped)

    @classmethod
    def joined(cls, parts: Sequence[Self], lengths: Sequence[int]) -> Self:
        """Return the pages of parts, which were read of so many pages each."""
        columns = {
            each.name: np.concatenate([getattr(part.columns, each.name) for part in parts]) for each in fields(Columns)
        }
        skipped: dict[int, str] = {}
        before = 0
        for part, length in zip(parts, lengths, strict=True):
            skipped |= {before + place: reason for place, reason in part.skipped.items()}
            before += length
        return cls(Columns(**columns), skipped)

    @classmethod
    def none_of(cls, pages: int, reason: str) -> Self:
        """Return what is left where no page could be read."""
        columns = Columns(**{name: np.zeros((0, *shape), kind) for name, (kind, shape) in LAYOUT.items()})
        return cls(columns, dict.fromkeys(range(pages), reason))


_LONGEST_REASON: Final = 40


class BatchReader:
    """Reads pages as the options say, with the key of an index. With `ranks`, poor copies have a higher rank."""

    def __init__(self, options: Options, key: Key, *, ranks: bool) -> None:
        self._reader = PageReader(options)
        self._queries = QueryBuilder(options)
        self._key = key
        self._ranks = ranks
        self._threshold = Goal(options.similarity, options.recall).threshold

    def read(self, pages: Sequence[Page]) -> ReadPages:
        """Read pages."""
        contents: list[tuple[Page, PageContent]] = []
        skipped: dict[int, str] = {}
        for place, page in enumerate(pages):
            try:
                contents.append((page, self._reader.content(page)))
            except PageError as error:
                skipped[place] = error.reason
        found = self._reader.fingerprints([content for _, content in contents], self._key)
        read = [
            (
                salted(each, self._queries.scope_of(page.url, page.scope_key), self._key),
                int(self._ranks and names_a_view(page.url)),
            )
            for (page, _), each in zip(contents, found, strict=True)
        ]
        return ReadPages(Columns.of(read, self._threshold), skipped)


def reader(setup: dict[str, Any]) -> Callable[[list[dict[str, Any]]], bytes]:
    """Return the handler of a worker process that reads pages into packed columns."""
    batch = BatchReader(Options.from_values(setup["options"]), Key(setup["key"]), ranks=setup["ranks"])
    return lambda pages: batch.read([Page(**values) for values in pages]).packed()
