"""The pages of a crawl as evidence for rules, and the pages that a crawl with rules would fetch."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from heapq import heappop, heappush
from typing import Final, NamedTuple

from crawldedup.advice.rules import Address, Rule, RuleBook

# The maximum number of pages, which take about 300 MB. At most a third of them is from one site.
MOST_PAGES: Final = 300_000
START: Final = 0  # the referer of pages that the crawl started with
UNTOLD: Final = -1  # the referer of pages if nothing says which page linked to them

# The URL, outcome, original, digest, referer and depth of a response, as a journal has them.
Row = tuple[str, str, str | None, str | None, str | None, int | None]


class Page(NamedTuple):
    """A page that a crawl has fetched, as evidence for or against rules.

    Pages with the same `content` are copies, and `twin` is the original of a copy.

    `key` and `referer` are keys of addresses. `referer` can also be `START` or `UNTOLD`. The
    content is 0 if it isn't known, but such a page may still lead to others.
    """

    address: Address
    key: int
    content: int
    referer: int
    is_thin: bool
    twin: Address | None


def pages_of(rows: Iterable[Row], most: int = MOST_PAGES) -> list[Page]:
    """Read the pages of a crawl from its responses, in order, up to a maximum number.

    At most a third of that number is read from one host. Rules don't apply to some URLs, so these
    are left out.
    """
    pages: list[Page] = []
    contents: dict[int, int] = {}
    of_site: Counter[str] = Counter()
    # Originals and pages that link to others come up again and again.
    address_of = lru_cache(20_000)(Address.of)
    for url, outcome, of, digest, by, depth in rows:
        if len(pages) == most:
            break
        address = address_of(url)
        if address is None or of_site[address.origin] >= most // 3:
            continue
        key = address.key()
        content = 0
        twin = None
        match outcome:
            case "near" | "exact" if twin := address_of(of or ""):
                original = twin.key()
                content = contents[key] = contents.setdefault(original, original)
            case "new" | "revisit":
                content = contents.setdefault(key, key)
            case "thin" if digest:
                # Two equal short texts prove little about other pages with such URLs, but two
                # different ones prove enough.
                content = contents[key] = hash(digest)
        referer = address_of(by or "")
        of_site[address.origin] += 1
        if referer is not None:
            led_by = referer.key()
        else:
            led_by = UNTOLD if depth else START
        pages.append(Page(address, key, content, led_by, outcome == "thin", twin))
    return pages


# The pieces of content that aren't reached. Each comes with one of its pages, and with the page
# that links to it but isn't fetched.
Lost = dict[int, tuple[Page, Page]]


def walk(pages: Sequence[Page], targets: Iterable[int | None]) -> Lost:
    """Simulate a crawl with rules, which fetches only the first page of each target.

    The target of a link that must not be followed is None. Only links in the journal count, which
    has just the first link to each URL that was followed. Return the content that is lost.
    """
    aims = list(targets)
    keys = {page.key for page in pages}
    led_to: defaultdict[int, list[int]] = defaultdict(list)
    for order, page in enumerate(pages):
        # The page that linked to it may not be in the journal, or may be the page itself.
        led_to[page.referer if page.referer in keys and page.referer != page.key else START].append(
            order
        )
    waiting = led_to.pop(START, [])
    fetched = set[int]()
    visited = set[int]()
    reached = {0}
    skipped: list[tuple[Page, Page]] = []
    while waiting:
        order = heappop(waiting)
        page = pages[order]
        aim = aims[order]
        # Several crawlers of a fleet may have fetched a page and judged it differently.
        if page.key not in visited:
            if page.referer != START if aim is None else aim in fetched:
                skipped.append((page, page))
                continue
            visited.add(page.key)
            fetched.add(page.key if aim is None else aim)
        reached.add(page.content)
        for child in led_to.pop(page.key, ()):
            heappush(waiting, child)
    lost: Lost = {}
    for page, behind in skipped:
        if page.content not in reached:
            lost.setdefault(page.content, (page, behind))
        skipped.extend((pages[order], behind) for order in led_to.pop(page.key, ()))
    return lost


def saved_by(rules: Iterable[Rule], pages: Sequence[Page]) -> int:
    """Return how many of these downloads a crawl with all of the rules would have saved."""
    book = RuleBook(rules)
    return saved(pages, (book.rewritten(page.address)[0].key() for page in pages))


def saved(pages: Sequence[Page], targets: Iterable[int | None]) -> int:
    """Return how many downloads are saved if only one page of each target is fetched.

    The target of a link that must not be followed is None. Pages behind a skipped one don't count:
    the page that it is a copy of probably links to them as well.
    """
    needed = {
        page.key if target is None else target
        for page, target in zip(pages, targets, strict=True)
        if target is not None or page.referer == START
    }
    return len({page.key for page in pages}) - len(needed)
