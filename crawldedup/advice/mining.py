"""Find rules about the URLs of copies, and check that they hold for all pages of a site.

See Bar-Yossef, Keidar and Schonfeld, "Do not crawl in the DUST: different URLs with similar text"
(2007). The evidence is which content each address had, and which page linked to it. Pages that a
rule treats as the same but that are not copies count against it, and so do copies that link to
pages which their originals don't link to. Candidates are tried one after the other, on the
addresses as rewritten by the accepted rules. So a candidate that does the same as a better one has
nothing left to do.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Final

from crawldedup.advice.differences import Change, changes_between
from crawldedup.advice.evidence import Page, walk
from crawldedup.advice.rules import FRAME, LEAST_CONFIDENCE, Address, Rule, RuleBook
from crawldedup.scope import site_of

LEAST_SUPPORT: Final = 5  # how many different pieces of content have to support a rule
LEAST_COPIES: Final = 2  # how many pages in a folder have to support a rule there
# How many pages have to support a rule that applies to a single page, such as /?wc-api=.
LEAST_COPIES_OF_PAGE: Final = 20
# How many pages of a frameset have to be copies. Their queries are addresses of all kinds.
LEAST_OF_FRAMESET: Final = 10
# The number of candidates that are examined per site: those that most copies support.
MOST_OF_A_SITE: Final = 64
MOST_FOLDERS: Final = 1_000  # the most folders in which a rule applies: those with the most copies

# The kinds of rules that replace a whole place with another one, rather than a page with one next
# to it.
_MIRRORS: Final = ("host", "prefix")
_ROUNDS: Final = 3
# How often to look for exceptions. When one exception brings back a page, that page may show that
# more pages behind it would be lost.
_EXCEPTED: Final = 5
_MOST_COUNTED: Final = 5_000
_TWINS: Final = 3


def mine(pages: Sequence[Page], withdrawn: Sequence[Rule] = ()) -> list[Rule]:
    """Find the rules with which a crawl would still reach all content, best supported first.

    Withdrawn rules are left out.
    """
    wrong = {(*rule.id, folder) for rule in withdrawn for folder in rule.folders}
    rules: list[Rule] = []
    for name, of_site in _by_site(pages).items():
        rules += _Site(name, of_site, wrong).mined()
    rules.sort(key=lambda rule: -rule.support)
    confirmed = _confirmed(rules, pages)
    return [replace(rule, confirmed=confirmed[rule.name]) for rule in rules]


def _by_site(pages: Sequence[Page]) -> dict[str, list[Page]]:
    """Group pages by their site.

    Each group includes the pages on other sites that the site links to.

    If a page of a site is lost, these may also be lost.
    """
    site = cache(site_of)
    sites = {page.key: site(page.address.origin) for page in pages}
    of_sites = defaultdict[str, list[Page]](list)
    for page in pages:
        own = sites[page.key]
        for name in {own, sites.get(page.referer, own)}:
            of_sites[name].append(page)
    return of_sites


def _confirmed(rules: Sequence[Rule], pages: Sequence[Page]) -> dict[str, frozenset[str]]:
    """Return, by rule, the digests of the targets where a copy was really seen."""
    book = RuleBook(rules)
    # The first content at each target, and the rules that led there.
    firsts: dict[int, tuple[int, tuple[Rule, ...]]] = {}
    confirmed: dict[str, set[str]] = {rule.name: set() for rule in rules}
    contradicted: set[str] = set()
    for page in pages:
        if not page.content:
            continue
        target, used = book.rewritten(page.address)
        content, others = firsts.setdefault(target.key(), (page.content, used))
        if content != page.content:
            contradicted.add(target.digest())
        elif not page.is_thin and page.twin is not None:
            for rule in {*used, *others}:
                confirmed[rule.name].add(target.digest())
    return {name: frozenset(targets - contradicted) for name, targets in confirmed.items()}


@dataclass(slots=True, eq=False)
class _Group:
    """Pages that a rule treats as the same page, by their places in the crawl (`orders`).

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
    """The pages of a site and those they link to, with URLs rewritten by accepted rules."""

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
        """Find the rules of the site.

        They are found in rounds, because a print view with a session ID differs from the article in
        two respects.
        """
        for _ in range(_ROUNDS):
            accepted = [candidate for candidate in self._candidates() if self._accepts(candidate)]
            if not accepted:
                break
        return list(self._rules.values())

    def _candidates(self) -> list[Rule]:
        """Return the rules that enough copies suggest, to be tried out, the simplest first.

        For each host, these are the ones with the most support.
        """
        found: list[Rule] = []
        for origin, votes in self._votes().items():
            if site_of(origin) == self._name:
                most_common = votes.most_common(MOST_OF_A_SITE)
                found += [Rule(*change) for change, count in most_common if count >= LEAST_SUPPORT]
        return sorted(found, key=_order_of)

    def _votes(self) -> dict[str, Counter[Change]]:
        """Count the copies that suggest each change of URLs, by scheme and host.

        A copy is compared with its original, and with the last copies of it.
        """
        votes = defaultdict[str, Counter[Change]](Counter)
        recent: dict[int, deque[Address]] = {}
        for page, address in zip(self._pages, self._addresses, strict=True):
            if page.twin is None:
                continue
            twin, _ = self._book.rewritten(page.twin)
            copies = recent.setdefault(page.content, deque([twin], _TWINS))
            for other in {twin, *copies}:
                for change in changes_between(address, other):
                    counted = votes[change.site]
                    if change in counted or len(counted) < _MOST_COUNTED:
                        counted[change] += 1
            copies.append(address)
        return votes

    def _accepts(self, candidate: Rule) -> bool:
        """Try a candidate, and accept it for the folders where it holds.

        Return False if it has too little support, or if content would be lost.
        """
        rule = self._without_losses(candidate)
        if rule is None:
            return False
        earlier = self._rules.get(rule.id)
        if earlier is not None:
            # Evidence about some pages must not count for a whole folder.
            if bool(earlier.targets) != bool(rule.targets):
                return False
            rule = _merged(earlier, rule)
        self._rules[rule.id] = rule
        self._book = RuleBook(self._rules.values())
        for order, address in enumerate(self._addresses):
            if rule.rewritten(address) is not None:
                self._addresses[order] = self._book.rewritten(address)[0]
                self._keys[order] = self._addresses[order].key()
        return True

    def _without_losses(self, candidate: Rule) -> Rule | None:
        """Limit a candidate to the folders where it holds, and add exceptions that keep content.

        The result is None if it has too little support, or if content would still be lost.
        """
        groups = self._groups(candidate)
        rule = self._held(candidate, groups)
        for _ in range(_EXCEPTED):
            lost = [] if rule is None else self._lost(rule, groups)
            if not lost:
                return rule
            for page, behind in lost:
                group = groups.get(behind.key)
                if group is not None:
                    first = self._pages[group.first].address.url()
                    group.contrary = _why_lost(page, behind, first)
            rule = self._held(candidate, groups)
        return None

    def _groups(self, rule: Rule) -> dict[int, _Group]:
        """Group the pages that a rule treats as the same page, by the keys of the pages."""
        first_at: dict[int, int] = {}
        for order, page in enumerate(self._pages):
            if page.content:
                first_at.setdefault(self._keys[order], order)
        groups: dict[int, _Group] = {}
        of_targets: dict[int, _Group] = {}
        for order, (page, address) in enumerate(zip(self._pages, self._addresses, strict=True)):
            target = rule.rewritten(address) if page.content else None
            if target is None:
                continue
            key = target.key()
            if key not in of_targets:
                folder = rule.folder_of(address)
                of_targets[key] = _Group(target, first_at.get(key, order), folder)
            groups[page.key] = of_targets[key]
            self._add(of_targets[key], order, rule)
        if rule.find == FRAME:
            _forget_few_copies(of_targets.values())
        return groups

    def _add(self, group: _Group, order: int, rule: Rule) -> None:
        """Add a page to a group, as evidence for or against the rule that made the group."""
        group.orders.append(order)
        page = self._pages[order]
        kept = self._pages[group.kept]
        contrary = ""
        if page.content != kept.content:
            contrary = f"{page.address.url()} is not a copy of {kept.address.url()}"
        elif not page.is_thin and self._addresses[order] != self._addresses[group.kept]:
            if not group.copies:
                group.example = (page.address.url(), group.target.url())
            group.copies += 1
        elif rule.kind in _MIRRORS and order == group.kept and _is_original(page):
            # A place with its own content isn't a mirror of another one.
            contrary = f"{page.address.url()} is a separate page"
        group.contrary = group.contrary or contrary

    def _held(self, rule: Rule, groups: Mapping[int, _Group]) -> Rule | None:
        """Limit a rule to the folders where it holds, and add the evidence for and against it.

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
        good = [group for group in held if not group.contrary]
        bad = [group for group in held if group.contrary]
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
        """Limit a rule to single pages where parameters make no difference.

        They may matter elsewhere.

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
        """Find the pages whose content a crawl would no longer reach with one more rule.

        Each comes with the page that links to it but isn't fetched.
        """
        targets = []
        for key, address in zip(self._keys, self._addresses, strict=True):
            target = rule.rewritten(address)
            targets.append(key if target is None else target.key())
        lost = walk(self._pages, targets)
        contents = {page.key: {page.content} for page, _ in lost.values()}
        # Links are compared as rewritten by the rule, so a page is reached if one of its group is.
        for key in contents.keys() & groups.keys():
            contents[key] = {self._pages[order].content for order in groups[key].orders}
        return [
            (page, behind) for page, behind in lost.values() if contents[page.key] <= lost.keys()
        ]


