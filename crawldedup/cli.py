"""The command line: `crawldedup --help`. Each command is declared beside the function that runs it.

Their modules are imported when they run: `--help` waits for neither Scrapy nor numpy.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from argparse import BooleanOptionalAction, Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, nullcontext, redirect_stderr, redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

from crawldedup import __version__, commands
from crawldedup.checks import did_you_mean
from crawldedup.commands.command import ADVISE_OPTIONS, INDEX_OPTIONS, PARAGRAPH_OPTIONS, PROFILE_OPTIONS, Command
from crawldedup.commands.output import Output, run_command
from crawldedup.demo import DEMO
from crawldedup.errors import ConfigurationError
from crawldedup.measure import BENCH
from crawldedup.options import options_of
from crawldedup.report.command import DEFAULT_SOURCE, REPORT
from crawldedup.scan.command import SCAN
from crawldedup.service.command import SERVE, serve

if TYPE_CHECKING:
    from crawldedup.commands.sources import Fields
    from crawldedup.deduplicator import Deduplicator
    from crawldedup.page import Page

    _Arguments = dict[str, dict[str, Any]]
    Run = Callable[[Deduplicator, Namespace, Output], None]

STORE_VARIABLE: Final = "CRAWLDEDUP_STORE"
DEFAULT_STORE: Final = "sqlite:///crawldedup.sqlite"

_OPTIONS: Final = {option.name: option for option in options_of()}
_FLAGS: Final = {name: f"--{name.replace('_', '-')}" for name in _OPTIONS}
_ONE_PAGE: Final = {"metavar": "PAGE", "help": "file, URL, or - for standard input"}
_FIELDS: Final[dict[str, Any]] = {
    "--url-field": {"metavar": "FIELD", "default": "url", "help": "field of a feed with the URL (default: url)"},
    "--html-field": {"metavar": "FIELD", "help": "field of a feed with HTML (default: html or text)"},
    "--text-field": {"metavar": "FIELD", "help": "field of a feed with plain text"},
}
_PAGES: Final[dict[str, Any]] = {
    "pages": {
        "nargs": "+",
        "metavar": "PAGE",
        "help": "file, folder, feed (.jl, .json, .csv, .parquet), .warc file, sitemap (.xml), URL, or - for standard "
        "input, which is one page or JSON lines",
    },
    **_FIELDS,
}
_PAGES_OR_ONE: Final = _PAGES | {
    "--url": {"metavar": "URL", "help": "the URL of the one page that is given (default: its own)"}
}
_DETAIL: Final[dict[str, Any]] = {
    "--detail": {"action": "store_true", "help": "show the numbers behind it: costs, probes and search bits"}
}
_INDEX: Final = (*INDEX_OPTIONS, *PROFILE_OPTIONS)
_COMPARING: Final = ("similarity", "recall", *PROFILE_OPTIONS)
_ASKING: Final = (*INDEX_OPTIONS, "scope", *_COMPARING, "ttl", "ttl_refresh", "max_pages")

_COMMANDS: Final[dict[str, Command]] = {"demo": DEMO}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command, and return its exit status as `run_command` does."""
    with ExitStack() as stack:
        nowhere = stack.enter_context(Path(os.devnull).open("w"))
        # The program that starts this one may have closed them.
        stack.enter_context(redirect_stdout(sys.stdout or nowhere))
        stack.enter_context(redirect_stderr(sys.stderr or nowhere))
        given = parser().parse_args(arguments)
        command = _COMMANDS[given.command]
        return run_command(
            lambda output: (command.run or import_module(command.module).run)(given, output), as_json=given.json
        )


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Exit with one line instead of the usage, which is long."""
        word = re.search(r"invalid choice: '(.*?)'|unrecognized arguments: (\S+)", message)
        hint = did_you_mean(word[1] or word[2], " ".join((*_COMMANDS, *_FLAGS.values())).split()) if word else ""
        self.exit(2, f"crawldedup: {message}{hint} (see {self.prog} --help)\n")


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    made = _Parser(prog="crawldedup", description="Recognises near-duplicate pages, during a crawl or anywhere else.")
    made.add_argument("--version", action="version", version=f"crawldedup {__version__}")
    added_to = made.add_subparsers(metavar="COMMAND", required=True)
    for name, command in _COMMANDS.items():
        description = command.description or f"{command.help[0].upper()}{command.help[1:]}."
        added = added_to.add_parser(name, help=command.help, description=description)
        for argument, settings in command.arguments.items():
            added.add_argument(*argument.split(), **settings)
        for option in command.options:
            _add_option(added, option, command.defaults)
        added.add_argument("--json", action="store_true", help="print JSON instead of text")
        added.set_defaults(command=name)
    return made


def _add_option(added: argparse.ArgumentParser, name: str, defaults: dict[str, Any]) -> None:
    option = _OPTIONS[name]
    # As argparse and most programs write help.
    help_text = option.help[0].lower() + option.help[1:].removesuffix(".")
    default = shown = defaults.get(name, option.default)
    if name == "store" and name not in defaults:
        # Not the value: the environment's may hold a password.
        default, shown = None, f"the environment's {STORE_VARIABLE}, else {DEFAULT_STORE}"
    if shown is not None:
        help_text += f" (default: {shown})"
    if option.kind is bool:
        how: dict[str, Any] = {"action": BooleanOptionalAction}
    else:
        how = {"type": option.from_text, "metavar": {int: "N", float: "X"}.get(option.kind, name.upper())}
    added.add_argument(_FLAGS[name], default=default, help=help_text, **how)


def _deduplicator(given: Namespace, *, store_flag: str = "--store", **changes: Any) -> Deduplicator:
    """Make the Deduplicator of a command's options. Raises ConfigurationError, which names the option."""
    from crawldedup.deduplicator import Deduplicator

    values = {name: getattr(given, name) for name in _OPTIONS if hasattr(given, name)} | changes
    names = {**_FLAGS, "store": store_flag}
    if "store" in values and values["store"] is None:
        values["store"], names["store"] = os.environ.get(STORE_VARIABLE, DEFAULT_STORE), STORE_VARIABLE
    checked = {name: _OPTIONS[name].check(names[name], value) for name, value in values.items()}
    if checked.get("scope") == "spider":
        raise ConfigurationError("--scope is 'spider', but no spider is named here: use `scrapy dedup --spider NAME`")
    return Deduplicator(**checked)


