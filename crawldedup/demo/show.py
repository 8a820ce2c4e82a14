"""How a demo run looks in a terminal: a progress bar while it runs, tables at the end.

URLs and titles come from pages and may hold anything: everything is shown as plain text, with control
characters escaped, and never read as markup.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from rich.console import Group
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table
from rich.text import Text

from crawldedup.printable import printable
from crawldedup.verdict import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console, RenderableType
    from rich.progress import TaskID

    from crawldedup.demo.result import Cluster, DemoResult, ManifestScore, Traffic, Truth
    from crawldedup.demo.run import Listener
    from crawldedup.demo.run import Progress as RunProgress

_STAGES = {
    "crawl": "Crawling",
    "compare": "Once more without crawldedup",
    "texts": "Reading the texts for the exact comparison",
    "exact": "Comparing all texts exactly",
}
_SHOWN_CLUSTERS = 6
_SHOWN_MEMBERS = 6
_SHOWN_URLS = 5


@contextlib.contextmanager
def progress_bars(console: Console) -> Iterator[Listener]:
    """Show bars while the block runs; gives the listener for `run_demo`."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[counts]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as bars:
        tasks: dict[str, TaskID] = {}

        def show(progress: RunProgress) -> None:
            stage = progress.stage
            if stage not in tasks:
                tasks[stage] = bars.add_task(_STAGES[stage], total=progress.total, counts="")
            counts = f"{progress.kept} kept, {progress.dropped} dropped" if stage in ("crawl", "compare") else ""
            # How many pages a site has is an estimate until all have been seen.
            total = max(progress.total, progress.done) if progress.total is not None else None
            bars.update(tasks[stage], completed=progress.done, total=total, counts=counts)

        yield show


def print_result(result: DemoResult, console: Console) -> None:
    """Print the tables."""
    console.print(Text(f"\n{printable(result.site)}: {result.pages_fetched} pages fetched"), soft_wrap=True)
    console.print(_pages(result))
    console.print(_traffic(result))
    if result.clusters:
        console.print(_clusters(result.clusters))
    if result.manifest is not None:
        console.print(_manifest(result.manifest))
    if result.truth is not None and result.truth.pages:
        console.print(_truth(result.truth))
    if result.log:
        console.print(Text("Warnings of the crawl:\n" + "\n".join(map(printable, result.log.splitlines()))))
    if result.finish_reason != "finished":
        console.print(Text(f"The crawl ended early: {printable(result.finish_reason)}.", style="bold red"))


def percent(share: float | None) -> str:
    """A share for readers; never rounded up to a perfect score."""
    if share is None:
        return "-"
    return "100 %" if share == 1 else f"{min(share * 100, 99.9):.1f} %"


def size(count: int) -> str:
    """Bytes for readers."""
    return f"{count / 1e6:.1f} MB" if abs(count) >= 1e6 else f"{count / 1e3:.1f} kB"


def _pages(result: DemoResult) -> Table:
    table = Table(title="Pages", title_justify="left", show_header=False)
    table.add_column()
    table.add_column(justify="right")
    rows = [
        ("reached the spider", result.pages_kept),
        ("dropped near duplicates", result.dropped_near),
        ("dropped exact duplicates", result.dropped_exact),
        ("revisits (same page again, kept)", result.verdicts[Kind.REVISIT]),
        ("thin (too few words to compare, kept)", result.verdicts[Kind.THIN]),
        *((f"not judged: {reason}", count) for reason, count in result.skipped.items()),
        *((f"passed after an error: {kind}", count) for kind, count in result.errors.items()),
    ]
    for name, count in rows:
        table.add_row(Text(printable(name)), str(count))
    return table


def _traffic(result: DemoResult) -> Table:
    table = Table(title="Cost and savings, all measured", title_justify="left")
    for heading in ("", "requests", "downloaded", "pages to process", "seconds"):
        table.add_column(heading, justify="right" if heading else "left")
    table.add_row("with crawldedup", *_traffic_cells(result.traffic))
    if (without := result.without) is not None:
        table.add_row("without", *_traffic_cells(without))
        table.add_row(
            "saved",
            str(without.requests - result.traffic.requests),
            size(without.bytes - result.traffic.bytes),
            str(without.pages - result.traffic.pages),
            f"{without.seconds - result.traffic.seconds:.1f}",
        )
    table.caption = f"{size(result.dropped_bytes)} of HTML were fetched, recognised and not processed any further."
    table.caption_justify = "left"
    return table


