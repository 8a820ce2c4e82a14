"""Similarity cut into bands, and how many pages of each were flagged."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

EDGES: Final = (0.0, 0.5, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98, 1.0)
"""Where the bands begin; the last one holds equal pages only."""


@dataclass(frozen=True, slots=True)
class Tally:
    """Pages, and how many of them were flagged."""

    pages: int
    flagged: int

    @property
    def share(self) -> float | None:
        """Flagged pages of all; None if there are none."""
        return self.flagged / self.pages if self.pages else None

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {"pages": self.pages, "flagged": self.flagged, "share": self.share}


@dataclass(frozen=True, slots=True)
class Band:
    """The tally of pages whose best similarity lies from `low` to below `high`; both 1: equal pages."""

    low: float
    high: float
    tally: Tally

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {"low": self.low, "high": self.high, **self.tally.as_dict()}


def band_name(low: float, high: float) -> str:
    """A short heading."""
    if low == high:
        return "= 1"
    return f"< {_short(high)}" if low == 0 else f"{_short(low)}-{_short(high)}"


def bands_of(best: NDArray[np.float64], flagged: NDArray[np.bool_]) -> tuple[Band, ...]:
    """Count pages by their best similarity; both arrays have the shape (pages,)."""
    bands = []
    for low, high in zip(EDGES, (*EDGES[1:], math.inf), strict=True):
        inside = (best >= low) & (best < high)
        tally = Tally(int(inside.sum()), int((inside & flagged).sum()))
        bands.append(Band(low, min(high, 1.0), tally))
    return tuple(bands)


def _short(edge: float) -> str:
    return f"{edge:g}".removeprefix("0")
