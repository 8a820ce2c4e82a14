"""What Spark's tasks do with Arrow batches, by numpy and the steps of `crawldedup.scan`. Each class is a task.

Sorted streams come in batches that may be cut anywhere. No Python loop runs over pairs, but for the one that decides in
the order of the pages.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import DTypeLike, NDArray

from crawldedup.errors import PageError
from crawldedup.fingerprinting.fingerprint import SEARCH_BITS, VERIFY_BITS, Fingerprint, thin_fingerprint
from crawldedup.options import Options
from crawldedup.page import Page, PageReader
from crawldedup.reading.keys import Key
from crawldedup.scan.columns import LAYOUT, Columns
from crawldedup.scan.engine import MOST_SEARCH_BITS, Goal, Order, Resemblances, costs_of, similarities_of
from crawldedup.scan.pairs import (
    KEYS_A_TABLE,
    Nearness,
    candidate_pairs,
    crowded,
    earlier_of,
    keys_of,
    later_of,
    numbers_in,
    pack,
)
from crawldedup.search.decision import Crowd
from crawldedup.search.plan import Table
from crawldedup.search.query import salted

Batches = Iterable[pa.RecordBatch]
Rows = Iterator[pa.RecordBatch]

URL: Final = "_crawldedup_url"
BODY: Final = "_crawldedup_body"
VERIFY: Final = tuple(f"verify{word}" for word in range(VERIFY_BITS // 64))
"""The columns of the verify bits, a word each: Spark counts the bits of numbers, and not those of bytes."""
COLUMNS: Final = (
    f"search long, {', '.join(f'{word} long' for word in VERIFY)}, digest long, volatility binary, steps binary, "
    "thin boolean, reason string"
)
CROWDED: Final = -1
"""In place of the earlier page of a pair: the page is to be compared by longer keys."""

_SIGN: Final = np.uint64(1 << 63)
"""Spark sorts signed numbers: with this bit flipped, they come in the order of unsigned ones."""
_KEYS_AT_ONCE: Final = 1 << 20
_PAIRS_AT_ONCE: Final = 1 << 19
_UNREAD: Final = thin_fingerprint(0, 0)


def numbers(column: "pa.Array | pa.ChunkedArray") -> NDArray[Any]:
    """Return a column of numbers without nulls."""
    return np.asarray(column)


def matrix(column: pa.Array, kind: DTypeLike, width: int) -> NDArray[Any]:
    """Return a column of bytes without nulls: each row holds `width` items of a type, shape (rows, width)."""
    size = width * np.dtype(kind).itemsize
    fixed = column.cast(pa.binary()).cast(pa.binary(size))
    raw = np.frombuffer(fixed.buffers()[1] or b"", np.uint8)[fixed.offset * size :]
    values: NDArray[Any] = raw[: len(fixed) * size].reshape(-1, size).view(kind)
    return values


def of_matrix(rows: NDArray[Any]) -> pa.Array:
    """Return a column of the bytes of each row."""
    size = rows.shape[1] * rows.itemsize
    raw = pa.py_buffer(np.ascontiguousarray(rows))
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(size), len(rows), [None, raw]).cast(pa.binary())


def batch(**columns: Any) -> pa.RecordBatch:
    """Return a batch of columns by their names."""
    return pa.RecordBatch.from_arrays([pa.array(column) for column in columns.values()], names=list(columns))


@dataclass(frozen=True, slots=True)
class ReadPages:
    """Adds the columns of COLUMNS to batches, in place of BODY. `reason` tells why a page cannot be compared."""

    options: Options
    is_html: bool
    goal: Goal
    key: Key

    def __call__(self, batches: Batches) -> Rows:
        reader = PageReader(self.options)
        for rows in batches:
            pages = zip(rows.column(URL).to_pylist(), rows.column(BODY).to_pylist(), strict=True)
            read = [self._read(reader, url, body) for url, body in pages]
            columns = Columns.of([(fingerprint, 0) for fingerprint, _ in read], self.goal.threshold)
            kept = {name: rows.column(name) for name in rows.schema.names if name != BODY}
            yield batch(**kept, **of_columns(columns), reason=pa.array([reason for _, reason in read], pa.string()))

    def _read(self, reader: PageReader, url: str | None, body: Any) -> tuple[Fingerprint, str | None]:
        if body is None:
            return _UNREAD, "empty"
        try:
            page = Page(url or "", **{"html" if self.is_html else "text": body})
            return salted(reader.read_page(page, self.key).fingerprint, "", self.key), None
        except PageError as error:
            return _UNREAD, error.reason


def of_columns(pages: Columns) -> dict[str, Any]:
    """Return the columns of COLUMNS but for the reason."""
    verify = pages.verify.view("int64")
    return {
        "search": pages.search.view("int64"),
        **{name: verify[:, word] for word, name in enumerate(VERIFY)},
        "digest": pages.digest.view("int64"),
        "volatility": of_matrix(pages.volatility),
        "steps": of_matrix(pages.steps),
        "thin": pages.thin,
    }


@dataclass(frozen=True, slots=True)
class MakeKeys:
    """Makes the rows under which pages are filed in a table: packed keys, each with the search bits of its page."""

    table: Table
    bits: int
    similarity: float

    def __call__(self, batches: Batches) -> Rows:
        for rows in batches:
            search = numbers(rows.column("search")).view(np.uint64)
            volatility = matrix(rows.column("volatility"), "uint8", SEARCH_BITS)
            keys = keys_of(search, volatility, self.table, bits=self.bits, similarity=self.similarity)
            packed = pack(keys, numbers(rows.column("number")).astype(np.uint64)[:, None]).ravel()
            yield batch(key=(packed ^ _SIGN).view(np.int64), search=np.repeat(search, KEYS_A_TABLE).view(np.int64))


@dataclass(frozen=True, slots=True)
class MakePairs:
    """Pairs the pages of sorted rows that share the leading bits of a key. Memory holds the longest run."""

    bits: int

    def __call__(self, batches: Batches) -> Rows:
        for rows in _whole_groups(batches, lambda rows: numbers(rows.column("key")) >> 64 - self.bits, _KEYS_AT_ONCE):
            packed = numbers(rows.column("key")).view(np.uint64) ^ _SIGN
            # Small numbers in place of those of the pages, in the same order, find the search bits.
            pages, first, small = np.unique(numbers_in(packed), return_index=True, return_inverse=True)
            search = numbers(rows.column("search")).view(np.uint64)[first]
            nearness = Nearness(search, np.zeros((len(pages), 1), np.uint64), MOST_SEARCH_BITS, 0)
            names = pages.astype(np.int64)
            for pairs in candidate_pairs(pack(packed, small.astype(np.uint64)), self.bits, nearness):
                yield batch(later=names[later_of(pairs)], earlier=names[earlier_of(pairs)])
            crowd = crowded(packed, self.bits).astype(np.int64)
            yield batch(later=crowd, earlier=np.full(len(crowd), CROWDED))


@dataclass(frozen=True, slots=True)
class ComparePairs:
    """Compares each later page with the earlier ones of its group: `value` is the cost, or with a goal the similarity.

    With `most`, it leaves of each page the nearest pairs, of at most this cost.
    """

    goal: Goal | None = None
    most: int | None = None

    def __call__(self, batches: Batches) -> Rows:
        for rows in batches:
            groups = rows.column("others")
            others = groups.flatten()
            later = np.repeat(np.arange(len(rows)), numbers(groups.value_lengths()))
            earlier = len(rows) + np.arange(len(others))
            names = np.concatenate((numbers(rows.column("number")), numbers(others.field("earlier"))))
            words = [np.concatenate((numbers(rows.column(word)), numbers(others.field(word)))) for word in VERIFY]
            # Of the steps, those of the later pages suffice; nothing else is compared.
            empty: dict[str, Any] = {name: np.empty(0, kind) for name, kind in LAYOUT.items()}
            empty["verify"] = np.stack(words, axis=1).view(np.uint8)
            empty["steps"] = matrix(rows.column("steps"), "uint16", VERIFY_BITS)
            pages = Columns(**empty)
            if self.goal is not None:
                value = similarities_of(pages, later, earlier, self.goal.threshold)
                yield batch(later=names[later], earlier=names[earlier], value=value)
                continue
            costs = costs_of(pages, later, earlier)
            counts = costs <= (costs.max(initial=0) if self.most is None else self.most)
            pairs = Resemblances(names[later[counts]], names[earlier[counts]], costs[counts])
            pairs = pairs if self.most is None else pairs.nearest()
            yield batch(later=pairs.later, earlier=pairs.earlier, value=pairs.costs.astype(np.float64))


@dataclass(frozen=True, slots=True)
class DecidePairs:
    """Decides about the pages of sorted pairs: yields the pairs that are wanted, and the near duplicates.

    Memory holds the verdicts of all pages, and some of the pairs.
    """

    pages: int
    crowd: Crowd
    presumes: bool = True

    def __call__(self, batches: Batches) -> Rows:
        order = Order(self.pages, self.crowd)
        for rows in _whole_groups(batches, lambda rows: numbers(rows.column("later")), _PAIRS_AT_ONCE):
            later, earlier, costs = (numbers(rows.column(name)) for name in ("later", "earlier", "value"))
            wanted = order.decide(Resemblances(later, earlier, costs.astype(np.int64)), presumes=self.presumes)
            yield batch(later=later_of(wanted), earlier=earlier_of(wanted), is_wanted=np.ones(len(wanted), np.bool_))
        near = np.flatnonzero(order.original != np.arange(self.pages))
        yield batch(later=near, earlier=order.original[near], is_wanted=np.zeros(len(near), np.bool_))


def _whole_groups(
    batches: Batches, group_of: Callable[[pa.Table], NDArray[np.int64]], at_once: int
) -> Iterator[pa.Table]:
    """Yield the rows of sorted batches, many groups at once, none of them cut. `group_of` names the group of each."""
    parts: list[pa.Table] = []
    waiting = 0
    for rows in batches:
        parts.append(pa.Table.from_batches([rows]))
        waiting += len(rows)
        if waiting < at_once:
            continue
        joined = pa.concat_tables(parts)
        groups = group_of(joined)
        end = int(np.searchsorted(groups, groups[-1]))
        if end:
            yield joined.slice(0, end)
        parts = [joined.slice(end)]
        # A group that goes on is joined anew each time it has doubled.
        waiting = len(joined) - end if end else 0
    if parts:
        yield pa.concat_tables(parts)
