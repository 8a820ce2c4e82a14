"""Compare the pages that a method left out with the exact similarities of an archive."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.archive_parts.texts import jaccard, shingle_set

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from benchmarks.archive_parts.texts import Archive

    Mask = NDArray[np.bool_]

EDGES: Final = (0.0, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0, 2.0)
"""Bands of similarity from each edge to the next, which is not in it; the last has equal sets of
shingles only.
"""

DUPLICATE: Final = 0.85
"""A page may be left out if one as similar as this is kept."""


@dataclass(frozen=True)
class Judgment:
    """The copies of each band and how many were found, and the pages that were left out with no
    reason.
    """

    copies: list[int]
    found: list[int]
    left_out: int
    false: int
    false_in_template: int

    @property
    def recall(self) -> list[float | None]:
        """Return the share of copies found, by band."""
        return [
            found / copies if copies else None
            for found, copies in zip(self.found, self.copies, strict=True)
        ]

    @property
    def false_share(self) -> float:
        """Return the share of false ones among the pages left out."""
        return self.false / self.left_out if self.left_out else 0.0


def similarities(
    archive: Archive, on_pages: Callable[[int], None] = lambda _: None
) -> NDArray[np.float64]:
    """Return the exact similarity of every page with the original of its family; 1 for originals."""
    found = np.ones(archive.pages)
    for family in range(archive.families):
        numbers = archive.by_family[archive.starts[family] : archive.starts[family + 1]]
        on_pages(len(numbers))
        if len(numbers) > 1:
            original = shingle_set(archive.tokens(family, 0))
            found[numbers[1:]] = [
                jaccard(original, shingle_set(archive.tokens(family, member)))
                for member in range(1, len(numbers))
            ]
    return found


def judge(archive: Archive, with_original: NDArray[np.float64], kept: Mask) -> Judgment:
    """Judge what a method kept, given `similarities` of the archive.

    A copy is found if it is left out. Some methods keep any page of a cluster: where an original is
    left out, the kept copy that is most similar to it is found, too.
    """
    originals = archive.by_family[archive.starts[:-1]]
    original_kept = kept[originals][archive.family]
    is_copy = archive.member > 0
    found = is_copy & ~kept
    for family in archive.family[originals[~kept[originals]]]:
        relatives = archive.by_family[archive.starts[family] : archive.starts[family + 1]]
        candidates = relatives[kept[relatives]]
        if len(candidates):
            found[candidates[np.argmax(with_original[candidates])]] = True
    bands = [
        is_copy & (low <= with_original) & (with_original < high) for low, high in pairwise(EDGES)
    ]
    # A copy that was left out for its original needs no closer look.
    unexplained = np.flatnonzero(~kept & ~(is_copy & original_kept & (with_original >= DUPLICATE)))
    false = [int(number) for number in unexplained if not _has_reason(archive, int(number), kept)]
    return Judgment(
        copies=[int(band.sum()) for band in bands],
        found=[int((band & found).sum()) for band in bands],
        left_out=int((~kept).sum()),
        false=len(false),
        false_in_template=sum(archive.in_template(int(archive.family[number])) for number in false),
    )


def _has_reason(archive: Archive, number: int, kept: Mask) -> bool:
    """Return whether a kept page is as similar as a duplicate: no other family has one."""
    family = int(archive.family[number])
    relatives = archive.by_family[archive.starts[family] : archive.starts[family + 1]]
    members = archive.member[relatives[kept[relatives]]]
    if not len(members):
        return False
    own = shingle_set(archive.tokens(family, int(archive.member[number])))
    return any(
        jaccard(own, shingle_set(archive.tokens(family, int(member)))) >= DUPLICATE
        for member in members
    )
