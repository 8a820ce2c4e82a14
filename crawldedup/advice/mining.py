"""Mine rules: how do the URLs of copies differ, and is that true for all pages of their site?

See Bar-Yossef, Keidar and Schonfeld, "Do not crawl in the DUST: different URLs with similar text"
(2007). The evidence is which content each address had, and which page linked to it. Pages that a
rule treats as the same but that are not copies count against it, and so do copies that link to
pages which their originals don't link to. Candidates are tried one after the other, on the
addresses as rewritten by the accepted rules. So a candidate that does the same as a better one has
nothing left to do.
"""

import re
from collections import Counter, defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Final

from crawldedup.advice.evidence import Page, walk
from crawldedup.advice.rules import (
    FRAME,
    LEAST_CONFIDENCE,
    Address,
    Rule,
    RuleBook,
    are_views,
    is_frame,
    is_token,
    name_of,
)
from crawldedup.advice.views import VIEWS
from crawldedup.scope import site_of

LEAST_SUPPORT: Final = 5  # how many different pieces of content have to support a rule
LEAST_COPIES: Final = 2  # how many pages in a folder have to support a rule there
# How many pages have to support a rule that applies to a single page, such as /?wc-api=.
LEAST_COPIES_OF_PAGE: Final = 20
# How many pages of a frameset have to be copies. Their queries are addresses of all kinds.
LEAST_OF_FRAMESET: Final = 10
# The number of candidates that are examined per site: those that most copies support.
MOST_OF_A_SITE: Final = 64
MOST_FOLDERS: Final = 1_000  # in which a rule applies: those with the most copies

_MIRRORS: Final = (
    "host",
    "prefix",
)  # kinds that replace a whole place with another one, rather than a page with one next to it
_EXCEPTED: Final = 5  # rounds of exceptions: behind the pages that one saves, more may be lost
_MOST_COUNTED: Final = 5_000
_TWINS: Final = 3
_MOST_PARAMETERS: Final = 6
_LONGEST_VALUE: Final = 20
_LONGEST_ENDING: Final = 40
_MOST_LEVELS: Final = 4
_VIEW: Final = re.compile(rf"\b(?:{VIEWS}|mirror|wap)\b|^http:", re.IGNORECASE)

_Change = tuple[str, str, str, str]  # the kind, site, find and replace of a rule


def mine(pages: Sequence[Page], withdrawn: Sequence[Rule] = ()) -> list[Rule]:
    """Return the rules with which a crawl still reaches all content, best supported first.

    Withdrawn rules are left out.
    """
    wrong = {(*rule.id, folder) for rule in withdrawn for folder in rule.folders}
    site, of_sites = cache(site_of), defaultdict[str, list[Page]](list)
    sites = {page.key: site(page.address.origin) for page in pages}
    for page in pages:
        # If a page of a site is lost, the pages of other sites that it links to may also be lost.
        for name in {sites[page.key], sites.get(page.referer, sites[page.key])}:
            of_sites[name].append(page)
    rules = [
        rule for name, of_site in of_sites.items() for rule in _Site(name, of_site, wrong).mined()
    ]
    rules.sort(key=lambda rule: -rule.support)
    # Only targets whose copies were seen are confirmed.
    book = RuleBook(rules)
    firsts: dict[int, tuple[int, tuple[Rule, ...]]] = {}
    confirmed: defaultdict[str, set[str]] = defaultdict(set)
    contradicted: set[str] = set()
    for page in pages:
        if page.content:
            target, used = book.rewritten(page.address)
            content, others = firsts.setdefault(target.key(), (page.content, used))
            if content != page.content:
                contradicted.add(target.digest())
            elif not page.is_thin and page.twin is not None:
                for rule in {*used, *others}:
                    confirmed[rule.name].add(target.digest())
    return [
        replace(rule, confirmed=frozenset(confirmed[rule.name] - contradicted)) for rule in rules
    ]


