"""Recognize walls: pages that a site sends in place of many others."""

from collections import deque
from itertools import islice
from typing import Final, NamedTuple

from crawldedup.recent import put_last
from crawldedup.scope import site_of
from crawldedup.verdict import Kind, Verdict, is_hardly_apart

# So many of the last judged pages, and the share of them that makes an original suspect: of a wall
# before all of a site, and before each third page. Honest pages of one template stay below: of a
# calendar, 35 of 100 and 123 of 500.
WINDOWS: Final = ((100, 0.6), (500, 0.3))
MOST_SUSPECTED: Final = 20  # originals of a site, so that no site uses up those of another
_MOST_SITES: Final = 100  # are watched
_MOST_KEPT: Final = 10_000  # pages of which it is known what they are like


class Suspicion(NamedTuple):
    """What makes an original suspect of being a wall."""

    original: str  #: The URL of the original.
    #: The share of the last pages that read like it, itself included. Each URL counts once.
    share: float
    window: int  #: The number of those last pages.


class Walls:
    """Recognizes walls: pages that a site answers with in place of many, such as a login form, a
    ban or a soft 404.

    A wall that repeats the address differs from page to page. So its pages are kept, and each may
    be the nearest page of the next one. Pages that only text or links kept apart count as copies of
    the first one, and so do copies of them.

    `sites` holds the last judged pages of each: what the pages of a wall have in common, and hashes
    of their URLs.
    """

    def __init__(self) -> None:
        self.sites: dict[str, deque[tuple[int, int]]] = {}
        self._suspected: dict[str, set[int]] = {}
        # The URLs of the pages that later ones count as copies of, by hashes of the URLs of those.
        # What was needed last comes last.
        self._first_ones: dict[int, str] = {}

    def add(self, verdict: Verdict, digest: int = 0) -> Suspicion | None:
        """Note a judged page, and return a suspicion of its original, once for each original.

        Args:
            verdict: The verdict of the page.
            digest: The digest of its fingerprint.
        """
        first = self._first_one_like(verdict)
        is_revisit = verdict.kind is Kind.REVISIT and digest != 0
        # What the pages of one wall share: the first of them or, where a lasting index knows them,
        # their text.
        key = hash(("text", digest)) if is_revisit else hash(first or verdict.url)
        site = site_of(verdict.url)
        recent = self.sites.get(site, deque(maxlen=max(size for size, _ in WINDOWS)))
        put_last(self.sites, site, recent, _MOST_SITES)
        recent.appendleft((key, hash(verdict.url)))
        if first is None and not is_revisit:
            return None
        suspected = self._suspected.get(site, set())
        if key in suspected or len(suspected) == MOST_SUSPECTED:
            return None
        for size, share in WINDOWS:
            pages = min(size, len(recent))
            urls = {url for of_page, url in islice(recent, pages) if of_page == key}
            if len(urls) >= share * size:
                suspected.add(key)
                put_last(self._suspected, site, suspected, _MOST_SITES)
                return Suspicion(first or verdict.url, len(urls) / pages, pages)
        return None

    def _first_one_like(self, verdict: Verdict) -> str | None:
        """Return the URL of the first page that a page reads like, by way of the pages between
        them; None if it is no copy, and was not kept apart by little.
        """
        nearest = verdict.original if verdict.is_duplicate else None
        if is_hardly_apart(verdict):
            nearest = verdict.rejected
        if nearest is None:
            return None
        first = self._first_ones.get(hash(nearest))
        if first is None:
            first = nearest
        else:
            put_last(self._first_ones, hash(nearest), first, _MOST_KEPT)
        if not verdict.is_duplicate or verdict.replaces:
            put_last(self._first_ones, hash(verdict.url), first, _MOST_KEPT)
        return first