def _order_of(rule: Rule) -> tuple[bool, bool, int, bool]:
    """Return the sort key of a candidate, which decides when it is tried.

    Queries come first, as in a RuleBook: framesets, because one rule is enough for all of their
    pages, then those with the fewest parameters, and names before names with values.
    """
    return rule.kind != "query", rule.find != FRAME, rule.find.count("&"), "=" in rule.find


def _merged(earlier: Rule, later: Rule) -> Rule:
    """Combine a rule with the same rule as another round found it in further folders."""
    return replace(
        earlier,
        folders=earlier.folders | later.folders,
        exceptions=earlier.exceptions | later.exceptions,
        targets=earlier.targets | later.targets,
        support=earlier.support + later.support,
        copies=earlier.copies + later.copies,
        against=earlier.against + later.against,
    )


def _why_lost(page: Page, behind: Page, first: str) -> str:
    """Say why the content of a page would be lost behind a page that isn't fetched.

    `first` is the URL of the page that is fetched instead.
    """
    if page == behind:
        return f"{behind.address.url()} is not a copy of {first}"
    return f"{behind.address.url()} leads to {page.address.url()}, and {first} does not"


def _is_original(page: Page) -> bool:
    """Return whether a page is an original with enough text to count as evidence."""
    return page.twin is None and not page.is_thin


def _forget_few_copies(groups: Iterable[_Group]) -> None:
    """Ignore the copies of framesets that have too few copies.

    A few queries of a page may be views, like ?view/print, and others content.
    """
    for group in groups:
        if group.copies < LEAST_OF_FRAMESET:
            group.copies = 0


def _copies_in(groups: Iterable[_Group]) -> int:
    """Return how many copies in a folder support a rule, or 0 if too much speaks against it."""
    copies = sum(group.copies for group in groups if not group.contrary)
    against = sum(len(group.orders) for group in groups if group.contrary)
    return copies if copies >= max(LEAST_COPIES, LEAST_CONFIDENCE * (copies + against)) else 0
