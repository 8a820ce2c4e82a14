"""Write what a scan has found: its rows as JSON lines, CSV or Parquet, or the report as a page."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import socket
import time
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, BinaryIO, Final, cast

from crawldedup.commands.filtering.target import check_target, target_file
from crawldedup.commands.reading.entries import CSV, LINES, PARQUET, form_of
from crawldedup.commands.reading.parquet import pyarrow_for
from crawldedup.errors import ConfigurationError
from crawldedup.journal import FORMAT, OUTCOMES, VERSION, find_journals, line_of, shown
from crawldedup.printable import printable
from crawldedup.report.database import Database
from crawldedup.report.render.files import check_path
from crawldedup.scanning.results import COLUMNS
from crawldedup.verdict import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from crawldedup.scanning.results import Results, Row

REPORT_SUFFIX: Final = ".html"
_ROWS_AT_ONCE: Final = 1 << 16
_FORMS: Final = (LINES, CSV, PARQUET)


def check_output(path: Path, inputs: Sequence[Path], *, force: bool) -> None:
    """Check before the work whether a file can be written. Raises ConfigurationError and MissingDependencyError."""
    if path.suffix == REPORT_SUFFIX:
        check_path("--output", path)
    elif form_of(path.name) not in _FORMS:
        raise ConfigurationError(
            f"--output is {printable(str(path))!r}; it must end with .jsonl, .csv (both also packed, .gz), .parquet "
            f"or {REPORT_SUFFIX}"
        )
    check_target(path, inputs, force=force)
    if form_of(path.name) == PARQUET:
        pyarrow_for(path)


def write(results: Results, path: Path, progress: Callable[[str, float], None], *, force: bool) -> None:
    """Write what was found into a file. Raises ConfigurationError, ReportError, OSError."""
    if path.suffix == REPORT_SUFFIX:
        _write_report(results, path, progress)
    else:
        progress("writing", 0)
        write_rows(results.rows(), path, force=force)


def write_rows(rows: Iterable[Row], path: Path, *, force: bool) -> None:
    """Write rows into a file, which has its name only when it is whole."""
    form = form_of(path.name)
    with target_file(path, force=force) as file, _packed(file, path) as out:
        if form == LINES:
            for row in rows:
                out.write(json.dumps(dict(zip(COLUMNS, row, strict=True))).encode("ascii") + b"\n")
        elif form == CSV:
            _write_csv(rows, out)
        else:
            _write_parquet(rows, out, path)


@contextmanager
def _packed(file: BinaryIO, path: Path) -> Iterator[BinaryIO]:
    if path.suffix != ".gz":
        yield file
        return
    with gzip.GzipFile(fileobj=file, mode="wb", filename="", mtime=0) as packed:
        yield cast("BinaryIO", packed)


def _write_csv(rows: Iterable[Row], out: BinaryIO) -> None:
    for some in _batches(chain([COLUMNS], rows)):
        text = io.StringIO()
        csv.writer(text).writerows(some)
        out.write(text.getvalue().encode("utf-8", "replace"))


def _write_parquet(rows: Iterable[Row], out: BinaryIO, path: Path) -> None:
    arrow: Any = pyarrow_for(path)
    kinds = (arrow.string(), arrow.string(), arrow.string(), arrow.float64())
    schema = arrow.schema(list(zip(COLUMNS, kinds, strict=True)))
    with arrow.parquet.ParquetWriter(out, schema) as writer:
        for some in _batches(rows):
            columns = [[_sound(value) for value in column] for column in zip(*some, strict=True)]
            writer.write_table(arrow.table(dict(zip(COLUMNS, columns, strict=True)), schema=schema))


def _batches(rows: Iterable[Sequence[Any]]) -> Iterator[list[Sequence[Any]]]:
    found = iter(rows)
    return iter(lambda: list(islice(found, _ROWS_AT_ONCE)), [])


def _sound(value: Any) -> Any:
    """Return a text without lone surrogates, which Parquet cannot hold."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) and not value.isascii() else value


def _write_report(results: Results, path: Path, progress: Callable[[str, float], None]) -> None:
    """Write the report on the pages of a scan, as on those of a crawl."""
    from crawldedup.report.build import make_report
    from crawldedup.report.render.files import write_report

    with TemporaryDirectory(prefix="crawldedup-scan-") as folder, Database(progress) as database:
        journal = Path(folder, "scan.jsonl")
        with journal.open("wb") as out:
            for record in _journal(results, path.stem):
                out.write(line_of(record))
        write_report(database, make_report(database, find_journals([str(journal)])), path)


def _journal(results: Results, name: str) -> Iterator[dict[str, Any]]:
    began = round(time.time(), 3)
    yield {
        FORMAT: VERSION,
        "crawl": f"scan-{name}",
        "spider": "scan",
        "started": began,
        "host": socket.gethostname(),
        "pid": os.getpid(),
    }
    for row, words, digest in zip(results.rows(), results.words, results.digests, strict=True):
        record = {"t": 0, "url": shown(row.url), "outcome": OUTCOMES[Kind(row.kind)], "words": int(words)}
        record |= {"digest": f"{int(digest):016x}", "action": "delivered" if row.kept_url is None else "dropped"}
        if row.kept_url is not None:
            record |= {"original": shown(row.kept_url), "similarity": row.similarity}
        yield record
    yield {"end": "finished", "stats": {}}
