"""Measure how much content of a site a method loses, and how many copies it misses."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from benchmarks.siblings_parts.methods import Method, ReadPage
    from benchmarks.siblings_parts.site import Page


@dataclass(frozen=True)
class Drop:
    """A page that was taken for a copy, and the URL of the page it was taken for one of."""

    url: str
    original: str


@dataclass(frozen=True)
class Tally:
    """Contents and their copies, and which of them were lost and missed.

    A content is lost if none of its pages is delivered; `lost` has its first page. Every page of it
    that is delivered beyond the first is a missed copy.
    """

    contents: int = 0
    copies: int = 0
    lost: tuple[Drop, ...] = ()
    missed: tuple[str, ...] = ()

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.contents + other.contents,
            self.copies + other.copies,
            self.lost + other.lost,
            self.missed + other.missed,
        )

    @property
    def lost_share(self) -> float:
        return len(self.lost) / self.contents if self.contents else 0.0

    @property
    def missed_share(self) -> float:
        return len(self.missed) / self.copies if self.copies else 0.0


@dataclass(frozen=True)
class Trial:
    """What a method made of the contents of one family and size, in both orders."""

    family: str
    words: int
    method: str
    tally: Tally


@dataclass
class _Fate:
    """What became of the pages of one content."""

    first: Drop | None = None
    delivered: list[Page] = field(default_factory=list)
    pages: int = 0

    def tally(self) -> Tally:
        lost = () if self.delivered or self.first is None else (self.first,)
        missed = tuple(page.url for page in self.delivered[1:])
        return Tally(1, self.pages - 1, lost, missed)


def orders(pages: Sequence[ReadPage]) -> Iterator[Sequence[ReadPage]]:
    """The pages as the site has them, each content before its views, and in reverse."""
    yield pages
    yield pages[::-1]


def run_method(method: Method, pages: Iterable[ReadPage]) -> dict[int, Tally]:
    """Show pages to a method that knows none, and tally by the size of their shared text."""
    fates: defaultdict[tuple[int, str], _Fate] = defaultdict(_Fate)
    with method.start() as check:
        for read_page in pages:
            page = read_page.page
            fate = fates[page.words, page.content]
            fate.pages += 1
            original = check(read_page)
            if original is None:
                fate.delivered.append(page)
            elif fate.first is None:
                fate.first = Drop(page.url, original)
    tallies: defaultdict[int, Tally] = defaultdict(Tally)
    for (words, _), fate in fates.items():
        tallies[words] += fate.tally()
    return dict(tallies)


def total(trials: Iterable[Trial]) -> Tally:
    """All of the trials together."""
    return sum((trial.tally for trial in trials), Tally())
