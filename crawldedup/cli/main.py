"""The table of commands, and the parser made from it."""

from __future__ import annotations

import argparse
import os
import re
import sys
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

from crawldedup import __version__
from crawldedup.checks import did_you_mean
from crawldedup.cli.options import OPTION_FLAGS, add_options
from crawldedup.commands.command import ADVISE_OPTIONS, INDEX_OPTIONS, PARAGRAPH_OPTIONS, PROFILE_OPTIONS, Command
from crawldedup.commands.output import run_command
from crawldedup.demo.command import DEMO
from crawldedup.evaluation.command import BENCH_QUALITY
from crawldedup.report.command import DEFAULT_SOURCE, REPORT
from crawldedup.scanning.command import scan_command
from crawldedup.service.command import SERVE

if TYPE_CHECKING:
    from collections.abc import Sequence

_ONE_PAGE: Final = {"metavar": "PAGE", "help": "file, URL, or - for standard input"}
_PAGE: Final = (
    "file, folder, feed (.jl, .json, .csv, .parquet), .warc file, sitemap (.xml), URL, or - for standard input, which "
    "is one page or JSON lines"
)
_FIELDS: Final[dict[str, Any]] = {
    "--url-field": {"metavar": "FIELD", "default": "url", "help": "field of a feed with the URL (default: url)"},
    "--html-field": {"metavar": "FIELD", "help": "field of a feed with HTML (default: html or text)"},
    "--text-field": {"metavar": "FIELD", "help": "field of a feed with plain text"},
}
_PAGES: Final[dict[str, Any]] = {"pages": {"nargs": "+", "metavar": "PAGE", "help": _PAGE}, **_FIELDS}
_PAGES_OR_ONE: Final = _PAGES | {
    "--url": {"metavar": "URL", "help": "the URL of the one page that is given (default: its own)"}
}
_ACCURACY: Final = ("similarity", "recall")
_RETENTION: Final = ("ttl", "ttl_refresh", "max_pages")
_COMPARING: Final = (*_ACCURACY, *PROFILE_OPTIONS)
_OPENING: Final = (*INDEX_OPTIONS, "scope", *PROFILE_OPTIONS)
_ASKING: Final = (*INDEX_OPTIONS, "scope", *_ACCURACY, *PROFILE_OPTIONS, *_RETENTION)

_COMMANDS: Final = {
    "demo": DEMO,
    "check": Command(
        "decide about pages and remember them",
        _PAGES_OR_ONE,
        (*_ASKING, "store_urls", "keep_texts", *PARAGRAPH_OPTIONS),
    ),
    "find": Command("list the remembered pages that resemble a page; remember nothing", {"page": _ONE_PAGE}, _ASKING),
    "explain": Command(
        "show the verdict that a page would get now, and why; remember nothing",
        _PAGES_OR_ONE,
        (*_ASKING, "keep_texts", "paragraphs"),
    ),
    "compare": Command("tell how alike two pages are", {"pages": {"nargs": 2, **_ONE_PAGE}}, _COMPARING),
    "scan": scan_command(_PAGES),
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
                "help": "write to this file, in the form that its name tells (.gz is packed), or - for JSON lines on "
                "standard output",
            },
            "--dropped": {"metavar": "FILE", "help": "write JSON lines that tell what was left out, and why"},
            "--against": {"metavar": "STORE", "help": "leave out what this index knows, too; nothing is added to it"},
            "--force": {"action": "store_true", "help": "replace files that are there already"},
            **_FIELDS,
        },
        ("namespace", "scope", *_COMPARING),
        description="Writes every item that is no copy of an earlier one, in order and unchanged. An item whose page "
        "cannot be compared is kept. Files get their names when they are complete.",
    ),
    "clusters": Command(
        "list the pages of an index with the most duplicates",
        {"--most": {"type": int, "default": 20, "metavar": "N", "help": "so many of them (default: 20)"}},
        (*INDEX_OPTIONS, *PROFILE_OPTIONS),
    ),
    "forget": Command(
        "remove pages from an index",
        {"urls": {"nargs": "+", "metavar": "URL", "help": "a page's URL, as it was crawled"}},
        _OPENING,
    ),
    "clear": Command(
        "remove every page of a namespace, whatever made it",
        {"--yes": {"action": "store_true", "help": "do it"}},
        INDEX_OPTIONS,
    ),
    "prune": Command(
        "free at once the pages that exceed --ttl or --max-pages",
        options=(*INDEX_OPTIONS, *PROFILE_OPTIONS, *_RETENTION, *PARAGRAPH_OPTIONS),
    ),
    "copy": Command(
        "copy an index to another store or namespace",
        {
            "--to-store": {"metavar": "STORE", "help": "copy to this store (default: the same)"},
            "--to-namespace": {"metavar": "NAMESPACE", "help": "copy to this namespace (default: the same name)"},
        },
        _OPENING,
        description="Adds the pages of an index to another one, which may be in use. The first one stays as it is. "
        "Kept texts are copied, too. Both must have been made with the same settings: nothing can be converted.",
    ),
    "info": Command("show the figures of an index", options=(*INDEX_OPTIONS, *PROFILE_OPTIONS)),
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
            **ADVISE_OPTIONS,
        },
        module="crawldedup.commands.advise",
    ),
    "bench quality": BENCH_QUALITY,
    "completion": Command(
        "print a script that completes these commands in a shell",
        {"shell": {"choices": ("bash", "zsh", "tcsh")}},
        description="Prints a script for your shell. For bash: crawldedup completion bash > "
        "~/.local/share/bash-completion/completions/crawldedup. Needs the package shtab.",
        module="crawldedup.cli.completion",
    ),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command, and return its exit status as `run_command` does."""
    with ExitStack() as stack:
        nowhere = stack.enter_context(Path(os.devnull).open("w"))
        # The program that starts this one may have closed them.
        stack.enter_context(redirect_stdout(sys.stdout or nowhere))
        stack.enter_context(redirect_stderr(sys.stderr or nowhere))
        given = parser().parse_args(arguments)
        command = _COMMANDS[given.command]
        return run_command(lambda output: import_module(command.module).run(given, output), as_json=given.json)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Exit with one line instead of the usage, which is long."""
        word = re.search(r"invalid choice: '(.*?)'|unrecognized arguments: (\S+)", message)
        hint = did_you_mean(word[1] or word[2], " ".join((*_COMMANDS, *OPTION_FLAGS.values())).split()) if word else ""
        self.exit(2, f"crawldedup: {message}{hint} (see {self.prog} --help)\n")


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    made = _Parser(prog="crawldedup", description="Recognises near-duplicate pages, during a crawl or anywhere else.")
    made.add_argument("--version", action="version", version=f"crawldedup {__version__}")
    commands = made.add_subparsers(metavar="COMMAND", required=True)
    groups = {"": commands}
    for name, command in _COMMANDS.items():
        group, _, own_name = name.rpartition(" ")
        if group not in groups:
            group_parser = commands.add_parser(group, help="measure on pages of your own")
            groups[group] = group_parser.add_subparsers(metavar="WHAT", required=True)
        description = command.description or f"{command.help[0].upper()}{command.help[1:]}."
        added = groups[group].add_parser(own_name, help=command.help, description=description)
        for argument, settings in command.arguments.items():
            added.add_argument(*argument.split(), **settings)
        add_options(added, command.options, command.defaults)
        added.add_argument("--json", action="store_true", help="print JSON instead of text")
        added.set_defaults(command=name)
    return made
