"""Commands on an index: its figures, forgetting and clearing."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from crawldedup.commands.output import Output, safe_message
from crawldedup.deduplicator import Deduplicator
from crawldedup.errors import ConfigurationError
from crawldedup.printable import pluralize, printable
from crawldedup.search.query import expected_recall
from crawldedup.stores.registry import require_index


def require_existing(dedup: Deduplicator) -> None:
    """Raise ConfigurationError, which lists the existing indexes, unless this one exists. Raises StoreError."""
    require_index(dedup.options.store, dedup.options.namespace)


def info(dedup: Deduplicator, output: Output) -> None:
    """Show the figures of an index."""
    require_existing(dedup)
    figures: dict[str, Any] = asdict(dedup.info())
    for name in ("bytes", "table_bytes"):
        figures[f"{name}_a_page"] = round(figures[name] / figures["pages"], 1) if figures["pages"] else None
    options = dedup.options
    recall = expected_recall(similarity=options.similarity, recall=options.recall, pages=figures["pages"])
    figures["expected_recall"] = round(recall, 3)
    lines = [
        f"{name.replace('_', ' '):20} " + (f"{value:,}" if isinstance(value, int | float) else printable(str(value)))
        for name, value in figures.items()
        if name != "warnings" and value is not None
    ]
    output.show(figures, *lines, *(f"warning: {safe_message(warning)}" for warning in figures["warnings"]))


def forget(dedup: Deduplicator, pages: Sequence[tuple[str, str | None, str | None]], output: Output) -> None:
    """Remove pages by their URLs, identities and scope keys."""
    require_existing(dedup)
    removed = sum(dedup.forget(url, identity=identity, scope_key=scope_key) for url, identity, scope_key in pages)
    verb = "was" if len(pages) == 1 else "were"
    output.show({"forgotten": removed}, f"{removed:,} of {pluralize(len(pages), 'page')} {verb} known and forgotten")


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
