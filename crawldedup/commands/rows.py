"""Write files, which appear under their names only when they are whole: rows as JSON lines or CSV, or any bytes."""

import csv
import gzip
import io
import json
import secrets
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from crawldedup.commands.feeds import CSV, GZIP_SUFFIX, form_of
from crawldedup.errors import ConfigurationError

STANDARD: Final = "-"
"""The name of standard input and output."""
_BUFFER: Final = 1 << 20
_LEVEL: Final = 6
"""What gzip does by itself. The highest level takes thrice as long, for one percent."""
_ROWS_AT_ONCE: Final = 1 << 12


def check_target(path: Path, inputs: Sequence[Path], *, force: bool) -> None:
    """Raise ConfigurationError for a file that must not be written."""
    if any(path.exists() and path.samefile(each) for each in inputs):
        raise ConfigurationError(f"{path} is read, and cannot be written as well: name another file")
    if path.exists() and not path.is_file():
        raise ConfigurationError(f"{path} is there already, and is no file")
    if path.exists() and not force:
        raise ConfigurationError(f"{path} is there already: name another file, or add --force to replace it")
    if not path.parent.is_dir():
        raise ConfigurationError(f"{path} cannot be written: there is no folder {str(path.parent)!r}")


@contextmanager
def target_file(path: Path, *, force: bool, packs: bool = True) -> Iterator[BinaryIO]:
    """Yield a file to write. It takes the place of `path` at the end, and is removed after an error.

    If the name says so, what is written is packed, unless it is already (`packs=False`). "-" is standard output.
    Raises ConfigurationError if `path` appears meanwhile, unless `force` is given.
    """
    if str(path) == STANDARD:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    # A link stays, and what it leads to is replaced.
    path = path.resolve()
    beside = path.with_name(f".{path.name[:50]}.{secrets.token_hex(4)}.part")
    file = io.BufferedWriter(_NamedFile(beside, path), _BUFFER)
    try:
        try:
            if packs and path.suffix.lower() == GZIP_SUFFIX:
                with gzip.GzipFile("", "wb", _LEVEL, file, mtime=0) as packed:
                    yield cast("BinaryIO", packed)
            else:
                yield cast("BinaryIO", file)
            file.flush()
        finally:
            # Not by its buffer, which would write again what could not be written.
            file.raw.close()
        check_target(path, (), force=force)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def write_rows(columns: Sequence[str], rows: Iterable[Sequence[Any]], path: Path, *, force: bool) -> None:
    """Write rows as CSV if the name says so, else as JSON lines."""
    with target_file(path, force=force) as out:
        is_csv = form_of(path.name) == CSV
        waiting = chain([columns], rows) if is_csv else iter(rows)
        while some := list(islice(waiting, _ROWS_AT_ONCE)):
            if is_csv:
                text = io.StringIO()
                csv.writer(text).writerows(some)
                out.write(text.getvalue().encode("utf-8", "replace"))
            else:
                out.write("".join(f"{json.dumps(dict(zip(columns, row, strict=True)))}\n" for row in some).encode())


class _NamedFile(io.FileIO):
    """A new file, whose errors name the file that it is to be: Python names none if a disk is full."""

    def __init__(self, path: Path, shown: Path) -> None:
        self._shown = shown
        super().__init__(path, "xb")

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(self._shown)) from error
