"""The pages of a crawl as evidence for rules: which address had which content, and which page led to it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from crawldedup.advice.address import Address
from crawldedup.advice.rules import Rule

MOST_PAGES: Final = 300_000
"""So many pages are kept, which takes some 300 MB, and a third of them of one site. Of more, the first count."""

MOST_RULES: Final = 2_000
"""So many rules are kept that crawls have found wrong."""

_CACHED: Final = 20_000
_COPIES: Final = ("near", "exact")
_OWN: Final = ("new", "revisit")


@dataclass(frozen=True, slots=True)
class Seen:
    """A page that was judged; `outcome` is "new", "near", "exact", "revisit" or "thin", others are left out.

    `original` is the page that it is a copy of, `digest` stands for its text, `referer` is the page that led to it.
    """

    url: str
    outcome: str
    original: str | None = None
    digest: str | None = None
    referer: str | None = None


class Page(NamedTuple):
    """A page as rules are weighed by it. Pages with one `content` are copies; `twin` is the original of a copy.

    `key` and `referer` are keys of addresses, of which the second is 0 where nothing led to the page.
    """

    address: Address
    key: int
    content: int
    referer: int
    is_thin: bool
    twin: Address | None


class Evidence:
    """Collects pages in the order of their verdicts, and the rules that crawls have withdrawn. `most` bounds it."""

    def __init__(self, most: int = MOST_PAGES) -> None:
        self._most = most
        self._contents: dict[int, int] = {}
        self._origins: dict[str, str] = {}
        # Originals and the pages that lead to others come again and again.
        self._address = lru_cache(_CACHED)(self._parsed)
        self.pages: list[Page] = []
        self.withdrawn: list[Rule] = []
        self._counts: Counter[str] = Counter()

    @property
    def is_full(self) -> bool:
        """True if no more pages are taken."""
        return len(self.pages) >= self._most

    def add(self, seen: Seen) -> None:
        """Note a page, unless nothing can be learned from it."""
        address = self._address(seen.url)
        if address is None or self.is_full or self._counts[address.origin] >= self._most // 3:
            return
        key = address.key()
        twin = None
        is_thin = seen.outcome == "thin"
        if seen.outcome in _COPIES:
            twin = self._address(seen.original or "")
            if twin is None:
                return
            twin_key = twin.key()
            content = self._contents[key] = self._contents.setdefault(twin_key, twin_key)
        elif seen.outcome in _OWN:
            content = self._contents.setdefault(key, key)
        elif is_thin and seen.digest:
            # Two short texts that are equal say little of the rest of their URLs' pages; two that differ say enough.
            content = self._contents[key] = hash(seen.digest)
        else:
            return
        referer = self._address(seen.referer) if seen.referer else None
        self._counts[address.origin] += 1
        self.pages.append(Page(address, key, content, referer.key() if referer else 0, is_thin, twin))

    def add_withdrawn(self, rule: Rule) -> None:
        """Note a rule that a crawl has found wrong."""
        if len(self.withdrawn) < MOST_RULES:
            self.withdrawn.append(rule)

    def _parsed(self, url: str) -> Address | None:
        address = Address.of(url)
        if address is None:
            return None
        # One text for all addresses of a site.
        return Address(self._origins.setdefault(address.origin, address.origin), address.path, address.parameters)
