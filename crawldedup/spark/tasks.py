"""The parts of a deduplication that run in Spark's executors, on batches of Arrow rows.

Sorted streams come in batches that may be cut anywhere. No Python loop runs over pairs, except for
the one that decides about the pages in order.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import DTypeLike, NDArray

from crawldedup.errors import PageError
from crawldedup.fingerprinting.bits import SEARCH_BITS, VERIFY_BITS, fingerprint
from crawldedup.index.queries import marks_of, salted
from crawldedup.key import Key
from crawldedup.options import Options
from crawldedup.page import Page
from crawldedup.reading.reader import PageReader
from crawldedup.scan import engine
from crawldedup.scan import pairs as pairing
from crawldedup.scan.engine import LAYOUT, Columns, Goal, PageRow
from crawldedup.scan.order import Order, Resemblances, nearest_of
from crawldedup.scan.pairs import earlier_of, later_of, numbers_in, pack
from crawldedup.search.decision import Crowd
from crawldedup.search.plan import Table

Batches = Iterable[pa.RecordBatch]
Rows = Iterator[pa.RecordBatch]

URL: Final = "_crawldedup_url"
BODY: Final = "_crawldedup_body"
COLUMNS: Final = (
    "search long, digest long, identity long, address long, twin long, verify binary, "
    "volatility binary, steps binary, thin boolean, marks binary, reason string"
)
COMPARED: Final = ("verify", "digest", "identity", "address", "twin", "thin")
"""Those of the COLUMNS that are compared between the two pages of a pair."""

KEYS: Final = ("twin", *engine.SHARED)
"""The columns in which equal values make a pair."""
# This number instead of the earlier page means that the page has to be compared by longer keys.
CROWDED: Final = -1

# Spark sorts signed numbers. If this bit is flipped, they are in the order of unsigned numbers.
_SIGN: Final = np.uint64(1 << 63)
_KEYS_AT_ONCE: Final = 1 << 20
_PAIRS_AT_ONCE: Final = 1 << 19
_UNREAD: Final = PageRow(fingerprint(""))  # stands in where the columns of a page are never read


def matrix(column: pa.Array, kind: DTypeLike, width: int) -> NDArray[Any]:
    """Convert a column of bytes (without nulls) to an array of the shape (rows, width).

    Each value of the column holds `width` items of the type `kind`.
    """
    size = width * np.dtype(kind).itemsize
    fixed = column.cast(pa.binary()).cast(pa.binary(size))
    raw = np.frombuffer(fixed.buffers()[1] or b"", np.uint8)[fixed.offset * size :]
    values: NDArray[Any] = raw[: len(fixed) * size].reshape(-1, size).view(kind)
    return values


def of_matrix(rows: NDArray[Any]) -> pa.Array:
    """Convert the rows of an array to a column of bytes."""
    size = rows.shape[1] * rows.itemsize
    raw = pa.py_buffer(np.ascontiguousarray(rows))
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(size), len(rows), [None, raw]).cast(
        pa.binary()
    )


def batch(**columns: Any) -> pa.RecordBatch:
    """Make a batch from columns, given by their names."""
    return pa.RecordBatch.from_arrays(
        [pa.array(column) for column in columns.values()], names=list(columns)
    )


def read_pages(options: Options, key: Key, goal: Goal, kind: str, batches: Batches) -> Rows:
    """Read the page in each row, and replace its column BODY with the compared COLUMNS.

    BODY holds "html" or "text", depending on `kind`. `reason` says why a page can't be compared.
    """
    reader = PageReader(options)

    def read(url: str | None, body: Any) -> tuple[PageRow, str | None]:
        if body is None:
            return _UNREAD, "empty"
        try:
            page = Page(url or "", html=body) if kind == "html" else Page(url or "", text=body)
            filed = salted(reader.read_page(page, key).fingerprint, "", key)
            return PageRow(filed, marks=marks_of(page, filed, key)), None
        except PageError as error:
            return _UNREAD, error.reason

    for rows in batches:
        urls = rows[URL].to_pylist()
        bodies = rows[BODY].to_pylist()
        pages = [read(url, body) for url, body in zip(urls, bodies, strict=True)]
        columns = Columns.of([row for row, _ in pages], goal.threshold)
        yield batch(
            **{name: rows[name] for name in rows.schema.names if name != BODY},
            **{
                name: getattr(columns, name).view("int64")
                for name in ("search", "digest", "identity", "address", "twin")
            },
            **{
                name: of_matrix(getattr(columns, name))
                for name in ("verify", "volatility", "steps")
            },
            thin=columns.thin,
            marks=pa.array([row.marks for row, _ in pages], pa.binary()),
            reason=pa.array([reason for _, reason in pages], pa.string()),
        )


def make_keys(table: Table, bits: int, similarity: float, batches: Batches) -> Rows:
    """Make the keys under which each page is filed in a table, one row per key.

    Each row has a packed key and the search bits of its page.
    """
    for rows in batches:
        search = np.asarray(rows["search"]).view(np.uint64)
        volatility = matrix(rows["volatility"], "uint8", SEARCH_BITS)
        keys = pairing.keys_of(search, volatility, table, bits=bits, similarity=similarity)
        packed = pack(keys, np.asarray(rows["number"]).astype(np.uint64)[:, None]).ravel()
        yield batch(
            key=(packed ^ _SIGN).view(np.int64),
            search=np.repeat(search, pairing.KEYS_A_TABLE).view(np.int64),
        )


def make_pairs(bits: int, batches: Batches) -> Rows:
    """Pair the pages that share the leading bits of a key. Rows must be sorted by their keys.

    A page that shares them with too many others also comes with CROWDED as its earlier page. All
    rows with the same leading bits have to fit into memory together.
    """
    for rows in _whole_groups(
        batches, lambda rows: np.asarray(rows["key"]) >> 64 - bits, _KEYS_AT_ONCE
    ):
        packed = np.asarray(rows["key"]).view(np.uint64) ^ _SIGN
        # Small numbers instead of those of the pages, in the same order, to look up the search
        # bits.
        pages, first, small = np.unique(numbers_in(packed), return_index=True, return_inverse=True)
        search = np.asarray(rows["search"]).view(np.uint64)[first]
        near = partial(
            pairing.near_pairs,
            search,
            np.zeros((len(pages), 1), np.uint64),
            engine.MOST_SEARCH_BITS,
            0,
        )
        names = pages.astype(np.int64)
        for pairs in pairing.candidate_pairs(pack(packed, small.astype(np.uint64)), bits, near):
            yield batch(later=names[later_of(pairs)], earlier=names[earlier_of(pairs)])
        crowd = pairing.crowded(packed, bits).astype(np.int64)
        yield batch(later=crowd, earlier=np.full(len(crowd), CROWDED))


def make_exact_pairs(batches: Batches) -> Rows:
    """Pair each page with the first page of its exact key, and with a few pages before it.

    Rows must be sorted by their keys. All rows with the same key have to fit into memory together.
    """
    for rows in _whole_groups(batches, lambda rows: np.asarray(rows["key"]), _KEYS_AT_ONCE):
        keys, numbers = (np.asarray(rows[name]).view(np.uint64) for name in ("key", "number"))
        for pairs in pairing.pairs_of_exact_keys(keys, numbers):
            yield batch(later=later_of(pairs), earlier=earlier_of(pairs))


def compare_pairs(goal: Goal, wanted: str, batches: Batches) -> Rows:
    """Compare each later page with the earlier ones of its group.

    `value` is the "cost" or the "similarity", depending on `wanted`. With "near", it is the cost,
    and only pairs that are worth a decision are yielded: the nearest pairs of each page. `is_exact`
    marks pairs with equal texts.
    """
    for rows in batches:
        others = rows["others"].flatten()
        later = np.repeat(np.arange(len(rows)), np.asarray(rows["others"].value_lengths()))
        earlier = len(rows) + np.arange(len(others))
        names = np.concatenate((np.asarray(rows["number"]), np.asarray(others.field("earlier"))))
        pages = _columns_of_pairs(rows, others)
        if wanted == "similarity":
            value = engine.similarities_of(pages, later, earlier, goal.threshold)
        else:
            value = engine.costs_of(pages, later, earlier).astype(np.float64)
        if wanted == "near":
            is_near = (value <= goal.crowd.reach) & engine.are_comparable(
                pages, later, earlier, goal.most_verify_bits
            )
            later = later[is_near]
            earlier = earlier[is_near]
            value = value[is_near]
            likeness = engine.likeness_of(pages, later, earlier)
            near = nearest_of(names[later], names[earlier], value, likeness)
            later = later[near]
            earlier = earlier[near]
            value = value[near]
        is_exact = engine.are_equal(pages, later, earlier)
        yield batch(later=names[later], earlier=names[earlier], value=value, is_exact=is_exact)


def _columns_of_pairs(rows: pa.RecordBatch, others: pa.Array) -> Columns:
    """Put the compared values of pairs into columns: later pages first, then earlier ones."""
    # Only the steps of the later pages are needed.
    columns: dict[str, Any] = {name: np.empty(0, kind) for name, kind in LAYOUT.items()}
    for name in COMPARED:
        parts = (rows[name], others.field(name))
        if name == "verify":
            columns[name] = np.concatenate(
                [matrix(part, "uint8", VERIFY_BITS // 8) for part in parts]
            )
        else:
            values = np.concatenate([part.to_numpy(zero_copy_only=False) for part in parts])
            columns[name] = values if name == "thin" else values.view(np.uint64)
    columns["steps"] = matrix(rows["steps"], "uint16", VERIFY_BITS)
    return Columns(**columns)


def decide_pairs(pages: int, crowd: Crowd, presumes: bool, batches: Batches) -> Rows:
    """Decide about the pages of sorted pairs, in order.

    Duplicates are yielded with the pages that are kept, and so are pairs that still have to be
    compared (`is_wanted`).

    All verdicts, and the marks of kept pages, have to fit into memory.
    """
    marks = _MarksOfGroups()
    order = Order(pages, crowd, marks.of)
    for rows in _whole_groups(batches, lambda rows: np.asarray(rows["later"]), _PAIRS_AT_ONCE):
        later, earlier, costs = (np.asarray(rows[name]) for name in ("later", "earlier", "value"))
        marks.take(rows)
        wanted = order.decide(
            Resemblances(later, earlier, costs.astype(np.int64)), presumes=presumes
        )
        order.settle()
        marks.keep(order.original[later])
        yield batch(
            later=later_of(wanted),
            earlier=earlier_of(wanted),
            is_wanted=np.ones(len(wanted), np.bool_),
        )
    near = np.flatnonzero(order.original != np.arange(pages))
    yield batch(later=near, earlier=order.original[near], is_wanted=np.zeros(len(near), np.bool_))


class _MarksOfGroups:
    """The marks of the pages in the current groups of pairs, and of earlier kept pages."""

    def __init__(self) -> None:
        self._kept: dict[int, bytes] = {}
        self._present: dict[int, bytes] = {}

    def of(self, page: int) -> bytes:
        return self._present.get(page) or self._kept.get(page, b"")

    def take(self, rows: pa.Table) -> None:
        """Forget the marks so far, and load those of the pages of these pairs."""
        self._present = {}
        for name in ("later", "earlier"):
            pages, first = np.unique(np.asarray(rows[name]), return_index=True)
            marks = rows[f"{name}_marks"].take(first).to_pylist()
            self._present |= dict(zip(pages.tolist(), marks, strict=True))

    def keep(self, originals: NDArray[np.int64]) -> None:
        """Remember the marks of these pages, the originals of pages in the current groups."""
        for page in np.unique(originals).tolist():
            self._kept[page] = self.of(page)


def _whole_groups(
    batches: Batches, group_of: Callable[[pa.Table], NDArray[np.int64]], at_once: int
) -> Iterator[pa.Table]:
    """Regroup sorted batches so that no group of rows is split between two of them.

    Many groups are yielded at once. `group_of` returns the group of each row.
    """
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
        # A group that continues is joined again each time it has doubled.
        waiting = len(joined) - end if end else 0
    if parts:
        yield pa.concat_tables(parts)
