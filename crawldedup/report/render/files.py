"""Show a report by templates, as one page that needs no network or in a terminal, and write it into a file.

Nothing of the crawled pages can run in the page. In a terminal their texts are plain, with control characters escaped.
A file has the format that its name ends with: a page, data, or every verdict as a row.
"""

import base64
import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from crawldedup.commands.rows import target_file
from crawldedup.errors import ConfigurationError, printable
from crawldedup.report.queries import CHANGES, Database, Report, check_installed
from crawldedup.report.render import wording

if TYPE_CHECKING:
    from jinja2 import Environment

LARGEST_PAGE: Final = 500_000  # bytes; tables hold fewer rows where these do not suffice

_PACKAGE: Final = "crawldedup.report.render"
_MOST_ROWS: Final = (200, 100, 50, 25, 10, 5, 2)
_MOST_LINES: Final = 10
_NARROWEST: Final = 16
# How lines begin that have a style, and how they are shown.
_MARKS: Final = {"= ": ("bold", ""), "! ": ("bold red", "- "), "? ": ("yellow", "- ")}

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


def templates_of(package: str) -> "Environment":
    """Return the templates in the folder `page` of a package. HTML escapes what it shows. What is missing raises."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # which not everyone has who asks for a report

    return Environment(
        loader=PackageLoader(package, "page"),
        autoescape=lambda name: name is None or not name.endswith(".txt"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def page_of(report: Report) -> str:
    """Return the page."""
    from markupsafe import Markup

    folder = files(_PACKAGE) / "page"
    style, script = ((folder / name).read_text(encoding="utf-8") for name in ("report.css", "report.js"))
    more = {"style": Markup(style), "script": Markup(script), "hash_of": _hash_of}
    pages = (rendered("report.html", report, most=most, **more) for most in _MOST_ROWS)
    return next((page for page in pages if len(page.encode()) <= LARGEST_PAGE), "")


def rendered(name: str, report: Report, **more: Any) -> str:
    """Return what a template makes of a report: the names of `wording`, the parts of the report, and more values."""
    words = {name: value for name, value in vars(wording).items() if callable(value)}
    values = {**words, **report, "report": report, "changes": CHANGES, **more}
    return templates_of(_PACKAGE).get_template(name).render(values).lstrip()


def _hash_of(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def lines_of(report: Report) -> Iterator[RenderableType]:
    """Yield what is printed, in its order."""
    text = rendered("report.txt", report, most=_MOST_LINES)
    for is_table, lines in groupby(text.splitlines(), lambda line: "\t" in line):
        if is_table:
            yield _table([line.split("\t") for line in lines])
            continue
        for line in lines:
            style, mark = _MARKS.get(line[:2], ("", line[:2]))
            yield Text(mark + line[2:], style=style)


def _table(rows: Sequence[Sequence[str]]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    # A column that tells nothing takes room from the others.
    columns = [column for column in zip(*rows, strict=True) if {*column[1:]} - {"", "–"}]
    for heading, *_ in columns:
        is_number = heading.startswith("#")
        table.add_column(heading.removeprefix("#"), justify="right" if is_number else "left", no_wrap=is_number)
    for cells in [*zip(*columns, strict=True)][1:]:
        table.add_row(*map(_Line, cells))
    return table


class _Line:
    """A text in one line, whose middle is left out where there is little room."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __rich_measure__(self, _console: Console, _options: ConsoleOptions) -> Measurement:
        width = cell_len(self._text)
        return Measurement(min(width, _NARROWEST), width)

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> Iterator[Text]:
        room = options.max_width
        text = self._text if cell_len(self._text) <= room else wording.shown(self._text, room - 1)
        yield Text(text, no_wrap=True, overflow="ellipsis")


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
            out.write(page_of(report).encode())
        elif path.suffix == ".json":
            out.write(json.dumps(report, indent=1).encode())
        else:
            name = "compared_rows" if report["comparison"] else "rows"
            database.write(name, out.name, *_ROWS[path.suffix], started=report["crawl"]["started"])
