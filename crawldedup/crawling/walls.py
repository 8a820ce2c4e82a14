"""Recognize walls: pages, such as a login form or a soft 404, that a site sends for many URLs."""

import re
from collections import deque
from collections.abc import Sequence
from itertools import islice
from typing import Final, NamedTuple
from urllib.parse import unquote

from crawldedup.marks.values import ShownMarks
from crawldedup.reading.mark_words import without_dates
from crawldedup.recent import put_last
from crawldedup.scope import site_of
from crawldedup.verdict import Kind, Verdict, is_hardly_apart

# Numbers of last judged pages, and the share of them that makes an original suspicious: the first
# is for a wall in front of the whole site, the second for one in front of every third page. Honest
# pages of one template stay below that: those of a calendar reach 35 of 100 and 123 of 500.
WINDOWS: Final = ((100, 0.6), (500, 0.3))
# A page is in doubt if it is as near to several pages, or only has the original's name except for a
# date, because honest pages of one template can look like that. At most one such page counts for
# each of this many other pages.
_OTHERS_FOR_ONE_IN_DOUBT: Final = 5
MOST_SUSPECTED: Final = 20  # originals of one site, so no site uses up the room of another
_NAME: Final = "name"
_CROWD: Final = "crowd"  # why a page was kept if several pages are as near as its original
_MOST_SITES: Final = 100  # the maximum number of sites to watch
_MOST_KEPT: Final = 10_000  # the most pages for which the first similar page is remembered
# A parameter that holds an address names the page that a form has replaced.
_ADDRESS: Final = re.compile(r"=(?:https?:/)?/", re.IGNORECASE)
_LONGEST_QUERY: Final = 2048


def dated_name(url: str, marks: ShownMarks | None) -> str | None:
    """Return the site and name of a page, without the date in the name.

    It is None if the name has no date, or if the page shows a picture or a player.
    """
    if marks is None or marks.pictures or marks.players:
        return None
    undated = without_dates(marks.name)
    return None if undated is None else f"{site_of(url)} {undated}"


class Suspicion(NamedTuple):
    """A suspected wall: which page many of the last pages of a site are copies of."""

    original: str  #: The URL of the original.
    #: The share of the last pages that read like it, itself included. Each URL counts once.
    share: float
    window: int  #: The number of last pages.
    is_one_path: bool  #: Whether those that read like it differ only in their queries.


class JudgedPage(NamedTuple):
    """A page that was judged recently, with the values by which walls are recognized."""

    key: int  #: What the pages of one wall have in common.
    url: int  #: The hash of the URL that was requested.
    bare: int  #: The hash of that URL without the query.
    is_view: bool  #: Whether its query may make no difference.
    is_doubtful: bool  #: Whether several pages are as near as the nearest, or none is near.


