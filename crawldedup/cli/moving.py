"""Commands on whole indexes: freeing what has expired, writing to a file, reading it again, copying."""

from __future__ import annotations

import sys
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from crawldedup.cli.options import make_deduplicator, refuse_missing
from crawldedup.cli.output import give_up_output, print_json, progress_bar
from crawldedup.errors import ConfigurationError, PortableFileError
from crawldedup.printable import printable

if TYPE_CHECKING:
    from argparse import Namespace

    from rich.console import Console

    from crawldedup.deduplicator import Deduplicator, Moved

_STANDARD = "-"


def prune(options: Namespace, out: Console, err: Console) -> int:
    """Free the pages that the time to live and the limit let go."""
    refuse_missing(options.store)
    with closing(make_deduplicator(options)) as dedup, progress_bar(err, "pruning") as progress:
        freed = dedup.prune(progress=progress)
        pages = dedup.info().pages
    if options.json:
        print_json(out, {"freed": freed, "pages": pages})
    else:
        out.print(f"{freed:,} pages freed, {pages:,} are left")
    return 0


def export(options: Namespace, out: Console, err: Console) -> int:
    """Write an index to a file."""
    refuse_missing(options.store)
    if options.file == _STANDARD and sys.stdout.isatty():
        raise ConfigurationError("an exported index is not for terminals: name a file, or redirect the output")
    with closing(make_deduplicator(options)) as dedup, progress_bar(err, "exporting") as progress:
        if Path(options.file).is_file():
            # Or a misspelt namespace would replace the last good file by an empty one.
            _require_pages(dedup, options)
        file = sys.stdout.buffer if options.file == _STANDARD else options.file
        try:
            pages = dedup.export_to(file, progress=progress)
            sys.stdout.flush()
        except BrokenPipeError:
            give_up_output()
            raise PortableFileError("the reader left before the index was written whole") from None
    # Standard output is the file.
    said, name = (err, "standard output") if options.file == _STANDARD else (out, printable(options.file))
    if options.json:
        print_json(said, {"pages": pages, "file": options.file})
    else:
        said.print(Text(f"{pages:,} pages written to {name}"))
    return 0


def import_index(options: Namespace, out: Console, err: Console) -> int:
    """Add the pages of a file to an index."""
    file = sys.stdin.buffer if options.file == _STANDARD else options.file
    # Not opened yet: a file that is refused must not leave an empty index behind.
    with closing(make_deduplicator(options)) as dedup, progress_bar(err, "importing") as progress:
        moved = dedup.import_from(file, progress=progress)
    return _print_moved(options, out, moved)


def migrate(options: Namespace, out: Console, err: Console) -> int:
    """Copy an index to another store or namespace."""
    store = options.to_store or options.store
    namespace = options.to_namespace or options.namespace
    if (store, namespace) == (options.store, options.namespace):
        raise ConfigurationError("an index cannot be copied to itself; give --to-store or --to-namespace")
    refuse_missing(options.store)
    # Not opened yet: a source that is refused must not leave an empty index behind.
    target = closing(make_deduplicator(options, store=store, namespace=namespace))
    with closing(make_deduplicator(options)) as source, target as copy, progress_bar(err, "copying") as progress:
        _require_pages(source, options)
        moved = source.copy_to(copy, progress=progress)
    return _print_moved(options, out, moved)


def _require_pages(dedup: Deduplicator, options: Namespace) -> None:
    if not dedup.info().pages:
        raise ConfigurationError(f"the namespace {options.namespace!r} holds no page: there is nothing to copy")


def _print_moved(options: Namespace, out: Console, moved: Moved) -> int:
    if options.json:
        print_json(out, asdict(moved))
    else:
        known = moved.pages - moved.added
        out.print(f"{moved.added:,} pages added" + (f", {known:,} were known already" if known else ""))
    return 0
