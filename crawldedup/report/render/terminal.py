"""Show a report in a terminal. Texts of pages are shown as plain text, with control characters escaped."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from crawldedup.report.queries import CHANGES, NAMELESS, Report
from crawldedup.report.render.wording import (
    change_by,
    compact,
    date,
    headline,
    index_health,
    lasting,
    percent,
    shown,
    size,
)

_MOST_ROWS: Final = 10
_STYLES: Final = {"bad": "bold red", "warn": "yellow", "info": ""}
_TEXTS: Final = (
    "where",
    "site",
    "kept page",
    "outcome",
    "reason",
    "rule",
    "looks like",
    "part",
    "what changes",
    "such as",
)
"""The columns of a table that hold no numbers."""


def lines_of(report: Report) -> Iterator[RenderableType]:
    """Yield what is printed, in its order."""
    crawl, totals = report["crawl"], report["totals"]
    state = "ended" if crawl["has_ended"] else "not ended"
    yield Text(f"{shown(crawl['name'])}: {date(crawl['started'])}, {lasting(crawl['seconds'])}, {state}", style="bold")
    yield Text(headline(report))
    if totals["duplicate_bytes"]:
        yield Text(f"{size(totals['duplicate_bytes'])} of {size(totals['bytes'])} were downloaded as copies.")
    yield Text()
    for finding in report["findings"]:
        yield Text(f"- {shown(finding['text'], 300)}", style=_STYLES[finding["level"]])
    yield from _tables(report)
    yield Text(f"\n{index_health(report['index'])}")
    costs = [(row, lasting) for row in report["times"]] + [(row, compact) for row in report["index"]["work"]]
    figures = ((row["name"], form(row["median"]), form(row["p95"]), form(row["total"])) for row, form in costs)
    yield _table("Of each page", ("part", "median", "95 %", "all together"), figures)


def _tables(report: Report) -> Iterator[Table]:
    if compared := report["comparison"]:
        how = "" if compared["by_text"] else ", by URL alone: their indexes differ"
        changed = (
            (shown(row["site"]) or "all", *(f"{row[change]:,}" for change in CHANGES))
            for row in (compared["total"], *compared["sites"][:_MOST_ROWS])
        )
        title = f"Beside {shown(compared['name'])} of {date(compared['started'])}{how}"
        yield _table(title, ("site", *CHANGES), changed)
    yield _groups("Sites", report["sites"])
    yield _groups("Patterns of paths", report["patterns"])
    if report["parameters"]:
        yield _groups("Query parameters", report["parameters"], is_parameter=True)
    if clusters := report["clusters"][:_MOST_ROWS]:
        sizes = [(row["near"] + row["exact"], row) for row in clusters]
        copies = ((f"{size:,}", percent(row["exact"] / size), shown(row["kept"])) for size, row in sizes)
        title = f"Largest of {report['totals']['clusters']:,} clusters"
        yield _table(title, ("copies", "exact", "kept page"), copies)
    if what_if := report["similarity"]["what_if"]:
        others = [row for row in what_if if row["similarity"] != report["similarity"]["wanted"]]
        outcomes = ((f"{row['similarity']:g}", change_by(row)) for row in others)
        yield _table("With another similarity", ("similarity", "what changes"), outcomes)
    if below := report["below"][:_MOST_ROWS]:
        places = (
            (
                shown(row["site"] + row["name"]),
                f"{row['pages']:,}",
                f"{row['by_query']:,}",
                shown(row["example"]["url"]),
            )
            for row in below
        )
        yield _table("Just below the limit", ("where", "pages", "by query alone", "such as"), places)
    if reasons := report["reasons"][:_MOST_ROWS]:
        causes = ((row["outcome"], shown(row["reason"]), f"{row['pages']:,}") for row in reasons)
        yield _table("Not checked", ("outcome", "reason", "responses"), causes)
    if advice := report["advice"][:_MOST_ROWS]:
        rules = ((shown(row["site"]), shown(row["what"]), f"{row['support']:,}") for row in advice)
        yield _table("URL rules that would save downloads", ("site", "rule", "contents"), rules)


def _groups(title: str, groups: Sequence[dict[str, Any]], *, is_parameter: bool = False) -> Table:
    rows = (
        (
            shown(row["site"] + (f" ?{row['name'] or NAMELESS}=" if is_parameter else row["name"])),
            f"{row['responses']:,}",
            f"{row['counts']['new']:,}",
            percent(row["share"]),
            percent(row["recent"]),
            row["trap"],
        )
        for row in groups[:_MOST_ROWS]
    )
    return _table(title, ("where", "pages", "new", "duplicates", "new, last 100", "looks like"), rows)


def _table(title: str, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    table = Table(
        title=f"\n{title}", title_justify="left", title_style="bold", box=None, pad_edge=False, padding=(0, 2, 0, 0)
    )
    for heading in headings:
        table.add_column(heading, justify="left" if heading in _TEXTS else "right", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    return table
