"""The command line: `crawldedup --help`.

The modules of commands are imported when they run: `--help` waits for neither Scrapy nor numpy.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from argparse import BooleanOptionalAction, Namespace
from collections.abc import Sequence
from contextlib import closing, redirect_stderr, redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NoReturn

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
    STORE_VARIABLE,
    WORKERS_ARGUMENT,
    Command,
    flag_of,
    make_deduplicator,
)
from crawldedup.commands.output import Output, run_command
from crawldedup.demo import DEMO
from crawldedup.measure import BENCH
from crawldedup.options import Option, options_of
from crawldedup.report.command import DEFAULT_SOURCE, REPORT
from crawldedup.scan.command import SCAN
from crawldedup.service.command import SERVE

_ONE_PAGE: Final = {"metavar": "PAGE", "help": "file, URL, or - for standard input"}
_PAGES_OR_ONE: Final = PAGE_ARGUMENTS | {
    "--url": {"metavar": "URL", "help": "the URL of the one page that is given (default: its own)"}
}
_DETAIL: Final[dict[str, Any]] = {
    "--detail": {"action": "store_true", "help": "show the numbers behind it: costs, probes and search bits"}
}
_COMPARED_STORE: Final = {
    "metavar": "STORE",
    "help": "decide as this index does, by its key (default: as ten indexes do)",
}
_INDEX: Final = (*INDEX_OPTIONS, *PROFILE_OPTIONS)
_COMPARING: Final = ("similarity", "recall", *PROFILE_OPTIONS)
_ASKING: Final = (*INDEX_OPTIONS, "scope", *_COMPARING, "ttl", "ttl_refresh", "max_pages")


def _about_pages(
    run: str, help: str, arguments: dict[str, dict[str, Any]], options: tuple[str, ...], **index: Any
) -> Command:
    """Declare a command on pages or an index, which it takes with these changes of its options."""
    return Command(help, arguments, options, module="crawldedup.commands.pages", run=run, index=index)


_COMMANDS: Final[dict[str, Command]] = {
    "demo": DEMO,
    "check": _about_pages(
        "check",
        "decide about pages and remember them",
        _PAGES_OR_ONE,
        (*_ASKING, "store_urls", "keep_texts", *PARAGRAPH_OPTIONS),
    ),
    "find": _about_pages(
        "find", "list the remembered pages that resemble a page; remember nothing", {"page": _ONE_PAGE}, _ASKING
    ),
    "explain": _about_pages(
        "explain_given",
        "show the verdict that a page would get now, and why; remember nothing",
        _PAGES_OR_ONE | _DETAIL,
        (*_ASKING, "keep_texts", "paragraphs"),
    ),
    "compare": _about_pages(
        "compare",
        "tell how alike two pages are",
        {"pages": {"nargs": 2, **_ONE_PAGE}, "--store": _COMPARED_STORE, **_DETAIL},
        ("namespace", *_COMPARING),
        store="memory://",
        key=0,
    ),
    "scan": SCAN,
    "filter": Command(
        "write a feed or web archive again, without the copies in it",
        {
            "inputs": {
                "nargs": "+",
                "metavar": "IN",
                "help": "feed (.jl, .json, .csv, .parquet) or .warc file, or - for JSON lines from standard input",
            },
            "-o --output": {
                "required": True,
                "metavar": "OUT",
                "help": "write to this file, in the form of what is read (.gz is packed), or - for JSON lines on "
                "standard output",
            },
            "--dropped": {"metavar": "FILE", "help": "write JSON lines that tell what was left out, and why"},
            "--against": {"metavar": "STORE", "help": "leave out what this index knows, too; nothing is added to it"},
            "--force": {"action": "store_true", "help": "replace files that are there already"},
            **FIELD_ARGUMENTS,
            **WORKERS_ARGUMENT,
        },
        ("namespace", "scope", *_COMPARING),
        description="Writes every item that is no copy of an earlier one, in order and unchanged. An item whose page "
        "cannot be compared is kept. Files get their names when they are complete.",
        module="crawldedup.commands.filtering",
        run="filter_items",
        index={"key": 0},
    ),
    "forget": _about_pages(
        "forget_given",
        "remove pages from an index",
        {"urls": {"nargs": "+", "metavar": "URL", "help": "a page's URL, as it was crawled"}},
        (*_INDEX, "scope"),
    ),
    "clear": _about_pages(
        "clear",
        "remove every page of a namespace, whatever made it",
        {"--yes": {"action": "store_true", "help": "do it"}},
        INDEX_OPTIONS,
    ),
    "info": _about_pages("info", "show the figures of an index", {}, _INDEX),
    "serve": SERVE,
    "report": REPORT,
    "advise": Command(
        "tell which downloads a crawl can save, by rules for its URLs",
        {
            "sources": {
                "nargs": "*",
                "default": [DEFAULT_SOURCE],
                "metavar": "JOURNAL",
                "help": f"journals of one crawl, or a folder, whose last crawl counts (default: {DEFAULT_SOURCE})",
            },
            "-o --output": {"metavar": "FILE", "help": "write them into this file, as CRAWLDEDUP_RULES reads it"},
            "--crawl": {"metavar": "NAME", "help": "read this crawl (default: the last one)"},
            **ADVISE_OPTIONS,
        },
        module="crawldedup.commands.advise",
    ),
    "bench": BENCH,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command, and return its exit status as `run_command` does."""
    # The program that starts this one may have closed its standard output and error.
    with (
        Path(os.devnull).open("w") as nowhere,
        redirect_stdout(sys.stdout or nowhere),
        redirect_stderr(sys.stderr or nowhere),
    ):
        given = parser().parse_args(arguments)
        command = _COMMANDS[given.command]
        return run_command(lambda output: _run(command, given, output), as_json=given.json)


