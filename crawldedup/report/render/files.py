"""Write a report into a file, in the format that its name ends with."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from crawldedup.errors import ConfigurationError, MissingDependencyError
from crawldedup.printable import printable
from crawldedup.report.database import UnwritableError
from crawldedup.report.render.rows import ROW_SUFFIXES, write_rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from crawldedup.report.database import Database
    from crawldedup.report.model import Report

SUFFIXES: Final = (".html", ".json", *ROW_SUFFIXES)
"""The report as a page or as data, and every verdict as a row."""


def check_path(name: str, path: Path) -> None:
    """Check a path before the work. Raises ConfigurationError, and MissingDependencyError without what it needs."""
    if path.suffix not in SUFFIXES:
        raise ConfigurationError(f"{name} is {printable(str(path))!r}; it must end with one of {', '.join(SUFFIXES)}")
    if path.is_dir():
        raise ConfigurationError(f"{name} is {printable(str(path))!r}, which is a folder; name a file in it")
    folder = path.absolute().parent
    if not folder.is_dir():
        raise ConfigurationError(f"{name}: there is no folder {printable(str(folder))!r}")
    if not os.access(folder, os.W_OK):
        raise ConfigurationError(f"{name}: nothing can be written in the folder {printable(str(folder))!r}")
    needed = ("duckdb", "jinja2", "pygal") if path.suffix == ".html" else ("duckdb",)
    if missing := [package for package in needed if find_spec(package) is None]:
        raise MissingDependencyError(f"a report needs {' and '.join(missing)}: pip install {' '.join(missing)}")


def write_report(database: Database, report: Report, path: Path) -> None:
    """Write a report that was made with this database. The file has its name only when it is whole.

    Raises UnwritableError.
    """
    with _whole(path) as part:
        if path.suffix == ".html":
            from crawldedup.report.render.html import page_of

            part.write_text(page_of(report), encoding="utf-8")
        elif path.suffix == ".json":
            part.write_text(json.dumps(report.as_dict(), indent=1), encoding="ascii")
        else:
            is_compared = report.comparison is not None
            write_rows(database, part, report.crawl.started, is_compared=is_compared, output=path)


@contextmanager
def _whole(path: Path) -> Iterator[Path]:
    # Processes of one crawl may write it at the same time.
    part = path.with_name(f".{path.stem[:50]}.{os.getpid()}.part{path.suffix}")
    try:
        yield part
        part.replace(path)
    except OSError as error:
        raise UnwritableError(path, error.strerror) from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
