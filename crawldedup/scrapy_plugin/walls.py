"""Recognize walls: pages that a site sends in place of many others."""

from collections import deque
from itertools import islice
from typing import Final, NamedTuple

from crawldedup.recent import put_last
from crawldedup.scope import site_of
from crawldedup.verdict import Kind, Verdict

# So many of the last judged pages, and the share of them that makes an original suspect: of a wall
# before all of a site, and before each third page. Honest pages of one template stay below: of a
# calendar, 35 of 100 and 123 of 500.
WINDOWS: Final = ((100, 0.6), (500, 0.3))
MOST_SUSPECTED: Final = 100  # originals in one crawl
_MOST_SITES: Final = 100  # are watched


class Suspicion(NamedTuple):
    """What makes an original suspect of being a wall."""

    original: str  #: The URL of the original.
    share: float  #: The share of the last pages that are its copies, each URL counted once.
    window: int  #: The number of those last pages.


class Walls:
    """Recognises walls: pages that a site answers with in place of many, such as a login form, a
    ban or a soft 404.

    `sites` holds the last judged pages of each: what the pages of a wall have in common, and hashes
    of their URLs.
    """

    def __init__(self) -> None:
        self.sites: dict[str, deque[tuple[int | None, int]]] = {}
        self._suspected: set[int] = set()

    def add(self, verdict: Verdict, digest: int = 0) -> Suspicion | None:
        """Note a judged page, and return a suspicion of its original, once for each original.

        Args:
            verdict: The verdict of the page.
            digest: The digest of its fingerprint.
        """
        key = None
        # What the pages of one wall share: their original or, where a lasting index knows them,
        # their text.
        if verdict.is_duplicate and verdict.original is not None:
            key = hash(verdict.original)
        elif verdict.kind is Kind.REVISIT and digest:
            key = hash(("text", digest))
        site = site_of(verdict.url)
        recent = self.sites.get(site, deque(maxlen=max(size for size, _ in WINDOWS)))
        put_last(self.sites, site, recent, _MOST_SITES)
        recent.appendleft((key, hash(verdict.url)))
        if key is None or key in self._suspected or len(self._suspected) == MOST_SUSPECTED:
            return None
        for size, share in WINDOWS:
            pages = min(size, len(recent))
            urls = {url for of_page, url in islice(recent, pages) if of_page == key}
            if len(urls) >= share * size:
                self._suspected.add(key)
                original = verdict.original if verdict.is_duplicate else None
                return Suspicion(original or verdict.url, len(urls) / pages, pages)
        return None
