"""Write a report by templates: as one page that needs no network, or as the text that a terminal shows.

Nothing of the crawled pages can run in the page. In a terminal their texts are plain, with control characters escaped.
"""

import base64
import hashlib
from collections.abc import Iterator, Sequence
from importlib.resources import files
from itertools import groupby
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from crawldedup.report.queries import CHANGES, Report
from crawldedup.report.render import wording

LARGEST_PAGE: Final = 500_000
"""Bytes. Tables hold fewer rows where these do not suffice."""

_PACKAGE: Final = "crawldedup.report.render"
_MOST_ROWS: Final = (200, 100, 50, 25, 10, 5, 2)
_MOST_LINES: Final = 10
_NARROWEST: Final = 16
_MARKS: Final = {"= ": ("bold", ""), "! ": ("bold red", "- "), "? ": ("yellow", "- ")}
"""How lines begin that have a style, and how they are shown."""


def templates_of(package: str) -> Environment:
    """Return the templates in the folder `page` of a package. HTML escapes what it shows. What is missing raises."""
    return Environment(
        loader=PackageLoader(package, "page"),
        autoescape=lambda name: name is None or not name.endswith(".txt"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def page_of(report: Report) -> str:
    """Return the page."""
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
