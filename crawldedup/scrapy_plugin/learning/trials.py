"""The rules of a crawl on trial: which predicted copies are fetched all the same, and which rules prove wrong."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from crawldedup.advice.kept import MOST_RULES, KeptRules
from crawldedup.advice.mining import is_covered
from crawldedup.advice.rules import RuleBook
from crawldedup.advice.weighing import LEAST_CONFIDENCE, LEAST_SUPPORT, is_refuted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from crawldedup.advice.rules import Rule

FIRST_SAMPLES: Final = 3
"""The first requests that a rule predicts to be copies are fetched."""

SAMPLED: Final = 20
"""Later one of so many is, unless more than one of so many pages that were fetched would be a sample.

Where every link has an id of its own, each sample leads to more of its kind: such a crawl would not end.
"""


@dataclass(slots=True)
class _Trial:
    """How a rule has done in this crawl: `predicted` copies, of which some were fetched and were so or not.

    `skipped` counts those since the last sample.
    """

    predicted: int = 0
    skipped: int = 0
    copies: int = 0
    others: int = 0

    def is_lost(self) -> bool:
        return self.others > (1 - LEAST_CONFIDENCE) * (self.others + self.copies)


class Trials:
    """The rules that a crawl goes by, and those that were withdrawn."""

    def __init__(self) -> None:
        self._trials: dict[Rule, _Trial] = {}
        self._withdrawn: dict[tuple[str, ...], Rule] = {}
        self._unsampled = 0
        self.book = RuleBook()

    def kept(self) -> KeptRules:
        """Return what the next crawl is to begin with."""
        return KeptRules(self.book.rules, tuple(self._withdrawn.values()))

    def take(self, kept: KeptRules) -> list[Rule]:
        """Go by rules of earlier crawls, or of another crawler, too. Return those that it has withdrawn, if new."""
        own = {rule.id: rule for rule in self._trials}
        new = [own.get(rule.id, rule) for rule in kept.withdrawn if rule.id not in self._withdrawn]
        self.withdraw(new)
        self.learn(kept.rules)
        return new

    def learn(self, rules: Iterable[Rule]) -> list[Rule]:
        """Go by new rules; return those that say something new."""
        new = []
        for rule in rules:
            is_known = any(is_covered(rule, other) for other in self._trials)
            if not is_known and not is_refuted(rule, self._withdrawn.values()) and len(self._trials) < MOST_RULES:
                self._trials[rule] = _Trial()
                new.append(rule)
        self.book = RuleBook(self._trials)
        return new

    def is_sample(self, rules: Sequence[Rule]) -> bool:
        """Return True if a request that these rules take for a copy is to be fetched all the same."""
        trials = [self._trials[rule] for rule in rules if rule in self._trials]
        is_due = not trials or any(trial.predicted < FIRST_SAMPLES for trial in trials)
        if not is_due and self._unsampled >= SAMPLED and any(trial.skipped >= SAMPLED - 1 for trial in trials):
            self._unsampled -= SAMPLED
            is_due = True
        for trial in trials:
            trial.predicted += 1
            trial.skipped = 0 if is_due else trial.skipped + 1
        return is_due

    def fetched(self) -> None:
        """Note a page that was fetched, and was no sample."""
        self._unsampled += 1

    def sampled(self, rules: Sequence[Rule], *, is_copy: bool) -> list[Rule]:
        """Note what a sample was. Returns the rule that has proved wrong by it, if there is one, which is withdrawn.

        Of rules that work together, the one that has done the least so far is to blame.
        """
        known = [rule for rule in rules if rule in self._trials]
        blamed = known if is_copy else sorted(known, key=lambda rule: (self._trials[rule].copies, rule.support))[:1]
        for rule in blamed:
            self._trials[rule].copies += is_copy
            self._trials[rule].others += not is_copy
        wrong = [rule for rule in blamed if self._trials[rule].is_lost()]
        self.withdraw(wrong)
        return wrong

    def weighed(self, rules: Iterable[Rule]) -> list[Rule]:
        """Note what the last pages say of rules. Returns those that have proved wrong, which are withdrawn."""
        refuted = {rule.id: rule.contrary for rule in rules if _is_lost(rule)}
        wrong = [replace(rule, contrary=refuted[rule.id]) for rule in self._trials if rule.id in refuted]
        self.withdraw(wrong)
        return wrong

    def withdraw(self, rules: Sequence[Rule]) -> None:
        """Go by some rules no more."""
        for rule in rules:
            self._trials.pop(rule, None)
            self._withdrawn[rule.id] = rule
        if rules:
            self.book = RuleBook(self._trials)


def _is_lost(rule: Rule) -> bool:
    return rule.support + rule.against >= LEAST_SUPPORT and rule.confidence < LEAST_CONFIDENCE
