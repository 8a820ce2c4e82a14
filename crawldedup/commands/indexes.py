"""Commands on an index: its figures, forgetting and clearing; and on what URLs teach: rules that save downloads."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from typing import Any, Final

from rich.table import Table
from rich.text import Text

from crawldedup.advice.evidence import Evidence
from crawldedup.advice.export import deny_patterns, discarder_rules
from crawldedup.advice.kept import NOTE, KeptRules
from crawldedup.advice.mining import mine
from crawldedup.advice.rules import Rule
from crawldedup.commands.output import Output, safe_message
from crawldedup.deduplicator import Deduplicator
from crawldedup.errors import ConfigurationError
from crawldedup.journal import journals
from crawldedup.journal.verdicts import collect
from crawldedup.printable import pluralize, printable
from crawldedup.search.two_stage import expected_recall
from crawldedup.stores.registry import require_index

_UNFIT: Final = {
    "duplicate-url-discarder": "it removes parts of URLs, and cannot replace them",
    "deny": "their pages are linked in no other form, so that no link would lead there",
}


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


def advise(rules: Sequence[Rule], form: str, output: Output) -> None:
    """Show rules as the option `--format` says."""
    if form == "rules":
        output.show([rule.as_dict() for rule in rules], *_lines(rules))
        return
    exported = discarder_rules(rules) if form == "duplicate-url-discarder" else deny_patterns(rules)
    output.show(exported, json.dumps(exported, indent=2))
    if left := len(rules) - len(exported):
        output.error(ConfigurationError(f"{pluralize(left, 'rule')} left out: {_UNFIT[form]}"))


def kept(dedup: Deduplicator) -> Sequence[Rule]:
    """Return the rules that an index keeps."""
    require_existing(dedup)
    return KeptRules.from_text(dedup.note(NOTE)).rules


def mined(sources: Sequence[str], output: Output) -> Sequence[Rule]:
    """Return the rules that journals speak for."""
    evidence = Evidence()
    with ExitStack() as stack, output.progress("reading verdicts") as progress:
        paths = [path for source in sources for path in stack.enter_context(journals(source))]
        unreadable = collect(paths, evidence, lambda pages: progress(pages, None))
    if unreadable:
        output.unreadable(ConfigurationError(f"{pluralize(unreadable, 'line')} cannot be read and were left out"))
    return mine(evidence.pages, evidence.withdrawn)


def _lines(rules: Sequence[Rule]) -> Iterator[str]:
    for rule in rules:
        speaks = f"{pluralize(rule.support, 'content')}, confidence {rule.confidence:.3f}"
        yield f"{printable(rule.site + rule.section)}: {printable(rule.what)} ({speaks})"
        for example, _ in rule.examples[:1]:
            yield f"  such as {printable(example)}"
        if rule.contrary:
            yield f"  although {safe_message(rule.contrary)}"
    if not rules:
        yield "not enough pages speak for any rule"
