"""Write a report into a file, in the format that its name ends with: as a page, as data, or every verdict as a row."""

import json
import os
from pathlib import Path
from typing import Final

from crawldedup.commands.rows import target_file
from crawldedup.errors import ConfigurationError
from crawldedup.printable import printable
from crawldedup.report.queries import Database, Report, check_installed

# Spreadsheets run a cell that begins as a formula, some of them also after blanks or with full-width letters. In CSV
# such a text begins with an apostrophe, and control characters are replaced. The others hold what was recorded.
_SAFE: Final = r"""
    regexp_replace(regexp_replace(COLUMNS('(.*)')::VARCHAR, '[\x00-\x1f\x7f-\x9f]', chr(65533), 'g'),
        '^(\s*[=+\-@|＝＋－＠])', '''\1') AS '\1'
"""
_ROWS: Final = {
    ".csv": ("FORMAT csv, HEADER", _SAFE),
    ".jsonl": ("FORMAT json, ARRAY false", "*"),
    ".parquet": ("FORMAT parquet, COMPRESSION zstd", "*"),
}
SUFFIXES: Final = (".html", ".json", *_ROWS)


def check_path(name: str, path: Path) -> None:
    """Check a path before the work. Raises ConfigurationError, and MissingDependencyError without what it needs."""
    shown, folder = printable(str(path)), path.absolute().parent
    if path.suffix not in SUFFIXES:
        raise ConfigurationError(f"{name} is {shown!r}; it must end with one of {', '.join(SUFFIXES)}")
    if path.is_dir():
        raise ConfigurationError(f"{name} is {shown!r}, which is a folder; name a file in it")
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        trouble = "nothing can be written in" if folder.is_dir() else "there is no"
        raise ConfigurationError(f"{name}: {trouble} folder {printable(str(folder))!r}")
    check_installed()


def write_report(database: Database, report: Report, path: Path) -> None:
    """Write a report that was made with this database. The file has its name only when it is whole.

    Raises ReportError and OSError.
    """
    with target_file(path, force=True) as out:
        if path.suffix == ".html":
            from crawldedup.report.render.templates import page_of

            out.write(page_of(report).encode())
        elif path.suffix == ".json":
            out.write(json.dumps(report, indent=1).encode())
        else:
            name = "compared_rows" if report["comparison"] else "rows"
            database.write(name, out.name, *_ROWS[path.suffix], started=report["crawl"]["started"])
