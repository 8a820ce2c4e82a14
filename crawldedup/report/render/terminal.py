"""Show a report in a terminal. Texts of pages are shown as plain text, with control characters escaped."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Final

from rich.table import Table
from rich.text import Text

from crawldedup.report.changes import Changes
from crawldedup.report.model import NAMELESS
from crawldedup.report.render.wording import (
    compact,
    date,
    headline,
    index_health,
    lasting,
    percent,
    precise,
    shown,
    size,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import RenderableType

    from crawldedup.report.changes import Comparison
    from crawldedup.report.model import Group, Report

_MOST_ROWS: Final = 10
_STYLES: Final = {"bad": "bold red", "warn": "yellow", "info": ""}


def lines_of(report: Report) -> Iterator[RenderableType]:
    """Yield what is printed, in its order."""
    crawl, totals = report.crawl, report.totals
    state = "ended" if crawl.has_ended else "not ended"
    about = f"{shown(crawl.name)}: {date(crawl.started)}, {lasting(crawl.seconds)}, {state}"
    yield Text(about, style="bold")
    yield Text(headline(report))
    if totals.duplicate_bytes:
        yield Text(f"{size(totals.duplicate_bytes)} of {size(totals.bytes)} were downloaded as copies.")
    yield Text()
    for finding in report.findings:
        yield Text(f"- {shown(finding.text, 300)}", style=_STYLES[finding.level])
    if report.comparison:
        yield _comparison(report.comparison)
    yield _groups("Sites", report.sites)
    yield _groups("Patterns of paths", report.patterns)
    if report.parameters:
        yield _groups("Query parameters", report.parameters, is_parameter=True)
    if report.clusters:
        rows = (
            (f"{each.size:,}", percent(each.exact / each.size), shown(each.kept))
            for each in report.clusters[:_MOST_ROWS]
        )
        yield _table(f"Largest of {totals.clusters:,} clusters", ("copies", "exact", "kept page"), rows)
    if report.similarity.what_if:
        outcomes = (
            (f"{each.similarity:g}", "more duplicates" if each.kept is None else f"{each.kept:,} duplicates fewer")
            for each in report.similarity.what_if
            if each.similarity != report.similarity.wanted
        )
        yield _table("With another similarity", ("similarity", "at most"), outcomes)
    if report.reasons:
        reasons = (
            (each.outcome, f"{shown(each.reason)} {each.status or ''}", f"{each.pages:,}")
            for each in report.reasons[:_MOST_ROWS]
        )
        yield _table("Not checked", ("outcome", "reason", "responses"), reasons)
    if report.advice:
        rules = ((shown(each.site), shown(each.what), f"{each.support:,}") for each in report.advice[:_MOST_ROWS])
        yield _table("URL rules that would save downloads", ("site", "rule", "contents"), rules)
    yield Text(f"\n{index_health(report)}")
    costs = [(each, precise) for each in report.times] + [(each, compact) for each in report.index.work]
    figures = ((each.name, shape(each.median), shape(each.p95), shape(each.total)) for each, shape in costs)
    yield _table("Of each page", ("part", "median", "95 %", "all together"), figures)


def _groups(title: str, groups: Sequence[Group], *, is_parameter: bool = False) -> Table:
    rows = (
        (
            shown(each.site + (f" ?{each.name or NAMELESS}=" if is_parameter else each.name)),
            f"{each.counts.pages:,}",
            f"{each.counts.new:,}",
            percent(each.counts.duplicate_share),
            percent(each.recent),
            each.trap,
        )
        for each in groups[:_MOST_ROWS]
    )
    return _table(title, ("where", "pages", "new", "duplicates", "new, last 100", "looks like"), rows)


def _comparison(compared: Comparison) -> Table:
    kinds = [field.name for field in fields(Changes)][1:]
    rows = (
        (shown(each.site) or "all", *(f"{getattr(each, kind):,}" for kind in kinds))
        for each in (compared.total, *compared.sites[:_MOST_ROWS])
    )
    how = "" if compared.by_text else ", by URL alone: their indexes differ"
    return _table(f"Beside {shown(compared.name)} of {date(compared.started)}{how}", ("site", *kinds), rows)


def _table(title: str, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    table = Table(
        title=f"\n{title}", title_justify="left", title_style="bold", box=None, pad_edge=False, padding=(0, 2, 0, 0)
    )
    for heading in headings:
        is_text = heading in _TEXTS
        table.add_column(heading, justify="left" if is_text else "right", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    return table


_TEXTS: Final = ("where", "site", "kept page", "outcome", "reason", "rule", "looks like", "part", "at most")
