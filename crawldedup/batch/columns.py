"""The fingerprints of many pages as columns, one row a page."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from crawldedup.fingerprinting.fingerprint import SEARCH_BITS, VERIFY_BITS
from crawldedup.search.decision import threshold_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import DTypeLike, NDArray

    from crawldedup.fingerprinting.fingerprint import Fingerprint

VOLATILITY_UNIT: Final = 32
"""Search weights are kept in parts of this: they only tell which bits are likely to flip."""
_MOST_VOLATILITY: Final = 255


@dataclass(frozen=True, slots=True)
class Columns:
    """What is compared of pages, in arrays of one length.

    `search`, `verify` and `digest` are those of `Fingerprint`, salted as an index files them (`queries.salted`).
    `volatility` holds the sizes of the search weights in parts of VOLATILITY_UNIT. `steps` holds those of the verify
    weights, as rows of the tables of the normal distribution at the threshold: the same costs follow from them as from
    the weights. Of pages that are copies of each other, one of the lowest `rank` is kept.
    """

    search: NDArray[np.uint64]
    verify: NDArray[np.uint8]
    digest: NDArray[np.uint64]
    volatility: NDArray[np.uint8]
    steps: NDArray[np.uint16]
    words: NDArray[np.int32]
    thin: NDArray[np.bool_]
    rank: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.search)

    def by_name(self) -> dict[str, NDArray[Any]]:
        """Return the columns by their names."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @classmethod
    def of(cls, pages: Sequence[tuple[Fingerprint, int]], threshold: float) -> Self:
        """Return the columns of salted fingerprints and their ranks.

        `threshold` is the estimate of the similarity from which on a page is accepted.
        """
        columns = {name: np.zeros((len(pages), *shape), kind) for name, (kind, shape) in LAYOUT.items()}
        made = cls(**columns)
        for row, (page, rank) in enumerate(pages):
            made.search[row] = page.search
            made.verify[row] = np.frombuffer(page.verify, np.uint8)
            made.digest[row] = page.digest
            made.volatility[row] = np.minimum(np.abs(page.search_weights) * VOLATILITY_UNIT, _MOST_VOLATILITY)
            made.steps[row] = threshold_rows(page.verify_weights, threshold)
            made.words[row], made.thin[row], made.rank[row] = page.words, page.thin, rank
        return made


LAYOUT: Final[dict[str, tuple[DTypeLike, tuple[int, ...]]]] = {
    "search": (np.uint64, ()),
    "verify": (np.uint8, (VERIFY_BITS // 8,)),
    "digest": (np.uint64, ()),
    "volatility": (np.uint8, (SEARCH_BITS,)),
    "steps": (np.uint16, (VERIFY_BITS,)),
    "words": (np.int32, ()),
    "thin": (np.bool_, ()),
    "rank": (np.uint8, ()),
}
"""The type of each column, and the shape of a row of it."""
