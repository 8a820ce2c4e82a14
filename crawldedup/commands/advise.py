"""`crawldedup advise`: which downloads a crawl can save, by rules for its URLs."""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

from crawldedup.advice.evidence import Evidence
from crawldedup.advice.export import deny_patterns, discarder_rules
from crawldedup.advice.kept import NOTE, KeptRules
from crawldedup.advice.mining import mine
from crawldedup.commands.indexes import require_existing
from crawldedup.commands.output import safe_message
from crawldedup.errors import ConfigurationError
from crawldedup.journal import journals
from crawldedup.journal.verdicts import collect
from crawldedup.printable import pluralize, printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crawldedup.advice.rules import Rule
    from crawldedup.commands.output import Output
    from crawldedup.deduplicator import Deduplicator

_UNFIT: Final = {
    "duplicate-url-discarder": "it removes parts of URLs, and cannot replace them",
    "deny": "their pages are linked in no other form, so that no link would lead there",
}


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
