"""`crawldedup report`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from crawldedup.commands.command import Command

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from crawldedup.commands.output import Output
    from crawldedup.report.journals import Journal

DEFAULT_SOURCE: Final = ".scrapy/crawldedup"

ARGUMENTS: Final[dict[str, dict[str, Any]]] = {
    "--output": {
        "type": Path,
        "metavar": "FILE",
        "help": "write a .html page, the report as .json, or every verdict as .csv, .jsonl or .parquet",
    },
    "--crawl": {"metavar": "NAME", "help": "report this crawl (default: the last one)"},
    "--against": {
        "metavar": "CRAWL",
        "help": "compare with this crawl of the sources, or with the last one of another file or folder",
    },
}

REPORT: Final = Command(
    "report what a crawl met: duplicates, traps, clusters, costs",
    {
        "sources": {
            "nargs": "*",
            "default": [DEFAULT_SOURCE],
            "metavar": "SOURCE",
            "help": f"journal, or folder of journals (default: {DEFAULT_SOURCE})",
        },
        **ARGUMENTS,
    },
    description="Reads the journals of a crawl, of all its processes, while it runs or later.",
    module=__name__,
)


def run(given: Namespace, output: Output) -> None:
    """Make a report of the sources."""
    report(given.sources, given, output)


def report(sources: Sequence[str], given: Namespace, output: Output) -> None:
    """Make a report, and show it or write it. Raises ConfigurationError."""
    # Here, so that `--help` does not wait for DuckDB.
    from crawldedup.report.build import make_report
    from crawldedup.report.database import Database
    from crawldedup.report.journals import find_journals
    from crawldedup.report.render.files import check_path, write_report
    from crawldedup.report.render.terminal import lines_of

    if given.output is not None:
        check_path("--output", given.output)
    journals = find_journals(sources, given.crawl)
    against: list[Journal] = []
    if given.against:
        is_source = Path(given.against).exists()
        against = find_journals([given.against]) if is_source else find_journals(sources, given.against)
    with output.shares() as progress, Database(progress) as database:
        made = make_report(database, journals, against)
        if given.output is not None:
            write_report(database, made, given.output)
    if given.output is None or output.as_json:
        output.show(made.as_dict(), *lines_of(made))
