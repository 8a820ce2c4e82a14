"""Recognize walls: pages that a site sends in place of many others."""

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

# So many of the last judged pages, and the share of them that makes an original suspect: of a wall
# before all of a site, and before each third page. Honest pages of one template stay below: of a
# calendar, 35 of 100 and 123 of 500.
WINDOWS: Final = ((100, 0.6), (500, 0.3))
# Of the pages that read like an original, at most one for so many others may lie as near to
# several, or have but its name without a date: honest pages of one template look like that, too.
_OTHERS_FOR_ONE_IN_DOUBT: Final = 5
MOST_SUSPECTED: Final = 20  # originals of a site, so that no site uses up those of another
_NAME: Final = "name"
_CROWD: Final = "crowd"  # what kept a page apart if several pages are as near as its original
_MOST_SITES: Final = 100  # are watched
_MOST_KEPT: Final = 10_000  # pages of which it is known what they are like
# A parameter that holds an address names the page that a form stands in place of.
_ADDRESS: Final = re.compile(r"=(?:https?:/)?/", re.IGNORECASE)
_LONGEST_QUERY: Final = 2048


def dated_name(url: str, marks: ShownMarks | None) -> str | None:
    """Return the site and the name of a page without the date in the name.

    None for a page without a date in its name, and for one that shows a picture or a player.
    """
    if marks is None or marks.pictures or marks.players:
        return None
    undated = without_dates(marks.name)
    return None if undated is None else f"{site_of(url)} {undated}"


class Suspicion(NamedTuple):
    """What makes an original suspect of being a wall."""

    original: str  #: The URL of the original.
    #: The share of the last pages that read like it, itself included. Each URL counts once.
    share: float
    window: int  #: The number of those last pages.
    is_one_path: bool  #: Whether those that read like it differ in their queries alone.


class JudgedPage(NamedTuple):
    """A page that was judged lately."""

    key: int  #: What the pages of one wall have in common.
    url: int  #: The hash of the URL that was asked for.
    bare: int  #: The hash of that URL without the query.
    is_view: bool  #: Whether its query may say nothing.
    is_doubtful: bool  #: Whether several pages are as near as the nearest, or none is near.


class Walls:
    """Recognizes walls: pages that a site answers with in place of many, such as a login form, a
    ban or a soft 404.

    A wall that repeats the address differs from page to page. So its pages are kept, and each may
    be the nearest page of the next one. Pages that only text or links kept apart count as copies of
    the first one, and so do copies of them. A few pages that lie as near to several others count,
    too: a wall of few words has some.

    Nor are pages told apart by a date in their names, such as those of empty months, unless they
    show a picture or a player.

    Pages that add a query to the URL of the first one without a query are views of it. They stand
    in place of nothing, and do not count. Copies at one path count once, whatever their queries: a
    frame and an API say the same whatever they are asked. They do count if they were redirected to
    that path, if their queries name addresses, or if other contents were met at that path.

    `sites` holds the last judged pages of each.
    """

    def __init__(self) -> None:
        self.sites: dict[str, deque[JudgedPage]] = {}
        self._suspected: dict[str, set[int]] = {}
        # The URLs of the pages that later ones count as copies of, by hashes of the URLs of those,
        # or of their names without dates. What was needed last comes last.
        self._first_ones: dict[int, str] = {}
        # Hashes of the first URLs without a query among the pages that share a key.
        self._plain: dict[int, int] = {}
        # By hashes of URLs without their queries: a content there, or None if there are several.
        self._contents: dict[int, int | None] = {}

    def add(
        self,
        verdict: Verdict,
        digest: int = 0,
        marks: ShownMarks | None = None,
        asked: str | None = None,
    ) -> Suspicion | None:
        """Note a judged page, and return a suspicion of its original, once for each original.

        Args:
            verdict: The verdict of the page.
            digest: The digest of its fingerprint.
            marks: What tells the page from others.
            asked: The URL that was asked for, if the server has redirected the request.
        """
        dated = self._first_dated_like(verdict, marks)
        first = self._first_one_like(verdict) if dated is None else dated
        is_revisit = verdict.kind is Kind.REVISIT and digest != 0
        # What the pages of one wall share: the first of them or, where a lasting index knows them,
        # their text.
        key = hash(("text", digest)) if is_revisit else hash(first or verdict.url)
        site = site_of(verdict.url)
        recent = self.sites.get(site, deque(maxlen=max(size for size, _ in WINDOWS)))
        put_last(self.sites, site, recent, _MOST_SITES)
        # A page of another month need not lie near the page of a month before it.
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
        """Note what is met at an address without its query."""
        known = self._contents.get(bare, key)
        is_another = known != key and not verdict.is_duplicate and not is_hardly_apart(verdict)
        put_last(self._contents, bare, None if is_another else known, _MOST_KEPT)

    def _count_of(self, alike: Sequence[JudgedPage], plain: int) -> int:
        """Return at how many places pages of one key stand, and count at most a few in doubt.

        Views of the page whose URL has the hash `plain` do not count.
        """
        own = [page for page in alike if page.url == plain or page.bare != plain]
        near = {self._place_of(page) for page in own if not page.is_doubtful}
        doubtful = {self._place_of(page) for page in own if page.is_doubtful}
        return len(near) + min(len(doubtful - near), len(near) // _OTHERS_FOR_ONE_IN_DOUBT)

    def _place_of(self, page: JudgedPage) -> int:
        """Return the hash of the address that a page stands at: without its query for a view."""
        has_one_content = self._contents.get(page.bare, page.key) == page.key
        return page.bare if page.is_view and has_one_content else page.url

    def _first_dated_like(self, verdict: Verdict, marks: ShownMarks | None) -> str | None:
        """Return the URL of the first page of the site with the same name but for a date in it.

        None for a page without a date in its name, and for one that shows a picture or a player.
        """
        undated = dated_name(verdict.url, marks) if verdict.kind is Kind.NEW else None
        if undated is None:
            return None
        name = hash(undated)
        first = self._first_ones.get(name, verdict.url)
        put_last(self._first_ones, name, first, _MOST_KEPT)
        return first

    def _first_one_like(self, verdict: Verdict) -> str | None:
        """Return the URL of the first page that a page reads like, by way of the pages between
        them; None if it is no copy, and was not kept apart by little.
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
        """Return the URL of the first page that the page at a URL reads like: its own if none."""
        first = self._first_ones.get(hash(url))
        if first is None:
            return url
        put_last(self._first_ones, hash(url), first, _MOST_KEPT)
        return first


def _names_an_address(query: str) -> bool:
    """Return whether a parameter holds an address, such as next=/orders."""
    return _ADDRESS.search(unquote(query[:_LONGEST_QUERY])) is not None
