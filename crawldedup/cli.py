"""The command line of `crawldedup`: all commands and their arguments.

The modules of commands are imported when they run: `--help` waits for neither Scrapy nor numpy.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from argparse import BooleanOptionalAction
from collections.abc import Sequence
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

from crawldedup import __version__
from crawldedup.checks import did_you_mean
from crawldedup.commands.command import (
    ADVISE_OPTIONS,
    DEFAULT_STORE,
    FIELD_ARGUMENTS,
    INDEX_OPTIONS,
    PAGE_ARGUMENTS,
    PARAGRAPH_OPTIONS,
    PROFILE_OPTIONS,
    STANDARD_OUTPUT,
    STORE_VARIABLE,
    Arguments,
    Command,
    Output,
    argument,
    flag_of,
    make_deduplicator,
    run_command,
)
from crawldedup.commands.leftovers import names_no_room
from crawldedup.demo import DEMO
from crawldedup.errors import MissingDependencyError
from crawldedup.measure import BENCH
from crawldedup.options import Option, options_of
from crawldedup.passwords import without_passwords
from crawldedup.report.changes import CHANGES
from crawldedup.report.command import REPORT
from crawldedup.service.command import SERVE

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

_WORKERS: Final[Arguments] = {
    "--workers": argument(
        "processes that read pages (default: one for each processor)",
        "N",
        type=int,
        default=os.cpu_count() or 1,
    )
}
_ONE_PAGE: Final = "file, URL, or - for standard input"
_PAGES_OR_ONE: Final = PAGE_ARGUMENTS | {
    "--url": argument("URL of the page, if there is only one (default: its own)", "URL")
}
_DETAIL: Final = {
    "--detail": argument("also show costs, probes and the search", action="store_true")
}
_INDEX: Final = (*INDEX_OPTIONS, *PROFILE_OPTIONS)
_COMPARING: Final = ("similarity", "recall", *PROFILE_OPTIONS)
_ASKING: Final = (*INDEX_OPTIONS, "scope", *_COMPARING, "ttl", "ttl_refresh", "max_pages")
_CHECKING: Final = (*_ASKING, "store_urls", "keep_texts", *PARAGRAPH_OPTIONS)
_COMPARED: Final[Arguments] = {
    "pages": argument(_ONE_PAGE, "PAGE", nargs=2),
    "--urls": argument(
        "URLs that the two pages came from; marks count if both are on one site (default: their "
        "own)",
        "URL",
        nargs=2,
    ),
    "--store": argument(
        "decide as this index would, using its key (default: as ten new indexes would)", "STORE"
    ),
    **_DETAIL,
}
_SCANNED: Final[Arguments] = {
    **PAGE_ARGUMENTS,
    "-o --output": argument(
        "write rows (.jsonl or .csv, also compressed) or a report (.html) to this file",
        "FILE",
        type=Path,
    ),
    "--force": argument("replace the file if it exists", action="store_true"),
    "--work": argument(
        "keep what has been read in this folder, for later scans (default: next to --output)",
        "FOLDER",
        type=Path,
    ),
    "--exact": argument(
        "decide by exact similarities; with --no-exact, by estimates, as a crawl does (default: "
        "exact)",
        action=BooleanOptionalAction,
        default=True,
    ),
    **_WORKERS,
    "--keep": argument(
        "which page of a cluster to keep: the first one, or the best one, which means the first "
        "whose URL has no session ID or campaign and is not a print or mobile view (default: best)",
        choices=("best", "first"),
        default="best",
    ),
    "--most": argument(
        "number of clusters to show (default: 20; all of them with --json)", "N", type=int
    ),
}
_FILTERED: Final[Arguments] = {
    "inputs": argument(
        "feed (.jl, .json, .csv, .parquet), .warc or .wacz file, or - for JSON lines from standard "
        "input",
        "IN",
        nargs="+",
    ),
    "-o --output": argument(
        "write to this file, in the format of the input (compressed if it ends with .gz, .bz2, "
        ".xz or .zst), or - for standard output",
        "OUT",
        required=True,
    ),
    "--dropped": argument("write JSON lines that say what was left out and why", "FILE"),
    "--against": argument(
        "also leave out the pages that this index knows; nothing is added to the index", "STORE"
    ),
    "--revisit": argument(
        "write a revisit record for each exact copy in a web archive", action="store_true"
    ),
    "--force": argument("replace existing files", action="store_true"),
    **FIELD_ARGUMENTS,
    **_WORKERS,
}
_ADVISED: Final[Arguments] = {
    "sources": REPORT.arguments["sources"],
    "-o --output": argument("write the rules to this file, for CRAWLDEDUP_RULES", "FILE"),
    "--crawl": argument("read this crawl (default: the last one)", "NAME"),
    **ADVISE_OPTIONS,
}
_RESTORED: Final[Arguments] = {
    "files": argument("file that CRAWLDEDUP_SET_ASIDE names", "FILE", nargs="+"),
    "-o --output": argument(
        "write the items to this file (.gz is compressed), or - for standard output",
        "OUT",
        required=True,
    ),
    "--site": argument("only items of this site, such as example.com", "SITE"),
    "--pattern": argument(
        "only items whose URL contains a match for this regular expression", "REGEX"
    ),
    "--similarity": argument(
        "only items whose similarity to the page they were dropped for is in this range, lower "
        "number first",
        "X",
        nargs=2,
        type=float,
    ),
    "--evidence": argument(
        "only items that were dropped for this reason",
        choices=("exact_duplicate", "near_duplicate", "unchanged", "partial"),
    ),
    "--cluster": argument("only items that were dropped for the page at this URL", "URL"),
    "--since": argument(
        "only items that were dropped at this time or later: a time in UTC, such as "
        "2026-11-28T09:00, or an age, such as 12h or 1d",
        "TIME",
    ),
    "--again": argument(
        "compare the items with those of --kept again, at this similarity and with the options "
        "below, and restore only those that are not copies",
        "X",
        type=float,
    ),
    "--kept": argument(
        "feed of the items that the crawl delivered (.jl, .json, .csv, .parquet)",
        "FEED",
        nargs="+",
    ),
    "--apart": argument(
        "add the pages of these items to this file, which CRAWLDEDUP_APART can name so that later "
        "crawls keep them",
        "FILE",
    ),
    "--force": argument("replace the file if it exists", action="store_true"),
    **FIELD_ARGUMENTS,
}
_DECIDING: Final = tuple(name for name in PROFILE_OPTIONS if name != "apart")
_FIND: Final = "list the pages in an index that resemble a page, without adding it to the index"
_EXPLAIN: Final = (
    "show the verdict that a page would get now and why, without adding it to the index"
)
_SHELL: Final = {"shell": argument("the shell", choices=("bash", "zsh", "fish"))}
_FOUND: Final = {
    "page": argument(_ONE_PAGE, "PAGE"),
    "--url": argument("the URL of the page (default: its own)", "URL"),
}
_FORGOTTEN: Final = {
    "urls": argument("URL of a page, as it was crawled", "URL", nargs="+"),
    # Pages are removed in every scope. In earlier versions, a scope had to be given.
    "--scope": argument(argparse.SUPPRESS, dest="any_scope"),
}
_YES: Final = {"--yes": argument("confirm the removal", action="store_true")}
_ALIKE: Final = {"store": "memory://", "key": 0}  # so results are the same everywhere
_COMMANDS: Final[dict[str, Command]] = {
    "demo": DEMO,
    "check": Command(
        "check pages against an index, and add them to it", _PAGES_OR_ONE, _CHECKING, run="check"
    ),
    "find": Command(
        _FIND, _FOUND, _ASKING, run="find", inherited=("extractor", "distinguish", "scope")
    ),
    "explain": Command(
        _EXPLAIN,
        _PAGES_OR_ONE | _DETAIL,
        (*_ASKING, "keep_texts", "paragraphs"),
        run="explain_given",
    ),
    "compare": Command(
        "show how similar two pages are, and how they differ",
        _COMPARED,
        ("namespace", *_COMPARING),
        run="compare",
        index=_ALIKE,
    ),
    "scan": Command(
        "find the clusters of near duplicates in a collection",
        _SCANNED,
        ("scope", *_COMPARING),
        description=(
            "Finds the clusters of near duplicates among the pages of files, folders, feeds, web "
            "archives and URLs, and decides which page of each cluster to keep. To continue a "
            "scan that was stopped, run the same command again."
        ),
        module="crawldedup.scan.run",
        run="scan",
        index=_ALIKE,
    ),
    "filter": Command(
        "write a feed or web archive without the copies in it",
        _FILTERED,
        ("namespace", "scope", *_COMPARING),
        description=(
            "Writes every item that is not a copy of an earlier one, in order and unchanged. An "
            "item is also kept if its page cannot be compared. Files get their final names when "
            "they are complete."
        ),
        module="crawldedup.scan.filtering",
        run="filter_items",
        index={"key": 0},
    ),
    "forget": Command(
        "remove pages from an index, regardless of their scope",
        _FORGOTTEN,
        _INDEX,
        run="forget_given",
    ),
    "clear": Command(
        "remove all pages of a namespace, no matter which options or version created it",
        _YES,
        INDEX_OPTIONS,
        run="clear",
    ),
    "info": Command("show the figures of an index", {}, _INDEX, run="info"),
    "serve": SERVE,
    "report": REPORT,
    "changes": CHANGES,
    "advise": Command(
        "find rules for URLs that let the next crawl skip the download of copies",
        _ADVISED,
        module="crawldedup.report.advise",
        run="advise",
        index=None,
    ),
    "restore": Command(
        "bring back items that a crawl dropped and set aside",
        _RESTORED,
        ("recall", *_DECIDING),
        description="Writes items from the file of CRAWLDEDUP_SET_ASIDE as JSON lines, in their "
        "original order. If you give several conditions, an item has to meet all of them.",
        module="crawldedup.commands.restore",
        run="restore",
        index=None,
    ),
    "bench": BENCH,
    "completion": Command(
        "print a script with which a shell completes commands and options",
        _SHELL,
        description="Prints a script for bash, zsh or fish that completes commands and options.",
        module="crawldedup.cli",
        run="complete",
        index=None,
    ),
}


EXAMPLES: Final = """\
examples:
  crawldedup demo                            crawl a site full of near duplicates
  crawldedup scan crawl.jl folder/           find the near duplicates in files
  crawldedup filter crawl.jl -o clean.jl     write a feed without the copies
  crawldedup compare a.html b.html           explain whether two pages are copies
  crawldedup serve --store sqlite:///a.db    check pages over HTTP
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the arguments name, and return its exit status.

    See `run_command` for the statuses.
    """
    # The program that started this one may have closed the standard streams.
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115 - as long as the process runs
    given = _parsed(arguments)
    command = _COMMANDS[given.command]

    def run(output: Output) -> None:
        function = getattr(import_module(command.module), command.run)
        if command.index is None:
            function(given, output)
        else:
            with closing(make_deduplicator(given, **command.index)) as dedup:
                function(dedup, given, output)

    return run_command(run, as_json=given.json)


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line, or exit if that fails, or if it asks for help or the version.

    For an argument that a command doesn't have, the error points to the help of that command.
    """
    root = parser()
    given, unknown = root.parse_known_args(arguments)
    if unknown:
        root.refuse(f"unrecognized arguments: {' '.join(unknown)}", f"{root.prog} {given.command}")
    return given


