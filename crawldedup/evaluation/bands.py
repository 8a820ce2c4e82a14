"""Bands of similarity, and the share of pages that was flagged in each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

EDGES: Final = (0.0, 0.5, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98, 1.0)
"""Lower ends of the bands; the last band holds equal pages only."""


@dataclass(frozen=True, slots=True)
class BandCounts:
    """A number of pages, of which `flagged` were called duplicates."""

    pages: int
    flagged: int

    @property
    def share(self) -> float | None:
        """Return the share of flagged pages; None if there are no pages."""
        return self.flagged / self.pages if self.pages else None

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {"pages": self.pages, "flagged": self.flagged, "share": self.share}


@dataclass(frozen=True, slots=True)
class Band:
    """Counts of the pages whose best similarity lies from `low` to below `high`; in the last band both are 1."""

    low: float
    high: float
    counts: BandCounts

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {"low": self.low, "high": self.high, **self.counts.as_dict()}


def band_name(low: float, high: float) -> str:
    """Return a short heading, as in ".9-.95"."""
    if low == high:
        return "= 1"
    return f"< {_short(high)}" if low == 0 else f"{_short(low)}-{_short(high)}"


def bands_of(best: NDArray[np.float64], flagged: NDArray[np.bool_]) -> tuple[Band, ...]:
    """Count pages by their best similarity; both arrays have the shape (pages,)."""
    bands = []
    for low, high in zip(EDGES, (*EDGES[1:], math.inf), strict=True):
        inside = (best >= low) & (best < high)
        bands.append(Band(low, min(high, 1.0), count(inside, flagged)))
    return tuple(bands)


def count(which: NDArray[np.bool_], flagged: NDArray[np.bool_]) -> BandCounts:
    """Count the pages of a mask, and those of them that were flagged; both arrays have the shape (pages,)."""
    return BandCounts(int(which.sum()), int((which & flagged).sum()))


def _short(edge: float) -> str:
    return f"{edge:g}".removeprefix("0")
