"""Read the rows of Parquet files, a few at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from crawldedup.commands.reading.entries import Entry, Row
from crawldedup.errors import ConfigurationError, MissingDependencyError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_ROWS: Final = 64
"""So many rows are in memory at once: with pages of 100 kB, a few megabytes."""
_BUFFER: Final = 1 << 20


def pyarrow_for(path: Path) -> Any:
    """Return pyarrow, with its module `parquet`. Raises MissingDependencyError."""
    try:
        import pyarrow as pa
        import pyarrow.parquet
    except ImportError as error:
        raise MissingDependencyError(f"{path} is Parquet, and that needs pyarrow: pip install pyarrow") from error
    return pa


def rows_of(path: Path, wanted: Sequence[str], *, whole: bool) -> Iterator[Entry]:
    """Yield the rows of a table. Their values are its wanted columns; only a `whole` row is read with the others, too.

    Raises ConfigurationError where nothing more can be read, and MissingDependencyError.
    """
    pa = pyarrow_for(path)
    number = 0
    try:
        with path.open("rb") as stream:
            # Not a whole row group at once, which may be the whole file.
            file = pa.parquet.ParquetFile(stream, pre_buffer=False, buffer_size=_BUFFER)
            columns = _present(path, wanted, file.schema_arrow.names)
            for batch in file.iter_batches(_ROWS, columns=None if whole else columns, use_threads=False):
                for place, value in enumerate(batch.select(columns).to_pylist()):
                    number += 1
                    yield Entry(f"{path}, row {number}", value, Row(batch, place))
    except (pa.ArrowException, OSError, UnicodeError) as error:
        # An error of pyarrow may be one of the system without its number.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise ConfigurationError(f"{path}, row {number + 1}: this cannot be read, nor what follows: {error}") from error


def _present(path: Path, wanted: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the wanted columns that there are. Raises ConfigurationError if there is none."""
    if present := [name for name in dict.fromkeys(wanted) if name in names]:
        return present
    raise ConfigurationError(
        f"{path} has none of the columns {', '.join(wanted)}, but {', '.join(names)}; --url-field, --html-field and "
        f"--text-field name others"
    )
