"""The command `advise`: suggest URL rules that spare the next crawl the downloads of copies."""

import json
from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from crawldedup.advice.evidence import saved_by
from crawldedup.advice.export import Export, export, for_discarder, for_link_extractor
from crawldedup.advice.mining import mine
from crawldedup.advice.rules import Rule
from crawldedup.commands.command import Output, safe_message
from crawldedup.journal import find_journals
from crawldedup.report.command import DEFAULT_SOURCE
from crawldedup.text import pluralize, printable

Row = dict[str, Any]
# Limits on the patterns of copies that are named although no rule covers them: these are the
# largest patterns, and mostly copies.
_MOST_PATTERNS: Final = 5
_LEAST_PAGES: Final = 20
_LEAST_COPIES: Final = 0.8

_WRITERS: Final = {"duplicate-url-discarder": for_discarder, "deny": for_link_extractor}


def advise(given: Namespace, output: Output) -> None:
    """Show or write the URL rules that follow from the journals of crawls.

    Without sources, they are those of the project in the current directory.

    Raises ConfigurationError, ReportError and OSError.
    """
    # Imported here so that no other command has to wait for DuckDB.
    from crawldedup.report.queries import Database

    journals = find_journals(given.sources or [DEFAULT_SOURCE], given.crawl)
    with output.shares() as progress, Database(progress) as database:
        unreadable = database.load(journals)
        pages, withdrawn = database.evidence()
        rules = mine(pages, withdrawn)
        writer = _WRITERS.get(given.format)
        database.explain_by(rules, pages)
        without_rule = database.rows(
            "copied_patterns", least=_LEAST_PAGES, share=_LEAST_COPIES, most=_MOST_PATTERNS
        )
    if unreadable:
        output.left_out(unreadable, "line")
    exported = (
        export(rules, pages, writer)
        if writer
        else Export([rule.as_dict() for rule in rules], saved_by(rules, pages), {})
    )
    kept = {rule.name for rule in rules}
    wrong = {
        rule.name: "it proved wrong in the crawl" for rule in withdrawn if rule.name not in kept
    }
    text = json.dumps(exported.rules, indent=2)
    if given.output is not None:
        Path(given.output).write_text(f"{text}\n", "ascii")
        words = (
            f"{pluralize(len(exported.rules), 'rule')} written to {printable(str(given.output))}"
        )
        output.show({"output": str(given.output), "rules": len(exported.rules)}, words)
    else:
        output.show(
            exported.rules, *(_rules_in_words(rules) if given.format == "rules" else [text])
        )
    for name, reason in (wrong | exported.left_out).items():
        output.error(f"the rule {name} is left out: {reason}")
    if exported.saved:
        output.error(
            f"these would have saved {exported.saved:,} of {pluralize(len(pages), 'download')}"
        )
    for pattern in without_rule:
        output.error(_without_rule_in_words(pattern))


def _without_rule_in_words(pattern: Row) -> str:
    place = f"{pattern['site']}{pattern['name']}"
    pages = pluralize(pattern["pages"], "page")
    number = pattern["kept"]
    kept = f"{number:,} of {pages} {'was' if number == 1 else 'were'} kept"
    if not number:
        kept = f"none of {pages} was kept"
    return (
        f"no rule for {place}: {kept}, but no change to the URLs reliably leads to the pages that "
        "the others repeat"
    )


def _rules_in_words(rules: Sequence[Rule]) -> Iterator[str]:
    for rule in rules:
        copies = f"{rule.copies:,} {'copy' if rule.copies == 1 else 'copies'}"
        support = f"{pluralize(rule.support, 'piece')} of content"
        evidence = f"{copies}, {support}, confidence {rule.confidence:.3f}"
        folders = ", ".join(sorted(rule.folders)[:3]) + (", ..." if len(rule.folders) > 3 else "")
        yield f"{printable(rule.name)} in {printable(folders)} ({evidence})"
        for example, _ in rule.examples[:1]:
            yield f"  such as {printable(example)}"
        if rule.contrary:
            yield f"  although {safe_message(rule.contrary)}"
    if not rules:
        yield "no rule is supported by enough pages"
