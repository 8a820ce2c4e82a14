"""Recognise walls: one page that a site answers with in place of many, such as a login form, a ban or a soft 404."""

from __future__ import annotations

from collections import Counter, deque
from typing import TYPE_CHECKING, Final, NamedTuple

from crawldedup.verdict import Kind

if TYPE_CHECKING:
    from crawldedup.verdict import Verdict

WINDOWS: Final = ((100, 0.6), (500, 0.3))
"""So many of the last judged pages, and the share of them that makes an original suspect.

The first finds a wall before all of a site, the second one before each third page. A template that honest pages share
stays below: 2,000 pages of a calendar, one after the other, came to 35 of 100 and 123 of 500.
"""

MOST_SUSPECTED: Final = 100
"""So many originals are suspected in one crawl, and no more."""


class Suspicion(NamedTuple):
    """A page, and the share of the last `window` judged pages that are its copies, each URL counted once."""

    original: str
    share: float
    window: int


class Walls:
    """The last judged pages of a crawl, by hashes of their URLs. What it holds is bounded, however long it is."""

    def __init__(self) -> None:
        self._windows = [_Window(size, share) for size, share in WINDOWS]
        self._suspected: set[int] = set()

    def add(self, verdict: Verdict, face_of_known: int = 0) -> Suspicion | None:
        """Note a judged page, and the face of a known one. Return what is suspected of its original, once for each."""
        face = _face_of(verdict, face_of_known)
        copy = None if face is None else (face, hash(verdict.url))
        full = [window for window in self._windows if window.add(copy)]
        if face is None or not full or face in self._suspected or len(self._suspected) == MOST_SUSPECTED:
            return None
        self._suspected.add(face)
        original = verdict.original if verdict.is_duplicate else None
        return Suspicion(original or verdict.url, full[0].share_of(face), full[0].pages())

    def has(self, verdict: Verdict, face_of_known: int = 0) -> bool:
        """Return True for a copy of an original that is suspected."""
        return _face_of(verdict, face_of_known) in self._suspected


def _face_of(verdict: Verdict, face_of_known: int) -> int | None:
    """Return what the pages of one wall share: their original or, where a lasting index knows them, their text."""
    if verdict.is_duplicate:
        return None if verdict.original is None else hash(verdict.original)
    return hash(("text", face_of_known)) if verdict.kind is Kind.REVISIT and face_of_known else None


class _Window:
    def __init__(self, size: int, share: float) -> None:
        self._size = size
        self._needed = size * share
        self._recent: deque[tuple[int, int] | None] = deque()
        self._visits: Counter[tuple[int, int]] = Counter()
        self._urls: Counter[int] = Counter()

    def pages(self) -> int:
        return len(self._recent)

    def share_of(self, original: int) -> float:
        return self._urls[original] / len(self._recent)

    def add(self, copy: tuple[int, int] | None) -> bool:
        """Note an original and the URL of its copy, or None. Returns True if it has attracted its share."""
        self._recent.append(copy)
        if len(self._recent) > self._size:
            self._leave(self._recent.popleft())
        if copy is None:
            return False
        self._visits[copy] += 1
        if self._visits[copy] == 1:
            self._urls[copy[0]] += 1
        return self._urls[copy[0]] >= self._needed

    def _leave(self, copy: tuple[int, int] | None) -> None:
        if copy is None:
            return
        self._visits[copy] -= 1
        if not self._visits[copy]:
            del self._visits[copy]
            self._urls[copy[0]] -= 1
            if not self._urls[copy[0]]:
                del self._urls[copy[0]]
