"""Write every verdict as a row, as CSV, JSON lines or Parquet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from crawldedup.report.comparison import EARLIER, NOT_MET
from crawldedup.report.database import ROW_COLUMNS

if TYPE_CHECKING:
    from pathlib import Path

    from crawldedup.report.database import Database

_FORMATS: Final = {
    ".csv": "FORMAT csv, HEADER",
    ".jsonl": "FORMAT json, ARRAY false",
    ".parquet": "FORMAT parquet, COMPRESSION zstd",
}
ROW_SUFFIXES: Final = tuple(_FORMATS)

# Spreadsheets run a cell that begins so, some of them also after blanks or with full-width letters.
_FORMULA: Final = r"^\s*[=+\-@|＝＋－＠]"
_CONTROLS: Final = r"[\x00-\x1f\x7f-\x9f]"


def write_rows(database: Database, path: Path, started: float, *, is_compared: bool, output: Path) -> None:
    """Write the rows of a crawl that began at `started`, with what changed since an earlier one.

    Errors name `output`, which `path` is to become.
    In CSV, a text that a spreadsheet would run begins with an apostrophe, and control characters are replaced. The
    other formats hold what was recorded.
    """
    columns = ", ".join(("site", *ROW_COLUMNS, "process"))
    time = f"make_timestamp((({started!r} + moment) * 1000000)::BIGINT) AS time"
    rows = f"SELECT {time}, {columns} FROM places"
    if is_compared:
        rows = f"""SELECT if(outcome IN ('skipped', 'error'), 'not checked', change) AS change, {time}, {columns}
            FROM places LEFT JOIN (SELECT page, change FROM changes WHERE number IS NOT NULL) ON page = hash(url)
            UNION ALL BY NAME SELECT change, {columns} FROM places{EARLIER}
            JOIN (SELECT earlier AS number, change FROM changes WHERE change IN {NOT_MET}) USING (number)"""
    if path.suffix == ".csv":
        described = database.rows(f"DESCRIBE {rows}")
        rows = f"SELECT {', '.join(_safe(name, kind) for name, kind, *_ in described)} FROM ({rows})"
    with database.doing("writing", output):
        database.connection.execute(f"COPY ({rows}) TO $path ({_FORMATS[path.suffix]})", {"path": str(path)})


def _safe(name: str, kind: str) -> str:
    if kind != "VARCHAR":
        return f'"{name}"'
    clean = f"regexp_replace(\"{name}\", '{_CONTROLS}', '\ufffd', 'g')"
    is_formula = f"regexp_matches({clean}, '{_FORMULA}')"
    return f'if({is_formula}, chr(39) || {clean}, {clean}) AS "{name}"'