def _run(command: Command, given: Namespace, output: Output) -> None:
    run = getattr(import_module(command.module), command.run)
    if command.index is None:
        run(given, output)
        return
    with closing(make_deduplicator(given, **command.index)) as dedup:
        run(dedup, given, output)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Exit with one line instead of the usage, which is long."""
        word = re.search(r"invalid choice: '(.*?)'|unrecognized arguments: (\S+)", message)
        names = (*_COMMANDS, *(flag_of(each.name) for each in options_of()))
        hint = did_you_mean(word[1] or word[2], names) if word else ""
        self.exit(2, f"crawldedup: {message}{hint} (see {self.prog} --help)\n")


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    root = _Parser(prog="crawldedup", description="Recognises near-duplicate pages, during a crawl or anywhere else.")
    root.add_argument("--version", action="version", version=f"crawldedup {__version__}")
    subparsers = root.add_subparsers(metavar="COMMAND", required=True)
    for name, command in _COMMANDS.items():
        description = command.description or f"{command.help[0].upper()}{command.help[1:]}."
        subparser = subparsers.add_parser(name, help=command.help, description=description)
        for argument, settings in command.arguments.items():
            subparser.add_argument(*argument.split(), **settings)
        declared = {option.name: option for option in options_of(command.kind)}
        for option in command.options:
            _add_option(subparser, declared[option], command.defaults)
        subparser.add_argument("--json", action="store_true", help="print JSON instead of text")
        subparser.set_defaults(command=name)
    return root


def _add_option(subparser: argparse.ArgumentParser, option: Option, defaults: dict[str, Any]) -> None:
    # As argparse and most programs write help.
    help_text = option.help[0].lower() + option.help[1:].removesuffix(".")
    default = shown = defaults.get(option.name, option.default)
    if option.name == "store":
        # Not the value: the environment's may hold a password.
        default, shown = None, f"the environment's {STORE_VARIABLE}, else {DEFAULT_STORE}"
    if shown is not None:
        help_text += f" (default: {shown})"
    if option.kind is bool:
        how: dict[str, Any] = {"action": BooleanOptionalAction}
    else:
        how = {"type": option.from_text, "metavar": {int: "N", float: "X"}.get(option.kind, option.name.upper())}
    subparser.add_argument(flag_of(option.name), default=default, help=help_text, **how)


if __name__ == "__main__":
    sys.exit(main())
