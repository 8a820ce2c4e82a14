"""Commands on an index: its figures, forgetting, pruning, clearing and copying."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from crawldedup.commands.output import safe_message
from crawldedup.errors import ConfigurationError
from crawldedup.printable import pluralize, printable
from crawldedup.search.query import expected_recall
from crawldedup.stores.registry import is_persistent, require_index

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawldedup.commands.output import Output
    from crawldedup.deduplicator import Deduplicator
    from crawldedup.page import PageRef


def require_existing(dedup: Deduplicator) -> None:
    """Raise ConfigurationError, which lists the existing indexes, unless this one exists. Raises StoreError."""
    require_index(dedup.options.store, dedup.options.namespace)


def info(dedup: Deduplicator, output: Output) -> None:
    """Show the figures of an index."""
    require_existing(dedup)
    figures: dict[str, Any] = asdict(dedup.info())
    for name in ("bytes", "table_bytes"):
        figures[f"{name}_a_page"] = round(figures[name] / figures["pages"], 1) if figures["pages"] else None
    options, pages = dedup.options, figures["pages"] // (figures["partitions"] or 1)
    recall = expected_recall(similarity=options.similarity, recall=options.recall, pages=pages)
    figures["expected_recall"] = round(recall, 3)
    table = Table(show_header=False)
    table.add_column()
    # A profile that is cut off could not be compared with another.
    table.add_column(overflow="fold")
    for name, value in figures.items():
        if name != "warnings" and value is not None:
            shown = f"{value:,}" if isinstance(value, int | float) else printable(str(value))
            table.add_row(name.replace("_", " "), Text(shown))
    output.show(figures, table, *(f"warning: {safe_message(warning)}" for warning in figures["warnings"]))


def clusters(dedup: Deduplicator, output: Output, *, most: int) -> None:
    """Show the pages with the most duplicates."""
    require_existing(dedup)
    with output.progress("reading") as progress:
        found = dedup.clusters(most, progress=progress)
    shown = [f"{cluster.copies:>9,}  {printable(cluster.url) or 'a page without URL'}" for cluster in found]
    header = "   copies  of" if found else "no duplicate of a page in this index was seen"
    output.show([asdict(cluster) for cluster in found], header, *shown)


def forget(dedup: Deduplicator, pages: Sequence[PageRef], output: Output) -> None:
    """Remove pages by name."""
    require_existing(dedup)
    removed = sum(dedup.forget(page.url, identity=page.identity, scope_key=page.scope_key) for page in pages)
    verb = "was" if len(pages) == 1 else "were"
    output.show({"forgotten": removed}, f"{removed:,} of {pluralize(len(pages), 'page')} {verb} known and forgotten")


def prune(dedup: Deduplicator, output: Output, *, hint: str) -> None:
    """Free the pages that exceed the time to live or the limit. `hint` ends an error, as in "give --ttl"."""
    options = dedup.options
    if options.ttl is options.max_pages is options.paragraphs is None:
        raise ConfigurationError(f"there is nothing to prune by: {hint}")
    require_existing(dedup)
    with output.progress("pruning") as progress:
        freed = dedup.prune(progress=progress)
    pages = dedup.info().pages
    output.show({"freed": freed, "pages": pages}, f"{pluralize(freed, 'page')} freed, {pages:,} left")


def clear(dedup: Deduplicator, output: Output, *, yes: bool) -> None:
    """Remove every page of a namespace. Raises ConfigurationError unless `yes`."""
    namespace = dedup.options.namespace
    if not yes:
        raise ConfigurationError(
            f"this removes every page of the namespace {namespace!r}; add --yes if that is what you want"
        )
    require_existing(dedup)
    dedup.clear()
    output.show({"cleared": namespace}, f"the namespace {namespace} is empty now")


def copy(source: Deduplicator, target: Deduplicator, output: Output) -> None:
    """Add the pages of an index to another, which is opened only when there are pages to copy."""
    namespace = source.options.namespace
    if (source.options.store, namespace) == (target.options.store, target.options.namespace):
        raise ConfigurationError("an index cannot be copied to itself; give --to-store or --to-namespace")
    if not is_persistent(target.options.store):
        raise ConfigurationError("a copy in memory:// would end with this program: name a store that lasts")
    require_existing(source)
    if not source.info().pages:
        raise ConfigurationError(f"the namespace {namespace!r} holds no page: there is nothing to copy")
    with output.progress("copying") as progress:
        copied = source.copy_to(target, progress=progress)
    known = copied.pages - copied.added
    already = f", {known:,} known already" if known else ""
    output.show(asdict(copied), f"{pluralize(copied.added, 'page')} added{already}")
