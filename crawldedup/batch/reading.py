"""Read pages into columns: what each worker process of a scan does."""

import json
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from crawldedup.advice.copies import names_a_view
from crawldedup.batch.columns import LAYOUT, Columns
from crawldedup.batch.decision import Goal
from crawldedup.errors import PageError
from crawldedup.options import Options
from crawldedup.page import Page
from crawldedup.queries import QueryBuilder, salted
from crawldedup.reader import PageReader
from crawldedup.search.routing import home_of
from crawldedup.text.keys import Key

_LENGTH: Final = struct.Struct("!I")
INDEX_LAYOUT: Final = {"url_key": np.dtype(np.uint64), "home": np.dtype(np.uint8)}
"""What an index keeps of a page beyond its columns."""


class UnsoundError(ValueError):
    """Raised for an answer of a worker process that is none: a hostile page may have taken it over."""


@dataclass(frozen=True, slots=True)
class ReadPages:
    """Pages that were read, and the places of those that were not, with the reasons."""

    columns: Columns
    url_key: NDArray[np.uint64]
    home: NDArray[np.uint8]
    skipped: dict[int, str]

    def packed(self) -> bytes:
        """Return the bytes that `unpacked` reads."""
        head = json.dumps({"pages": len(self.columns), "skipped": self.skipped}).encode("ascii")
        arrays = [*self.columns.by_name().values(), self.url_key, self.home]
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
            for name, (kind, shape) in _MESSAGE.items():
                count = read * int(np.prod(shape, dtype=int))
                arrays[name] = np.frombuffer(message, kind, count, offset).reshape(read, *shape)
                offset += arrays[name].nbytes
            if offset != len(message):
                raise ValueError("it has another length")
        except (ValueError, TypeError, KeyError, AttributeError, struct.error, RecursionError) as error:
            raise UnsoundError(str(error)) from error
        index = {name: arrays.pop(name) for name in INDEX_LAYOUT}
        return cls(Columns(**arrays), **index, skipped=skipped)

    @classmethod
    def joined(cls, parts: Sequence[Self], lengths: Sequence[int]) -> Self:
        """Return the pages of parts, which were read of so many pages each."""
        columns = {
            each.name: np.concatenate([getattr(part.columns, each.name) for part in parts]) for each in fields(Columns)
        }
        index = {name: np.concatenate([getattr(part, name) for part in parts]) for name in INDEX_LAYOUT}
        skipped: dict[int, str] = {}
        before = 0
        for part, length in zip(parts, lengths, strict=True):
            skipped |= {before + place: reason for place, reason in part.skipped.items()}
            before += length
        return cls(Columns(**columns), **index, skipped=skipped)

    @classmethod
    def none_of(cls, pages: int, reason: str) -> Self:
        """Return what is left where no page could be read."""
        columns = Columns(**{name: np.zeros((0, *shape), kind) for name, (kind, shape) in LAYOUT.items()})
        index = {name: np.zeros(0, kind) for name, kind in INDEX_LAYOUT.items()}
        return cls(columns, **index, skipped=dict.fromkeys(range(pages), reason))


_LONGEST_REASON: Final = 40
_MESSAGE: Final[dict[str, Any]] = {**LAYOUT, **{name: (kind, ()) for name, kind in INDEX_LAYOUT.items()}}


class BatchReader:
    """Reads pages as the options say, with the key of an index. With `ranks`, poor copies have a higher rank."""

    def __init__(self, options: Options, key: Key, *, ranks: bool) -> None:
        self._reader = PageReader(options)
        self._queries = QueryBuilder(self._reader.method, options, lambda: key)
        self._key = key
        self._ranks = ranks
        self._threshold = Goal(options.similarity, options.recall).threshold

    def read(self, pages: Sequence[Page]) -> ReadPages:
        """Read pages."""
        read, url_keys, homes = [], [], []
        skipped: dict[int, str] = {}
        for place, page in enumerate(pages):
            try:
                content = self._reader.content(page.html, page.text, page.encoding, page.url)
                found = self._reader.fingerprint(content, self._key)
            except PageError as error:
                skipped[place] = error.reason
                continue
            homes.append(home_of(found, self._key))
            filed = salted(found, self._queries.scope_key_of(page.ref), self._key)
            read.append((filed, int(self._ranks and names_a_view(page.url))))
            url_keys.append(self._queries.url_key(page.ref))
        columns = Columns.of(read, self._threshold)
        return ReadPages(columns, np.array(url_keys, np.uint64), np.array(homes, np.uint8), skipped)


def reader(setup: dict[str, Any]) -> Callable[[list[dict[str, Any]]], bytes]:
    """Return the handler of a worker process that reads pages into packed columns."""
    batch = BatchReader(Options.from_values(setup["options"]), Key(setup["key"]), ranks=setup["ranks"])
    return lambda pages: batch.read([Page(**values) for values in pages]).packed()
