"""Write Parquet: rows as they are in a table of the same columns, else converted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO, Final

from crawldedup.commands.filtering.writers import check_columns, value_of
from crawldedup.commands.reading.entries import Row
from crawldedup.commands.reading.parquet import pyarrow_for
from crawldedup.errors import ConfigurationError

if TYPE_CHECKING:
    from pathlib import Path

    from crawldedup.commands.reading.entries import Entry

_GROUP_ROWS: Final = 100_000
_GROUP_BYTES: Final = 64 * 1024 * 1024
"""A row group is in memory until it is written. This is half of what the writers of large data sets take."""
_ROWS: Final = 1000
"""So many items that are converted tell the types of the columns, and so many are converted at once."""


class ParquetWriter:
    """Writes Parquet, with the columns of a table, or with those of the first items."""

    def __init__(self, out: BinaryIO, path: Path) -> None:
        self._arrow = pyarrow_for(path)
        self._out = out
        self._path = path
        self._schema: Any = None
        self._writer: Any = None
        # In their order: rows of one batch or items, and before them whole batches.
        self._taken: list[int] = []
        self._batch: Any = None
        self._items: list[Entry] = []
        self._group: list[Any] = []
        self._group_rows = self._group_bytes = 0

    def begin(self, entry: Entry) -> None:
        """See `Writer`."""
        if isinstance(entry.raw, Row):
            self._schema = entry.raw.batch.schema

    def write(self, entry: Entry) -> None:
        """See `Writer`."""
        raw = entry.raw
        if isinstance(raw, Row) and self._schema is not None and raw.batch.schema.equals(self._schema):
            if raw.batch is not self._batch:
                self._collect()
                self._batch = raw.batch
            self._taken.append(raw.number)
            return
        if self._taken or len(self._items) >= _ROWS:
            self._collect()
        value_of(entry)
        self._items.append(entry)

    def finish(self) -> None:
        """See `Writer`."""
        self._collect()
        self._write_group()
        if self._writer is None:
            self._open(self._schema or self._arrow.schema([]))
        self._writer.close()

    def close(self) -> None:
        """See `Writer`."""
        if self._writer is not None and self._writer.is_open:
            # It would write its end when it is collected, to a file that is closed by then.
            self._writer.is_open = False

    def _collect(self) -> None:
        """Add the rows or items that wait to the row group."""
        if self._taken:
            self._add(self._batch.take(self._arrow.array(self._taken)))
            self._taken, self._batch = [], None
        if self._items:
            self._add(self._converted(self._items))
            self._items = []

    def _add(self, batch: Any) -> None:
        self._group.append(batch)
        self._group_rows += batch.num_rows
        self._group_bytes += batch.nbytes
        if self._group_rows >= _GROUP_ROWS or self._group_bytes >= _GROUP_BYTES:
            self._write_group()

    def _write_group(self) -> None:
        if self._group:
            self._open(self._schema)
            self._writer.write_table(self._arrow.Table.from_batches(self._group, self._schema))
        self._group, self._group_rows, self._group_bytes = [], 0, 0

    def _open(self, schema: Any) -> None:
        if self._writer is None:
            self._writer = self._arrow.parquet.ParquetWriter(self._out, schema)

    def _converted(self, entries: list[Entry]) -> Any:
        arrow = self._arrow
        values = [value_of(entry) for entry in entries]
        try:
            if self._schema is None:
                self._schema = self._schema_of(values)
            for entry, value in zip(entries, values, strict=True):
                check_columns(value, self._schema.names, entry, self._path)
            return arrow.RecordBatch.from_pylist(values, schema=self._schema)
        except (arrow.ArrowException, TypeError, OverflowError) as error:
            raise ConfigurationError(
                f"{entries[0].place} and what follows: one of {len(entries):,} items does not fit the columns of "
                f"{self._path}, which have the types of its first items: {error}; JSON lines take every item"
            ) from error

    def _schema_of(self, values: list[dict[str, Any]]) -> Any:
        arrow = self._arrow
        names = dict.fromkeys(name for value in values for name in value)
        columns = {name: arrow.array([value.get(name) for value in values]).type for name in names}
        # A column of which nothing is known may be of any type, and most are texts.
        return arrow.schema(
            [(name, arrow.string() if arrow.types.is_null(kind) else kind) for name, kind in columns.items()]
        )
