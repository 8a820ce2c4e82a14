"""Parsing of the command line."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from crawldedup import __version__
from crawldedup.cli import commands, moving
from crawldedup.cli.options import (
    add_index_options,
    add_json_option,
    add_max_pages_option,
    add_method_options,
    add_profile_options,
    add_reading_options,
    add_scope_option,
    add_ttl_options,
)
from crawldedup.cli.output import status_of

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status, as `status_of` tells."""
    with ExitStack() as stack:
        nowhere = stack.enter_context(Path(os.devnull).open("w"))
        # Whoever starts us may have closed them.
        stack.enter_context(redirect_stdout(sys.stdout or nowhere))
        stack.enter_context(redirect_stderr(sys.stderr or nowhere))
        options = _parser().parse_args(arguments)
        out, err = Console(highlight=False, soft_wrap=True), Console(stderr=True, highlight=False, soft_wrap=True)
        return status_of(lambda: options.run(options, out, err), err)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="crawldedup", description="Recognises near-duplicate pages, during a crawl or anywhere else."
    )
    parser.add_argument("--version", action="version", version=f"crawldedup {__version__}")
    add = parser.add_subparsers(metavar="COMMAND", required=True).add_parser

    command = add("demo", help="crawl a local site full of near duplicates, or your own HTML files, and report")
    command.add_argument("--dir", type=Path, metavar="FOLDER", help="crawl this folder of HTML files instead")
    command.add_argument("--store", default="memory://", help="memory:// (default), sqlite:///path, redis://...")
    command.add_argument("--namespace", help="name of the index (default: a new one for this run)")
    command.add_argument("--no-exact", action="store_true", help="skip the exact similarities (with --dir)")
    command.add_argument("--verbose", action="store_true", help="show the log of the crawl")
    add_reading_options(command)
    add_json_option(command)
    command.set_defaults(run=_demo)

    command = add("check", help="decide about pages and remember them")
    command.add_argument("sources", nargs="+", metavar="PAGE", help="file, folder, .jsonl, .warc, URL, or - for stdin")
    command.add_argument("--url", help="the URL to check the page under (default: its own)")
    add_index_options(command)
    add_scope_option(command)
    add_ttl_options(command)
    add_max_pages_option(command)
    command.add_argument(
        "--store-urls", action=argparse.BooleanOptionalAction, default=True, help="remember URLs (default: yes)"
    )
    add_reading_options(command)
    add_json_option(command)
    command.set_defaults(run=commands.check)

    command = add("find", help="list remembered pages that resemble a page; remembers nothing")
    command.add_argument("source", metavar="PAGE", help="file, URL, or - for stdin")
    add_index_options(command)
    add_scope_option(command)
    add_ttl_options(command)
    add_reading_options(command)
    add_json_option(command)
    command.set_defaults(run=commands.find)

    command = add("compare", help="tell how alike two pages are")
    command.add_argument("first", metavar="PAGE")
    command.add_argument("second", metavar="PAGE")
    add_reading_options(command)
    add_json_option(command)
    command.set_defaults(run=commands.compare)

    command = add("scan", help="find the clusters of near duplicates within a collection")
    command.add_argument("sources", nargs="+", metavar="PAGES", help="files, folders, .jsonl or .warc files")
    add_reading_options(command)
    add_json_option(command)
    command.set_defaults(run=commands.scan)

    command = add("forget", help="remove pages from an index")
    command.add_argument("urls", nargs="+", metavar="URL")
    add_index_options(command)
    add_scope_option(command)
    add_profile_options(command)
    add_json_option(command)
    command.set_defaults(run=commands.forget)

    command = add("clear", help="remove every page of a namespace, whatever made it")
    command.add_argument("--yes", action="store_true", help="do it")
    add_index_options(command)
    command.set_defaults(run=commands.clear)

    command = add("prune", help="free at once what a time to live and a limit let go")
    add_index_options(command)
    add_ttl_options(command)
    add_max_pages_option(command)
    add_profile_options(command)
    add_json_option(command)
    command.set_defaults(run=moving.prune)

    command = add(
        "migrate",
        help="copy an index to another store or namespace",
        description="Adds the pages of an index to another one, which may be in use. The first one stays as it is. "
        "Both must have been made with the same settings: texts are not stored, so that nothing can be converted.",
    )
    add_index_options(command)
    command.add_argument("--to-store", metavar="STORE", help="copy to this store (default: the same)")
    command.add_argument("--to-namespace", metavar="NAMESPACE", help="and to this index in it (default: the same name)")
    add_scope_option(command)
    add_profile_options(command)
    add_json_option(command)
    command.set_defaults(run=moving.migrate)

    command = add("info", help="pages and bytes of an index")
    add_index_options(command)
    add_profile_options(command)
    add_json_option(command)
    command.set_defaults(run=commands.info)

    command = add("bench", help="measure on pages of your own")
    measures = command.add_subparsers(metavar="WHAT", required=True)
    command = measures.add_parser(
        "quality",
        help="which pages a method finds, against the exact similarity of all pairs",
        description="Shows pages to a method in their order, and compares what it flags with the exact Jaccard "
        "similarity of all pairs of pages.",
    )
    command.add_argument("source", metavar="SOURCE", help="folder, .jsonl or .warc file (these two may end in .gz)")
    add_method_options(command)
    command.add_argument("--extractor", default="trafilatura", help="for pages that are HTML (default: trafilatura)")
    command.add_argument("--limit", type=int, metavar="N", help="take the first N pages only")
    command.add_argument(
        "--pairs", type=Path, metavar="FILE", help='the exact pairs, as lines of {"a": URL, "b": URL, "j3": 0.5 to 1}'
    )
    command.add_argument("--plot", type=Path, metavar="FILE", help="draw the shares, as .svg or .png")
    command.add_argument("--detail", action="store_true", help="show counts by band, and what was missed")
    add_json_option(command)
    command.set_defaults(run=_bench_quality)
    return parser


def _demo(options: argparse.Namespace, out: Console, err: Console) -> int:
    # Only this command needs Scrapy.
    from crawldedup.cli.demo import demo

    return demo(options, out, err)


def _bench_quality(options: argparse.Namespace, out: Console, err: Console) -> int:
    from crawldedup.cli.bench import quality

    return quality(options, out, err)