def _traffic_cells(traffic: Traffic) -> tuple[str, str, str, str]:
    return str(traffic.requests), size(traffic.bytes), str(traffic.pages), f"{traffic.seconds:.1f}"


def _clusters(clusters: tuple[Cluster, ...]) -> RenderableType:
    base = _common_base(clusters)
    lines = [
        Text(
            f"Clusters found: {len(clusters)}, listed without {printable(base)}"
            if base
            else f"Clusters found: {len(clusters)}",
            style="italic",
        )
    ]
    for cluster in clusters[:_SHOWN_CLUSTERS]:
        lines.append(Text(printable(cluster.original.removeprefix(base))))
        for member in cluster.members[:_SHOWN_MEMBERS]:
            similar = "exact" if member.verdict == Kind.EXACT_DUPLICATE else f"{member.similarity or 0:.2f}"
            kept = "" if member.dropped else "  (kept)"
            lines.append(Text(f"  {similar:>5}  {printable(member.url.removeprefix(base))}{kept}"))
        if (more := len(cluster.members) - _SHOWN_MEMBERS) > 0:
            lines.append(Text(f"         and {more} more"))
    if (more := len(clusters) - _SHOWN_CLUSTERS) > 0:
        lines.append(Text(f"and {more} more clusters"))
    return Group(*lines)


def _common_base(clusters: tuple[Cluster, ...]) -> str:
    """Scheme and host of all originals, which need not be said in every line; empty if they differ."""
    bases = {"/".join(cluster.original.split("/", 3)[:3]) for cluster in clusters}
    return bases.pop() if len(bases) == 1 else ""


def _manifest(score: ManifestScore) -> RenderableType:
    table = Table(title="Against the manifest (what the site's author says)", title_justify="left")
    for heading in ("dropped, rightly", "kept, rightly", "missed", "wrongly dropped", "precision", "recall"):
        table.add_column(heading, justify="right")
    table.add_row(
        str(score.found),
        str(score.right),
        str(len(score.missed)),
        str(len(score.wrong)),
        percent(score.precision),
        percent(score.recall),
    )
    table.caption = f"{score.unscored} thin, empty, garbled and calendar pages may be either, and are not scored."
    if score.unjudged:
        table.caption += f" {score.unjudged} pages reached the spider without a verdict."
    return Group(
        table,
        *_examples("missed", score.missed),
        *_examples("wrongly dropped", score.wrong),
        *_examples("never reached", score.not_reached),
    )


def _truth(truth: Truth) -> RenderableType:
    table = Table(title="Against the exact similarity of the texts (Jaccard of word 3-shingles)", title_justify="left")
    for heading in ("best earlier page", "pages", "dropped", "share"):
        table.add_column(heading, justify="right")
    for band in truth.bands:
        name = "identical" if band.low == band.high else f"{band.low:.2f} - {band.high:.2f}"
        share = percent(band.dropped / band.pages if band.pages else None)
        table.add_row(name, str(band.pages), str(band.dropped), share)
    lowest = truth.similarity - truth.tolerance
    summary = (
        f"Recall {percent(truth.recall)} of {truth.duplicates} pages with an earlier page of at least "
        f"{truth.similarity:g}. Precision {percent(truth.precision)}; "
        f"{percent(truth.precision_with_tolerance)} of the dropped pages reach {lowest:g}. "
        f"{truth.pages_without_text} pages without text are not compared."
    )
    return Group(
        table,
        Text(summary),
        *_examples("missed", truth.missed),
        *_examples(f"dropped below {lowest:g}", truth.wrong),
    )


def _examples(name: str, urls: tuple[str, ...]) -> list[Text]:
    lines = [Text(f"  {name}: {printable(url)}") for url in urls[:_SHOWN_URLS]]
    if (more := len(urls) - _SHOWN_URLS) > 0:
        lines.append(Text(f"  {name}: and {more} more"))
    return lines