def _command(
    name: str, help: str, arguments: _Arguments, options: tuple[str, ...], *, description: str = "", **changes: Any
) -> Callable[[Run], Run]:
    """Declare a command, whose function takes a Deduplicator made from the options with these `changes`."""

    def declare(run: Run) -> Run:
        def with_deduplicator(given: Namespace, output: Output) -> None:
            with closing(_deduplicator(given, **changes)) as dedup:
                run(dedup, given, output)

        _COMMANDS[name] = Command(help, arguments, options, description=description, run=with_deduplicator)
        return run

    return declare


def _fields(given: Namespace) -> Fields:
    return commands.sources.Fields(given.url_field, given.html_field, given.text_field)


def _pages(given: Namespace, output: Output) -> Iterator[Page]:
    return commands.sources.under_url(
        commands.sources.readable_sources(given.pages, output.unreadable, _fields(given)), given.url
    )


@_command(
    "check",
    "decide about pages and remember them",
    _PAGES_OR_ONE,
    (*_ASKING, "store_urls", "keep_texts", *PARAGRAPH_OPTIONS),
)
def _check(dedup: Deduplicator, given: Namespace, output: Output) -> None:
    commands.pages.check(dedup, _pages(given, output), output)


@_command("find", "list the remembered pages that resemble a page; remember nothing", {"page": _ONE_PAGE}, _ASKING)
def _find(dedup: Deduplicator, given: Namespace, output: Output) -> None:
    commands.pages.find(dedup, commands.sources.single_source(given.page), output)


@_command(
    "explain",
    "show the verdict that a page would get now, and why; remember nothing",
    {**_PAGES_OR_ONE, **_DETAIL},
    (*_ASKING, "keep_texts", "paragraphs"),
)
def _explain(dedup: Deduplicator, given: Namespace, output: Output) -> None:
    commands.pages.explain(dedup, _pages(given, output), output, detail=given.detail)


@_command(
    "compare",
    "tell how alike two pages are",
    {
        "pages": {"nargs": 2, **_ONE_PAGE},
        "--store": {"metavar": "STORE", "help": "decide as this index does, by its key (default: as ten indexes do)"},
        **_DETAIL,
    },
    ("namespace", *_COMPARING),
    store="memory://",
    key=0,
)
def _compare(dedup: Deduplicator, given: Namespace, output: Output) -> None:
    first, second = map(commands.sources.single_source, given.pages)
    is_index = given.store is not None
    with closing(_deduplicator(given)) if is_index else nullcontext(dedup) as index:
        if is_index:
            commands.indexes.require_existing(index)
        commands.pages.compare(index, first, second, output, is_index=is_index, detail=given.detail)


# Two runs are compared alike everywhere.
@_command(
    "scan", SCAN.help, _PAGES | SCAN.arguments, SCAN.options, description=SCAN.description, store="memory://", key=0
)
def _scan(dedup: Deduplicator, given: Namespace, output: Output) -> None:
    from crawldedup.scan.run import scan

    scan(dedup, given, output)


@_command(
    "filter",
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
        **_FIELDS,
    },
    ("namespace", "scope", *_COMPARING),
    description="Writes every item that is no copy of an earlier one, in order and unchanged. An item whose page "
    "cannot be compared is kept. Files get their names when they are complete.",
    key=0,
)
def _filter(dedup: Deduplicator, given: Namespace, output: Output) -> None:
    form = commands.filtering.check_files(given)
    with ExitStack() as stack:
        index = None
        if given.against is not None:
            index = stack.enter_context(closing(_deduplicator(given, store=given.against, store_flag="--against")))
            commands.indexes.require_existing(index)
            # Of other keys no fingerprints can be compared.
            dedup = stack.enter_context(closing(_deduplicator(given, key=index.key.secret or 0)))
        commands.filtering.filter_items(dedup, index, form, given, _fields(given), output)


@_command(
    "forget",
    "remove pages from an index",
    {"urls": {"nargs": "+", "metavar": "URL", "help": "a page's URL, as it was crawled"}},
    (*_INDEX, "scope"),
)
def _forget(dedup: Deduplicator, given: Namespace, output: Output) -> None:
    commands.indexes.forget(dedup, [(url, None, None) for url in given.urls], output)


@_command(
    "clear",
    "remove every page of a namespace, whatever made it",
    {"--yes": {"action": "store_true", "help": "do it"}},
    INDEX_OPTIONS,
)
def _clear(dedup: Deduplicator, given: Namespace, output: Output) -> None:
    commands.indexes.clear(dedup, output, yes=given.yes)


@_command("info", "show the figures of an index", {}, _INDEX)
def _info(dedup: Deduplicator, _: Namespace, output: Output) -> None:
    commands.indexes.info(dedup, output)


@_command("serve", SERVE.help, SERVE.arguments, SERVE.options)
def _serve(dedup: Deduplicator, given: Namespace, _: Output) -> None:
    serve(dedup, given)


_COMMANDS["report"] = REPORT


_COMMANDS["advise"] = Command(
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
)
_COMMANDS["bench"] = BENCH

if __name__ == "__main__":
    sys.exit(main())
