"""Declare a command of `crawldedup`, without what it takes to run it, and make the index that its options name."""

from __future__ import annotations

import os
from argparse import Namespace
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from crawldedup.errors import ConfigurationError
from crawldedup.options import Options, options_of

if TYPE_CHECKING:
    from crawldedup.deduplicator import Deduplicator

STORE_VARIABLE: Final = "CRAWLDEDUP_STORE"
DEFAULT_STORE: Final = "sqlite:///crawldedup.sqlite"

INDEX_OPTIONS: Final = ("store", "namespace")
PROFILE_OPTIONS: Final = ("extractor", "content", "min_words", "distinguish", "distinguish_params")
"""What an index was made with: every command that asks it needs the same values."""

PARAGRAPH_OPTIONS: Final = ("paragraphs", "paragraph_ttl", "max_paragraphs")

Arguments = dict[str, dict[str, Any]]
"""The names of arguments, and what argparse takes of each."""


def argument(help: str, metavar: str | None = None, **settings: Any) -> dict[str, Any]:
    """Return what argparse takes of an argument."""
    return {"help": help, **({"metavar": metavar} if metavar else {}), **settings}


FIELD_ARGUMENTS: Final[Arguments] = {
    "--url-field": argument("field of a feed with the URL (default: url)", "FIELD", default="url"),
    "--html-field": argument("field of a feed with HTML (default: html or text)", "FIELD"),
    "--text-field": argument("field of a feed with plain text", "FIELD"),
}
_ONE_A_PROCESSOR: Final = "processes that read pages (default: one for each processor)"
WORKERS_ARGUMENT: Final = {"--workers": argument(_ONE_A_PROCESSOR, "N", type=int, default=os.cpu_count() or 1)}
_SOURCES: Final = (
    "file, folder, feed (.jl, .json, .csv, .parquet), .warc or .wacz file, sitemap (.xml), URL, or - for standard "
    "input, which is one page or JSON lines"
)
PAGE_ARGUMENTS: Final[Arguments] = {"pages": argument(_SOURCES, "PAGE", nargs="+"), **FIELD_ARGUMENTS}
_FORMATS: Final = (
    "the rules themselves, or what another tool reads: a file for duplicate-url-discarder, or the deny patterns of a "
    "LinkExtractor (default: rules)"
)
ADVISE_OPTIONS: Final[Arguments] = {
    "--format": argument(_FORMATS, choices=("rules", "duplicate-url-discarder", "deny"), default="rules"),
}


@dataclass(frozen=True, slots=True)
class Command:
    """One command: `options` are names of `kind`; `defaults` are those of their defaults that differ here.

    The function `run` of `module`, which is imported only then, takes what is given and the output. If the command has
    an `index`, a Deduplicator of the options, with these changes, stands before them.
    """

    help: str
    arguments: Arguments = field(default_factory=dict)
    options: tuple[str, ...] = ()
    defaults: dict[str, Any] = field(default_factory=dict)
    description: str = ""
    module: str = ""
    run: str = "run"
    index: dict[str, Any] | None = None
    kind: type[Options] = Options


def flag_of(name: str) -> str:
    """Return how the command line names an option."""
    return f"--{name.replace('_', '-')}"


def checked_options(
    given: Namespace, kind: type[Options] = Options, *, store_flag: str = "--store", **changes: Any
) -> dict[str, Any]:
    """Return the options of a kind that are given, with changes. Raises ConfigurationError, which names the option."""
    declared = {option.name: option for option in options_of(kind)}
    values = {name: getattr(given, name) for name in declared if hasattr(given, name)} | changes
    names = {**{name: flag_of(name) for name in values}, "store": store_flag}
    if "store" in values and values["store"] is None:
        values["store"], names["store"] = os.environ.get(STORE_VARIABLE, DEFAULT_STORE), STORE_VARIABLE
    return {name: declared[name].check(names[name], value) for name, value in values.items()}


def make_deduplicator(given: Namespace, **changes: Any) -> Deduplicator:
    """Make the Deduplicator of a command's options, as `checked_options` returns them. Raises ConfigurationError."""
    from crawldedup.deduplicator import Deduplicator

    checked = checked_options(given, **changes)
    if checked.get("scope") == "spider":
        raise ConfigurationError("--scope is 'spider', but no spider is named here: use `scrapy dedup --spider NAME`")
    return Deduplicator(**checked)
