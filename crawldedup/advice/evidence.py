"""The pages of a crawl as evidence for rules: which address had which content, and which page led to it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from heapq import heappop, heappush
from typing import Final, NamedTuple

from crawldedup.advice.address import Address

MOST_PAGES: Final = 300_000
"""So many pages are kept, which takes some 300 MB, and a third of them of one site. Of more, the first count."""

START: Final = 0
"""The referer of a page that a crawl began with."""
UNTOLD: Final = -1
"""The referer of a page whose request did not name the page that led to it."""

_CACHED: Final = 20_000


@dataclass(frozen=True, slots=True)
class Seen:
    """A response with its `outcome`, as a journal has it.

    `original` is the page that it is a copy of, `digest` stands for its text, `referer` is the page that led to it.
    """

    url: str
    outcome: str
    original: str | None = None
    digest: str | None = None
    referer: str | None = None
    depth: int | None = None


class Page(NamedTuple):
    """A page as rules are weighed by it. Pages with one `content` are copies; `twin` is the original of a copy.

    `key` and `referer` are keys of addresses, or the second is `START` or `UNTOLD`. The content is 0 where it is not
    known: such a page may lead to others all the same.
    """

    address: Address
    key: int
    content: int
    referer: int
    is_thin: bool
    twin: Address | None


def pages_of(verdicts: Iterable[Seen], most: int = MOST_PAGES) -> list[Page]:
    """Return the pages of a crawl, at most so many, from verdicts in their order."""
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
        key, content, twin = address.key(), 0, None
        match seen.outcome:
            case "near" | "exact" if twin := address_of(seen.original or ""):
                original = twin.key()
                content = contents[key] = contents.setdefault(original, original)
            case "new" | "revisit":
                content = contents.setdefault(key, key)
            case "thin" if seen.digest:
                # Two equal short texts say little of the rest of their URLs' pages; two that differ say enough.
                content = contents[key] = hash(seen.digest)
        referer = address_of(seen.referer or "")
        of_site[address.origin] += 1
        led_by = referer.key() if referer else UNTOLD if seen.depth else START
        pages.append(Page(address, key, content, led_by, seen.outcome == "thin", twin))
    return pages


class Walk(NamedTuple):
    """What a crawl of the same site would bring: how many pages it fetches, and the contents that are `lost`.

    Each comes with its page, and with the one that leads there and is not fetched.
    """

    fetched: int
    lost: dict[int, tuple[Page, Page]]


def walk(pages: Sequence[Page], targets: Iterable[int | None]) -> Walk:
    """Walk through a crawl again, fetching the first page of each target alone; None is that of a denied link.

    Only the links of the journal count: one to each URL, the first that was followed.
    """
    aims = list(targets)
    keys = {page.key for page in pages}
    led_to: defaultdict[int, list[int]] = defaultdict(list)
    for order, page in enumerate(pages):
        # What led there may be no page of the journal, or the page itself.
        led_to[page.referer if page.referer in keys and page.referer != page.key else START].append(order)
    waiting = led_to.pop(START, [])
    fetched, visited = set[int](), set[int]()
    reached = {0}
    skipped: list[tuple[Page, Page]] = []
    while waiting:
        order = heappop(waiting)
        page, aim = pages[order], aims[order]
        # Crawlers of a fleet may have met a page each, and judged it differently.
        if page.key not in visited:
            if page.referer != START if aim is None else aim in fetched:
                skipped.append((page, page))
                continue
            visited.add(page.key)
            fetched.add(page.key if aim is None else aim)
        reached.add(page.content)
        for child in led_to.pop(page.key, ()):
            heappush(waiting, child)
    lost: dict[int, tuple[Page, Page]] = {}
    for page, behind in skipped:
        if page.content not in reached:
            lost.setdefault(page.content, (page, behind))
        skipped.extend((pages[order], behind) for order in led_to.pop(page.key, ()))
    return Walk(len(fetched), lost)
