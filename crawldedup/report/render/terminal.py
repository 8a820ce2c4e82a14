"""Show a report in a terminal. Texts of pages are shown as plain text, with control characters escaped."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from crawldedup.report.queries import CHANGES, NAMELESS, Report
from crawldedup.report.render import wording
from crawldedup.report.render.wording import compact, lasting, percent, shown, size

_MOST_ROWS: Final = 10
_STYLES: Final = {"bad": "bold red", "warn": "yellow", "info": ""}
_TEXTS: Final = ("where", "site", "kept page", "outcome", "reason", "rule", "looks like", "part", "changes", "such as")
"""The columns of a table that hold no numbers."""

_Row = Mapping[str, object]
"""A row of a table: what stands below each heading."""


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
    figures = {"median": "median", "95 %": "p95", "all together": "total"}
    parts = [{"part": row["name"], **{head: form(row[of]) for head, of in figures.items()}} for row, form in costs]
    if parts:
        yield _table("Of each page", parts)


def _tables(report: Report) -> Iterator[tuple[str, Sequence[_Row]]]:
    if compared := report["comparison"]:
        how = "" if compared["by_text"] else ", by URL alone: their indexes differ"
        sites = [compared["total"], *compared["sites"]]
        rows = [{"site": row["site"] or "all", **{change: row[change] for change in CHANGES}} for row in sites]
        yield f"Beside {shown(compared['name'])} of {wording.date(compared['started'])}{how}", rows
    yield "Sites", [_place(row, row["site"]) for row in report["sites"]]
    yield "Patterns of paths", [_place(row, row["site"] + row["name"]) for row in report["patterns"]]
    parameters = [(row, f"{row['site']} ?{row['name'] or NAMELESS}=") for row in report["parameters"]]
    yield "Query parameters", [_place(row, where) for row, where in parameters]
    sizes = [(row["near"] + row["exact"], row) for row in report["clusters"]]
    clusters = [
        {"copies": all_, "exact": percent(row["exact"] / all_), "kept page": row["kept"]} for all_, row in sizes
    ]
    yield f"Largest of {report['totals']['clusters']:,} clusters", clusters
    others = [row for row in report["similarity"]["what_if"] if row["similarity"] != report["similarity"]["wanted"]]
    changes = [{"similarity": f"{row['similarity']:g}", "changes": wording.change_by(row)} for row in others]
    yield "With another similarity", changes
    below = [(row, {"where": row["site"] + row["name"], "pages": row["pages"]}) for row in report["below"]]
    nearest = [where | {"by query alone": row["by_query"], "such as": row["example"]["url"]} for row, where in below]
    yield "Just below the limit", nearest
    reasons = [
        {"outcome": row["outcome"], "reason": row["reason"], "responses": row["pages"]} for row in report["reasons"]
    ]
    yield "Not checked", reasons
    rules = [{"site": row["site"], "rule": row["what"], "contents": row["support"]} for row in report["advice"]]
    yield "URL rules that would save downloads", rules


def _place(row: dict[str, Any], where: str) -> _Row:
    return {
        "where": where,
        "pages": row["responses"],
        "new": row["counts"]["new"],
        "duplicates": percent(row["share"]),
        "new, last 100": percent(row["recent"]),
        "looks like": row["trap"],
    }


def _table(title: str, rows: Sequence[_Row]) -> Table:
    table = Table(
        title=f"\n{title}", title_justify="left", title_style="bold", box=None, pad_edge=False, padding=(0, 2, 0, 0)
    )
    for heading in rows[0]:
        table.add_column(heading, justify="left" if heading in _TEXTS else "right", overflow="fold")
    for row in rows:
        table.add_row(*(Text(f"{cell:,}" if isinstance(cell, int) else shown(str(cell))) for cell in row.values()))
    return table
