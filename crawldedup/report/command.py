"""The command `report`: show what happened in a crawl."""

import time
from argparse import Namespace
from dataclasses import asdict
from pathlib import Path
from typing import Final

from crawldedup.commands.command import Arguments, Command, Output, argument
from crawldedup.errors import ConfigurationError
from crawldedup.journal import Journal, crawls, find_before, find_journals
from crawldedup.text import pluralize, printable

DEFAULT_SOURCE: Final = ".scrapy/crawldedup"
_PREVIOUS: Final = "previous"

ARGUMENTS: Final[Arguments] = {
    "--output": argument(
        "write a .html page, the report as .json, or every verdict as .csv, .jsonl or .parquet",
        "FILE",
        type=Path,
    ),
    "--crawls": argument("list the crawls of the sources instead", action="store_true"),
    "--crawl": argument("report on this crawl (default: the last one)", "NAME"),
    "--against": argument(
        "compare with this crawl of the sources, with the last crawl of another source, or with "
        '"previous", the crawl before it by the same spider',
        "CRAWL",
    ),
}
_SOURCES: Final = f"journals of one crawl, or a folder of journals (default: {DEFAULT_SOURCE})"

REPORT: Final = Command(
    "report what a crawl found: duplicates, traps, clusters, costs",
    {
        "sources": argument(_SOURCES, "SOURCE", nargs="*"),
        "--source": argument("the same as SOURCE, as in `crawldedup changes`", "FOLDER"),
        **ARGUMENTS,
    },
    description="Reads the journals of all processes of a crawl, while it is running or later.",
    module=__name__,
    run="report",
    index=None,
)


def report(given: Namespace, output: Output) -> None:
    """Run the command `report`. Without sources, read the folder of a project. See `run`."""
    if given.source is not None:
        given.sources = [*given.sources, given.source]
    given.sources = given.sources or [DEFAULT_SOURCE]
    run(given, output)


def run(given: Namespace, output: Output) -> None:
    """Show or write a report on the crawls in the sources, or list these crawls.

    Raises ConfigurationError, ReportError and OSError.
    """
    if given.crawls:
        for source in given.sources:
            for crawl in crawls(source):
                began = time.strftime("%Y-%m-%d %H:%M", time.gmtime(crawl.started))
                count = pluralize(crawl.pages, "page")
                state = printable(crawl.state)
                output.show(
                    asdict(crawl), f"{printable(crawl.name)}  {began} UTC, {count}, {state}"
                )
        return
    # Imported here so that `--help` does not have to wait for DuckDB.
    from crawldedup.report.queries import Database, make_report
    from crawldedup.report.render import check_path, lines_of, write_report

    if given.output is not None:
        if output.as_json:
            raise ConfigurationError(
                "--json prints the report and --output writes it to a file: leave one of them out; "
                "an output file that ends with .json contains the same data"
            )
        check_path("--output", given.output)
    journals = find_journals(given.sources, given.crawl)
    against = _earlier_crawl(given, journals) if given.against else []
    with output.shares() as progress, Database(progress) as database:
        made = make_report(database, journals, against)
        if given.output is not None:
            write_report(database, made, given.output)
    if given.output is None:
        output.show(made, *lines_of(made))


def _earlier_crawl(given: Namespace, journals: list[Journal]) -> list[Journal]:
    """Return the journals of the crawl that `--against` names. Raises ConfigurationError."""
    if Path(given.against).exists():
        return find_journals([given.against])
    if given.against == _PREVIOUS:
        return find_before(given.sources, journals, journals[0].started)
    return find_journals(given.sources, given.against)
