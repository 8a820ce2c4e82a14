"""Write a report into a file, in the format that its name ends with: as a page, as data, or every verdict as a row."""

import json
import os
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from crawldedup.commands.rows import target_file
from crawldedup.errors import ConfigurationError, MissingDependencyError
from crawldedup.printable import printable
from crawldedup.report.database import ROW_COLUMNS, Database, UnwritableError
from crawldedup.report.queries import EARLIER, NOT_MET, Report

_ROWS: Final = {
    ".csv": "FORMAT csv, HEADER",
    ".jsonl": "FORMAT json, ARRAY false",
    ".parquet": "FORMAT parquet, COMPRESSION zstd",
}
SUFFIXES: Final = (".html", ".json", *_ROWS)

# Spreadsheets run a cell that begins so, some of them also after blanks or with full-width letters.
_FORMULA: Final = r"^\s*[=+\-@|＝＋－＠]"
_CONTROLS: Final = r"[\x00-\x1f\x7f-\x9f]"


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
    needed = ("duckdb", "jinja2") if path.suffix == ".html" else ("duckdb",)
    if missing := [package for package in needed if find_spec(package) is None]:
        raise MissingDependencyError(f"a report needs {' and '.join(missing)}: pip install {' '.join(missing)}")


def write_report(database: Database, report: Report, path: Path) -> None:
    """Write a report that was made with this database. The file has its name only when it is whole.

    Raises UnwritableError.
    """
    try:
        with target_file(path, force=True) as out:
            if path.suffix == ".html":
                from crawldedup.report.render.html import page_of

                out.write(page_of(report).encode())
            elif path.suffix == ".json":
                out.write(json.dumps(report, indent=1).encode())
            else:
                database.tell("writing", 0)
                rows = _rows(database, report, is_csv=path.suffix == ".csv")
                database.rows(
                    f"COPY ({rows}) TO $path ({_ROWS[path.suffix]}, USE_TMP_FILE false)",
                    output=path,
                    path=str(out.name),
                )
    except OSError as error:
        raise UnwritableError(path, error.strerror) from error


def _rows(database: Database, report: Report, *, is_csv: bool) -> str:
    """Return the query of every verdict, with what changed since an earlier crawl.

    In CSV, a text that a spreadsheet would run begins with an apostrophe, and control characters are replaced. The
    other formats hold what was recorded.
    """
    columns = ", ".join(("site", *ROW_COLUMNS, "process"))
    time = f"make_timestamp((({report['crawl']['started']!r} + moment) * 1000000)::BIGINT) AS time"
    rows = f"SELECT {time}, {columns} FROM places"
    if report["comparison"]:
        rows = f"""SELECT if(outcome IN ('skipped', 'error'), 'not checked', change) AS change, {time}, {columns}
            FROM places LEFT JOIN (SELECT page, change FROM changes WHERE number IS NOT NULL) ON page = hash(url)
            UNION ALL BY NAME SELECT change, {columns} FROM places{EARLIER}
            JOIN (SELECT earlier AS number, change FROM changes WHERE change IN {NOT_MET}) USING (number)"""
    if not is_csv:
        return rows
    kinds = {row["column_name"]: row["column_type"] for row in database.rows(f"DESCRIBE {rows}")}
    return f"SELECT {', '.join(_safe(name) if kinds[name] == 'VARCHAR' else name for name in kinds)} FROM ({rows})"


def _safe(name: str) -> str:
    clean = f"regexp_replace({name}, '{_CONTROLS}', '\ufffd', 'g')"
    return f"if(regexp_matches({clean}, '{_FORMULA}'), chr(39) || {clean}, {clean}) AS {name}"
