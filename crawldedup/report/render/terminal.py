"""Show the text of a report in a terminal. Texts of pages are plain text, with control characters escaped."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from crawldedup.report.queries import Report
from crawldedup.report.render.html import rendered
from crawldedup.report.render.wording import shown

_MOST_ROWS: Final = 10
_NARROWEST: Final = 16
_MARKS: Final = {"= ": ("bold", ""), "! ": ("bold red", "- "), "? ": ("yellow", "- ")}
"""How lines begin that have a style, and how they are shown."""


def lines_of(report: Report) -> Iterator[RenderableType]:
    """Yield what is printed, in its order."""
    text = rendered("report.txt", report, most=_MOST_ROWS)
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
        fits = cell_len(self._text) <= options.max_width
        yield Text(self._text if fits else shown(self._text, options.max_width - 1), no_wrap=True, overflow="ellipsis")
