"""Mine rules: candidates are weighed in rounds, and those that say the same as better ones are left out."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

from crawldedup.advice.candidates import candidates
from crawldedup.advice.rules import RuleBook
from crawldedup.advice.weighing import LEAST_SUPPORT, is_refuted, is_sound, narrowed, weighed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from crawldedup.advice.evidence import Page
    from crawldedup.advice.rules import Rule
    from crawldedup.advice.weighing import Placed

_ROUNDS: Final = 3


def mine(pages: Sequence[Page], withdrawn: Sequence[Rule] = ()) -> list[Rule]:
    """Return the rules that pages speak for, those with the most support first, but for what crawls have withdrawn.

    Each round looks at addresses as the rules of earlier rounds have rewritten them: a print view with a session id
    differs from the article in two respects.
    """
    found: list[Rule] = []
    for _ in range(_ROUNDS):
        placed = _placed(pages, RuleBook(found))
        new = _chosen(
            (
                rule
                for whole, sections in weighed(candidates(placed, LEAST_SUPPORT), placed)
                for rule in narrowed(whole, sections, withdrawn)
                if not is_refuted(rule, withdrawn)
            ),
            found,
        )
        if not new:
            break
        found += new
        # What was not rewritten shows nothing new.
        changed = {rule.site for rule in new} | {rule.replace for rule in new if rule.kind == "host"}
        pages = [page for page in pages if page.address.origin in changed]
    return sorted(found, key=lambda rule: -rule.support)


def weigh(rules: Iterable[Rule], pages: Sequence[Page]) -> list[Rule]:
    """Return known rules with what these pages say for and against them."""
    return [rule for rule, _ in weighed(rules, _placed(pages, RuleBook()))]


def _placed(pages: Sequence[Page], book: RuleBook) -> list[Placed]:
    if not book.rules:
        return [(page.address, page, page.twin) for page in pages]
    rewritten = cache(lambda address: book.rewritten(address)[0])
    return [(rewritten(page.address), page, page.twin and rewritten(page.twin)) for page in pages]


def _chosen(rules: Iterable[Rule], found: Sequence[Rule]) -> list[Rule]:
    """Return the sound rules but for those that others make superfluous or that undo them."""
    chosen: list[Rule] = []
    # The fewest parameters first, and names before names with values.
    for rule in sorted(
        filter(is_sound, rules), key=lambda each: (each.find.count("&"), "=" in each.find, -each.support, -each.targets)
    ):
        if not any(is_covered(rule, other) for other in (*found, *chosen)):
            chosen.append(rule)
    return chosen


def is_covered(rule: Rule, other: Rule) -> bool:
    """Return True if another rule does what this one does, or the contrary."""
    if rule.kind != other.kind:
        return False
    if rule.kind == "query":
        names = {part.partition("=")[0] for part in rule.find.split("&")} | {*rule.find.split("&")}
        return rule.site == other.site and rule.section.startswith(other.section) and names >= {*other.find.split("&")}
    if rule.kind == "host":
        is_same = rule.find == other.find and rule.section.startswith(other.section)
        return is_same or (rule.replace == other.find and rule.find == other.replace)
    return rule.site == other.site and (
        rule.find == other.find or (rule.replace, rule.find) == (other.find, other.replace)
    )
