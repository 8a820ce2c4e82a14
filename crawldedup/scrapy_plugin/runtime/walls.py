"""Recognise walls: one page that a site answers with in place of many, such as a login form, a ban or a soft 404."""

from __future__ import annotations

from collections import Counter, deque
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from crawldedup.verdict import Verdict

WINDOW: Final = 200
SHARE: Final = 0.25
"""Of the last `WINDOW` judged pages, an original that is suspected has attracted at least this share."""

MOST_SUSPECTED: Final = 100
"""So many originals are suspected in one crawl, and no more."""


class Suspicion(NamedTuple):
    """An original, and the share of the last `window` judged pages that are copies of it, each URL counted once."""

    original: str
    share: float
    window: int


class Walls:
    """The last judged pages of a crawl. What it holds is bounded, however long the crawl is."""

    def __init__(self, *, window: int = WINDOW, share: float = SHARE) -> None:
        self._window = window
        self._needed = window * share
        self._recent: deque[tuple[str, int] | None] = deque()
        self._visits: Counter[tuple[str, int]] = Counter()
        self._urls: Counter[str] = Counter()
        self._suspected: set[str] = set()

    def add(self, verdict: Verdict, url: str) -> Suspicion | None:
        """Note a judged page, and return the suspicion of its original once, when it arises."""
        original = verdict.original if verdict.is_duplicate else None
        self._recent.append(None if original is None else (original, hash(url)))
        if original is not None:
            self._count((original, hash(url)))
        if len(self._recent) > self._window and (oldest := self._recent.popleft()) is not None:
            self._discount(oldest)
        if original is None or original in self._suspected or self._urls[original] < self._needed:
            return None
        if len(self._suspected) == MOST_SUSPECTED:
            return None
        self._suspected.add(original)
        judged = len(self._recent)
        return Suspicion(original, self._urls[original] / judged, judged)

    def is_suspected(self, verdict: Verdict) -> bool:
        """Return True for a copy of an original that is suspected."""
        return verdict.is_duplicate and verdict.original in self._suspected

    def _count(self, visit: tuple[str, int]) -> None:
        self._visits[visit] += 1
        if self._visits[visit] == 1:
            self._urls[visit[0]] += 1

    def _discount(self, visit: tuple[str, int]) -> None:
        self._visits[visit] -= 1
        if not self._visits[visit]:
            del self._visits[visit]
            self._urls[visit[0]] -= 1
            if not self._urls[visit[0]]:
                del self._urls[visit[0]]
