"""Mine rules: what do the URLs of copies differ in, and does it hold for all pages of their site?

Candidates are held against all pages in rounds, and those that say the same as better ones are left out.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
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


def mine(pages: Sequence[Page], withdrawn: Sequence[Rule] = ()) -> list[Rule]:
    """Return the rules that pages speak for, those with the most support first, but for what crawls have withdrawn.

    Each round looks at addresses as the rules of earlier rounds have rewritten them: a print view with a session id
    differs from the article in two respects.
    """
    found: dict[tuple[str, ...], Rule] = {}
    wrong = {(*rule.id, folder) for rule in withdrawn for folder in rule.folders}
    left = pages
    for _ in range(_ROUNDS):
        crawl = _Crawl(left, RuleBook(found.values()))
        new = _chosen(filter(None, (crawl.weighed(rule, wrong) for rule in crawl.candidates())), [*found.values()])
        for rule in new:
            # A later round may find it in further folders.
            found[rule.id] = _joined(found[rule.id], rule) if rule.id in found else rule
        # What is not rewritten shows nothing new.
        changed = {rule.site for rule in new} | {rule.replace for rule in new if rule.kind == "host"}
        left = [page for page in left if page.address.origin in changed]
    return _confirmed(sorted(found.values(), key=lambda rule: -rule.support), pages)


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


# --- What differs between two copies


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
    """Pages that a rule takes for one: their `target`, or the first of them where that was not seen, is at `standing`.

    That one has the `content` of all, unless there is a `contrary`. `first` is the page that was judged first, and
    `pages` counts those that the rule rewrites.
    """

    target: Address
    standing: int
    content: int
    first: int
    folder: str
    pages: int = 0
    copies: int = 0
    contrary: Contrary | None = None
    example: tuple[str, str] | None = None


class _Crawl:
    """All pages, as the rules of earlier rounds rewrite their addresses, and those of their twins."""

    def __init__(self, pages: Iterable[Page], book: RuleBook) -> None:
        rewritten = cache(lambda address: book.rewritten(address)[0])
        self._pages = [(rewritten(page.address), page, page.twin and rewritten(page.twin)) for page in pages]
        self._standing: dict[int, int] = {}
        self._of_site: defaultdict[str, list[int]] = defaultdict(list)
        self._leads: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        """For each site its copies that lead to pages with a content of their own, and these pages."""
        orders: dict[int, int] = {}
        for order, (address, page, _) in enumerate(self._pages):
            self._standing.setdefault(address.key(), order)
            orders.setdefault(page.key, order)
            self._of_site[address.origin].append(order)
        for order, (_, page, _) in enumerate(self._pages):
            if page.twin is None and (referer := orders.get(page.referer)) is not None:
                address, leading, _ = self._pages[referer]
                if leading.twin is not None:
                    self._leads[address.origin].append((referer, order))

    def candidates(self) -> Iterator[Rule]:
        """Yield candidates for which enough copies speak, of each site those with the most."""
        votes: defaultdict[str, Counter[_Change]] = defaultdict(Counter)
        recent: dict[int, deque[Address]] = {}
        for address, page, twin in self._pages:
            if twin is None:
                continue
            copies = recent.setdefault(page.content, deque([twin], _TWINS))
            for other in {twin, *copies}:
                for change in _between(address, other):
                    counted = votes[change[1]]
                    if change in counted or len(counted) < _MOST_COUNTED:
                        counted[change] += 1
            copies.append(address)
        for of_site in votes.values():
            yield from (
                Rule(*change) for change, count in of_site.most_common(MOST_OF_A_SITE) if count >= LEAST_SUPPORT
            )

    def weighed(self, rule: Rule, wrong: Set[tuple[str, ...]]) -> Rule | None:
        """Return a rule with what speaks for and against it where it holds, or None if too little speaks for it."""
        folders: defaultdict[str, list[_Group]] = defaultdict(list)
        for group in self._groups(rule):
            if group.copies or group.contrary:
                folders[group.folder].append(group)
        copies = {folder: _copies_in(folders[folder]) for folder in folders if (*rule.id, folder) not in wrong}
        sound = sorted((folder for folder in copies if copies[folder]), key=lambda each: (-copies[each], each))
        groups = sorted(
            (group for folder in sound[:MOST_FOLDERS] for group in folders[folder]), key=lambda group: group.first
        )
        good, bad = [group for group in groups if not group.contrary], [group for group in groups if group.contrary]
        support = len({group.content for group in good})
        if support < LEAST_SUPPORT:
            return None
        examples = [group.example for group in good if group.example]
        return replace(
            rule,
            folders=frozenset(sound[:MOST_FOLDERS]),
            exceptions=frozenset(group.target.url() for group in bad),
            support=support,
            copies=sum(group.copies for group in good),
            against=sum(group.pages for group in bad),
            examples=tuple(examples[:_EXAMPLES]),
            contrary=bad[0].contrary if bad else None,
        )

    def _groups(self, rule: Rule) -> Iterable[_Group]:
        groups: dict[int, _Group] = {}
        for order in self._of_site[rule.site]:
            address, page, _ = self._pages[order]
            if (target := rule.rewritten(address)) is None:
                continue
            if (key := target.key()) not in groups:
                standing = self._standing.get(key, order)
                content = self._pages[standing][1].content
                groups[key] = _Group(target, standing, content, min(order, standing), address.folder())
            group = groups[key]
            group.pages += 1
            kept, original, _ = self._pages[group.standing]
            if page.content != group.content:
                group.contrary = group.contrary or Contrary(page.address.url(), original.address.url())
            elif not page.is_thin and address != kept:
                group.copies += 1
                group.example = group.example or (address.url(), target.url())
        for referer, order in self._leads[rule.site]:
            address, leading, _ = self._pages[referer]
            here, page, _ = self._pages[order]
            if (target := rule.rewritten(address)) is None or rule.rewritten(here) is not None:
                continue
            group = groups[target.key()]
            twin, first, _ = self._pages[group.first]
            # The links of earlier copies were followed before, and have not led here.
            if group.first < referer and address != twin:
                urls = (leading.address.url(), first.address.url(), page.address.url())
                group.contrary = group.contrary or Contrary(*urls)
        return groups.values()


def _copies_in(groups: Iterable[_Group]) -> int:
    """Return how many copies of a folder speak for a rule; 0 if they are too few beside what speaks against it."""
    copies = sum(group.copies for group in groups if not group.contrary)
    against = sum(group.pages for group in groups if group.contrary)
    return copies if copies >= max(LEAST_COPIES, LEAST_CONFIDENCE * (copies + against)) else 0