def _between(one: Address, other: Address) -> Iterator[_Change]:
    """Yield the rules that turn one address into the other if they differ in one respect.

    A rule leads from the worse address to the better one. The better one doesn't have a word for a
    view, such as "print", or else it's shorter.
    """
    is_alike = [part == other_part for part, other_part in zip(one, other, strict=True)]
    if is_alike == [True, True, False]:
        yield from _of_queries(one, other)
    elif is_alike == [False, True, True] and are_views(one.origin, other.origin):
        worse, better = _sorted(one.origin, other.origin)
        yield "host", worse, worse, better
    elif is_alike == [True, False, True]:
        have_queries = bool(one.parameters)
        yield from _of_paths(one.origin, one.path, other.path, have_queries=have_queries)


def _sorted(one: str, other: str, *, nothing: str = "") -> tuple[str, str]:
    """Return the worse of two parts of URLs, and the better one.

    `nothing` counts as better, because a rule can't search for it.
    """
    better, worse = sorted(
        (one, other), key=lambda part: (part != nothing, bool(_VIEW.search(part)), len(part), part)
    )
    return worse, better


def _of_queries(one: Address, other: Address) -> Iterator[_Change]:
    if all(is_frame(each.parameters) or not each.parameters for each in (one, other)):
        yield "query", one.origin, FRAME, ""
    differing = {*one.parameters} ^ {*other.parameters}
    names = sorted({*map(name_of, differing)})
    if 0 < len(names) <= _MOST_PARAMETERS:
        yield "query", one.origin, "&".join(names), ""
    for parameter in differing if len(differing) == 1 else ():
        if (
            "=" in parameter
            and len(parameter) <= _LONGEST_VALUE
            and not is_token(parameter.partition("=")[2])
        ):
            yield "query", one.origin, parameter, ""


def _of_paths(origin: str, one: str, other: str, *, have_queries: bool) -> Iterator[_Change]:
    left, right = one.split("/")[1:], other.split("/")[1:]
    # The name of the page comes after the part that differs, and isn't empty.
    end = min(_common(left[::-1], right[::-1]), min(len(left), len(right)) - _common(left, right))
    if end and (left[-1] or end > 1):
        folders = left[: len(left) - end], right[: len(right) - end]
        if max(map(len, folders)) <= _MOST_LEVELS and not any(
            map(is_token, (*folders[0], *folders[1]))
        ):
            before, after = ("/".join(("", *each, "")) for each in folders)
            yield "prefix", origin, *_sorted(before, after, nothing="/")
    yield from _of_endings(origin, one, other, are_scripts=have_queries)


def _common(left: Sequence[str], right: Sequence[str]) -> int:
    """Return how many parts two sequences have in common at the beginning."""
    pairs = enumerate(zip(left, right, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(left), len(right)))


def _of_endings(
    origin: str, one: str, other: str, *, are_scripts: bool = False
) -> Iterator[_Change]:
    """Yield the rule for the endings of two paths, if there is one.

    For scripts, the query names the content, so a whole path may count as an ending.
    """
    start = _common(one, other)
    if one[start : start + 1].isalnum() or other[start : start + 1].isalnum():
        # Not in the middle of a word.
        start -= 1
        while are_scripts and start > 0 and one[start].isalnum():
            start -= 1
        if start < 0 or one[start].isalnum():
            return
    left, right = _sorted(one[start:], other[start:])
    # Numbers tell pages apart.
    if (
        (start or are_scripts)
        and len(left) + len(right) <= _LONGEST_ENDING
        and not any(map(str.isdigit, left + right))
    ):
        yield "suffix", origin, left, right


@dataclass(slots=True, eq=False)
class _Group:
    """Pages that a rule treats as one, by their places in the crawl (`orders`).

    `kept` is the page at the `target`, or else the first page.
    """

    target: Address
    kept: int
    folder: str
    orders: list[int] = field(default_factory=list)
    copies: int = 0
    example: tuple[str, str] = ("", "")
    contrary: str = ""  # why they have more than one content

    @property
    def first(self) -> int:
        return min(self.kept, self.orders[0])


