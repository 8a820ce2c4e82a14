"""Commands on whole indexes: freeing what has expired, and copying."""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict
from typing import TYPE_CHECKING

from crawldedup.cli.options import existing_index, make_deduplicator
from crawldedup.cli.output import print_json, progress_bar
from crawldedup.errors import ConfigurationError
from crawldedup.printable import counted
from crawldedup.stores.registry import scheme_of

if TYPE_CHECKING:
    from argparse import Namespace

    from rich.console import Console

    from crawldedup.deduplicator import Deduplicator
    from crawldedup.index import CopyResult


def prune(options: Namespace, out: Console, err: Console) -> int:
    """Free the pages that the time to live and the limit let go."""
    with existing_index(options) as dedup, progress_bar(err, "pruning") as progress:
        freed = dedup.prune(progress=progress)
        pages = dedup.info().pages
    if options.json:
        print_json(out, {"freed": freed, "pages": pages})
    else:
        out.print(f"{counted(freed, 'page')} freed, {pages:,} left")
    return 0


def migrate(options: Namespace, out: Console, err: Console) -> int:
    """Copy an index to another store or namespace."""
    store = options.to_store or options.store
    namespace = options.to_namespace or options.namespace
    if (store, namespace) == (options.store, options.namespace):
        raise ConfigurationError("an index cannot be copied to itself; give --to-store or --to-namespace")
    if scheme_of(store) == "memory":
        raise ConfigurationError("a copy in memory:// would end with this program: name a store that lasts")
    # Not opened yet: a source that is refused must not leave an empty index behind.
    target = closing(make_deduplicator(options, store=store, namespace=namespace))
    with existing_index(options) as source, target as copy, progress_bar(err, "copying") as progress:
        _require_pages(source, options)
        moved = source.copy_to(copy, progress=progress)
    return _print_moved(options, out, moved)


def _require_pages(dedup: Deduplicator, options: Namespace) -> None:
    if not dedup.info().pages:
        raise ConfigurationError(f"the namespace {options.namespace!r} holds no page: there is nothing to copy")


def _print_moved(options: Namespace, out: Console, moved: CopyResult) -> int:
    if options.json:
        print_json(out, asdict(moved))
    else:
        known = moved.pages - moved.added
        out.print(f"{counted(moved.added, 'page')} added" + (f", {known:,} known already" if known else ""))
    return 0
