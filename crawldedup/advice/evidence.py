"""The pages of a crawl as evidence for rules: which address had which content, and which page led to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from crawldedup.advice.address import Address

MOST_PAGES: Final = 300_000
"""So many pages are kept, which takes some 300 MB, and a third of them of one site. Of more, the first count."""

_CACHED: Final = 20_000


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


def pages_of(verdicts: Iterable[Seen], most: int = MOST_PAGES) -> list[Page]:
    """Return the pages of which something can be learned, at most so many, from verdicts in their order."""
    pages: list[Page] = []
    contents: dict[int, int] = {}
    of_site: Counter[str] = Counter()
    # Originals and the pages that lead to others come again and again.
    address_of = lru_cache(_CACHED)(Address.of)
    for seen in verdicts:
        if len(pages) == most:
            break
        address = address_of(seen.url)
        if address is None or of_site[address.origin] >= most // 3:
            continue
        key, twin = address.key(), None
        match seen.outcome:
            case "near" | "exact":
                if (twin := address_of(seen.original or "")) is None:
                    continue
                original = twin.key()
                content = contents[key] = contents.setdefault(original, original)
            case "new" | "revisit":
                content = contents.setdefault(key, key)
            case "thin" if seen.digest:
                # Two equal short texts say little of the rest of their URLs' pages; two that differ say enough.
                content = contents[key] = hash(seen.digest)
            case _:
                continue
        referer = address_of(seen.referer or "")
        of_site[address.origin] += 1
        pages.append(Page(address, key, content, referer.key() if referer else 0, seen.outcome == "thin", twin))
    return pages
