"""`crawldedup advise`: which downloads a crawl can save, by rules for its URLs."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path

from crawldedup.advice.export import Export, export, for_discarder, for_link_extractor
from crawldedup.advice.mining import mine
from crawldedup.advice.rules import Rule
from crawldedup.commands.output import Output, safe_message
from crawldedup.errors import ConfigurationError, pluralize, printable
from crawldedup.journal import find_journals


def run(given: Namespace, output: Output) -> None:
    """Show or write the rules that the journals speak for. Raises ConfigurationError and OSError."""
    # Here, so that `--help` does not wait for DuckDB.
    from crawldedup.report.queries import Database

    journals = find_journals(given.sources, given.crawl)
    with output.shares() as progress, Database(progress) as database:
        unreadable = database.load(journals)
        pages, withdrawn = database.evidence()
    if unreadable:
        output.unreadable(ConfigurationError(f"{pluralize(unreadable, 'line')} cannot be read and were left out"))
    rules = mine(pages, withdrawn)
    if given.format == "rules":
        exported = Export([rule.as_dict() for rule in rules], 0, {})
    else:
        written = for_discarder if given.format == "duplicate-url-discarder" else for_link_extractor
        exported = export(rules, pages, written)
    text = json.dumps(exported.rules, indent=2)
    if given.output is not None:
        Path(given.output).write_text(f"{text}\n", "ascii")
        words = f"{pluralize(len(exported.rules), 'rule')} written into {printable(str(given.output))}"
        output.show({"output": str(given.output), "rules": len(exported.rules)}, words)
    else:
        output.show(exported.rules, *(_lines(rules) if given.format == "rules" else [text]))
    notes = [f"the rule {name} is left out: {reason}" for name, reason in exported.left_out.items()]
    if exported.saved:
        notes.append(f"these would have saved {exported.saved:,} of {pluralize(len(pages), 'page')}")
    for note in notes:
        output.error(ConfigurationError(note))


def _lines(rules: Sequence[Rule]) -> Iterator[str]:
    for rule in rules:
        speaks = f"{pluralize(rule.support, 'content')}, confidence {rule.confidence:.3f}"
        folders = ", ".join(sorted(rule.folders)[:3]) + (", ..." if len(rule.folders) > 3 else "")
        yield f"{printable(rule.name)} in {printable(folders)} ({speaks})"
        for example, _ in rule.examples[:1]:
            yield f"  such as {printable(example)}"
        if rule.contrary:
            yield f"  although {safe_message(rule.contrary)}"
    if not rules:
        yield "not enough pages speak for any rule"
