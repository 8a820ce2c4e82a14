"""`crawldedup advise`: which downloads a crawl can save, by rules for its URLs."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from crawldedup.advice.evidence import Page
from crawldedup.advice.export import deny_patterns, discarder_rules
from crawldedup.advice.mining import mine
from crawldedup.advice.rules import Rule
from crawldedup.commands.output import Output, safe_message
from crawldedup.errors import ConfigurationError
from crawldedup.journal import find_journals
from crawldedup.printable import pluralize, printable

_UNFIT: Final = {
    "duplicate-url-discarder": "it removes parts of URLs for good, and can neither replace them nor make exceptions",
    "deny": "without their links, no other would lead to contents of this crawl, or they have exceptions",
}


def run(given: Namespace, output: Output) -> None:
    """Show or write the rules that the journals speak for."""
    advise(given.sources, given, output)


def advise(sources: Sequence[str], given: Namespace, output: Output) -> None:
    """Show or write rules as the options say. Raises ConfigurationError and OSError."""
    pages, rules = _mined(sources, given.crawl, output)
    exported: list[Any] = [rule.as_dict() for rule in rules]
    if given.format != "rules":
        exported = discarder_rules(rules) if given.format == "duplicate-url-discarder" else deny_patterns(rules, pages)
    text = json.dumps(exported, indent=2)
    if given.output is not None:
        Path(given.output).write_text(f"{text}\n", "ascii")
        told = f"{pluralize(len(exported), 'rule')} written into {printable(str(given.output))}"
        output.show({"output": str(given.output), "rules": len(exported)}, told)
    else:
        output.show(exported, *(_lines(rules) if given.format == "rules" else [text]))
    if left := len(rules) - len(exported):
        output.error(ConfigurationError(f"{pluralize(left, 'rule')} left out: {_UNFIT[given.format]}"))


def _mined(sources: Sequence[str], crawl: str | None, output: Output) -> tuple[Sequence[Page], Sequence[Rule]]:
    """Return the pages of the journals, and the rules that they speak for."""
    # Here, so that `--help` does not wait for DuckDB.
    from crawldedup.report.database import Database

    journals = find_journals(sources, crawl)
    with output.shares() as progress, Database(progress) as database:
        unreadable = database.load(journals)
        pages, withdrawn = database.evidence()
    if unreadable:
        output.unreadable(ConfigurationError(f"{pluralize(unreadable, 'line')} cannot be read and were left out"))
    return pages, mine(pages, withdrawn)


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