class _Parser(argparse.ArgumentParser):
    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        """Print the help or the version, and exit if that fails, which argparse would ignore."""
        if file is not sys.stdout:
            super()._print_message(message, file)
        elif status := run_command(
            lambda output: output.show(None, message.rstrip("\n")), as_json=False
        ):
            self.exit(status)

    def error(self, message: str) -> NoReturn:
        """Exit with a single line instead of the usage, which is long."""
        self.refuse(message, self.prog)

    def refuse(self, message: str, program: str) -> NoReturn:
        """Exit with a line that points to the help of a program, such as "crawldedup scan"."""
        word = re.search(r"invalid choice: '(.*?)'|unrecognized arguments: (\S+)", message)
        names = [*_COMMANDS, *(flag_of(each.name) for each in options_of())]
        if word and word[2] in names:
            names = []  # It's an option of other commands.
        if message.startswith("argument -"):
            # The value of an option is none of these.
            names = re.findall(r"[\w-]+", message.partition("(choose from")[2])
        hint = did_you_mean(word[1] or word[2], names) if word else ""
        shown = without_passwords(message)
        self.exit(2, f"crawldedup: {shown}{hint} (see {program} --help)\n")


def parser() -> _Parser:
    """Make the parser for all commands."""
    root = _Parser(
        prog="crawldedup",
        description="Recognizes near-duplicate pages, during a crawl or anywhere else.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    root.add_argument("--version", action="version", version=f"crawldedup {__version__}")
    subparsers = root.add_subparsers(metavar="COMMAND", required=True)
    for name, command in _COMMANDS.items():
        description = command.description or f"{command.help[0].upper()}{command.help[1:]}."
        subparser = subparsers.add_parser(name, help=command.help, description=description)
        for names, settings in command.arguments.items():
            subparser.add_argument(*names.split(), **settings)
        declared = {option.name: option for option in options_of(command.kind)}
        for option in command.options:
            _add_option(
                subparser,
                declared[option],
                command.defaults,
                is_inherited=option in command.inherited,
            )
        subparser.set_defaults(command=name, json=False)
        if command.shows_results:
            subparser.add_argument("--json", action="store_true", help="print JSON instead of text")
    return root


def complete(given: argparse.Namespace, output: Output) -> None:
    """Print a script with which a shell completes commands.

    Raises MissingDependencyError without shtab.
    """
    try:
        import shtab
    except ImportError as error:
        raise MissingDependencyError.of_extra(
            "completion", f"{error}; `crawldedup completion` needs"
        ) from error
    script = shtab.complete(parser(), given.shell)
    if output.as_json:
        output.show({"shell": given.shell, "script": script})
    else:
        # Rich would replace tabs.
        with names_no_room(STANDARD_OUTPUT):
            print(script, file=output.out.file)


def _add_option(
    subparser: argparse.ArgumentParser,
    option: Option,
    defaults: dict[str, Any],
    *,
    is_inherited: bool,
) -> None:
    """Add an option to the parser of a command, with its default and its help.

    If it's inherited from the index, it's only set if it was given.
    """
    # Written as in argparse and most other programs.
    help_text = option.help[0].lower() + option.help[1:].removesuffix(".")
    default = shown = defaults.get(option.name, option.default)
    if option.name == "store":
        # The help doesn't show the value, because the variable may contain a password.
        default = None
        shown = f"the variable {STORE_VARIABLE}, or else {DEFAULT_STORE}"
    if is_inherited:
        default = argparse.SUPPRESS  # If there is a value, it was given.
        shown = "the index's"
    if shown is not None:
        help_text += f" (default: {shown})"
    if option.kind is bool:
        how: dict[str, Any] = {"action": BooleanOptionalAction}
    else:
        how = {
            "type": option.from_text,
            "metavar": {int: "N", float: "X"}.get(option.kind, option.name.upper()),
        }
    subparser.add_argument(flag_of(option.name), default=default, help=help_text, **how)


if __name__ == "__main__":
    sys.exit(main())
