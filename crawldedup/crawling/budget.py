"""End the places of a site that bring nothing new: facets, calendars, sessions, soft 404s.

A place is a pattern of URLs. It ends when so many of its pages in a row were copies, or hardly told
from other pages. What is skipped there is kept, and some requests are made as checks for ever: one
in twenty at first, and fewer later, so that a place without an end takes few. A place goes on, with
all that was skipped, as soon as a page there says something of its own, or a page that it leads to.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Generic, TypeVar

from crawldedup.advice.rules import MOST_SKIPPED
from crawldedup.recent import put_last
from crawldedup.verdict import Kind, Verdict, is_hardly_apart

CHECKED: Final = 20
"""One in so many requests for an ended place is made, at first."""

_CHECKS_BEFORE_FEWER: Final = 10
_MOST_PLACES: Final = 10_000
_MOST_MET: Final = 100_000
_FEWEST: Final = 1 << 30
_CROWD: Final = "crowd"  # what kept a page apart if several pages are as near as its original

Request = TypeVar("Request")


class Step(StrEnum):
    """Names what is done with a request. NO_ROOM is made, because no more skipped ones fit."""

    MADE = "made"
    SKIPPED = "skipped"
    CHECKED = "checked"
    NO_ROOM = "no_room"


@dataclass(slots=True)
class EndedPlace(Generic[Request]):
    """What has happened at a place since it ended."""

    requests: int = 0  #: How many requests have come.
    gap: int = CHECKED  #: One in so many of them is made.
    next_check: int = CHECKED  #: The number of the next one to make.
    checks: int = 0
    skipped: list[Request] = field(default_factory=list)


def is_barren(verdict: Verdict, *, repeats_but_for_date: bool) -> bool | None:
    """Return whether a page brought nothing new; None for a known page that is as it was.

    Args:
        verdict: The verdict on the page.
        repeats_but_for_date: Whether it is like an earlier page but for a date.
    """
    if verdict.kind is Kind.REVISIT:
        return False if verdict.changed else None
    if verdict.is_duplicate:
        return not verdict.replaces
    return repeats_but_for_date or is_hardly_apart(verdict) or verdict.rejected_by == _CROWD


class Budget(Generic[Request]):
    """Decides which requests are made. Places are named by the caller, the narrowest one first."""

    def __init__(self) -> None:
        # How many of the last pages brought nothing new.
        self._barren: dict[str, int] = {}
        self._ended: dict[str, EndedPlace[Request]] = {}
        self._met: dict[int, None] = {}
        self._number_skipped = 0

    def step(self, names: Sequence[str], request: Request) -> Step:
        """Decide what is done with a request for a page at these places. A skipped one is kept."""
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
        """Note a page of a place that brought nothing new.

        Return whether the place ends with it, because it is the last of so many in a row.
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
        """Note that a place has brought something new.

        Return what was skipped there, if it had ended; it goes on. None if it had not.
        """
        self._barren.pop(name, None)
        place = self._ended.pop(name, None)
        if place is None:
            return None
        self._number_skipped -= len(place.skipped)
        return place.skipped

    def note_known(self, url: str, names: Iterable[str]) -> None:
        """Note that a page is as an earlier crawl has delivered it, so that these places go on.

        Places that have ended stay so: an earlier crawl may have kept pages of a trap. A page that
        this crawl has met says nothing, because all pages of a trap may lead to it.
        """
        if not self._meet(url):
            return
        for name in names:
            self._barren.pop(name, None)

    def note_met(self, url: str) -> None:
        """Note that the crawl has met a page."""
        self._meet(url)

    def _meet(self, url: str) -> bool:
        """Return whether a page is met for the first time, as far as is known."""
        page = hash(url)
        is_first = page not in self._met
        put_last(self._met, page, None, _MOST_MET)
        return is_first

    def take_over(self, name: str, request: Request) -> None:
        """Take over a request that was skipped before the crawl was paused."""
        self._skip(self._ended.setdefault(name, EndedPlace()), request)

    def _ended_one(self, names: Sequence[str]) -> EndedPlace[Request] | None:
        """Return the first of these places that has ended."""
        for name in names:
            place = self._ended.get(name)
            if place is not None:
                return place
        return None

    def all_skipped(self) -> list[Request]:
        """Return what was skipped at all places that have ended."""
        return [request for place in self._ended.values() for request in place.skipped]

    def _skip(self, place: EndedPlace[Request], request: Request) -> None:
        place.skipped.append(request)
        self._number_skipped += 1
