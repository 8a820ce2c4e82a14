"""Show a report in a terminal. Texts of pages are shown as plain text, with control characters escaped."""

from collections.abc import Iterator, Mapping, Sequence
from string import Formatter
from typing import Any, Final

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from crawldedup.report.queries import CHANGES, Report
from crawldedup.report.render import wording
from crawldedup.report.render.wording import compact, lasting, percent, shown, size

_MOST_ROWS: Final = 10
_NARROWEST: Final = 16
_STYLES: Final = {"bad": "bold red", "warn": "yellow", "info": ""}
_TEXTS: Final = ("where", "site", "kept page", "outcome", "reason", "rule", "looks like", "part", "changes", "such as")
"""The columns of a table that hold no numbers."""

_COSTS: Final = {"median": "median", "95 %": "p95", "all together": "total"}
_FIGURES: Final = {
    "pages": "{responses:,}",
    "new": "{counts[new]:,}",
    "duplicates": "{share:%}",
    "new, last 100": "{recent:%}",
    "looks like": "{trap}",
}
_TABLES: Final[tuple[tuple[str, str, Mapping[str, str]], ...]] = (
    ("Sites", "sites", {"where": "{site}", **_FIGURES}),
    ("Patterns of paths", "patterns", {"where": "{site}{name}", **_FIGURES}),
    ("Query parameters", "parameters", {"where": "{site} ?{name}=", **_FIGURES}),
    (
        "Largest of {totals[clusters]:,} clusters",
        "clusters",
        {"copies": "{copies:,}", "exact": "{share_exact:%}", "kept page": "{kept}"},
    ),
    (
        "Just below the limit",
        "below",
        {"where": "{site}{name}", "pages": "{pages:,}", "by query alone": "{by_query:,}", "such as": "{example[url]}"},
    ),
    ("Not checked", "reasons", {"outcome": "{outcome}", "reason": "{reason}", "responses": "{pages:,}"}),
    ("URL rules that would save downloads", "advice", {"site": "{site}", "rule": "{what}", "contents": "{support:,}"}),
)
"""The lists of a report, and their columns."""


class _Line:
    """A text in one line, whose middle is left out where there is little room."""

    def __init__(self, text: str) -> None:
        self._text = shown(text)

    def __rich_measure__(self, _console: Console, _options: ConsoleOptions) -> Measurement:
        width = cell_len(self._text)
        return Measurement(min(width, _NARROWEST), width)

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> Iterator[Text]:
        fits = cell_len(self._text) <= options.max_width
        yield Text(self._text if fits else shown(self._text, options.max_width - 1), no_wrap=True, overflow="ellipsis")


def lines_of(report: Report) -> Iterator[RenderableType]:
    """Yield what is printed, in its order."""
    crawl, totals = report["crawl"], report["totals"]
    when = f"{wording.date(crawl['started'])}, {lasting(crawl['seconds'])}"
    state = "ended" if crawl["has_ended"] else "not ended"
    yield Text(f"{shown(crawl['name'])}: {when}, {state}", style="bold")
    yield Text(wording.headline(report))
    if totals["duplicate_bytes"]:
        yield Text(f"{size(totals['duplicate_bytes'])} of {size(totals['bytes'])} were downloaded as copies.")
    yield Text()
    for finding in report["findings"]:
        yield Text(f"- {shown(finding['text'], 300)}", style=_STYLES[finding["level"]])
    yield from (_table(title, rows[:_MOST_ROWS]) for title, rows in _tables(report) if rows)
    yield Text(f"\n{wording.index_health(report['index'])}")
    costs = [(row, lasting) for row in report["times"]] + [(row, compact) for row in report["index"]["work"]]
    parts = [{"part": row["name"]} | {head: form(row[name]) for head, name in _COSTS.items()} for row, form in costs]
    if parts:
        yield _table("Of each page", parts)


class _Cells(Formatter):
    def format_field(self, value: Any, spec: str) -> str:
        return percent(value) if spec == "%" else str(super().format_field(value, spec))


def _tables(report: Report) -> Iterator[tuple[str, list[dict[str, str]]]]:
    if compared := report["comparison"]:
        how = "" if compared["by_text"] else ", by URL alone: their indexes differ"
        title = f"Beside {shown(compared['name'])} of {wording.date(compared['started'])}{how}"
        changed = {"site": "{site}", **{change: f"{{{change}:,}}" for change in CHANGES}}
        yield title, _cells(changed, [compared["total"] | {"site": "all"}, *compared["sites"]])
    for title, name, columns in _TABLES:
        yield title.format_map(report), _cells(columns, report[name])
    others = [row for row in report["similarity"]["what_if"] if row["similarity"] != report["similarity"]["wanted"]]
    changes = [{"similarity": f"{row['similarity']:g}", "changes": wording.change_by(row)} for row in others]
    yield "With another similarity", changes


def _cells(columns: Mapping[str, str], rows: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    cells = _Cells()
    return [{heading: cells.vformat(cell, (), row) for heading, cell in columns.items()} for row in rows]


def _table(title: str, rows: Sequence[Mapping[str, str]]) -> Table:
    table = Table(
        title=f"\n{title}", title_justify="left", title_style="bold", box=None, pad_edge=False, padding=(0, 2, 0, 0)
    )
    # A column that tells nothing takes room from the others.
    headings = [heading for heading in rows[0] if any(row[heading] not in ("", "–") for row in rows)]
    for heading in headings:
        is_text = heading in _TEXTS
        table.add_column(heading, justify="left" if is_text else "right", no_wrap=not is_text)
    for row in rows:
        table.add_row(*(_Line(row[heading]) for heading in headings))
    return table
