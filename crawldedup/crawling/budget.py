"""Stop following parts of a site that bring nothing new: facets, calendars, sessions, soft 404s.

Such a part is called a place, and is given by a pattern of URLs. It ends after a given number of
pages in a row that were copies, or hardly differed from other pages. Skipped requests are kept, and
some are always made as checks: one in twenty at first and fewer later, so an endless place costs
little. As soon as a page there, or one that it links to, brings something new, the place resumes
with all of its skipped requests.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Generic, TypeVar

from crawldedup.advice.rules import MOST_SKIPPED
from crawldedup.recent import put_last
from crawldedup.verdict import Kind, Verdict, is_hardly_apart

CHECKED: Final = 20
"""One in this many requests for an ended place is made anyway. Later, the interval grows."""

_CHECKS_BEFORE_FEWER: Final = 10
_MOST_PLACES: Final = 10_000
_MOST_MET: Final = 100_000
_FEWEST: Final = 1 << 30
_CROWD: Final = "crowd"  # why a page was kept if several pages are as near as its original

Request = TypeVar("Request")


class Step(StrEnum):
    """What to do with a request for a part of the site that may have ended.

    MADE: the part hasn't ended. SKIPPED: it has ended. With CHECKED and NO_ROOM, it has ended, but
    the request is made anyway: as a check, or because no more skipped requests can be kept.
    """

    MADE = "made"
    SKIPPED = "skipped"
    CHECKED = "checked"
    NO_ROOM = "no_room"


@dataclass(slots=True)
class EndedPlace(Generic[Request]):
    """A place that has ended, and the requests for its pages since then."""

    requests: int = 0  #: The number of requests so far.
    gap: int = CHECKED  #: One in this many requests is made.
    next_check: int = CHECKED  #: The number of the next request to make.
    checks: int = 0
    skipped: list[Request] = field(default_factory=list)


def is_barren(verdict: Verdict, *, repeats_but_for_date: bool) -> bool | None:
    """Return whether a page brought nothing new. None means that it is an unchanged known page.

    Args:
        verdict: The verdict on the page.
        repeats_but_for_date: Whether it differs from an earlier page only in a date.
    """
    if verdict.kind is Kind.REVISIT:
        return False if verdict.changed else None
    if verdict.is_duplicate:
        return not verdict.replaces
    return repeats_but_for_date or is_hardly_apart(verdict) or verdict.rejected_by == _CROWD


class Budget(Generic[Request]):
    """Decides which requests are made and which are skipped because their places have ended.

    The caller names the places of a page, the narrowest one first.
    """

    def __init__(self) -> None:
        # For each place, how many pages in a row brought nothing new.
        self._barren: dict[str, int] = {}
        self._ended: dict[str, EndedPlace[Request]] = {}
        self._met: dict[int, None] = {}
        self._number_skipped = 0

    def step(self, names: Sequence[str], request: Request) -> Step:
        """Decide what to do with a request, given the places that its page is in.

        If it is skipped, it is kept for later.
        """
        place = self._ended_one(names)
        if place is None:
            return Step.MADE
        place.requests += 1
        if place.requests >= place.next_check:
            place.checks += 1
            if place.checks > _CHECKS_BEFORE_FEWER:
                place.gap = min(2 * place.gap, _FEWEST)
            place.next_check = place.requests + place.gap
            return Step.CHECKED
        if self._number_skipped >= MOST_SKIPPED:
            return Step.NO_ROOM
        self._skip(place, request)
        return Step.SKIPPED

    def note_barren(self, name: str, most: int) -> bool:
        """Note that a page brought nothing new.

        Return whether its place ends, because this was the last of `most` such pages in a row.
        """
        if name in self._ended:
            return False
        barren = self._barren.pop(name, 0) + 1
        if barren >= most and len(self._ended) < _MOST_PLACES:
            self._ended[name] = EndedPlace()
            return True
        put_last(self._barren, name, barren, _MOST_PLACES)
        return False

    def note_new(self, name: str) -> list[Request] | None:
        """Note that a page brought something new, so its place resumes if it had ended.

        Return the requests that were skipped there, or None if the place had not ended.
        """
        self._barren.pop(name, None)
        place = self._ended.pop(name, None)
        if place is None:
            return None
        self._number_skipped -= len(place.skipped)
        return place.skipped

    def note_known(self, url: str, names: Iterable[str]) -> None:
        """Note that a page is unchanged since an earlier crawl, which counts as something new.

        Places that have ended stay that way, because an earlier crawl may have kept pages of a
        trap. A page that this crawl has already seen doesn't count, because all pages of a trap may
        link to it.
        """
        if not self._meet(url):
            return
        for name in names:
            self._barren.pop(name, None)

    def note_met(self, url: str) -> None:
        """Note that the crawl has seen a page, so `note_known` doesn't take it for news later."""
        self._meet(url)

    def _meet(self, url: str) -> bool:
        """Note a page. Return False if it was among the last pages of the crawl already."""
        page = hash(url)
        is_first = page not in self._met
        put_last(self._met, page, None, _MOST_MET)
        return is_first

    def take_over(self, name: str, request: Request) -> None:
        """Add a request that an earlier run of the crawl skipped, before it was paused."""
        self._skip(self._ended.setdefault(name, EndedPlace()), request)

    def _ended_one(self, names: Sequence[str]) -> EndedPlace[Request] | None:
        """Return the first of these places that has ended, or None if requests may be made."""
        for name in names:
            place = self._ended.get(name)
            if place is not None:
                return place
        return None

    def all_skipped(self) -> list[Request]:
        """Return the skipped requests of all places that have ended."""
        return [request for place in self._ended.values() for request in place.skipped]

    def _skip(self, place: EndedPlace[Request], request: Request) -> None:
        place.skipped.append(request)
        self._number_skipped += 1
