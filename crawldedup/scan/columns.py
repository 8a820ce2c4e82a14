"""What is compared of many pages, as columns: fingerprints and shingles, one row a page."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from crawldedup.fingerprinting import fingerprint as hashing
from crawldedup.fingerprinting.fingerprint import SEARCH_BITS, VERIFY_BITS, Fingerprint
from crawldedup.reading.tokenize import word_hashes
from crawldedup.search.model import grid_rows, steepness

VOLATILITY_UNIT: Final = 32
"""Search weights are kept in parts of this: they only tell which bits are likely to flip."""
_LEADING_HALF: Final = np.uint64(32)

LAYOUT: Final[dict[str, np.dtype[Any]]] = {
    "search": np.dtype(np.uint64),
    "verify": np.dtype((np.uint8, (VERIFY_BITS // 8,))),
    "digest": np.dtype(np.uint64),
    "volatility": np.dtype((np.uint8, (SEARCH_BITS,))),
    "steps": np.dtype((np.uint16, (VERIFY_BITS,))),
    "thin": np.dtype(np.bool_),
    "rank": np.dtype(np.uint8),
}
"""What a row of each column holds."""


class Lists:
    """Lists of different lengths, one behind the other in an array."""

    def __init__(self, items: NDArray[Any], sizes: NDArray[np.uint32]) -> None:
        self._items = items
        self._ends = np.cumsum(sizes, dtype=np.int64)

    def __getitem__(self, row: int) -> NDArray[Any]:
        return self._items[self._ends[row - 1] if row else 0 : self._ends[row]]


@dataclass(frozen=True, slots=True)
class Columns:
    """What is compared of pages, in arrays of one length.

    `search`, `verify` and `digest` are those of `Fingerprint`, salted as an index files them (`queries.salted`).
    `volatility` holds the sizes of the search weights in parts of VOLATILITY_UNIT. `steps` holds those of the verify
    weights, as rows of the tables of the normal distribution at the threshold: the same costs follow from them as from
    the weights. Of pages that are copies of each other, one of the lowest `rank` is kept. If there are `shingles` (see
    `shingle_set`), they decide.
    """

    search: NDArray[np.uint64]
    verify: NDArray[np.uint8]
    digest: NDArray[np.uint64]
    volatility: NDArray[np.uint8]
    steps: NDArray[np.uint16]
    thin: NDArray[np.bool_]
    rank: NDArray[np.uint8]
    shingles: Lists | None = None

    def __len__(self) -> int:
        return len(self.search)

    def by_name(self) -> dict[str, NDArray[Any]]:
        """Return the columns of LAYOUT."""
        return {name: getattr(self, name) for name in LAYOUT}

    @classmethod
    def of(cls, pages: Sequence[tuple[Fingerprint, int]], threshold: float) -> Self:
        """Return the columns of salted fingerprints and their ranks.

        `threshold` is the estimate of the similarity from which on a page is accepted.
        """
        empty: dict[str, Any] = {name: np.zeros(len(pages), kind) for name, kind in LAYOUT.items()}
        columns = cls(**empty)
        for row, (page, rank) in enumerate(pages):
            columns.search[row], columns.digest[row] = page.search, page.digest
            columns.verify[row] = np.frombuffer(page.verify, np.uint8)
            columns.volatility[row] = np.minimum(np.abs(page.search_weights) * VOLATILITY_UNIT, 255)
            columns.steps[row] = grid_rows(np.abs(page.verify_weights), steepness(threshold))
            columns.thin[row], columns.rank[row] = page.thin, rank
        return columns


def shingle_set(text: str) -> NDArray[np.uint32]:
    """Return the distinct 3-shingles of a text, as sorted hashes of 32 bits.

    Two texts of a thousand each seem to have one more in common than they have in one of four thousand cases.
    """
    words = word_hashes(text)
    shingles = hashing.shingle_hashes(words, hashing.pair_hashes(words)) >> _LEADING_HALF
    shingles.sort()
    return shingles[hashing.is_first_of_run(shingles)].astype(np.uint32)
