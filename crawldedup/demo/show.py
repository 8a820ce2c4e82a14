"""Show a demo run in a terminal: progress bars while it runs, tables at the end.

URLs come from pages and may hold anything: they are shown as plain text with control characters escaped.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.filesize import decimal
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from crawldedup.evaluation.report import detail_table, percent
from crawldedup.printable import printable
from crawldedup.verdict import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import Console
    from rich.progress import TaskID

    from crawldedup.demo.crawl import Judged
    from crawldedup.demo.run import DemoResult, Listener
    from crawldedup.evaluation.trial import Trial

_SHOWN = 6


@contextmanager
def progress_bars(console: Console) -> Iterator[Listener]:
    """Show bars while the block runs; yields the listener for `run_demo`."""
    names, notes = TextColumn("{task.description}"), TextColumn("{task.fields[note]}")
    columns = (SpinnerColumn(), names, BarColumn(), MofNCompleteColumn(), notes, TimeElapsedColumn())
    with Progress(*columns, console=console) as bars:
        tasks: dict[str, TaskID] = {}

        def show(stage: str, done: int, total: int, note: str) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, note="")
            # The size of a site is an estimate until all pages have been seen.
            bars.update(tasks[stage], completed=done, total=max(total, done), note=note)

        yield show


def print_result(result: DemoResult, console: Console) -> None:
    """Print the tables."""
    _print_lines(console, "", f"{result.site}: {result.pages_fetched} pages fetched")
    console.print(_pages(result), _traffic(result))
    _print_lines(console, *_cluster_lines(result.clusters))
    if result.manifest is not None:
        console.print(_manifest(result.manifest))
        _print_lines(console, *_mistakes(result.manifest), *_first("never reached: ", result.not_reached))
    if result.truth is not None and any(result.verdicts.values()):
        found, least = result.truth.found, f"{result.truth.similarity:g}"
        console.print(detail_table(result.truth, is_terminal=True))
        summary = f"{found.flagged} of {found.pages} pages with an earlier page of {least} were dropped."
        if result.truth.apart:
            summary += f" {len(result.truth.apart)} more were kept apart by facts, such as other products."
        _print_lines(console, summary, *_mistakes(result.truth))
    if result.log:
        _print_lines(console, "Warnings of the crawl:", *result.log.splitlines())
    if result.finish_reason != "finished":
        console.print(Text(f"The crawl ended early: {printable(result.finish_reason)}.", style="bold red"))


def _table(title: str, *headings: str, caption: str = "") -> Table:
    table = Table(title=title, title_justify="left", caption=caption, caption_justify="left", show_header=any(headings))
    for heading in headings:
        table.add_column(heading, justify="right" if heading or table.columns else "left")
    return table


def _pages(result: DemoResult) -> Table:
    table = _table("Pages", "", "")
    rows = {
        "reached the spider": result.pages_kept,
        "dropped near duplicates": result.dropped_near,
        "dropped exact duplicates": result.dropped_exact,
        "revisits (same page again, kept)": result.verdicts[Kind.REVISIT],
        "thin (too few words to compare, kept)": result.verdicts[Kind.THIN],
        **{f"not judged: {reason}": count for reason, count in result.skipped.items()},
        **{f"passed after an error: {kind}": count for kind, count in result.errors.items()},
    }
    for name, count in rows.items():
        table.add_row(Text(printable(name)), str(count))
    return table


def _traffic(result: DemoResult) -> Table:
    caption = f"{decimal(result.dropped_bytes)} of HTML were fetched, recognised and not processed any further."
    headings = ("", "requests", "downloaded", "pages to process", "seconds")
    table = _table("Cost and savings, all measured", *headings, caption=caption)
    rows = {"with crawldedup": result.traffic}
    if result.without is not None:
        saved = {name: result.without[name] - count for name, count in result.traffic.items()}
        rows |= {"without": result.without, "saved": saved}
    for name, traffic in rows.items():
        counts = str(traffic["requests"]), decimal(int(traffic["bytes"])), str(traffic["pages"])
        table.add_row(name, *counts, f"{traffic['seconds']:.1f}")
    return table


def _cluster_lines(clusters: Mapping[str, Sequence[Judged]]) -> Iterator[str]:
    # Scheme and host are left out if all clusters have the same.
    bases = {"/".join(original.split("/", 3)[:3]) for original in clusters}
    base = bases.pop() if len(bases) == 1 else ""
    yield f"Clusters found: {len(clusters)}" + f", listed without {base}" * bool(base)
    for original in list(clusters)[:_SHOWN]:
        yield original.removeprefix(base)
        members = []
        for member in clusters[original]:
            similar = "exact" if member.kind == Kind.EXACT_DUPLICATE else f"{member.similarity or 0:.2f}"
            members.append(f"{similar:>5}  {member.url.removeprefix(base)}" + "  (kept)" * (not member.dropped))
        yield from _first("", members)
    if (more := len(clusters) - _SHOWN) > 0:
        yield f"and {more} more clusters"


def _manifest(trial: Trial) -> Table:
    found, wrong = trial.found, trial.flagged - trial.found.flagged
    kept = sum(band.counts.pages for band in trial.bands) - found.pages - wrong
    caption = f"{trial.thin.pages} thin, empty, garbled and calendar pages may be either, and are not scored."
    headings = ("dropped, rightly", "kept, rightly", "missed", "wrongly dropped", "precision %", "recall %")
    table = _table("Against the manifest (what the site's author says)", *headings, caption=caption)
    counts = map(str, (found.flagged, kept, found.pages - found.flagged, wrong))
    table.add_row(*counts, percent(trial.precision), percent(trial.recall))
    return table


def _mistakes(trial: Trial) -> Iterator[str]:
    for name, mistakes in (("missed: ", trial.missed), ("wrongly dropped: ", trial.wrong)):
        yield from _first(name, [mistake.url for mistake in mistakes])


def _first(name: str, lines: Sequence[str]) -> Iterator[str]:
    yield from (f"  {name}{line}" for line in lines[:_SHOWN])
    if (more := len(lines) - _SHOWN) > 0:
        yield f"  {name}and {more} more"


def _print_lines(console: Console, *lines: str) -> None:
    for line in lines:
        console.print(Text(printable(line)), soft_wrap=True)
