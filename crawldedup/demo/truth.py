"""What a perfect filter would have dropped, and how the crawl compares with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from crawldedup.demo.result import Band, Truth
from crawldedup.evaluation.bands import bands_of
from crawldedup.evaluation.exact import LOWEST
from crawldedup.evaluation.ground_truth import compare_all

if TYPE_CHECKING:
    from collections.abc import Sequence

_TOLERANCE: Final = 0.1


@dataclass(frozen=True, slots=True)
class JudgedPage:
    """A page that was judged: the text its extractor gave, and whether the crawl kept it."""

    url: str
    text: str
    kept: bool


def assess(pages: Sequence[JudgedPage], *, similarity: float) -> Truth:
    """Compare what the crawl did with the exact similarities.

    Give the pages in the order in which they were judged, without revisits: a page is not its own copy.
    Pages without a word cannot be compared and are only counted.
    """
    exact = compare_all([page.text for page in pages])
    has_words = exact.word_counts > 0
    best = exact.best_earlier([page.kept for page in pages])
    dropped = np.array([not page.kept for page in pages], dtype=bool) & has_words
    is_duplicate = best >= similarity
    return Truth(
        similarity=similarity,
        tolerance=_TOLERANCE,
        pages=int(has_words.sum()),
        pages_without_text=exact.pages_without_words,
        duplicates=int(is_duplicate.sum()),
        dropped=int(dropped.sum()),
        dropped_duplicates=int((dropped & is_duplicate).sum()),
        # Nothing below LOWEST is known, so a tolerance cannot reach further down.
        dropped_similar=int((dropped & (best >= max(similarity - _TOLERANCE, LOWEST))).sum()),
        bands=tuple(
            Band(low=band.low, high=band.high, pages=band.counts.pages, dropped=band.counts.flagged)
            for band in bands_of(best[has_words], dropped[has_words])
        ),
        missed=tuple(page.url for page, lost in zip(pages, is_duplicate & ~dropped, strict=True) if lost),
        wrong=tuple(
            page.url for page, far in zip(pages, dropped & (best < similarity - _TOLERANCE), strict=True) if far
        ),
    )
