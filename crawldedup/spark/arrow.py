"""Turn columns of Arrow batches into numpy arrays, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import DTypeLike, NDArray

    Batches = Iterable[pa.RecordBatch]
    Rows = Iterator[pa.RecordBatch]


def numbers(column: pa.Array) -> NDArray[Any]:
    """Return a column of numbers without nulls."""
    found: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return found


def matrix(column: pa.Array, kind: DTypeLike, width: int) -> NDArray[Any]:
    """Return a column of bytes without nulls: each row holds `width` items of a type, shape (rows, width)."""
    size = width * np.dtype(kind).itemsize
    fixed = column.cast(pa.binary()).cast(pa.binary(size))
    raw = np.frombuffer(fixed.buffers()[1] or b"", np.uint8)[fixed.offset * size :]
    found: NDArray[Any] = raw[: len(fixed) * size].reshape(-1, size).view(kind)
    return found


def of_matrix(rows: NDArray[Any]) -> pa.Array:
    """Return a column of the bytes of each row."""
    size = rows.shape[1] * rows.itemsize
    raw = pa.py_buffer(np.ascontiguousarray(rows))
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(size), len(rows), [None, raw]).cast(pa.binary())


def batch(**columns: Any) -> pa.RecordBatch:
    """Return a batch of columns by their names."""
    return pa.RecordBatch.from_arrays([pa.array(column) for column in columns.values()], names=list(columns))
