"""Run the commands on pages and indexes: make sources and a Deduplicator of what the command line gives."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any, Final

from crawldedup.cli.options import make_deduplicator
from crawldedup.commands import indexes, pages
from crawldedup.commands.advise import advise, kept, mined
from crawldedup.commands.compare import compare
from crawldedup.commands.explain import explain
from crawldedup.commands.feeds import Fields
from crawldedup.commands.filtering.files import Files
from crawldedup.commands.filtering.run import filter_items
from crawldedup.commands.sources import readable_sources, single_source, under_url
from crawldedup.page import PageRef
from crawldedup.scanning.run import scan
from crawldedup.service.command import serve
from crawldedup.stores.registry import MissingIndexError

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterator

    from crawldedup.commands.output import Output
    from crawldedup.commands.sources import Source
    from crawldedup.deduplicator import Deduplicator


def run(given: Namespace, output: Output) -> None:
    """Run the command that was given."""
    # Two runs are compared alike everywhere.
    changes: dict[str, Any] = {}
    if given.command == "scan":
        changes = {"store": given.into, "store_flag": "--into"} if given.into else {"store": "memory://", "key": 0}
    elif given.command == "filter":
        changes = {"key": 0}
    with closing(make_deduplicator(given, **changes)) as dedup:
        try:
            _RUN[given.command](dedup, given, output)
        except MissingIndexError as error:
            # Some commands name their index by another option.
            if getattr(given, "store", "") is not None:
                raise
            raise MissingIndexError(f"{error}; name another store by --store") from None


def _pages(given: Namespace, output: Output) -> Iterator[Source]:
    return under_url(_sources(given, output), given.url)


def _sources(given: Namespace, output: Output) -> Iterator[Source]:
    return readable_sources(given.pages, output.unreadable, _fields(given))


def _filter(dedup: Deduplicator, given: Namespace, output: Output) -> None:
    files = Files(tuple(given.inputs), given.output, given.dropped, given.force)
    if given.against is None:
        filter_items(dedup, None, files, _fields(given), output)
        return
    with closing(make_deduplicator(given, store=given.against, store_flag="--against")) as index:
        indexes.require_existing(index)
        # Of other keys no fingerprints can be compared.
        with closing(make_deduplicator(given, key=index.key.secret or 0)) as own:
            filter_items(own, index, files, _fields(given), output)


def _fields(given: Namespace) -> Fields:
    return Fields(given.url_field, given.html_field, given.text_field)


def _copy(source: Deduplicator, given: Namespace, output: Output) -> None:
    store, namespace = given.to_store or source.options.store, given.to_namespace or source.options.namespace
    with closing(make_deduplicator(given, store=store, namespace=namespace)) as target:
        indexes.copy(source, target, output)


_RUN: Final[dict[str, Callable[[Deduplicator, Namespace, Output], None]]] = {
    "check": lambda dedup, given, output: pages.check(dedup, _pages(given, output), output),
    "find": lambda dedup, given, output: pages.find(dedup, single_source(given.page), output),
    "compare": lambda dedup, given, output: compare(dedup.options, *map(single_source, given.pages), output=output),
    "scan": scan,
    "explain": lambda dedup, given, output: explain(dedup, _pages(given, output), output),
    "filter": _filter,
    "clusters": lambda dedup, given, output: indexes.clusters(dedup, output, most=given.most),
    "forget": lambda dedup, given, output: indexes.forget(dedup, list(map(PageRef, given.urls)), output),
    "clear": lambda dedup, given, output: indexes.clear(dedup, output, yes=given.yes),
    "prune": lambda dedup, _, output: indexes.prune(dedup, output, hint="give --ttl or --max-pages"),
    "copy": _copy,
    "advise": lambda dedup, given, output: advise(
        mined(given.sources, output) if given.sources else kept(dedup), given.format, output
    ),
    "info": lambda dedup, _, output: indexes.info(dedup, output),
    "serve": lambda dedup, given, _: serve(dedup, given),
}
