"""Options that several commands share, and the Deduplicator they describe."""

from __future__ import annotations

import os
from argparse import BooleanOptionalAction
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Final

from crawldedup.deduplicator import Deduplicator
from crawldedup.evaluation.detectors import EXPECTED_PAGES
from crawldedup.evaluation.methods.spec import DEFAULT_METHOD, METHODS
from crawldedup.evaluation.methods.weighting import DEFAULT_WEIGHTING
from crawldedup.fingerprinting.fingerprint import MIN_WORDS
from crawldedup.options import DISTINGUISH, SCOPES, Options
from crawldedup.page import PageReader
from crawldedup.stores.registry import require_index

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

STORE_VARIABLE: Final = "CRAWLDEDUP_STORE"
_MEMORY_OPTIONS: Final = ("ttl", "ttl_refresh", "max_pages", "store_urls")
PROFILE_OPTIONS: Final = ("extractor", "min_words", "distinguish")
_METHOD_HELP: Final = f"{', '.join(METHODS)}, with options as in 'simhash?distance=3&blocks=5'"
_WEIGHTING_HELP: Final = (
    f"how words count: none, tf, log-tf, damped-tf, tf-idf, tf-idf:FILE or yu (default: {DEFAULT_WEIGHTING})"
)


def add_json_option(parser: ArgumentParser) -> None:
    """--json."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def add_reading_options(parser: ArgumentParser) -> None:
    """How pages are read and compared."""
    parser.add_argument("--similarity", type=float, default=0.9, help="near duplicate from here on (default: 0.9)")
    add_profile_options(parser)


def add_profile_options(parser: ArgumentParser) -> None:
    """What an index was made with; every command that asks it must be told the same."""
    parser.add_argument(
        "--extractor",
        default="trafilatura",
        help="trafilatura, resiliparse, text, or the dotted path of your own (default: trafilatura)",
    )
    parser.add_argument("--min-words", type=int, default=MIN_WORDS, help=f"thin below this (default: {MIN_WORDS})")
    parser.add_argument(
        "--distinguish",
        default=Options().distinguish,
        choices=DISTINGUISH,
        help=f"which pages differ however alike they read (default: {Options().distinguish})",
    )


def add_method_options(parser: ArgumentParser) -> None:
    """Which methods are compared, and with what settings."""
    parser.add_argument(
        "--method",
        action="append",
        metavar="METHOD",
        help=f"{_METHOD_HELP}; repeat it to compare several (default: {DEFAULT_METHOD})",
    )
    parser.add_argument("--weighting", default=DEFAULT_WEIGHTING, help=_WEIGHTING_HELP)
    parser.add_argument("--similarity", type=float, default=0.9, help="near duplicate from here on (default: 0.9)")
    parser.add_argument("--recall", type=float, default=0.98, help="share of them to find (default: 0.98)")
    parser.add_argument(
        "--expected-pages",
        type=int,
        default=EXPECTED_PAGES,
        metavar="N",
        help=f"search as in an index of so many pages (default: {EXPECTED_PAGES:,})",
    )


def add_index_options(parser: ArgumentParser) -> None:
    """Which index is asked."""
    parser.add_argument(
        "--store",
        default=os.environ.get(STORE_VARIABLE, "sqlite:///crawldedup.sqlite"),
        help="sqlite:///path, redis://host:port/db, ... "
        f"(default: the environment's {STORE_VARIABLE}, else sqlite:///crawldedup.sqlite)",
    )
    parser.add_argument("--namespace", default="default", help="name of the index (default: default)")


def add_scope_option(parser: ArgumentParser) -> None:
    """Whose pages a page is compared with."""
    parser.add_argument("--scope", default="global", choices=[name for name in SCOPES if name != "spider"])


def add_ttl_options(parser: ArgumentParser) -> None:
    """How long pages are remembered."""
    parser.add_argument("--ttl", help="forget pages not seen for so long, as in 30d (default: never)")
    parser.add_argument(
        "--ttl-refresh",
        action=BooleanOptionalAction,
        default=True,
        help="count the time from when a page was last seen, rather than from when it was added (default: yes)",
    )


def add_max_pages_option(parser: ArgumentParser) -> None:
    """How many pages are remembered."""
    parser.add_argument(
        "--max-pages", type=int, metavar="N", help="of more pages forget the ones added first (default: no limit)"
    )


def make_deduplicator(options: Namespace, **changes: object) -> Deduplicator:
    """The Deduplicator that the options describe. Raises ConfigurationError."""
    names = ("store", "namespace", "scope", "similarity", *_MEMORY_OPTIONS, *PROFILE_OPTIONS)
    values = {name: getattr(options, name) for name in names if hasattr(options, name)}
    return Deduplicator(**{**values, **changes})


@contextmanager
def existing_index(options: Namespace) -> Iterator[Deduplicator]:
    """The Deduplicator that the options describe, of an index that is there: for commands that only look at one.

    Raises ConfigurationError, which names the indexes that there are, and StoreError.
    """
    with closing(make_deduplicator(options)) as dedup:
        require_index(options.store, options.namespace)
        yield dedup


def make_reader(options: Namespace) -> PageReader:
    """The reader that the options describe. Raises ConfigurationError."""
    return PageReader(Options(**{name: getattr(options, name) for name in PROFILE_OPTIONS}))
