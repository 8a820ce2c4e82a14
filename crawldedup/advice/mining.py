"""Mine rules: what do the URLs of copies differ in, and does it hold for all pages of their site?

Candidates are held against all pages in rounds, and those that say the same as better ones are left out.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Final

from crawldedup.advice.address import VIEWS, Address, is_token, name_of
from crawldedup.advice.evidence import Page
from crawldedup.advice.rules import Contrary, Rule, RuleBook, are_views

LEAST_SUPPORT: Final = 5
"""So many different contents must speak for a rule."""

LEAST_CONFIDENCE: Final = 0.95
"""In each folder at least this share of the pages that a rule takes for copies must be copies."""

LEAST_COPIES: Final = 2
"""So many pages of a folder must speak for a rule that acts there."""

MOST_OF_A_SITE: Final = 64
"""So many candidates of a site are weighed, those that the most copies speak for."""

MOST_FOLDERS: Final = 1_000
"""A rule acts in so many folders, those with the most copies."""

_ROUNDS: Final = 3
_EXAMPLES: Final = 3
_MOST_COUNTED: Final = 5_000
_TWINS: Final = 3
_MOST_PARAMETERS: Final = 6
_LONGEST_VALUE: Final = 20
_LONGEST_ENDING: Final = 40
_MOST_LEVELS: Final = 4
_VIEW: Final = re.compile(rf"\b(?:{VIEWS}|mirror|wap)\b|^http:", re.IGNORECASE)
_PATH_PARAMETER: Final = re.compile(r";([^=/;]+)=[^/;]*")

_Change = tuple[str, str, str, str]
"""The kind, site, find and replace of a rule."""

_Placed = tuple[Address, Page, Address | None]
"""A page and its twin, as the rules of earlier rounds rewrite their addresses."""


def mine(pages: Sequence[Page], withdrawn: Sequence[Rule] = ()) -> list[Rule]:
    """Return the rules that pages speak for, those with the most support first, but for what crawls have withdrawn.

    Each round looks at addresses as the rules of earlier rounds have rewritten them: a print view with a session id
    differs from the article in two respects.
    """
    found: list[Rule] = []
    all_pages = pages
    for _ in range(_ROUNDS):
        placed = _placed(pages, RuleBook(found))
        new = _chosen(_weighed(_candidates(placed), placed, withdrawn), found)
        if not new:
            break
        found += new
        # What was not rewritten shows nothing new.
        changed = {rule.site for rule in new} | {rule.replace for rule in new if rule.kind == "host"}
        pages = [page for page in pages if page.address.origin in changed]
    merged: dict[tuple[str, ...], Rule] = {}
    for rule in found:
        # A later round may have found it in further folders.
        merged[rule.id] = _joined(merged[rule.id], rule) if rule.id in merged else rule
    return _confirmed(sorted(merged.values(), key=lambda rule: -rule.support), all_pages)


def _joined(one: Rule, other: Rule) -> Rule:
    return replace(
        one,
        folders=one.folders | other.folders,
        exceptions=one.exceptions | other.exceptions,
        support=one.support + other.support,
        copies=one.copies + other.copies,
        against=one.against + other.against,
    )


def _confirmed(rules: list[Rule], pages: Sequence[Page]) -> list[Rule]:
    """Return rules with the targets of which copies were seen, and nothing else."""
    book = RuleBook(rules)
    firsts: dict[int, tuple[int, tuple[Rule, ...]]] = {}
    confirmed: dict[str, dict[int, bytes]] = {rule.name: {} for rule in rules}
    wrong: set[int] = set()
    for page in pages:
        target, used = book.rewritten(page.address)
        content, others = firsts.setdefault(key := target.key(), (page.content, used))
        if content != page.content:
            wrong.add(key)
        elif not page.is_thin and page.twin is not None:
            for rule in {*used, *others}:
                confirmed[rule.name][key] = target.digest()
    return [
        replace(rule, confirmed=b"".join(sorted(digest for key, digest in found.items() if key not in wrong)))
        for rule, found in zip(rules, confirmed.values(), strict=True)
    ]


def _placed(pages: Sequence[Page], book: RuleBook) -> list[_Placed]:
    rewritten = cache(lambda address: book.rewritten(address)[0])
    return [(rewritten(page.address), page, page.twin and rewritten(page.twin)) for page in pages]


def _chosen(rules: Iterable[Rule], found: Sequence[Rule]) -> list[Rule]:
    """Return the rules but for those that others make superfluous."""
    chosen: list[Rule] = []
    # The fewest parameters first, and names before names with values.
    for rule in sorted(rules, key=lambda each: (each.find.count("&"), "=" in each.find, -each.support)):
        covered = [other.folders for other in (*found, *chosen) if _is_covered(rule, other)]
        if folders := rule.folders.difference(*covered):
            chosen.append(replace(rule, folders=folders))
    return chosen


def _is_covered(rule: Rule, other: Rule) -> bool:
    """Return True if another rule does what this one does in its folders."""
    if (rule.kind, rule.site) != (other.kind, other.site):
        return False
    parts = rule.find.split("&")
    return rule.find == other.find or (
        rule.kind == "query" and {*parts, *map(name_of, parts)} >= {*other.find.split("&")}
    )


# --- Candidates


def _candidates(pages: Sequence[_Placed]) -> list[Rule]:
    """Return candidates for which enough copies speak, of each site those with the most."""
    votes: defaultdict[str, Counter[_Change]] = defaultdict(Counter)
    recent: dict[int, deque[Address]] = {}
    for address, page, twin in pages:
        if twin is None:
            continue
        copies = recent.setdefault(page.content, deque([twin], _TWINS))
        for other in {twin, *copies}:
            for change in _between(address, other):
                counted = votes[change[1]]
                if change in counted or len(counted) < _MOST_COUNTED:
                    counted[change] += 1
        copies.append(address)
    chosen = (each for of_site in votes.values() for each in of_site.most_common(MOST_OF_A_SITE))
    return [Rule(*change) for change, count in chosen if count >= LEAST_SUPPORT]


def _between(one: Address, other: Address) -> Iterator[_Change]:
    """Yield the rules that make one address of another, if they differ in one respect.

    Which of them is the better one is guessed by their words and lengths.
    """
    if one.parameters != other.parameters:
        if one.origin == other.origin and one.path == other.path:
            yield from _of_queries(one, other)
    elif one.origin != other.origin:
        if one.path == other.path and are_views(one.origin, other.origin):
            worse, better = _sorted(one.origin, other.origin)
            yield "host", worse, worse, better
    elif one.path != other.path:
        yield from _of_paths(one.origin, one.path, other.path)


def _sorted(one: str, other: str, *, nothing: str = "") -> tuple[str, str]:
    """Return the worse of two parts of URLs, and the better one, as which `nothing` counts: it cannot be found."""
    better, worse = sorted((one, other), key=lambda part: (part != nothing, bool(_VIEW.search(part)), len(part), part))
    return worse, better


def _of_queries(one: Address, other: Address) -> Iterator[_Change]:
    differing = {*one.parameters} ^ {*other.parameters}
    names = sorted({*map(name_of, differing)})
    if not 0 < len(names) <= _MOST_PARAMETERS:
        return
    yield "query", one.origin, "&".join(names), ""
    if len(names) == 1 and len(differing) == 1:
        (parameter,) = differing
        if "=" in parameter and len(parameter) <= _LONGEST_VALUE and not is_token(parameter.partition("=")[2]):
            yield "query", one.origin, parameter, ""


def _of_paths(origin: str, one: str, other: str) -> Iterator[_Change]:
    if ";" in one or ";" in other:
        if _PATH_PARAMETER.sub("", one) == _PATH_PARAMETER.sub("", other):
            for name in {*_PATH_PARAMETER.findall(one), *_PATH_PARAMETER.findall(other)}:
                yield "session", origin, f";{name}", ""
        return
    left, right = one.split("/")[1:], other.split("/")[1:]
    # What names the page stands behind what differs, and is not empty.
    end = _common(left[::-1], right[::-1], most=min(len(left), len(right)) - _common(left, right))
    if end and (left[-1] or end > 1):
        folders = left[: len(left) - end], right[: len(right) - end]
        if max(map(len, folders)) <= _MOST_LEVELS and not any(map(is_token, (*folders[0], *folders[1]))):
            before, after = ("/".join(("", *each, "")) for each in folders)
            yield "prefix", origin, *_sorted(before, after, nothing="/")
    yield from _of_endings(origin, one, other)


def _common(left: Sequence[str], right: Sequence[str], most: int = 1 << 30) -> int:
    """Return how many parts two sequences have in common at their beginning."""
    pairs = enumerate(zip(left, right, strict=False))
    return min(most, next((at for at, (one, other) in pairs if one != other), min(len(left), len(right))))


def _of_endings(origin: str, one: str, other: str) -> Iterator[_Change]:
    start = _common(one, other)
    if one[start : start + 1].isalnum() or other[start : start + 1].isalnum():
        # Not in the middle of a word.
        start -= 1
        if start < 0 or one[start].isalnum():
            return
    left, right = _sorted(one[start:], other[start:])
    # Numbers tell pages apart.
    if start and len(left) + len(right) <= _LONGEST_ENDING and not any(map(str.isdigit, left + right)):
        yield "suffix", origin, left, right


# --- What speaks for a candidate, and what against it


@dataclass(slots=True)
class _Group:
    """Pages that a rule takes for one. `first` was judged first, and has the `content` of all.

    Unless `contrary` has the addresses of a `Contrary`. `pages` counts those that the rule rewrites.
    """

    target: Address
    content: int
    first: int
    folder: str
    has_target: bool
    pages: int = 0
    copies: int = 0
    contrary: tuple[Address, ...] = ()
    example: tuple[Address, Address] | None = None


@dataclass(slots=True)
class _Counts:
    """What the groups of one folder say of a rule."""

    contents: set[int] = field(default_factory=set)
    groups: list[_Group] = field(default_factory=list)
    copies: int = 0
    against: int = 0

    def add(self, group: _Group) -> None:
        if group.contrary:
            self.against += group.pages
        elif group.copies:
            self.copies += group.copies
            self.contents.add(group.content)
        else:
            return
        self.groups.append(group)

    def is_sound(self) -> bool:
        return self.copies >= max(LEAST_COPIES, LEAST_CONFIDENCE * (self.copies + self.against))


def _weighed(rules: Iterable[Rule], placed: Sequence[_Placed], withdrawn: Sequence[Rule]) -> Iterator[Rule]:
    """Yield rules with what speaks for and against them, in the folders where they hold."""
    wrong = {(*rule.id, folder) for rule in withdrawn for folder in rule.folders}
    evaluator = _Evaluator(placed)
    for rule in rules:
        sound = {
            folder: counts
            for folder, counts in evaluator.weigh(rule).items()
            if counts.is_sound() and (*rule.id, folder) not in wrong
        }
        most = sorted(sound, key=lambda folder: (-sound[folder].copies, folder))[:MOST_FOLDERS]
        folders = {folder: sound[folder] for folder in most}
        support = len({content for counts in folders.values() for content in counts.contents})
        if support >= LEAST_SUPPORT:
            groups = sorted(
                (group for counts in folders.values() for group in counts.groups), key=lambda each: each.first
            )
            bad = [group for group in groups if group.contrary]
            examples = [group.example for group in groups if group.example and not group.contrary]
            yield replace(
                rule,
                folders=frozenset(folders),
                exceptions=frozenset(group.target.url() for group in bad),
                support=support,
                copies=sum(counts.copies for counts in folders.values()),
                against=sum(counts.against for counts in folders.values()),
                examples=tuple((one.url(), other.url()) for one, other in examples[:_EXAMPLES]),
                contrary=Contrary(*(address.url() for address in bad[0].contrary)) if bad else None,
            )


class _Evaluator:
    """All pages, found by the keys of their addresses, and for each site those to which its copies lead."""

    def __init__(self, placed: Sequence[_Placed]) -> None:
        self._placed = placed
        self._standing: dict[int, int] = {}
        self._orders: dict[int, int] = {}
        self._of_site: defaultdict[str, list[int]] = defaultdict(list)
        self._led_to: defaultdict[str, list[int]] = defaultdict(list)
        for order, (address, page, _) in enumerate(placed):
            self._standing.setdefault(address.key(), order)
            self._orders.setdefault(page.key, order)
            self._of_site[address.origin].append(order)
        for order, (_, page, _) in enumerate(placed):
            # A page with a content of its own.
            if page.twin is None and (referer := self._orders.get(page.referer)) is not None:
                address, leading, _ = placed[referer]
                if leading.twin is not None:
                    self._led_to[address.origin].append(order)

    def weigh(self, rule: Rule) -> dict[str, _Counts]:
        """Return what the pages of each folder of a site say of a rule."""
        groups: dict[int, _Group] = {}
        for order in self._of_site[rule.site]:
            address, page, _ = self._placed[order]
            target = rule.rewritten(address)
            if target is not None:
                if (key := target.key()) not in groups:
                    groups[key] = self._group(target, key, order)
                self._add(groups[key], address, page)
        for order in self._led_to[rule.site]:
            self._blame(rule, groups, order)
        folders: defaultdict[str, _Counts] = defaultdict(_Counts)
        for group in groups.values():
            folders[group.folder].add(group)
        return folders

    def _group(self, target: Address, key: int, order: int) -> _Group:
        """Return the group of a page, with the page at the rewritten URL, if that was seen."""
        address, page, _ = self._placed[order]
        standing = self._standing.get(key)
        if standing is None:
            return _Group(target, page.content, order, address.folder(), has_target=False)
        content = self._placed[standing][1].content
        return _Group(target, content, min(order, standing), address.folder(), has_target=True)

    def _add(self, group: _Group, address: Address, page: Page) -> None:
        group.pages += 1
        if page.content != group.content:
            other = self._standing.get(group.target.key(), group.first)
            group.contrary = group.contrary or (page.address, self._placed[other][1].address)
        elif not page.is_thin and (group.has_target or address != self._placed[group.first][0]):
            group.copies += 1
            group.example = group.example or (address, group.target)

    def _blame(self, rule: Rule, groups: dict[int, _Group], order: int) -> None:
        """Blame a rule that leaves out the page that led here, if that came after its copies.

        Those have not led here, although their links were followed before.
        """
        here, page, _ = self._placed[order]
        referer = self._orders[page.referer]
        address, leading, _ = self._placed[referer]
        target = rule.rewritten(address)
        if target is None or rule.rewritten(here) is not None:
            return
        group = groups[target.key()]
        twin, first, _ = self._placed[group.first]
        if group.first < referer and address != twin:
            group.contrary = group.contrary or (leading.address, first.address, page.address)