class Walls:
    """Recognizes walls: pages that a site sends in place of many others.

    Examples are a login form, a ban or a soft 404.

    A wall that repeats the requested address differs from page to page. Its pages are kept, and
    each may be the nearest page of the next one. Therefore, pages that were kept apart by nothing
    but their text or links count as copies of the first one, and so do copies of these pages. A few
    pages that are as near to several others count as well, because a wall with few words has some.
    Pages also count as copies if their names differ only in a date, like those of empty months,
    unless they show a picture or a player.

    Pages whose URL is that of the first one with a query added are views of it. They don't replace
    other pages, so they don't count. Copies at one path count once, no matter what their queries
    are, because a frame or an API may ignore its query. Each of them counts if it was redirected to
    that path, if its query names an address, or if other content was found at that path.

    `sites` holds the last judged pages of each site.
    """

    def __init__(self) -> None:
        self.sites: dict[str, deque[JudgedPage]] = {}
        self._suspected: dict[str, set[int]] = {}
        # The URL of the page that a later one counts as a copy of. Keys are hashes of the URLs of
        # the later pages, or of their names without dates. The most recently used come last.
        self._first_ones: dict[int, str] = {}
        # For each key, the hash of the first URL without a query among its pages.
        self._plain: dict[int, int] = {}
        # For the hash of each URL without its query, the content found there, or None if there
        # are several.
        self._contents: dict[int, int | None] = {}

    def add(
        self,
        verdict: Verdict,
        digest: int = 0,
        marks: ShownMarks | None = None,
        asked: str | None = None,
    ) -> Suspicion | None:
        """Note a judged page. Return a suspicion if its original now looks like a wall, or None.

        Each original is suspected at most once.

        Args:
            verdict: The verdict of the page.
            digest: The digest of its fingerprint.
            marks: The marks that tell the page apart from others.
            asked: The URL that was requested, if the server redirected the request.
        """
        dated = self._first_dated_like(verdict, marks)
        first = self._first_one_like(verdict) if dated is None else dated
        is_revisit = verdict.kind is Kind.REVISIT and digest != 0
        # The key that the pages of one wall share: their text if a persistent index knows them,
        # and otherwise the first of them.
        key = hash(("text", digest)) if is_revisit else hash(first or verdict.url)
        site = site_of(verdict.url)
        recent = self.sites.get(site, deque(maxlen=max(size for size, _ in WINDOWS)))
        put_last(self.sites, site, recent, _MOST_SITES)
        # The page of a month isn't always near the page of an earlier month.
        is_doubtful = verdict.rejected_by == _CROWD or (
            dated is not None and verdict.rejected_by != _NAME
        )
        url = asked or verdict.url
        bare, _, query = url.partition("?")
        own_bare = verdict.url.partition("?")[0]
        if own_bare == verdict.url and key not in self._plain:
            put_last(self._plain, key, hash(own_bare), _MOST_KEPT)
        self._note_content(hash(own_bare), key, verdict)
        is_copy = verdict.is_duplicate or is_revisit or first is None
        is_view = is_copy and bare == own_bare and not _names_an_address(query)
        recent.appendleft(JudgedPage(key, hash(url), hash(bare), is_view, is_doubtful))
        if first is None and not is_revisit:
            return None
        suspected = self._suspected.get(site, set())
        if key in suspected or len(suspected) == MOST_SUSPECTED:
            return None
        plain = self._plain.get(key, hash(first))
        for size, share in WINDOWS:
            pages = min(size, len(recent))
            alike = [page for page in islice(recent, pages) if page.key == key]
            count = self._count_of(alike, plain)
            if count >= share * size:
                suspected.add(key)
                put_last(self._suspected, site, suspected, _MOST_SITES)
                paths = {page.bare for page in alike}
                return Suspicion(first or verdict.url, count / pages, pages, len(paths) == 1)
        return None

    def _note_content(self, bare: int, key: int, verdict: Verdict) -> None:
        """Note which content was found at an address, leaving out the query."""
        known = self._contents.get(bare, key)
        is_another = known != key and not verdict.is_duplicate and not is_hardly_apart(verdict)
        put_last(self._contents, bare, None if is_another else known, _MOST_KEPT)

    def _count_of(self, alike: Sequence[JudgedPage], plain: int) -> int:
        """Count the addresses that show the same page.

        Addresses that are in doubt only count up to a share of the others, and views of the page
        whose URL has the hash `plain` don't count.
        """
        own = [page for page in alike if page.url == plain or page.bare != plain]
        near = {self._place_of(page) for page in own if not page.is_doubtful}
        doubtful = {self._place_of(page) for page in own if page.is_doubtful}
        return len(near) + min(len(doubtful - near), len(near) // _OTHERS_FOR_ONE_IN_DOUBT)

    def _place_of(self, page: JudgedPage) -> int:
        """Return the hash of a page's address, leaving out the query if the page is a view."""
        has_one_content = self._contents.get(page.bare, page.key) == page.key
        return page.bare if page.is_view and has_one_content else page.url

    def _first_dated_like(self, verdict: Verdict, marks: ShownMarks | None) -> str | None:
        """Return the URL of the site's first page whose name is the same except for a date.

        It is None if the page isn't new, if its name has no date, or if it shows a picture or a
        player.
        """
        undated = dated_name(verdict.url, marks) if verdict.kind is Kind.NEW else None
        if undated is None:
            return None
        name = hash(undated)
        first = self._first_ones.get(name, verdict.url)
        put_last(self._first_ones, name, first, _MOST_KEPT)
        return first

    def _first_one_like(self, verdict: Verdict) -> str | None:
        """Return the URL of the first page that a page is a copy of, following chains of copies.

        It is None if the page is neither a copy nor hardly different from its nearest page.
        """
        nearest = verdict.original if verdict.is_duplicate else None
        if is_hardly_apart(verdict) or verdict.rejected_by == _CROWD:
            nearest = verdict.rejected
        if nearest is None:
            return None
        first = self._first_one_of(nearest)
        if not verdict.is_duplicate or verdict.replaces:
            put_last(self._first_ones, hash(verdict.url), first, _MOST_KEPT)
        return first

    def _first_one_of(self, url: str) -> str:
        """Return the URL of the first page that the page at `url` is a copy of, or `url` itself."""
        first = self._first_ones.get(hash(url))
        if first is None:
            return url
        put_last(self._first_ones, hash(url), first, _MOST_KEPT)
        return first


def _names_an_address(query: str) -> bool:
    """Return whether a parameter of the query holds an address, such as next=/orders."""
    return _ADDRESS.search(unquote(query[:_LONGEST_QUERY])) is not None
