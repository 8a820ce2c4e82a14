"""The last pages of a crawl, of which rules and traps are learned now and then."""

from __future__ import annotations

import re
from collections import Counter, deque
from typing import TYPE_CHECKING, Final, NamedTuple

from crawldedup.advice.address import name_of
from crawldedup.advice.evidence import Evidence, Seen
from crawldedup.advice.mining import mine, weigh
from crawldedup.journal.records import OUTCOMES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawldedup.advice.address import Address
    from crawldedup.advice.kept import KeptRules
    from crawldedup.advice.rules import Rule
    from crawldedup.verdict import Verdict

MOST_PAGES: Final = 20_000
"""So many pages are looked at, the last ones, which takes some 15 MB."""

FIRST_LOOK: Final = 100
"""After so many pages rules are looked for first."""

TRAP_PAGES: Final = 50
TRAP_SHARE: Final = 0.9
"""Pages of one form are a trap if so many of them were seen, and this share were copies."""

_GROWTH: Final = 0.1
_MOST_BETWEEN: Final = 2_000


class Lessons(NamedTuple):
    """What the last pages teach: new rules, what they say of the known ones, and forms of URLs that are traps."""

    rules: list[Rule]
    weighed: list[Rule]
    traps: frozenset[str]


class Window:
    """The last judged pages of a crawl."""

    def __init__(self) -> None:
        self._pages: deque[Seen] = deque(maxlen=MOST_PAGES)
        self._count = self._taken = 0
        self._due = FIRST_LOOK

    def add(self, verdict: Verdict, referer: str | None) -> None:
        """Note a page, and what led to it."""
        self._count += 1
        outcome = OUTCOMES[verdict.kind]
        self._pages.append(Seen(verdict.url, outcome, verdict.original, None, referer, verdict.replaces))

    def take(self, *, all_new: bool = False) -> list[Seen] | None:
        """Return the pages if it is time to learn from them: more often while there are few.

        With `all_new` it is if one has come since it was.
        """
        if self._count == self._taken or (self._count < self._due and not all_new):
            return None
        self._taken = self._count
        self._due = self._count + max(FIRST_LOOK, min(int(self._count * _GROWTH), _MOST_BETWEEN))
        return list(self._pages)


def lessons(pages: Sequence[Seen], known: KeptRules) -> Lessons:
    """Return what pages teach. Takes up to a second, and changes nothing: for a thread."""
    evidence = Evidence(most=3 * MOST_PAGES)
    for each in pages:
        evidence.add(each)
    seen: Counter[str] = Counter()
    copies: Counter[str] = Counter()
    # A page that was fetched twice is no two pages.
    for page in {page.key: page for page in evidence.pages}.values():
        form = form_of(page.address)
        seen[form] += 1
        copies[form] += page.twin is not None and not page.replaces
    crowds = {form: count for form, count in seen.items() if count >= TRAP_PAGES}
    traps = frozenset(form for form, count in crowds.items() if copies[form] >= TRAP_SHARE * count)
    return Lessons(mine(evidence.pages, known.withdrawn), weigh(known.rules, evidence.pages), traps)


def form_of(address: Address) -> str:
    """Return the address with all numbers alike and without values."""
    names = "&".join(sorted({*map(name_of, address.parameters)}))
    return f"{address.origin}{re.sub('[0-9]+', '0', address.path)}?{names}"
