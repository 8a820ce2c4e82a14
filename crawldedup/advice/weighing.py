"""Weigh rules by pages: how many contents speak for each, and what speaks against it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from crawldedup.advice.rules import Contrary, Rule, RuleBook

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from crawldedup.advice.address import Address
    from crawldedup.advice.evidence import Page

    Placed = tuple[Address, Page, Address | None]

LEAST_SUPPORT: Final = 5
"""So many different contents must speak for a rule."""

LEAST_CONFIDENCE: Final = 0.95
"""At least this share of the groups of URLs that a rule takes for one must hold nothing but copies."""

_EXAMPLES: Final = 3
_CONTRARY: Final = 2


def is_sound(rule: Rule) -> bool:
    """Return True for a rule that enough speaks for and hardly anything against."""
    return rule.support >= LEAST_SUPPORT and rule.confidence >= LEAST_CONFIDENCE


def weighed(rules: Iterable[Rule], placed: Sequence[Placed]) -> Iterator[tuple[Rule, dict[str, Rule]]]:
    """Yield rules with what speaks for and against them: in all sections, and in each."""
    by_site: defaultdict[str, list[Rule]] = defaultdict(list)
    for rule in rules:
        by_site[rule.site].append(rule)
    scales = _Scales(placed, by_site)
    for site, of_site in by_site.items():
        yield from scales.weigh(site, of_site)


@dataclass(slots=True)
class _Group:
    """Pages that a rule takes for one. `first` was judged first, and has the `content` of all.

    Unless `contrary` has the addresses of a `Contrary`.
    """

    content: int
    first: int
    section: str
    has_target: bool = False
    is_linked: bool = False
    is_good: bool = False
    contrary: tuple[Address, ...] = ()
    example: tuple[Address, Address] | None = None


_Groups = dict[int, dict[int, _Group]]
"""By the id of a rule, its groups by the keys of their rewritten addresses."""


@dataclass(slots=True)
class _Tally:
    contents: set[int] = field(default_factory=set)
    good: int = 0
    bad: int = 0
    targets: int = 0
    linked: int = 0
    examples: list[tuple[str, str]] = field(default_factory=list)
    contrary: tuple[Address, ...] = ()

    def add(self, group: _Group) -> None:
        if group.contrary:
            self.bad += 1
            self.contrary = self.contrary or group.contrary
            return
        if not group.is_good:
            return
        self.contents.add(group.content)
        self.good += 1
        self.targets += group.has_target
        self.linked += group.is_linked
        if group.example and len(self.examples) < _EXAMPLES:
            self.examples.append((group.example[0].url(), group.example[1].url()))

    def told(self, rule: Rule, section: str) -> Rule:
        good = max(1, self.good)
        return replace(
            rule,
            section=section,
            support=len(self.contents),
            against=self.bad,
            targets=round(self.targets / good, 3),
            linked=round(self.linked / good, 3),
            examples=tuple(self.examples),
            contrary=Contrary(*(address.url() for address in self.contrary)) if self.contrary else None,
        )


class _Scales:
    """All pages, found by the keys of their addresses, and for each site those that its pages lead to."""

    def __init__(self, placed: Sequence[Placed], sites: Iterable[str]) -> None:
        self._placed = placed
        self._standing: dict[int, int] = {}
        self._orders: dict[int, int] = {}
        self._of_site: dict[str, list[int]] = {site: [] for site in sites}
        self._led_to: defaultdict[str, list[int]] = defaultdict(list)
        for order, (address, page, _) in enumerate(placed):
            self._standing.setdefault(address.key(), order)
            self._orders.setdefault(page.key, order)
            if (of_site := self._of_site.get(address.origin)) is not None:
                of_site.append(order)
        for order, (_, page, _) in enumerate(placed):
            # A page with a content of its own.
            if page.twin is None and (referer := self._orders.get(page.referer)) is not None:
                self._led_to[placed[referer][0].origin].append(order)

    def weigh(self, site: str, rules: Sequence[Rule]) -> Iterator[tuple[Rule, dict[str, Rule]]]:
        book = RuleBook(rules)
        groups: _Groups = {id(rule): {} for rule in rules}
        for order in self._of_site[site]:
            address, page, _ = self._placed[order]
            for rule, made in book.applied(address):
                key = made.key()
                group = groups[id(rule)].get(key)
                if group is None:
                    group = groups[id(rule)][key] = self._group(rule, key, order)
                self._add(group, address, page, made)
        for order in self._led_to.pop(site, ()):
            self._blame(book, groups, order)
        for rule in rules:
            whole = _Tally()
            parts: defaultdict[str, _Tally] = defaultdict(_Tally)
            for group in groups.pop(id(rule)).values():
                whole.add(group)
                parts[group.section].add(group)
            sections = {section: tally.told(rule, section) for section, tally in parts.items()}
            yield whole.told(rule, rule.section), sections

    def _group(self, rule: Rule, key: int, order: int) -> _Group:
        """Return the group of a page, with the page at the rewritten URL, if that was seen."""
        address, page, _ = self._placed[order]
        target = self._standing.get(key)
        if target is None:
            return _Group(page.content, order, address.section())
        _, standing, _ = self._placed[target]
        referer = self._orders.get(standing.referer)
        is_linked = referer is not None and rule.rewritten(self._placed[referer][0]) is None
        return _Group(standing.content, min(order, target), address.section(), True, is_linked)

    def _add(self, group: _Group, address: Address, page: Page, made: Address) -> None:
        if page.content != group.content:
            other = self._standing.get(made.key(), group.first)
            group.contrary = group.contrary or (page.address, self._placed[other][1].address)
        elif not page.is_thin and (group.has_target or address != self._placed[group.first][0]):
            group.is_good = True
            group.example = group.example or (address, made)

    def _blame(self, book: RuleBook, groups: _Groups, order: int) -> None:
        """Blame rules that leave out the page that led here, if it came after its copies.

        Those have not led here, although their links were followed before.
        """
        here, page, _ = self._placed[order]
        referer = self._orders[page.referer]
        address, leading, _ = self._placed[referer]
        if leading.twin is None:
            return
        for rule, made in book.applied(address):
            group = groups[id(rule)][made.key()]
            twin, first, _ = self._placed[group.first]
            if group.first < referer and address != twin and rule.rewritten(here) is None:
                group.contrary = group.contrary or (leading.address, first.address, page.address)


def is_refuted(rule: Rule, withdrawn: Iterable[Rule]) -> bool:
    """Return True for a rule that says what a crawl has withdrawn, or more; or less, if anything speaks against it."""
    return any(rule.includes(other) or (rule.against and other.includes(rule)) for other in withdrawn)


def narrowed(whole: Rule, sections: dict[str, Rule], withdrawn: Sequence[Rule]) -> list[Rule]:
    """Return a rule, or in its place those for the sections of the site where it holds."""
    if whole.kind not in ("query", "host"):
        return [whole]
    contrary = is_refuted(whole, withdrawn) or any(
        part.against >= _CONTRARY and part.confidence < LEAST_CONFIDENCE for part in sections.values()
    )
    supporting = [part for part in sections.values() if part.support]
    if not contrary and is_sound(whole) and (len(supporting) > 1 or whole.kind == "host"):
        return [whole]
    return supporting