class _Site:
    """The pages of a site and those they link to, with addresses rewritten by accepted rules."""

    def __init__(
        self, name: str, pages: Sequence[Page], wrong: Collection[tuple[str, ...]]
    ) -> None:
        self._name = name
        self._pages = pages
        self._wrong = wrong  # rules, each with a folder where it is known to be wrong
        self._rules: dict[tuple[str, ...], Rule] = {}
        self._book = RuleBook()
        self._addresses = [page.address for page in pages]
        self._keys = [page.key for page in pages]

    def mined(self) -> list[Rule]:
        """Return the rules of the site.

        They are found in rounds, because a print view with a session ID differs from the article
        in two respects.
        """
        for _ in range(3):
            if sum(self._accepts(candidate) for candidate in self._candidates()) == 0:
                break
        return [*self._rules.values()]

    def _candidates(self) -> list[Rule]:
        """Return the candidates that enough copies support, the simplest first.

        For each host, these are the ones with the most support.
        """
        votes: defaultdict[str, Counter[_Change]] = defaultdict(Counter)
        recent: dict[int, deque[Address]] = {}
        for page, address in zip(self._pages, self._addresses, strict=True):
            if page.twin is None:
                continue
            twin, _ = self._book.rewritten(page.twin)
            copies = recent.setdefault(page.content, deque([twin], _TWINS))
            for other in {twin, *copies}:
                for change in _between(address, other):
                    counted = votes[change[1]]
                    if change in counted or len(counted) < _MOST_COUNTED:
                        counted[change] += 1
            copies.append(address)
        found = []
        for origin, counted in votes.items():
            if site_of(origin) == self._name:
                most_common = counted.most_common(MOST_OF_A_SITE)
                found += [Rule(*change) for change, count in most_common if count >= LEAST_SUPPORT]
        # Queries come first, as in a RuleBook: framesets, because one rule is enough for all of
        # their pages, then those with the fewest parameters, and names before names with values.
        return sorted(
            found,
            key=lambda rule: (
                rule.kind != "query",
                rule.find != FRAME,
                rule.find.count("&"),
                "=" in rule.find,
            ),
        )

    def _accepts(self, candidate: Rule) -> bool:
        """Accept a candidate where it holds.

        Return False if it has too little support, or if content would be lost.
        """
        groups = self._groups(candidate)
        rule = self._held(candidate, groups)
        for _ in range(_EXCEPTED):
            if not (lost := self._lost(rule, groups) if rule else []):
                break
            for page, behind in lost:
                if (group := groups.get(behind.key)) is not None:
                    first = self._pages[group.first].address.url()
                    leads = f"leads to {page.address.url()}, and {first} does not"
                    group.contrary = (
                        f"{behind.address.url()} "
                        f"{leads if page != behind else f'is not a copy of {first}'}"
                    )
            rule = self._held(candidate, groups)
        if rule is None or lost:
            return False
        earlier = self._rules.get(rule.id)
        if earlier is not None and bool(earlier.targets) != bool(rule.targets):
            return False  # Evidence about some pages must not count for a whole folder.
        if earlier is not None:
            # Another round finds it in further folders.
            sets = {
                name: getattr(earlier, name) | getattr(rule, name)
                for name in ("folders", "exceptions", "targets")
            }
            sums = {
                name: getattr(earlier, name) + getattr(rule, name)
                for name in ("support", "copies", "against")
            }
            rule = replace(earlier, **sets, **sums)
        self._rules[rule.id] = rule
        self._book = RuleBook(self._rules.values())
        for order, address in enumerate(self._addresses):
            if rule.rewritten(address) is not None:
                self._addresses[order] = self._book.rewritten(address)[0]
                self._keys[order] = self._addresses[order].key()
        return True

    def _groups(self, rule: Rule) -> dict[int, _Group]:
        first_at: dict[int, int] = {}
        for order, page in enumerate(self._pages):
            if page.content:
                first_at.setdefault(self._keys[order], order)
        groups: dict[int, _Group] = {}
        of_targets: dict[int, _Group] = {}
        for order, (page, address) in enumerate(zip(self._pages, self._addresses, strict=True)):
            if not page.content or (target := rule.rewritten(address)) is None:
                continue
            if (key := target.key()) not in of_targets:
                folder = rule.folder_of(address)
                of_targets[key] = _Group(target, first_at.get(key, order), folder)
            group = groups[page.key] = of_targets[key]
            group.orders.append(order)
            kept = self._pages[group.kept]
            if page.content != kept.content:
                group.contrary = (
                    group.contrary or f"{page.address.url()} is not a copy of {kept.address.url()}"
                )
            elif not page.is_thin and address != self._addresses[group.kept]:
                group.copies += 1
                group.example = (
                    group.example if group.copies > 1 else (page.address.url(), target.url())
                )
            elif (
                rule.kind in _MIRRORS
                and order == group.kept
                and page.twin is None
                and not page.is_thin
            ):
                # A place with its own content isn't a mirror of another one.
                group.contrary = group.contrary or f"{page.address.url()} is a separate page"
        if rule.find == FRAME:
            _forget_few_copies(of_targets.values())
        return groups

    def _held(self, rule: Rule, groups: Mapping[int, _Group]) -> Rule | None:
        """Return a rule with the evidence for and against it in the folders where it holds.

        The result is None if the rule has too little support.
        """
        folders: defaultdict[str, list[_Group]] = defaultdict(list)
        for group in dict.fromkeys(groups.values()):
            if group.copies or group.contrary:
                folders[group.folder].append(group)
        copies = {
            folder: _copies_in(folders[folder])
            for folder in folders
            if (*rule.id, folder) not in self._wrong
        }
        sound = [folder for folder, count in Counter(copies).most_common(MOST_FOLDERS) if count]
        held = sorted(
            (group for folder in sound for group in folders[folder]), key=lambda group: group.first
        )
        good, bad = (
            [group for group in held if not group.contrary],
            [group for group in held if group.contrary],
        )
        support = len({self._pages[group.kept].content for group in good})
        if support < LEAST_SUPPORT:
            return self._held_at_pages(rule, groups)
        return replace(
            rule,
            folders=frozenset(sound),
            exceptions=frozenset(group.target.url() for group in bad),
            support=support,
            copies=sum(group.copies for group in good),
            against=sum(len(group.orders) for group in bad),
            examples=tuple(group.example for group in good[:3]),
            contrary=bad[0].contrary if bad else "",
        )

    def _held_at_pages(self, rule: Rule, groups: Mapping[int, _Group]) -> Rule | None:
        """Return a rule for pages where parameters make no difference, whatever they do elsewhere.

        Each of these pages was also fetched without the parameters, and everything that was fetched
        with them is a copy of it. The page of a frameset doesn't need to be fetched, because every
        link to it may have a query. The result is None if there is no such page.
        """
        if rule.kind != "query":
            return None
        held = []
        for group in dict.fromkeys(groups.values()):
            is_met = rule.find == FRAME or self._keys[group.kept] == group.target.key()
            is_wrong = bool(group.contrary) or (*rule.id, group.folder) in self._wrong
            if is_met and not is_wrong and group.copies >= LEAST_COPIES_OF_PAGE:
                held.append(group)
        if not held:
            return None
        return replace(
            rule,
            folders=frozenset([group.folder for group in held]),
            targets=frozenset([group.target.url() for group in held]),
            support=len(held),
            copies=sum(group.copies for group in held),
            examples=tuple([group.example for group in held[:3]]),
        )

    def _lost(self, rule: Rule, groups: Mapping[int, _Group]) -> list[tuple[Page, Page]]:
        """Return the pages whose content a crawl with this additional rule doesn't reach.

        Each comes with the page that links to it but isn't fetched.
        """
        rewritten = map(rule.rewritten, self._addresses)
        targets = (
            key if to is None else to.key() for key, to in zip(self._keys, rewritten, strict=True)
        )
        _, lost = walk(self._pages, targets)
        contents = {page.key: {page.content} for page, _ in lost.values()}
        # Links are compared as rewritten by the rule, so a page is reached if one of its group is.
        for key in contents.keys() & groups.keys():
            contents[key] = {self._pages[order].content for order in groups[key].orders}
        return [
            (page, behind) for page, behind in lost.values() if contents[page.key] <= lost.keys()
        ]


def _forget_few_copies(groups: Iterable[_Group]) -> None:
    """Don't count the copies of pages that have too few for a frameset.

    A few queries of a page may be views, like ?view/print, and others content.
    """
    for group in groups:
        if group.copies < LEAST_OF_FRAMESET:
            group.copies = 0


def _copies_in(groups: Iterable[_Group]) -> int:
    """Return how many copies in a folder support a rule.

    The result is 0 if they are too few compared with the evidence against it.
    """
    copies = sum(group.copies for group in groups if not group.contrary)
    against = sum(len(group.orders) for group in groups if group.contrary)
    return copies if copies >= max(LEAST_COPIES, LEAST_CONFIDENCE * (copies + against)) else 0
