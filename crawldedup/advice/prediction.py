"""Predict by rules for URLs which requests of a crawl would bring copies, and find the rules that are wrong. Pure.

A rule tells which URLs are taken for one page, their target. However wrong a rule is, these keep content from getting
lost:

- Nothing is skipped at a target whose content has not come, and of which no copy was confirmed for that rule, now or in
  the crawl that the rules were made of: one target says nothing of another.
- One in twenty skipped requests is made as a check.
- What was skipped is kept, and wanted when a check contradicts its target or its rule. Without room, requests pass.
"""

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import compress
from operator import not_
from typing import Final, Generic, NamedTuple, TypeVar

from crawldedup.advice.address import Address
from crawldedup.advice.mining import LEAST_CONFIDENCE
from crawldedup.advice.rules import Rule, RuleBook

CHECKED: Final = 20  # one in so many skipped requests is made
TRUSTED: Final = 40  # so many copies of the mined crawl count for a rule, as if they were met in this one
MOST_SKIPPED: Final = 50_000  # so many skipped requests are kept, which takes some 100 MB
MOST_TARGETS: Final = 200_000  # so many are watched, which takes some 80 MB; requests for others pass

Request = TypeVar("Request")


class Step(StrEnum):
    """What is done with a request: made, put off while its target is on its way, or skipped.

    A rule calls it a copy, and it is made all the same, as a check or since too many skipped ones are kept.
    """

    MADE = "made"
    POSTPONED = "postponed"
    SKIPPED = "skipped"
    CHECKED = "checked"
    NO_ROOM = "no_room"


@dataclass(slots=True)
class Target:
    """What is known of a rewritten URL: the rules of which a copy is `confirmed`, and the keys of its `urls`.

    Of these, False stands for one that an earlier crawl has delivered, and this one has not met.
    """

    confirmed: set[str]
    urls: dict[int, bool] = field(default_factory=dict)
    is_on_its_way: bool = False
    is_wrong: bool = False


class Aim(NamedTuple):
    """What a request would bring: `url` is a key of its own URL, `rules` are the names of those that rewrite it."""

    url: int
    address: Address
    rewritten: Address
    target: Target
    rules: frozenset[str]


class Predictor(Generic[Request]):
    """Knows what the rules say of requests, and what came of it; `skipped` are the requests that may be wanted yet."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules = {rule.name: rule for rule in rules}
        self._book = RuleBook(self.rules.values())
        self._origins = {origin for rule in self.rules.values() for origin in (rule.site, rule.replace)}
        self._targets: dict[int, Target] = {}
        self.skipped: list[tuple[Request, Aim]] = []
        # One contradiction at the start does not outweigh the crawl that a rule was mined from, and a third one does.
        self._copies = Counter({name: min(rule.copies, TRUSTED) for name, rule in self.rules.items()})
        self._others: Counter[str] = Counter()
        self._predicted = 0

    def aim_of(self, url: str, purpose: Hashable = None) -> Aim | None:
        """Return the aim of a request at a URL; None where no rule may apply, or no further target has room.

        Requests of another purpose make something else of the same page.
        """
        address = Address.of(url)
        if address is None or address.origin not in self._origins:
            return None
        rewritten, rules = self._book.rewritten(address)
        if (key := hash((purpose, rewritten.key()))) not in self._targets:
            if len(self._targets) == MOST_TARGETS:
                return None
            digest = rewritten.digest()
            self._targets[key] = Target({name for name, rule in self.rules.items() if digest in rule.confirmed})
        return Aim(address.key(), address, rewritten, self._targets[key], frozenset(rule.name for rule in rules))

    def step(self, aim: Aim, request: Request, *, may_wait: bool) -> Step:
        """Decide what is done with a request, and keep it if it is skipped."""
        target, step = aim.target, Step.MADE
        if aim.rules and not target.is_wrong and target.urls.get(aim.url) is not False:
            if target.urls and aim.rules <= target.confirmed:
                self._predicted += 1
                is_kept = len(self.skipped) < MOST_SKIPPED
                step = Step.CHECKED if self._predicted % CHECKED == 0 else Step.SKIPPED if is_kept else Step.NO_ROOM
            elif target.is_on_its_way and may_wait:
                step = Step.POSTPONED
            elif target.urls:
                step = Step.CHECKED
        if step is Step.SKIPPED:
            self.skipped.append((request, aim))
        elif step is not Step.POSTPONED:
            target.is_on_its_way = True
        return step

    def keep(self, request: Request, aim: Aim | None) -> bool:
        """Keep a request that an earlier run has skipped. Return False if no rule calls it a copy."""
        if aim is None or not aim.rules:
            return False
        self.skipped.append((request, aim))
        return True

    def learn(self, aim: Aim, original: Aim | None) -> tuple[list[Request], Rule | None]:
        """Learn from a page that came: whether it is new (`original` is its own aim), or a copy of another page.

        Return the skipped requests to make because it is no copy of its target, and the rule to leave out from now on.
        """
        target = aim.target
        target.is_on_its_way = False
        if original is None or original.target is not target:
            # A copy of anything else may be a wall.
            return [], None
        if target.urls and original.url not in target.urls:
            target.is_wrong = True
            withdrawn = self._withdrawn(aim.rules)
            rule = withdrawn.name if withdrawn else ""
            is_wanted = [skipped.target is target or rule in skipped.rules for _, skipped in self.skipped]
            wanted = [request for request, _ in compress(self.skipped, is_wanted)]
            self.skipped = [*compress(self.skipped, map(not_, is_wanted))]
            return wanted, withdrawn
        if original is not aim:
            target.urls.setdefault(original.url, False)
            target.confirmed |= aim.rules | original.rules
            self._copies.update(aim.rules)
        target.urls[aim.url] = True
        return [], None

    def _withdrawn(self, names: frozenset[str]) -> Rule | None:
        """Leave out a rule whose checks fail too often, and return it.

        Of rules that work together, the one that has done the least so far is to blame.
        """
        name = min(names & self.rules.keys(), key=lambda name: (self._copies[name], name), default="")
        self._others[name] += 1
        if not name or self._others[name] <= (1 - LEAST_CONFIDENCE) * (self._others[name] + self._copies[name]):
            return None
        withdrawn = self.rules.pop(name)
        self._book = RuleBook(self.rules.values())
        return withdrawn
