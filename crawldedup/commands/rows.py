"""Write files, which appear under their names only when they are whole: rows as JSON lines or CSV, or any bytes."""

import csv
import gzip
import io
import json
import secrets
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from crawldedup.commands.sources import CSV, GZIP_SUFFIX, STANDARD, form_of
from crawldedup.errors import ConfigurationError

PARTIAL_SUFFIX: Final = ".partial"
_BUFFER: Final = 1 << 20
_LEVEL: Final = 6  # what gzip does by itself; the highest level takes thrice as long, for one percent


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
def target_file(
    path: Path, *, force: bool, packs: bool = True, is_whole: Callable[[], bool] = lambda: True
) -> Iterator[BinaryIO]:
    """Yield a file to write. It takes the place of `path` at the end, and is removed after an error.

    If it is not whole then, its name ends in `PARTIAL_SUFFIX`. If the name says so, what is written is packed, unless
    it is already (`packs=False`). "-" is standard output. Raises ConfigurationError if `path` appears meanwhile, unless
    `force` is given.
    """
    if str(path) == STANDARD:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    # A link stays, and what it leads to is replaced.
    path = path.resolve()
    beside = path.with_name(f".{path.name[:50]}.{secrets.token_hex(4)}.part")
    is_packed = packs and path.suffix.lower() == GZIP_SUFFIX
    try:
        with (
            beside.open("xb", _BUFFER) as file,
            gzip.GzipFile("", "wb", _LEVEL, file, mtime=0) if is_packed else nullcontext(file) as out,
        ):
            yield cast("BinaryIO", out)
        if is_whole():
            check_target(path, (), force=force)
            beside.replace(path)
        else:
            beside.replace(f"{path}{PARTIAL_SUFFIX}")
    finally:
        beside.unlink(missing_ok=True)


def write_rows(columns: Sequence[str], rows: Iterable[dict[str, Any]], path: Path, *, force: bool) -> None:
    """Write rows of these columns as CSV if the name says so, else as JSON lines."""
    with target_file(path, force=force) as out, io.TextIOWrapper(out, "utf-8", "replace", newline="") as text:
        if form_of(path.name) == CSV:
            table = csv.DictWriter(text, columns)
            table.writeheader()
            table.writerows(rows)
        else:
            text.writelines(f"{json.dumps(row)}\n" for row in rows)
